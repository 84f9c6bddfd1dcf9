//===- NativeConversionTest.cpp - 16-bit floats and integer division ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled conversions against the host library's (Tensor.h), and against the
// definition: every 16-bit pattern widens and comes back, and every value
// between two neighbours goes to the nearer, to the even one from the middle.
//
//===----------------------------------------------------------------------===//

#include "NativeTesting.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstring>

using namespace attentile;
using namespace attentile::testing;

namespace {

struct Case {
  const char *type;
  ElementType element;
  unsigned lanes;
  const char *cpu;
};

std::unique_ptr<NativeProgram> conversion(const Case &c, bool isWidening) {
  std::string type = c.type;
  auto of = [&](const std::string &element) {
    return c.lanes == 1
               ? element
               : "vector<" + std::to_string(c.lanes) + "x" + element + ">";
  };
  return isWidening
             ? loadHandWritten(mapProgram("%y = arith.extf %x : " + of(type) +
                                              " to " + of("f32"),
                                          type, "f32", c.lanes),
                               c.cpu)
             : loadHandWritten(mapProgram("%y = arith.truncf %x : " +
                                              of("f32") + " to " + of(type),
                                          "f32", type, c.lanes),
                               c.cpu);
}

struct NativeConversion : ::testing::TestWithParam<Case> {
  float widened(uint16_t bits) const {
    return GetParam().element == ElementType::F16 ? fromF16(bits)
                                                  : fromBF16(bits);
  }
};

TEST_P(NativeConversion, WidensEveryPattern) {
  auto program = conversion(GetParam(), true);
  ASSERT_TRUE(program);
  HostTensor x = HostTensor::allocate(GetParam().element, {65536});
  HostTensor y = HostTensor::allocate(ElementType::F32, {65536});
  for (int i = 0; i < 65536; ++i)
    static_cast<uint16_t *>(x.data)[i] = uint16_t(i);
  llvm::cantFail(program->run({{x, y}, {}}));
  for (int i = 0; i < 65536; ++i) {
    float expected = widened(uint16_t(i)),
          got = static_cast<float *>(y.data)[i];
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(got)) << i;
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(expected), std::bit_cast<uint32_t>(got))
          << i;
  }
}

TEST_P(NativeConversion, RoundsToNearestEven) {
  auto program = conversion(GetParam(), false);
  ASSERT_TRUE(program);
  // Each value and, where finite, five points up to the next one.
  constexpr int kPoints = 6;
  constexpr int64_t kCount = 65536 * kPoints;
  HostTensor x = HostTensor::allocate(ElementType::F32, {kCount});
  HostTensor y = HostTensor::allocate(GetParam().element, {kCount});
  auto *in = static_cast<float *>(x.data);
  auto *out = static_cast<uint16_t *>(y.data);
  bool isF16 = GetParam().element == ElementType::F16;
  uint16_t infinity = isF16 ? 0x7C00 : 0x7F80;
  auto isRegular = [&](int bits) { return (bits & 0x7FFF) < infinity; };
  for (int i = 0; i < 65536; ++i) {
    float low = widened(uint16_t(i));
    // What infinity would be if the exponents went on.
    float high = !isRegular(i)      ? low
                 : isRegular(i + 1) ? widened(uint16_t(i + 1))
                 : isF16            ? std::copysign(65536.0f, low)
                                    : low;
    float middle = low + (high - low) / 2;
    float points[kPoints] = {
        low,    std::nextafter(low, high),    std::nextafter(middle, low),
        middle, std::nextafter(middle, high), std::nextafter(high, low)};
    std::copy(points, points + kPoints, in + i * kPoints);
  }
  llvm::cantFail(program->run({{x, y}, {}}));
  auto isNan = [&](uint16_t bits) { return (bits & 0x7FFF) > infinity; };
  for (int64_t k = 0; k < kCount; ++k) {
    int i = int(k / kPoints), point = int(k % kPoints);
    if (std::isnan(in[k])) {
      ASSERT_TRUE(isNan(out[k])) << std::hex << i;
      continue;
    }
    uint16_t library = isF16 ? toF16(in[k]) : toBF16(in[k]);
    ASSERT_EQ(out[k], library) << in[k];
    if (!isRegular(i) || !(isRegular(i + 1) || isF16))
      continue;
    // From the middle on to the next value, in the middle only from an odd one.
    int up = point > 3 || (point == 3 && i % 2 == 1);
    ASSERT_EQ(out[k], uint16_t(i + up)) << in[k] << ", point " << point;
  }
}

/// 8-bit floats, which programs in LLVM's types have as bytes.
std::unique_ptr<NativeProgram> byteConversion(ElementType element,
                                              unsigned lanes, bool isWidening) {
  std::string type = element == ElementType::F8E4M3 ? "f8E4M3FN" : "f8E5M2";
  auto of = [&](const std::string &element) {
    return lanes == 1 ? element
                      : "vector<" + std::to_string(lanes) + "x" + element + ">";
  };
  std::string widen = "%b = arith.bitcast %x : " + of("i8") + " to " +
                      of(type) + "\n%y = arith.extf %b : " + of(type) + " to " +
                      of("f32");
  std::string round = "%b = arith.truncf %x : " + of("f32") + " to " +
                      of(type) + "\n%y = arith.bitcast %b : " + of(type) +
                      " to " + of("i8");
  return isWidening
             ? loadHandWritten(mapProgram(widen, "i8", "f32", lanes), "native")
             : loadHandWritten(mapProgram(round, "f32", "i8", lanes), "native");
}

