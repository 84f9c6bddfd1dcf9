//===- NativeMathTest.cpp - errors of the expanded mathematics ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every 1021st f32 (all of them with ATTENTILE_EXHAUSTIVE set) goes through
// compiled code and is compared with libm in f64, whose error is far below.
//
//===----------------------------------------------------------------------===//

#include "NativeTesting.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace attentile;
using namespace attentile::testing;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kBlock = 1 << 14;

struct Function {
  const char *op;
  double (*exact)(double);
  double bound; ///< in units of the last place, or absolute
  bool isAbsolute = false;
};

/// The distance between neighbouring f32 at `exact`.
double unitAt(double exact) {
  int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::ldexp(1.0, exponent - 23);
}

/// How far `got` is off; NaN, infinities and results that are too small or
/// too large for f32 count as right or infinitely wrong.
double errorOf(const Function &function, float x, float got) {
  double exact = function.exact(x);
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got))
    return kInfinity;
  bool isSmall = std::fabs(exact) < 0x1p-126;
  if (isSmall && !function.isAbsolute)
    return got == 0 ? 0 : kInfinity;
  // Whether it rounds to infinity may depend on the last place.
  constexpr double largest = 0x1.fffffep127;
  if (std::isinf(got))
    return std::fabs(exact) >= largest && (got > 0) == (exact > 0) ? 0
                                                                   : kInfinity;
  if (std::isinf(exact))
    return kInfinity;
  double error = std::fabs(got - exact);
  return function.isAbsolute ? error : error / unitAt(exact);
}

/// Calls `check(x, y)` for y = f(x) of compiled code over f32 bit patterns.
void sweep(const NativeProgram &program, uint64_t stride,
           const std::function<void(float, float)> &check) {
  HostTensor x = HostTensor::allocate(ElementType::F32, {kBlock});
  HostTensor y = HostTensor::allocate(ElementType::F32, {kBlock});
  auto *in = static_cast<float *>(x.data), *out = static_cast<float *>(y.data);
  RunOptions single;
  single.threads = 1;
  for (uint64_t first = 0; first < uint64_t(1) << 32;) {
    for (int64_t i = 0; i < kBlock; ++i)
      in[i] = std::bit_cast<float>(uint32_t(first + i * stride));
    auto stats = program.run({{x, y}, {}}, single);
    ASSERT_TRUE(bool(stats)) << llvm::toString(stats.takeError());
    for (int64_t i = 0; i < kBlock; ++i)
      check(in[i], out[i]);
    first += kBlock * stride;
  }
}

struct NativeMath : ::testing::TestWithParam<Function> {
  void measure(unsigned lanes, const char *cpu, double bound) {
    const Function &function = GetParam();
    std::string type =
        lanes == 1 ? "f32" : "vector<" + std::to_string(lanes) + "xf32>";
    auto program = loadHandWritten(
        mapProgram("%y = math." + std::string(function.op) + " %x : " + type,
                   "f32", "f32", lanes),
        cpu);
    ASSERT_TRUE(program);
    uint64_t stride = std::getenv("ATTENTILE_EXHAUSTIVE") ? 1 : 1021;
    double worst = 0;
    float worstAt = 0, worstGot = 0;
    sweep(*program, stride, [&](float x, float y) {
      double error = errorOf(function, x, y);
      if (error > worst) {
        worst = error;
        worstAt = x;
        worstGot = y;
      }
    });
    printf("  %-5s %-10s %u lanes: largest error %.3g %s, at %a\n", function.op,
           cpu, lanes, worst, function.isAbsolute ? "absolute" : "ulp",
           worstAt);
    EXPECT_LE(worst, bound) << "at " << worstAt << " got " << worstGot
                            << ", expected " << function.exact(worstAt);
  }
};

TEST_P(NativeMath, VectorsWithFma) { measure(8, "native", GetParam().bound); }
TEST_P(NativeMath, Scalars) { measure(1, "native", GetParam().bound); }
TEST_P(NativeMath, VectorsWithoutFma) {
  measure(4, "x86-64", GetParam().bound);
}

INSTANTIATE_TEST_SUITE_P(
    All, NativeMath,
    ::testing::Values(Function{"exp2", std::exp2, 2},
                      Function{"exp", std::exp, 2},
                      Function{"log2", std::log2, 2},
                      Function{"log", std::log, 2},
                      Function{"tanh", std::tanh, 2},
                      Function{"sin", std::sin, 0x1p-23, true},
                      Function{"cos", std::cos, 0x1p-23, true},
                      Function{"floor", std::floor, 0, true}),
    [](const auto &info) { return std::string(info.param.op); });

float apply(const NativeProgram &program, float x) {
  HostTensor in = HostTensor::allocate(ElementType::F32, {8});
  HostTensor out = HostTensor::allocate(ElementType::F32, {8});
  std::fill_n(static_cast<float *>(in.data), 8, x);
  llvm::cantFail(program.run({{in, out}, {}}));
  return static_cast<float *>(out.data)[7];
}

