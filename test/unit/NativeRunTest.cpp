//===- NativeRunTest.cpp - running compiled programs ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NativeTesting.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace attentile;
using namespace attentile::testing;

namespace {

/// Two kernels with workspace between: W = X * scale, then Y = W + W.
constexpr const char *kTwice = R"mlir(
#m = #tile.axes<"m">
#d = #tile.axes<"d">
#md = #tile.axes<"m", "d">
tile.program @twice sizes(%M) ins(%X: f32[M, 16], %B: f32[M], %scale: f32)
    outs(%Y: f32[M, 16]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %half = arith.constant 0.5 : f32
  %enough = arith.cmpi sge, %M, %c1 : index
  attn.assume %enough, "M >= 1"
  attn.default %scale = %half : f32, f32
  %w = attn.workspace "w" shape affine_map<()[s0] -> (s0, 16)> : tensor<?x16xf32>
  %blocks = arith.ceildivsi %M, %c8 : index
  tile.kernel @twice_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c8 : index
    %m = tile.index %m0 : tensor<8xindex, #m>
    %d = tile.index %c0 : tensor<16xindex, #d>
    %x = tile.load %X[%m, %d] : tensor<?x16xf32>, (tensor<8xindex, #m>, tensor<16xindex, #d>) -> tensor<8x16xf32, #md>
    %s = tile.broadcast %scale : f32 to tensor<8x16xf32, #md>
    %y = arith.mulf %x, %s : tensor<8x16xf32, #md>
    tile.store %y, %w[%m, %d] : tensor<8x16xf32, #md>, tensor<?x16xf32>, (tensor<8xindex, #m>, tensor<16xindex, #d>)
  }
  tile.kernel @twice_1 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c8 : index
    %m = tile.index %m0 : tensor<8xindex, #m>
    %d = tile.index %c0 : tensor<16xindex, #d>
    %x = tile.load %w[%m, %d] : tensor<?x16xf32>, (tensor<8xindex, #m>, tensor<16xindex, #d>) -> tensor<8x16xf32, #md>
    %y = arith.addf %x, %x : tensor<8x16xf32, #md>
    tile.store %y, %Y[%m, %d] : tensor<8x16xf32, #md>, tensor<?x16xf32>, (tensor<8xindex, #m>, tensor<16xindex, #d>)
  }
}
)mlir";

