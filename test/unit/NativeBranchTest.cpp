//===- NativeBranchTest.cpp - branches with tiles in native code ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A branch's result shares its buffer with what the sides yield where that is
// right. Here loops carry two tiles through branches in ways where it is and
// where it is not, and are compared with the same loops in C++.
//
//===----------------------------------------------------------------------===//

#include "NativeTesting.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace attentile;

namespace {

/// A loop that carries %a and %b; `body` ends with the values of the next.
std::string makeProgram(const std::string &body) {
  std::string text = R"mlir(
#m = #tile.axes<"m">
#e = #tile.axes<"e">
#me = #tile.axes<"m", "e">
tile.program @branch sizes(%M) ins(%A: f32[M, 4], %B: f32[M, 4]) outs(%X: f32[M, 4], %Y: f32[M, 4]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %blocks = arith.ceildivsi %M, %c8 : index
  tile.kernel @branch_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c8 : index
    %m = tile.index %m0 : tensor<8xindex, #m>
    %e = tile.index %c0 : tensor<4xindex, #e>
    %half = arith.constant dense<0.5> : TILE
    %a0 = tile.load %A[%m, %e] : tensor<?x4xf32>, (tensor<8xindex, #m>, tensor<4xindex, #e>) -> TILE
    %b0 = tile.load %B[%m, %e] : tensor<?x4xf32>, (tensor<8xindex, #m>, tensor<4xindex, #e>) -> TILE
    %r:2 = scf.for %n = %c0 to %c9 step %c1 iter_args(%a = %a0, %b = %b0) -> (TILE, TILE) {
      %bit = arith.remui %n, %c2 : index
      %odd = arith.cmpi eq, %bit, %c1 : index
      %late = arith.cmpi sgt, %n, %c4 : index
BODY
    } {tile.axis = "n"}
    tile.store %r#0, %X[%m, %e] : TILE, tensor<?x4xf32>, (tensor<8xindex, #m>, tensor<4xindex, #e>)
    tile.store %r#1, %Y[%m, %e] : TILE, tensor<?x4xf32>, (tensor<8xindex, #m>, tensor<4xindex, #e>)
  }
}
)mlir";
  text.replace(text.find("BODY"), 4, body);
  const std::string tile = "tensor<8x4xf32, #me>";
  for (size_t at; (at = text.find("TILE")) != std::string::npos;)
    text.replace(at, 4, tile);
  return text;
}

using Next = void (*)(int n, float &a, float &b);

struct Case {
  const char *name;
  const char *body;
  Next next;
};

const Case cases[] = {{"one side changes nothing", R"mlir(
      %q:2 = scf.if %odd -> (TILE, TILE) {
        scf.yield %a, %b : TILE, TILE
      } else {
        %s = arith.addf %a, %b : TILE
        %d = arith.mulf %a, %half : TILE
        scf.yield %s, %d : TILE, TILE
      }
      scf.yield %q#0, %q#1 : TILE, TILE)mlir",
                       [](int n, float &a, float &b) {
                         float old = a;
                         if (n % 2 == 0)
                           a = old + b, b = old * 0.5f;
                       }},
                      {"swapped in one side", R"mlir(
      %q:2 = scf.if %odd -> (TILE, TILE) {
        scf.yield %b, %a : TILE, TILE
      } else {
        scf.yield %a, %b : TILE, TILE
      }
      %h = arith.mulf %q#0, %half : TILE
      scf.yield %h, %q#1 : TILE, TILE)mlir",
                       [](int n, float &a, float &b) {
                         if (n % 2)
                           std::swap(a, b);
                         a *= 0.5f;
                       }},
                      {"one value for two results", R"mlir(
      %q:2 = scf.if %odd -> (TILE, TILE) {
        scf.yield %a, %a : TILE, TILE
      } else {
        %s = arith.addf %a, %b : TILE
        scf.yield %s, %b : TILE, TILE
      }
      scf.yield %q#0, %q#1 : TILE, TILE)mlir",
                       [](int n, float &a, float &b) {
                         if (n % 2)
                           b = a;
                         else
                           a += b;
                       }},
                      {"read after the branch", R"mlir(
      %q = scf.if %odd -> (TILE) {
        scf.yield %a : TILE
      } else {
        %s = arith.addf %a, %b : TILE
        scf.yield %s : TILE
      }
      %x = arith.mulf %q, %half : TILE
      %y = arith.addf %x, %a : TILE
      scf.yield %x, %y : TILE, TILE)mlir",
                       [](int n, float &a, float &b) {
                         float x = 0.5f * (n % 2 ? a : a + b);
                         b = x + a, a = x;
                       }},
                      {"carried crosswise", R"mlir(
      %q:2 = scf.if %odd -> (TILE, TILE) {
        scf.yield %a, %b : TILE, TILE
      } else {
        %s = arith.addf %a, %b : TILE
        %d = arith.mulf %b, %half : TILE
        scf.yield %s, %d : TILE, TILE
      }
      scf.yield %q#1, %q#0 : TILE, TILE)mlir",
                       [](int n, float &a, float &b) {
                         float s = n % 2 ? a : a + b, d = n % 2 ? b : b * 0.5f;
                         a = d, b = s;
                       }},
                      {"nested", R"mlir(
      %q:2 = scf.if %odd -> (TILE, TILE) {
        %w:2 = scf.if %late -> (TILE, TILE) {
          %s = arith.subf %a, %b : TILE
          scf.yield %s, %b : TILE, TILE
        } else {
          scf.yield %a, %b : TILE, TILE
        }
        scf.yield %w#0, %w#1 : TILE, TILE
      } else {
        %s = arith.addf %a, %b : TILE
        %d = arith.mulf %a, %half : TILE
        scf.yield %s, %d : TILE, TILE
      }
      scf.yield %q#0, %q#1 : TILE, TILE)mlir",
                       [](int n, float &a, float &b) {
                         float old = a;
                         if (n % 2 == 0)
                           a = old + b, b = old * 0.5f;
                         else if (n > 4)
                           a -= b;
                       }},
                      {"two in a row", R"mlir(
      %q = scf.if %odd -> (TILE) {
        scf.yield %a : TILE
      } else {
        %s = arith.addf %a, %b : TILE
        scf.yield %s : TILE
      }
      %t = scf.if %late -> (TILE) {
        %s = arith.mulf %q, %half : TILE
        scf.yield %s : TILE
      } else {
        scf.yield %q : TILE
      }
      scf.yield %t, %b : TILE, TILE)mlir",
                       [](int n, float &a, float &b) {
                         if (n % 2 == 0)
                           a += b;
                         if (n > 4)
                           a *= 0.5f;
                       }},
                      {"a vote", R"mlir(
      %big = arith.cmpf ogt, %b, %a : TILE
      %row = tile.reduce all %big over ["e"] : tensor<8x4xi1, #me> -> tensor<8xi1, #m>
      %all = tile.vote %row : tensor<8xi1, #m>
      %q = scf.if %all -> (TILE) {
        %s = arith.addf %a, %b : TILE
        scf.yield %s : TILE
      } else {
        %s = arith.mulf %a, %half : TILE
        scf.yield %s : TILE
      }
      scf.yield %q, %b : TILE, TILE)mlir",
                       nullptr}};

