// RUN: attentile-opt %s --tile-assign-layouts --tile-verify-layouts | FileCheck %s

// A tile without the rows, and with no axis of 16: no block of a matrix
// instruction holds it, so each lane has all of it.
// CHECK: #[[ALL:.*]] = #tile.axes<"n", "d", in = #tile.fragment<[8 reg 8], [8 reg 1]>>
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#nd = #tile.axes<"n", "d">

// CHECK-LABEL: tile.kernel @state
// CHECK: arith.mulf %{{.*}} : tensor<8x8xf32, #[[ALL]]>
// CHECK: tile.reduce sum %{{.*}} over ["n", "d"] : tensor<8x8xf32, #[[ALL]]> -> f32
tile.program @kernels sizes(%M, %N) ins(%K: f32[N, 8]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  tile.kernel @state grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 1>} {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<8xindex, #n>
    %d = tile.index %c0 : tensor<8xindex, #d>
    %k = tile.load %K[%n, %d] : tensor<?x8xf32>, (tensor<8xindex, #n>, tensor<8xindex, #d>) -> tensor<8x8xf32, #nd>
    %x = arith.mulf %k, %k : tensor<8x8xf32, #nd>
    %sum = tile.reduce sum %x over ["n", "d"] : tensor<8x8xf32, #nd> -> f32
    %row = tile.broadcast %sum : f32 to tensor<16xf32, #m>
    tile.store %row, %O[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
}