/// Row sums over blocks of 8 columns, the last two blocks of which are said to
/// evaluate a mask.
constexpr const char *kRowSums = R"mlir(
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">
tile.program @rows sizes(%M) ins(%X: f32[M, 64]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c8 : index
  tile.kernel @rows_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c8 : index
    %m = tile.index %m0 : tensor<8xindex, #m>
    %zero = arith.constant dense<0.0> : tensor<8xf32, #m>
    %full = scf.for %n0 = %c0 to %c48 step %c8 iter_args(%acc = %zero) -> (tensor<8xf32, #m>) {
      %n = tile.index %n0 : tensor<8xindex, #n>
      %x = tile.load %X[%m, %n] : tensor<?x64xf32>, (tensor<8xindex, #m>, tensor<8xindex, #n>) -> tensor<8x8xf32, #mn>
      %t = tile.reduce sum %x over ["n"] : tensor<8x8xf32, #mn> -> tensor<8xf32, #m>
      %next = arith.addf %acc, %t : tensor<8xf32, #m>
      scf.yield %next : tensor<8xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %all = scf.for %n0 = %c48 to %c64 step %c8 iter_args(%acc = %full) -> (tensor<8xf32, #m>) {
      %n = tile.index %n0 : tensor<8xindex, #n>
      %x = tile.load %X[%m, %n] : tensor<?x64xf32>, (tensor<8xindex, #m>, tensor<8xindex, #n>) -> tensor<8x8xf32, #mn>
      %t = tile.reduce sum %x over ["n"] : tensor<8x8xf32, #mn> -> tensor<8xf32, #m>
      %next = arith.addf %acc, %t : tensor<8xf32, #m>
      scf.yield %next : tensor<8xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    tile.store %all, %Y[%m] : tensor<8xf32, #m>, tensor<?xf32>, (tensor<8xindex, #m>)
  }
}
)mlir";

/// Compiles text; fails the test and returns null if that fails.
std::unique_ptr<NativeProgram> compile(const char *source,
                                       const NativeOptions &options = {}) {
  mlir::MLIRContext context;
  context.loadDialect<tile::TileDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  auto target = llvm::cantFail(NativeTarget::select("native"));
  auto compiled = NativeProgram::compile(*module, target, options);
  if (compiled)
    return std::move(*compiled);
  ADD_FAILURE() << llvm::toString(compiled.takeError());
  return nullptr;
}

TEST(NativeCounters, CountBlocksOfEveryThread) {
  NativeOptions options;
  options.countBlocks = true;
  auto program = compile(kRowSums, options);
  ASSERT_TRUE(program);
  HostTensor x = HostTensor::allocate(ElementType::F32, {100, 64});
  HostTensor y = HostTensor::allocate(ElementType::F32, {100});
  std::fill_n(static_cast<float *>(x.data), x.size(), 0.5f);
  for (unsigned threads : {1u, 4u}) {
    RunOptions run;
    run.threads = threads;
    auto stats = program->run({{x, y}, {}}, run);
    ASSERT_TRUE(bool(stats)) << llvm::toString(stats.takeError());
    EXPECT_EQ(stats->blocks, 13 * 8);
    EXPECT_EQ(stats->maskedBlocks, 13 * 2);
    for (int64_t i = 0; i < 100; ++i)
      EXPECT_EQ(y.readDouble(i), 32);
  }
}

/// Of 64-bit integers r = shift + row * m and c = column * times * n: Y[m, n]
/// is r + c as f32, Z[m, n] 1 where c < r and else 0.
std::unique_ptr<NativeProgram> distances(int row, int column, int times) {
  std::string source = R"mlir(
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">
tile.program @distances sizes(%M) ins(%shift: i64) outs(%Y: f32[M, 64], %Z: f32[M, 64]) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<16x64xf32, #mn>
  %zero = arith.constant dense<0.0> : tensor<16x64xf32, #mn>
  %c16 = arith.constant 16 : index
  %row = arith.constant dense<ROW> : tensor<16xindex, #m>
  %column = arith.constant dense<COLUMN> : tensor<64xindex, #n>
  %times = arith.constant dense<TIMES> : tensor<64xindex, #n>
  %blocks = arith.ceildivsi %M, %c16 : index
  tile.kernel @distances_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<64xindex, #n>
    %s = arith.index_cast %shift : i64 to index
    %ss = tile.broadcast %s : index to tensor<16xindex, #m>
    %rm = arith.muli %m, %row : tensor<16xindex, #m>
    %r = arith.addi %rm, %ss : tensor<16xindex, #m>
    %c1 = arith.muli %n, %column : tensor<64xindex, #n>
    %c = arith.muli %c1, %times : tensor<64xindex, #n>
    %rb = tile.broadcast %r : tensor<16xindex, #m> to tensor<16x64xindex, #mn>
    %cb = tile.broadcast %c : tensor<64xindex, #n> to tensor<16x64xindex, #mn>
    %sum = arith.addi %rb, %cb : tensor<16x64xindex, #mn>
    %wide = arith.index_cast %sum : tensor<16x64xindex, #mn> to tensor<16x64xi64, #mn>
    %y = arith.sitofp %wide : tensor<16x64xi64, #mn> to tensor<16x64xf32, #mn>
    tile.store %y, %Y[%m, %n] : tensor<16x64xf32, #mn>, tensor<?x64xf32>, (tensor<16xindex, #m>, tensor<64xindex, #n>)
    %less = arith.cmpi slt, %cb, %rb : tensor<16x64xindex, #mn>
    %z = arith.select %less, %one, %zero : tensor<16x64xi1, #mn>, tensor<16x64xf32, #mn>
    tile.store %z, %Z[%m, %n] : tensor<16x64xf32, #mn>, tensor<?x64xf32>, (tensor<16xindex, #m>, tensor<64xindex, #n>)
  }
}
)mlir";
  for (auto [name, value] :
       {std::pair("ROW", row), {"COLUMN", column}, {"TIMES", times}})
    source.replace(source.find(name), std::strlen(name), std::to_string(value));
  return compile(source.c_str());
}

