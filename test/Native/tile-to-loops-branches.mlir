// RUN: attentile-opt %s --tile-to-loops=vector-bits=256 --canonicalize --cse | FileCheck %s

#m = #tile.axes<"m">
#e = #tile.axes<"e">
#me = #tile.axes<"m", "e">

// A side that leaves a carried tile as it is copies nothing; the other writes
// over it. One buffer holds the tile throughout.
// CHECK: func.func @branch_0
// CHECK-SAME: native.scratch_bytes = 2048 : i64
// CHECK: scf.for %{{.*}} = %c0 to %c9
// CHECK: %[[CHANGES:.*]] = arith.cmpi eq
// CHECK: scf.if %[[CHANGES]]
// CHECK: arith.mulf
// CHECK-NOT: } else {
// The store.
// CHECK: arith.cmpi slt
tile.program @branch sizes(%M) ins(%A: f32[M, 8]) outs(%X: f32[M, 8]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @branch_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %e = tile.index %c0 : tensor<8xindex, #e>
    %half = arith.constant dense<0.5> : tensor<64x8xf32, #me>
    %a0 = tile.load %A[%m, %e] : tensor<?x8xf32>, (tensor<64xindex, #m>, tensor<8xindex, #e>) -> tensor<64x8xf32, #me>
    %r = scf.for %n = %c0 to %c9 step %c1 iter_args(%a = %a0) -> (tensor<64x8xf32, #me>) {
      %bit = arith.remui %n, %c2 : index
      %odd = arith.cmpi eq, %bit, %c1 : index
      %q = scf.if %odd -> (tensor<64x8xf32, #me>) {
        %s = arith.mulf %a, %half : tensor<64x8xf32, #me>
        scf.yield %s : tensor<64x8xf32, #me>
      } else {
        scf.yield %a : tensor<64x8xf32, #me>
      }
      scf.yield %q : tensor<64x8xf32, #me>
    } {tile.axis = "n"}
    tile.store %r, %X[%m, %e] : tensor<64x8xf32, #me>, tensor<?x8xf32>, (tensor<64xindex, #m>, tensor<8xindex, #e>)
  }
}