class NativeBranch : public ::testing::TestWithParam<int> {};

TEST_P(NativeBranch, KeepsWhatIsNeeded) {
  const Case &test = cases[GetParam()];
  SCOPED_TRACE(test.name);
  mlir::MLIRContext context;
  context.loadDialect<tile::TileDialect, mlir::func::FuncDialect>();
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(makeProgram(test.body), &context);
  ASSERT_TRUE(module);
  auto target = llvm::cantFail(NativeTarget::select("native"));
  auto program = NativeProgram::compile(*module, target, {});
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());

  // Two tiles of rows.
  std::vector<HostTensor> tensors;
  for (int i = 0; i < 4; ++i)
    tensors.push_back(HostTensor::allocate(ElementType::F32, {16, 4}));
  std::vector<float> a(64), b(64);
  for (int i = 0; i < 64; ++i) {
    tensors[0].writeDouble(i, a[i] = float(i + 1));
    tensors[1].writeDouble(i, b[i] = float(1 + i % 7) * (i < 32 ? 200 : 1));
  }
  // Rows decide together, 8 of them.
  auto vote = [&] {
    for (int tile = 0; tile < 64; tile += 32) {
      bool all = true;
      for (int i = tile; i < tile + 32; ++i)
        all &= b[i] > a[i];
      for (int i = tile; i < tile + 32; ++i)
        a[i] = all ? a[i] + b[i] : a[i] * 0.5f;
    }
  };
  for (int n = 0; n < 9; ++n)
    if (test.next)
      for (int i = 0; i < 64; ++i)
        test.next(n, a[i], b[i]);
    else
      vote();
  auto stats = (*program)->run({tensors, {}}, {});
  ASSERT_TRUE(bool(stats)) << llvm::toString(stats.takeError());
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(tensors[2].readDouble(i), a[i]) << i;
    EXPECT_EQ(tensors[3].readDouble(i), b[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NativeBranch,
                         ::testing::Range(0, int(std::size(cases))));

} // namespace
