//===- RuntimePartsTest.cpp - expressions and overlaps --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../../lib/Runtime/Expression.h"
#include "../../lib/Runtime/Overlap.h"
#include "attentile/TestData.h"
#include "gtest/gtest.h"
#include <nlohmann/json.hpp>
#include <set>

using namespace attentile;
using namespace attentile::runtime;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static const std::vector<Name> names = {
    {"M", false}, {"N", false}, {"s", true}};

/// The value of a tree at M = 7, N = 3, s = 0.5; what is wrong with it.
static std::string valueOf(const std::string &tree) {
  Expression expression;
  std::string error;
  if (!expression.compile(json::parse(tree), names, error))
    return error;
  Value slots[3], result;
  slots[0].integer = 7;
  slots[1].integer = 3;
  slots[2].real = 0.5;
  if (!expression.evaluate(slots, result))
    return "overflow";
  if (!expression.isFloat())
    return std::to_string(result.integer);
  char text[32];
  std::snprintf(text, sizeof text, "%.9gf", result.real);
  return text;
}

TEST(Expression, Integers) {
  EXPECT_EQ(valueOf("42"), "42");
  EXPECT_EQ(valueOf("\"M\""), "7");
  EXPECT_EQ(valueOf(R"(["add","M","N",1])"), "11");
  EXPECT_EQ(valueOf(R"(["sub","N","M"])"), "-4");
  EXPECT_EQ(valueOf(R"(["mul","M","N",2])"), "42");
  EXPECT_EQ(valueOf(R"(["floordiv",["sub","N","M"],3])"), "-2");
  EXPECT_EQ(valueOf(R"(["floormod",["sub","N","M"],3])"), "2");
  EXPECT_EQ(valueOf(R"(["ceildiv","M",4])"), "2");
  EXPECT_EQ(valueOf(R"(["ceildiv",["sub",0,"M"],4])"), "-1");
  EXPECT_EQ(valueOf(R"(["floordiv","M",0])"), "0");
  EXPECT_EQ(valueOf(R"(["floormod","M",0])"), "0");
  EXPECT_EQ(valueOf(R"(["ceildiv","M",0])"), "0");
  EXPECT_EQ(valueOf(R"(["min","M","N",5])"), "3");
  EXPECT_EQ(valueOf(R"(["max",1,"N","M"])"), "7");
  EXPECT_EQ(valueOf(R"(["select",["lt","M","N"],1,["add","M",1]])"), "8");
  EXPECT_EQ(valueOf(R"(["and",["gt","M",1],["ne","N",3]])"), "0");
  EXPECT_EQ(valueOf(R"(["or",["gt","M",1],["ne","N",3]])"), "1");
  EXPECT_EQ(valueOf(R"(["not",["ge","M",8]])"), "1");
  EXPECT_EQ(valueOf("true"), "1");
}

TEST(Expression, Floats) {
  EXPECT_EQ(valueOf("0.25"), "0.25f");
  EXPECT_EQ(valueOf(R"(["fdiv",1,["sqrt",["convert","f32",3]]])"),
            "0.577350259f"); // of f32, not of f64
  EXPECT_EQ(valueOf(R"(["fadd",0.1,0.2])"), "0.300000012f");
  EXPECT_EQ(valueOf(R"(["fmul","s",-3])"), "-1.5f");
  EXPECT_EQ(valueOf(R"(["fsub","s",1])"), "-0.5f");
  EXPECT_EQ(valueOf(R"(["fmin","s",1])"), "0.5f");
  EXPECT_EQ(valueOf(R"(["fmax","s",1])"), "1f");
  EXPECT_EQ(valueOf(R"(["exp",0])"), "1f");
  EXPECT_EQ(valueOf(R"(["log",1])"), "0f");
  EXPECT_EQ(valueOf(R"(["gt","s",0])"), "1");
  EXPECT_EQ(valueOf(R"(["lt",0,"s"])"), "1");
  EXPECT_EQ(valueOf(R"(["eq","s",["fdiv",1,2]])"), "1");
  EXPECT_EQ(valueOf(R"(["select",["gt","s",1],1,"s"])"), "0.5f");
  EXPECT_EQ(valueOf(R"(["convert","bf16",1.00390625])"), "1f");
  EXPECT_EQ(valueOf(R"(["convert","i32",2.75])"), "2");
  EXPECT_EQ(valueOf(R"(["convert","i64","M"])"), "7");
}