// What loops and lanes step through is converted and compared once before the
// loops, where the steps are small; and is rounded once, whatever is added.
TEST(NativeIntegers, SteppedByLoopsAndLanes) {
  constexpr int64_t kOne = 1;
  struct {
    int row, column, times;
  } cases[] = {
      {-1, 1, 1}, {1, -1, 1}, {1000, 3, 7}, {-3, -999, 50}, {-777, 999, 999}};
  for (auto [row, column, times] : cases) {
    auto program = distances(row, column, times);
    ASSERT_TRUE(program);
    HostTensor start = HostTensor::allocate(ElementType::I64, {});
    HostTensor y = HostTensor::allocate(ElementType::F32, {48, 64});
    HostTensor z = HostTensor::allocate(ElementType::F32, {48, 64});
    for (int64_t shift :
         {kOne - 1, kOne - 21, (kOne << 20) - 30, 9 - (kOne << 20),
          -(kOne << 21), (kOne << 24) - 30, (kOne << 24) + 1, -(kOne << 25) - 3,
          (kOne << 31) + 127, (kOne << 40) + 77777, 1234567 - (kOne << 43)}) {
      start.writeInt(0, shift);
      llvm::cantFail(program->run({{start, y, z}, {}}));
      for (int64_t m = 0; m < 48; ++m)
        for (int64_t n = 0; n < 64; ++n) {
          int64_t r = shift + row * m, c = column * times * n;
          ASSERT_EQ(static_cast<float *>(y.data)[m * 64 + n], float(r + c))
              << r << " + " << c;
          ASSERT_EQ(static_cast<float *>(z.data)[m * 64 + n], c < r)
              << c << " < " << r;
        }
    }
  }
}

struct NativeRun : ::testing::Test {
  static void SetUpTestSuite() { program = compile(kTwice); }
  static void TearDownTestSuite() { program.reset(); }

  void SetUp() override { ASSERT_TRUE(program); }

  static HostTensor counting(std::vector<int64_t> sizes) {
    HostTensor tensor = HostTensor::allocate(ElementType::F32, sizes);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.writeDouble(i, double(i));
    return tensor;
  }

  static std::string errorOf(const std::vector<HostTensor> &tensors) {
    auto stats = program->run({tensors, {}});
    return stats ? "" : llvm::toString(stats.takeError());
  }

  static inline std::unique_ptr<NativeProgram> program;
};

TEST_F(NativeRun, KernelsRunInOrderOnAnyThreads) {
  for (unsigned threads : {1u, 2u, 5u, 0u})
    for (int64_t rows : {1, 7, 8, 9, 1000}) {
      HostTensor x = counting({rows, 16});
      HostTensor y = HostTensor::allocate(ElementType::F32, {rows, 16});
      RunOptions options;
      options.threads = threads;
      auto stats = program->run(
          {{x, counting({rows}), HostTensor::scalar(ElementType::F32, 3), y},
           {}},
          options);
      ASSERT_TRUE(bool(stats)) << llvm::toString(stats.takeError());
      EXPECT_EQ(stats->workspaceBytes, rows * 64);
      for (int64_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y.readDouble(i), 6.0 * double(i));
    }
}

TEST_F(NativeRun, StridesAndDefaults) {
  // X is read backwards from every second column; Y is transposed in memory.
  HostTensor memory = counting({20, 32});
  HostTensor x = HostTensor::borrow(ElementType::F32, memory.data, {20, 16},
                                    {-32, 2}, 19 * 32);
  HostTensor target = HostTensor::allocate(ElementType::F32, {16, 20});
  HostTensor y =
      HostTensor::borrow(ElementType::F32, target.data, {20, 16}, {1, 20});
  ASSERT_EQ(errorOf({x, counting({20}), HostTensor(), y}), "");
  for (int64_t m = 0; m < 20; ++m)
    for (int64_t d = 0; d < 16; ++d)
      ASSERT_EQ(target.at({d, m}), double((19 - m) * 32 + 2 * d));
}