TEST(NativeMathPoints, Exact) {
  for (const char *op : {"exp", "exp2"}) {
    auto program = loadHandWritten(
        mapProgram("%y = math." + std::string(op) + " %x : vector<8xf32>",
                   "f32", "f32", 8),
        "native");
    ASSERT_TRUE(program);
    EXPECT_EQ(apply(*program, 0.0f), 1.0f);
    EXPECT_EQ(apply(*program, -0.0f), 1.0f);
    EXPECT_EQ(std::bit_cast<uint32_t>(apply(*program, -kInfinity)), 0u);
    EXPECT_EQ(apply(*program, kInfinity), kInfinity);
    // A NaN with the low bits set, which an exponent is made of.
    EXPECT_TRUE(std::isnan(apply(*program, std::bit_cast<float>(0x7F8000FFu))));
    EXPECT_TRUE(std::isnan(apply(*program, std::bit_cast<float>(0xFFC001FFu))));
  }
  auto log2 = loadHandWritten(
      mapProgram("%y = math.log2 %x : vector<8xf32>", "f32", "f32", 8),
      "native");
  ASSERT_TRUE(log2);
  for (int exponent : {-149, -127, -126, -1, 0, 1, 127})
    EXPECT_EQ(apply(*log2, std::ldexp(1.0f, exponent)), float(exponent));
  EXPECT_EQ(apply(*log2, 0.0f), -kInfinity);
  EXPECT_EQ(apply(*log2, -0.0f), -kInfinity);
}

TEST(NativeMathPoints, NoSubnormalResult) {
  for (const char *op : {"exp", "exp2", "tanh"}) {
    auto program = loadHandWritten(
        mapProgram("%y = math." + std::string(op) + " %x : vector<8xf32>",
                   "f32", "f32", 8),
        "native");
    ASSERT_TRUE(program);
    sweep(*program, 65537, [&](float x, float y) {
      ASSERT_NE(std::fpclassify(y), FP_SUBNORMAL) << op << " of " << x;
    });
  }
}

TEST(NativeMathPoints, Pow) {
  // y is x's bits turned around, so that both cover every exponent.
  auto program = loadHandWritten(mapProgram(R"mlir(
    %b = arith.bitcast %x : vector<8xf32> to vector<8xi32>
    %nine = arith.constant dense<9> : vector<8xi32>
    %up = arith.shli %b, %nine : vector<8xi32>
    %c = arith.constant dense<23> : vector<8xi32>
    %down = arith.shrui %b, %c : vector<8xi32>
    %turned = arith.ori %up, %down : vector<8xi32>
    %e = arith.bitcast %turned : vector<8xi32> to vector<8xf32>
    %y = math.powf %x, %e : vector<8xf32>)mlir",
                                            "f32", "f32", 8),
                                 "native");
  ASSERT_TRUE(program);
  double worst = 0;
  sweep(*program, 997, [&](float x, float y) {
    float e = std::bit_cast<float>(std::rotl(std::bit_cast<uint32_t>(x), 9));
    double exact = std::pow(double(x), double(e));
    if (std::isnan(exact) || std::isnan(y)) {
      ASSERT_EQ(std::isnan(exact), std::isnan(y)) << x << " ^ " << e;
      return;
    }
    if (std::fabs(exact) < 0x1p-126)
      ASSERT_EQ(y, 0) << x << " ^ " << e;
    else if (std::isinf(y))
      ASSERT_TRUE(std::fabs(exact) >= 0x1.fffffep127 && (y > 0) == (exact > 0))
          << x << " ^ " << e;
    else
      worst = std::max(worst, std::fabs(y - exact) / unitAt(exact));
  });
  printf("  pow: largest error %.3g ulp\n", worst);
  EXPECT_LE(worst, 1);

  auto pair = loadHandWritten(mapProgram(R"mlir(
    %a = vector.extract %x[0] : f32 from vector<2xf32>
    %e = vector.extract %x[1] : f32 from vector<2xf32>
    %p = math.powf %a, %e : f32
    %y = vector.broadcast %p : f32 to vector<2xf32>)mlir",
                                         "f32", "f32", 2),
                              "native");
  ASSERT_TRUE(pair);
  auto at = [&](float x, float e) {
    HostTensor in = HostTensor::allocate(ElementType::F32, {2});
    HostTensor out = HostTensor::allocate(ElementType::F32, {2});
    in.set({0}, x);
    in.set({1}, e);
    llvm::cantFail(pair->run({{in, out}, {}}));
    return float(out.at({0}));
  };
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (float x : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 0.5f, kInfinity,
                  -kInfinity, nan})
    for (float e : {0.0f, 1.0f, -1.0f, 2.0f, 3.0f, -3.0f, 0.5f, -0.5f,
                    kInfinity, -kInfinity, nan}) {
      float expected = std::pow(x, e), got = at(x, e);
      EXPECT_EQ(std::isnan(expected), std::isnan(got)) << x << " ^ " << e;
      if (!std::isnan(expected)) {
        EXPECT_EQ(std::bit_cast<uint32_t>(expected),
                  std::bit_cast<uint32_t>(got))
            << x << " ^ " << e << " got " << got;
      }
    }
}

} // namespace
