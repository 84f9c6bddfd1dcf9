//===- WarpInterpreterTest.cpp - what the interpreter of threads does -----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpInterpreter.h"
#include "SharedMemory.h"
#include "TileTesting.h"
#include "gtest/gtest.h"

using namespace attentile::test;

namespace {

/// What all lanes load from one place in a branch that the first warp does not
/// take.
TEST(WarpInterpreter, sharedLoadOfSomeWarps) {
  TileFile file = TileFile::fromText(R"mlir(
tile.program @p sizes(%N) ins(%x: f32[1]) outs(%y: f32[N]) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  warp.kernel @p_0 grid(%i < %one) warps(2) {
    %thread = warp.thread_id : index
    %warp = warp.warp_id : index
    %takes = arith.cmpi sge, %warp, %one : index
    scf.if %takes {
      %loaded = warp.load %x[%zero] : tensor<1xf32> -> f32
      warp.store %loaded, %y[%thread] : f32, tensor<?xf32>
    }
  }
})mlir");
  ASSERT_TRUE(file);
  Values values;
  values["N"].data = {64};
  values["x"] = {{1}, {3}};
  ASSERT_TRUE(interpretWarps(file.program(), values));
  for (int i = 0; i < 64; ++i)
    if (i < 32)
      EXPECT_TRUE(std::isnan(values["y"].data[i])) << i;
    else
      EXPECT_EQ(values["y"].data[i], 3) << i;
}

/// 1 over the root of -2 times an integer 0: an integer zero has no sign.
TEST(WarpInterpreter, integerZeroHasNoSign) {
  TileFile file = TileFile::fromText(R"mlir(
tile.program @p sizes(%N) ins(%x: i64[1]) outs(%y: f32[N]) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %minus = arith.constant -2 : i64
  warp.kernel @p_0 grid(%i < %one) warps(1) {
    %thread = warp.thread_id : index
    %loaded = warp.load %x[%zero] : tensor<1xi64> -> i64
    %product = arith.muli %loaded, %minus : i64
    %float = arith.sitofp %product : i64 to f32
    %result = math.rsqrt %float : f32
    warp.store %result, %y[%thread] : f32, tensor<?xf32>
  }
})mlir");
  ASSERT_TRUE(file);
  Values values;
  values["N"].data = {32};
  values["x"] = {{1}, {0}};
  ASSERT_TRUE(interpretWarps(file.program(), values));
  EXPECT_EQ(values["y"].data[0], INFINITY);
}

/// A write of another warp's thread, and a copy that it waited for, behind an
/// mbarrier at which all copies before arrive.
TEST(SharedMemory, copiesArriveThatWereWaitedFor) {
  mlir::MLIRContext context;
  mlir::Type type = mlir::Float32Type::get(&context);
  for (bool isCopy : {true, false}) {
    SharedMemory memory(/*bytes=*/64, /*threads=*/64);
    unsigned mbarrier = memory.makeMbarrier(64);
    if (isCopy) {
      memory.copyAsync(40, 0, type, 3);
      memory.commitGroup(40);
      memory.waitGroup(40, 0);
    } else {
      memory.write(40, 0, type, 3);
    }
    for (unsigned thread = 0; thread < 64; ++thread)
      memory.arriveCopies(mbarrier, thread);
    memory.waitPhase(mbarrier, /*parity=*/0, /*warp=*/0);
    EXPECT_EQ(memory.read(0, 0, type), 3);
    EXPECT_EQ(memory.error().empty(), isCopy) << memory.error();
  }
}

} // namespace