TEST(NativeConversion, EightBitFloats) {
  for (ElementType type : {ElementType::F8E4M3, ElementType::F8E5M2})
    for (unsigned lanes : {1, 8}) {
      auto widens = byteConversion(type, lanes, true);
      auto rounds = byteConversion(type, lanes, false);
      ASSERT_TRUE(widens && rounds);
      HostTensor bytes = HostTensor::allocate(ElementType::I8, {256});
      HostTensor wide = HostTensor::allocate(ElementType::F32, {256});
      HostTensor same = HostTensor::borrow(type, bytes.data, {256}, {1}, 0);
      for (int i = 0; i < 256; ++i)
        static_cast<uint8_t *>(bytes.data)[i] = uint8_t(i);
      llvm::cantFail(widens->run({{bytes, wide}, {}}));
      for (int i = 0; i < 256; ++i) {
        double expected = same.readDouble(i), got = wide.readDouble(i);
        ASSERT_TRUE(std::isnan(expected) ? std::isnan(got) : expected == got)
            << nameOf(type) << " " << i << ": " << got;
        ASSERT_TRUE(std::isnan(expected) ||
                    std::signbit(expected) == std::signbit(got));
      }
      // Each number, and three points up to the next one or beyond the last.
      std::vector<float> points;
      for (int i = 0; i < 256; ++i) {
        float low = wide.readDouble(i), high = wide.readDouble(i ^ 1);
        float middle = low + (high - low) / 2;
        for (float x : {low, middle, std::nextafter(middle, low),
                        std::nextafter(middle, high), 3 * low, low / 1024})
          points.push_back(x);
      }
      for (float x : {INFINITY, -INFINITY, NAN, 1e30f, -1e-30f, 65504.0f})
        points.push_back(x);
      while (points.size() % 8)
        points.push_back(0);
      int64_t count = int64_t(points.size());
      HostTensor x =
          HostTensor::borrow(ElementType::F32, points.data(), {count}, {1}, 0);
      HostTensor y = HostTensor::allocate(ElementType::I8, {count});
      HostTensor got = HostTensor::borrow(type, y.data, {count}, {1}, 0);
      HostTensor library = HostTensor::allocate(type, {count});
      llvm::cantFail(rounds->run({{x, y}, {}}));
      for (int64_t i = 0; i < count; ++i) {
        library.writeDouble(i, points[i]);
        if (std::isnan(points[i]))
          ASSERT_TRUE(std::isnan(got.readDouble(i)));
        else
          ASSERT_EQ(static_cast<uint8_t *>(y.data)[i],
                    static_cast<uint8_t *>(library.data)[i])
              << nameOf(type) << " " << points[i];
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, NativeConversion,
    ::testing::Values(Case{"bf16", ElementType::BF16, 8, "native"},
                      Case{"bf16", ElementType::BF16, 1, "native"},
                      Case{"bf16", ElementType::BF16, 4, "x86-64"},
                      Case{"f16", ElementType::F16, 8, "native"},
                      Case{"f16", ElementType::F16, 1, "native"},
                      Case{"f16", ElementType::F16, 4, "x86-64"},
                      Case{"f16", ElementType::F16, 1, "x86-64"}),
    [](const auto &info) {
      std::string cpu = info.param.cpu;
      return std::string(info.param.type) + "_" +
             std::to_string(info.param.lanes) + "_" +
             (cpu == "native" ? cpu : "baseline");
    });

/// Quotient and remainder of pairs, by code for an unknown and a known divisor.
TEST(NativeDivision, FloorsEverywhere) {
  auto body = [](const std::string &divisor) {
    return "%a = vector.extract %x[0] : i64 from vector<2xi64>\n" + divisor +
           "%q = attn.floordiv %a, %b : i64\n"
           "%r = attn.floormod %a, %b : i64\n"
           "%y = vector.from_elements %q, %r : vector<2xi64>\n";
  };
  auto floorDivide = [](int64_t a, int64_t b) {
    if (b == 0)
      return int64_t(0);
    if (b == -1)
      return int64_t(-uint64_t(a));
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
  };
  auto any = loadHandWritten(
      mapProgram(body("%b = vector.extract %x[1] : i64 from vector<2xi64>\n"),
                 "i64", "i64", 2),
      "native");
  ASSERT_TRUE(any);
  std::vector<int64_t> numerators = {0,  1,  -1, 7,         -7,       8,
                                     -8, 63, 64, INT64_MAX, INT64_MIN};
  auto check = [&](const NativeProgram &program, int64_t divisor) {
    for (int64_t a : numerators) {
      HostTensor x = HostTensor::allocate(ElementType::I64, {2});
      HostTensor y = HostTensor::allocate(ElementType::I64, {2});
      x.writeInt(0, a);
      x.writeInt(1, divisor);
      llvm::cantFail(program.run({{x, y}, {}}));
      int64_t quotient = floorDivide(a, divisor);
      EXPECT_EQ(y.readInt(0), quotient) << a << " / " << divisor;
      EXPECT_EQ(y.readInt(1),
                divisor == 0 ? 0
                             : int64_t(uint64_t(a) -
                                       uint64_t(quotient) * uint64_t(divisor)))
          << a << " % " << divisor;
    }
  };
  for (int64_t divisor : {int64_t(0), int64_t(1), int64_t(-1), int64_t(7),
                          int64_t(-7), int64_t(8), INT64_MAX, INT64_MIN})
    check(*any, divisor);
  for (int64_t divisor : {1, 7, 8, -3, 0}) {
    auto known =
        loadHandWritten(mapProgram(body("%b = arith.constant " +
                                        std::to_string(divisor) + " : i64\n"),
                                   "i64", "i64", 2),
                        "native");
    ASSERT_TRUE(known);
    check(*known, divisor);
  }
}

} // namespace