TEST_F(NativeRun, SaysWhatIsWrong) {
  HostTensor x = counting({9, 16}), b = counting({9}), y = counting({9, 16});
  HostTensor scale = HostTensor::scalar(ElementType::F32, 1);
  EXPECT_EQ(errorOf({x, b, scale}),
            "expected 4 inputs and outputs of 'twice', got 3");
  EXPECT_EQ(errorOf({x, counting({8}), scale, y}),
            "expected size M = 9 of dimension 0 of 'X' in dimension 0 of 'B', "
            "got 8");
  EXPECT_EQ(errorOf({x, x, scale, y}), "expected 'B' of rank 1, got rank 2");
  EXPECT_EQ(errorOf({counting({9, 15}), b, scale, y}),
            "expected 16 in dimension 1 of 'X', got 15");
  EXPECT_EQ(errorOf({x, HostTensor::allocate(ElementType::I32, {9}), scale, y}),
            "expected 'B' of type f32, got i32");
  EXPECT_EQ(
      errorOf({counting({0, 16}), counting({0}), scale, counting({0, 16})}),
      "constraint does not hold: M >= 1");
  HostTensor repeated =
      HostTensor::borrow(ElementType::F32, y.data, {9, 16}, {0, 1});
  EXPECT_EQ(errorOf({x, b, scale, repeated}),
            "expected a stride other than 0 in dimension 0 of 'Y', which is "
            "written");
}

/// 1 << 31 elements that lie on one another.
TEST_F(NativeRun, SizesThatAreTooLarge) {
  float one = 1;
  int64_t rows = int64_t(1) << 31;
  HostTensor x = HostTensor::borrow(ElementType::F32, &one, {rows, 16}, {0, 0});
  HostTensor b = HostTensor::borrow(ElementType::F32, &one, {rows}, {0});
  EXPECT_EQ(errorOf({x, b, HostTensor(), x}),
            "expected a stride other than 0 in dimension 0 of 'Y', which is "
            "written");
  HostTensor y = HostTensor::borrow(ElementType::F32, &one, {rows, 16}, {1, 1});
  EXPECT_EQ(errorOf({x, b, HostTensor(), y}),
            "expected a size from 0 to 2147483647 in dimension 0 of 'X', got "
            "2147483648");
  auto stats = program->run(
      {{counting({9, 16}), counting({9}), HostTensor(), counting({9, 16})},
       {8}});
  ASSERT_FALSE(bool(stats));
  EXPECT_EQ(llvm::toString(stats.takeError()),
            "expected the sizes that the tensors have");
}

TEST_F(NativeRun, ReportsAndStops) {
  int64_t rows = 8000;
  std::vector<HostTensor> tensors = {counting({rows, 16}), counting({rows}),
                                     HostTensor(), counting({rows, 16})};
  double last = 0;
  RunOptions options;
  options.threads = 1;
  options.progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  ASSERT_TRUE(bool(program->run({tensors, {}}, options)));
  EXPECT_EQ(last, 1.0);

  std::atomic<bool> cancel = false;
  last = 0;
  options.cancel = &cancel;
  options.progress = [&](double share) {
    last = share;
    cancel = share > 0.25;
  };
  auto stats = program->run({tensors, {}}, options);
  ASSERT_TRUE(bool(stats));
  EXPECT_TRUE(stats->cancelled);
  EXPECT_LT(last, 0.5);
}

/// What is wrong with running a program of a grid of one cell that does
/// nothing, from its head and with `scratch` bytes a thread.
std::string whyNotRun(const std::string &head,
                      const std::vector<HostTensor> &tensors,
                      const std::string &scratch = "0") {
  auto program = loadHandWritten("tile.program @p " + head + R"mlir(
  %c1 = arith.constant 1 : index
  tile.kernel @p_0 grid(%i < %c1) {}
}
func.func @p_0(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
    attributes {native.scratch_bytes = )mlir" +
                                     scratch + " : i64} { return }",
                                 "native");
  if (!program)
    return "not compiled";
  auto stats = program->run({tensors, {}});
  return stats ? "" : llvm::toString(stats.takeError());
}