TEST(Expression, Refusals) {
  EXPECT_EQ(valueOf("\"P\""), "expected a size or scalar, got 'P'");
  EXPECT_EQ(valueOf("null"), "expected a number, a name or [\"op\", ...]");
  EXPECT_EQ(valueOf("[]"), "expected a number, a name or [\"op\", ...]");
  EXPECT_EQ(valueOf(R"(["pow","M",2])"), "expected an operation, got 'pow'");
  EXPECT_EQ(valueOf(R"(["sub","M"])"), "expected 2 operands of 'sub', got 1");
  EXPECT_EQ(valueOf(R"(["sub","M",1,2])"),
            "expected 2 operands of 'sub', got 3");
  EXPECT_EQ(valueOf(R"(["add","M","s"])"), "expected integers under 'add'");
  EXPECT_EQ(valueOf(R"(["select","s",1,2])"),
            "expected a condition under 'select'");
  EXPECT_EQ(valueOf(R"(["convert","f64",1])"),
            "expected [\"convert\", TYPE, VALUE]");
  EXPECT_EQ(valueOf("18446744073709551615"),
            "expected a number that fits 64 bits");
  EXPECT_EQ(valueOf(R"(["mul","M",9223372036854775807])"), "overflow");
  EXPECT_EQ(valueOf(R"(["add","M",9223372036854775807])"), "overflow");
  std::string deep = "1";
  for (int i = 0; i < 100; ++i)
    deep = "[\"not\"," + deep + "]";
  EXPECT_EQ(valueOf(deep), "expected an expression that nests less deep");
}

//===----------------------------------------------------------------------===//
// Overlaps, against the sets of bytes
//===----------------------------------------------------------------------===//

namespace {
struct Drawn {
  Extent extent;
  std::vector<uint64_t> bytes; // of all elements
};
} // namespace

static Drawn drawExtent(Random &random) {
  int64_t sizes[3], strides[3];
  unsigned rank = 1 + random.below(3);
  for (unsigned i = 0; i < rank; ++i) {
    sizes[i] = random.below(5);
    strides[i] = random.below(19) - 9;
  }
  unsigned bytes = 1 << random.below(3);
  uint64_t origin = 4096 + random.below(160);
  Drawn drawn;
  EXPECT_TRUE(makeExtent(origin, bytes, rank, sizes, strides, drawn.extent));
  std::vector<int64_t> shape(sizes, sizes + rank), index(rank);
  for (int64_t size : shape)
    if (size == 0)
      return drawn;
  do {
    int64_t position = 0;
    for (unsigned i = 0; i < rank; ++i)
      position += index[i] * strides[i];
    for (unsigned k = 0; k < bytes; ++k)
      drawn.bytes.push_back(origin + position * int64_t(bytes) + k);
  } while (nextIndex(index, shape));
  return drawn;
}

TEST(Overlap, AgreesWithSetsOfBytes) {
  Random random{7};
  int meetings = 0, interleaved = 0;
  for (int i = 0; i < 20000; ++i) {
    Drawn a = drawExtent(random), b = drawExtent(random);
    std::set<uint64_t> bytes(a.bytes.begin(), a.bytes.end());
    EXPECT_EQ(overlapsItself(a.extent), bytes.size() < a.bytes.size()) << i;
    bool meet = false;
    for (uint64_t byte : b.bytes)
      meet |= bytes.count(byte) > 0;
    EXPECT_EQ(overlap(a.extent, b.extent), meet) << i;
    meetings += meet;
    interleaved +=
        !meet && a.extent.low < b.extent.high && b.extent.low < a.extent.high;
  }
  EXPECT_GT(meetings, 1000);
  EXPECT_GT(interleaved, 100);
}

TEST(Overlap, SlicesOfOnePackedTensor) {
  // dQ, dK, dV as [B, S, 3, H, D] of f16
  int64_t sizes[] = {4, 100000, 16, 128};
  int64_t strides[] = {3L * 100000 * 16 * 128, 3 * 16 * 128, 128, 1};
  Extent a, b;
  ASSERT_TRUE(makeExtent(1 << 20, 2, 4, sizes, strides, a));
  ASSERT_TRUE(makeExtent((1 << 20) + 2 * 16 * 128, 2, 4, sizes, strides, b));
  EXPECT_FALSE(overlapsItself(a));
  EXPECT_FALSE(overlap(a, b));
  ASSERT_TRUE(makeExtent((1 << 20) + 2 * 15 * 128, 2, 4, sizes, strides, b));
  EXPECT_TRUE(overlap(a, b));
}

TEST(Overlap, LeavesTheAddressSpace) {
  int64_t sizes[] = {3}, strides[] = {INT64_MAX / 2};
  Extent extent;
  EXPECT_FALSE(makeExtent(1 << 20, 4, 1, sizes, strides, extent));
  strides[0] = -(1 << 20);
  EXPECT_FALSE(makeExtent(1 << 20, 4, 1, sizes, strides, extent));
  strides[0] = INT64_MIN;
  EXPECT_FALSE(makeExtent(1 << 20, 4, 1, sizes, strides, extent));
}
