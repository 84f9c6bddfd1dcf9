//===- TensorTest.cpp - tests of attentile/Tensor.h -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Tensor.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace attentile;

/// Every pattern goes through double and back; NaN keeps being NaN.
TEST(Tensor, SixteenBitPatternsRoundTrip) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    float half = fromF16(bits), brain = fromBF16(bits);
    if (std::isnan(half))
      EXPECT_TRUE(std::isnan(fromF16(toF16(half))));
    else
      EXPECT_EQ(toF16(half), bits);
    if (std::isnan(brain))
      EXPECT_TRUE(std::isnan(fromBF16(toBF16(brain))));
    else
      EXPECT_EQ(toBF16(brain), bits);
  }
}

/// The middle of two neighbours goes to the even one, what is beyond it by
/// less than a float can tell does not.
TEST(Tensor, RoundsToNearestEvenOnce) {
  for (unsigned bits = 0; bits < 0x7BFF; ++bits) {
    double low = fromF16(bits), high = fromF16(bits + 1);
    double middle = (low + high) / 2;
    EXPECT_EQ(toF16(middle), bits + (bits & 1));
    EXPECT_EQ(toF16(std::nextafter(middle, high)), bits + 1);
    EXPECT_EQ(toF16(std::nextafter(middle, low)), bits);
    EXPECT_EQ(roundTo(ElementType::F16, middle), fromF16(toF16(middle)));
  }
  EXPECT_EQ(toF16(65519.99), 0x7BFF);
  EXPECT_EQ(toF16(65520), 0x7C00);
  EXPECT_EQ(toF16(-65520), 0xFC00);
  EXPECT_EQ(toBF16(1.00390625), 0x3F80); // 1 + 2^-8: a tie
  EXPECT_EQ(toBF16(1.0039062500001), 0x3F81);
}

/// Every pattern comes back, the middle of two neighbours goes to the even one,
/// and what is too large, infinity too, becomes the largest number.
TEST(Tensor, EightBitFloatsSaturate) {
  for (ElementType type : {ElementType::F8E4M3, ElementType::F8E5M2}) {
    bool isE4M3 = type == ElementType::F8E4M3;
    HostTensor x = HostTensor::allocate(type, {1});
    auto &byte = *static_cast<uint8_t *>(x.data);
    auto valueOf = [&](unsigned bits) {
      byte = bits;
      return x.readDouble(0);
    };
    auto bitsOf = [&](double value) -> unsigned {
      x.writeDouble(0, value);
      return byte;
    };
    unsigned largest = isE4M3 ? 0x7E : 0x7B;
    EXPECT_EQ(valueOf(largest), isE4M3 ? 448 : 57344);
    for (unsigned bits = 0; bits <= largest; ++bits)
      for (double sign : {1.0, -1.0}) {
        double low = sign * valueOf(bits), high = sign * valueOf(bits + 1);
        unsigned at = bits | (sign < 0 ? 0x80 : 0);
        EXPECT_EQ(bitsOf(low), at);
        EXPECT_EQ(roundTo(type, low), low);
        if (bits == largest)
          continue;
        double middle = (low + high) / 2;
        EXPECT_EQ(bitsOf(middle), at + (bits & 1)) << middle;
        EXPECT_EQ(bitsOf(std::nextafter(middle, high)), at + 1);
        EXPECT_EQ(bitsOf(std::nextafter(middle, low)), at);
        EXPECT_EQ(roundTo(type, middle), valueOf(bitsOf(middle)));
      }
    EXPECT_EQ(bitsOf(1e9), largest);
    EXPECT_EQ(bitsOf(-INFINITY), largest | 0x80);
    EXPECT_EQ(roundTo(type, -1e9), isE4M3 ? -448 : -57344);
    EXPECT_TRUE(std::isnan(valueOf(bitsOf(NAN))));
    EXPECT_TRUE(std::isnan(roundTo(type, NAN)));
  }
  EXPECT_EQ(halfUnit(ElementType::F8E4M3, 1), 1.0 / 16);
  EXPECT_EQ(halfUnit(ElementType::F8E5M2, 0), std::ldexp(1, -17));
}

TEST(Tensor, HalfUnits) {
  EXPECT_EQ(halfUnit(ElementType::F32, 1), std::ldexp(1, -24));
  EXPECT_EQ(halfUnit(ElementType::BF16, -1.5), std::ldexp(1, -8));
  EXPECT_EQ(halfUnit(ElementType::F16, 0), std::ldexp(1, -25));
  EXPECT_EQ(halfUnit(ElementType::F16, 1e9), 16);
  EXPECT_EQ(halfUnit(ElementType::I32, 7), 0);
}

TEST(Tensor, IntegersSaturate) {
  EXPECT_EQ(roundTo(ElementType::I32, 2.9), 2);
  EXPECT_EQ(roundTo(ElementType::I32, -2.9), -2);
  EXPECT_EQ(roundTo(ElementType::I32, 1e30), INT32_MAX);
  EXPECT_EQ(roundTo(ElementType::I32, NAN), 0);
  EXPECT_EQ(roundTo(ElementType::I8, 127.9), 127);
  EXPECT_EQ(roundTo(ElementType::I8, -1e9), -128);
  HostTensor byte = HostTensor::scalarInt(ElementType::I8, -300);
  EXPECT_EQ(byte.readInt(0), -128);
  HostTensor scalar = HostTensor::scalarInt(ElementType::I32, 1LL << 40);
  EXPECT_EQ(scalar.intAt({}), INT32_MAX);
}

TEST(Tensor, StridesMayBeAnything) {
  std::vector<float> memory{0, 1, 2, 3, 4, 5};
  HostTensor reversed = HostTensor::borrow(ElementType::F32, memory.data(),
                                           {3, 2, 4}, {-2, 1, 0}, 4);
  EXPECT_EQ(reversed.at({0, 0, 3}), 4);
  EXPECT_EQ(reversed.at({2, 1, 0}), 1);
  EXPECT_EQ(*static_cast<float *>(reversed.origin()), 4);
  EXPECT_FALSE(reversed.isContiguous());
  HostTensor own = HostTensor::allocate(ElementType::BF16, {2, 0, 3});
  EXPECT_EQ(own.size(), 0);
  EXPECT_TRUE(own.isContiguous());
  std::vector<int64_t> index{0, 0};
  int count = 1;
  while (nextIndex(index, {2, 3}))
    ++count;
  EXPECT_EQ(count, 6);
}

TEST(Tensor, Names) {
  EXPECT_STREQ(nameOf(ElementType::BF16), "bf16");
  EXPECT_EQ(parseElementType("i64"), ElementType::I64);
  EXPECT_FALSE(parseElementType("f64"));
}