TEST(NativeHeads, WhatTheyWant) {
  HostTensor x = HostTensor::allocate(ElementType::F32, {4});
  std::string scalar = "sizes(%M) ins(%s: f32) outs(%X: f32[M]) {";
  EXPECT_EQ(whyNotRun(scalar, {HostTensor::scalar(ElementType::F32, 1), x}),
            "");
  EXPECT_EQ(whyNotRun(scalar, {HostTensor(), x}),
            "expected a value of 's', which has no default");
  EXPECT_EQ(whyNotRun("sizes(%M) ins() outs(%X: f32[2 * M]) {", {x}),
            "expected size M to stand alone in a shape");
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTENTILE_ENDS_WHERE_MEMORY_IS_SHORT
#endif
#endif
#ifndef ATTENTILE_ENDS_WHERE_MEMORY_IS_SHORT
TEST(NativeHeads, MemoryThatIsNotThere) {
  HostTensor x = HostTensor::allocate(ElementType::F32, {4});
  std::string head = "sizes(%M) ins() outs(%X: f32[M]) {";
  EXPECT_EQ(whyNotRun(head + "\n  %w = attn.workspace \"w\" shape "
                             "affine_map<()[s0] -> (s0 * 281474976710656)> : "
                             "tensor<?xf32>",
                      {x}),
            "expected 4503599627370496 bytes of memory for 'w'");
  EXPECT_EQ(whyNotRun(head, {x}, "4503599627370496"),
            "expected 4503599627370496 bytes of memory for scratch");
}
#endif

/// Why a module is not compiled, and what it said before.
std::string whyNotCompiled(const std::string &source) {
  mlir::MLIRContext context;
  context.loadDialect<tile::TileDialect, mlir::func::FuncDialect>();
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          said += diagnostic.str() + "; ";
                                          return mlir::success();
                                        });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  auto target = llvm::cantFail(NativeTarget::select("native"));
  auto compiled = NativeProgram::compile(*module, target);
  return compiled ? "" : said + llvm::toString(compiled.takeError());
}

TEST(NativePrograms, WhatIsNotCompiled) {
  EXPECT_EQ(whyNotCompiled("func.func private @f()"),
            "expected one tile.program in the module");
  EXPECT_EQ(whyNotCompiled(R"mlir(
#m = #tile.axes<"m">
tile.program @varied sizes(%M) ins() outs(%Y: f32[M]) {
  tile.kernel @varied_0 grid(%i < %M) {
    %m = tile.index %i : tensor<2xindex, #m>
    %x = arith.constant dense<[1.0, 2.0]> : tensor<2xf32, #m>
    tile.store %x, %Y[%m] : tensor<2xf32, #m>, tensor<?xf32>, (tensor<2xindex, #m>)
  }
}
)mlir"),
            "'arith.constant' op expected one value for all elements; "
            "lowering 'varied' to native code failed");
}

/// Why no code is made of a module.
std::string whyNotEmitted(const std::string &source, const char *triple,
                          NativeOutput output) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect>();
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  auto target = llvm::cantFail(NativeTarget::select("x86-64"));
  if (triple)
    target.triple = triple;
  auto code = emitNative(*module, target, output);
  return code ? "" : llvm::toString(code.takeError());
}

TEST(NativePrograms, WhatNoCodeIsMadeOf) {
  EXPECT_EQ(whyNotEmitted("", nullptr, NativeOutput::Object), "");
  EXPECT_EQ(whyNotEmitted("", "vax-dec-vms", NativeOutput::Object),
            "expected the triple of this machine's processor, got "
            "'vax-dec-vms'");
  EXPECT_EQ(whyNotEmitted("func.func @f() { return }", nullptr,
                          NativeOutput::Assembly),
            "expected a module in the LLVM dialect, got another");
}

TEST(NativeTargets, NamesStandForTheirOwnFeatures) {
  auto of = [](const char *name) {
    return llvm::cantFail(NativeTarget::select(name));
  };
  NativeTarget baseline = of("x86-64");
  EXPECT_EQ(baseline.vectorBits, 128u);
  EXPECT_FALSE(baseline.hasFMA || baseline.hasF16 || baseline.hasRounding);
  EXPECT_EQ(baseline.features, "");
  NativeTarget haswell = of("haswell");
  EXPECT_EQ(haswell.vectorBits, 256u);
  EXPECT_TRUE(haswell.hasFMA && haswell.hasF16 && haswell.hasRounding);
  EXPECT_EQ(of("x86-64-v4").vectorBits, 512u);
  EXPECT_FALSE(of("sandybridge").hasFMA);
  EXPECT_TRUE(of("native").vectorBits >= 128);
  auto unknown = NativeTarget::select("pentium9000");
  ASSERT_FALSE(bool(unknown));
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "expected 'native' or the name of a processor as LLVM spells it "
            "(for example x86-64-v3, haswell, znver4), got 'pentium9000'");
}

} // namespace
