// RUN: attentile-opt %s -tile-to-warp | FileCheck %s
// RUN: attentile-opt %s -tile-to-warp -warp-pipeline-copies | FileCheck %s

// With stages = 0 there is room for one factor of the loop at a time: V takes
// the place of K, which has been read; W another, as V is still needed. No copy
// is requested ahead.
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>
#d = #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>
#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#md = #tile.axes<"m", "d", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#nd = #tile.axes<"n", "d", in = #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// CHECK-LABEL: warp.kernel @k
tile.program @in_turn sizes(%N) ins(%K: f16[N, 16], %V: f16[N, 16], %W: f16[N, 16]) outs(%O: f32[N, 16]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  tile.kernel @k grid() attributes {tile.warps = #tile.warps<rows = "m">,
      tile.resources = #tile.resources<warps = 1, stages = 0, registers = 64, shared = 512, blocks = 1, keep_left = true>} {
    // CHECK: %[[FIRST:.*]] = warp.alloc
    // CHECK: %[[SECOND:.*]] = warp.alloc
    // CHECK-NOT: warp.alloc
    // CHECK: scf.for
    %q = arith.constant dense<1.0> : tensor<16x16xf16, #md>
    %d = tile.index %c0 : tensor<16xindex, #d>
    scf.for %n0 = %c0 to %N step %c16 {
      %n = tile.index %n0 : tensor<16xindex, #n>
      // CHECK: warp.barrier
      // CHECK: warp.copy_async %K{{.*}} to %[[FIRST]]
      %k = tile.load %K[%n, %d] : tensor<?x16xf16>, (tensor<16xindex, #n>, tensor<16xindex, #d>) -> tensor<16x16xf16, #nd>
      %s = tile.dot %q, %k over ["d"] product f16 : tensor<16x16xf16, #md>, tensor<16x16xf16, #nd> -> tensor<16x16xf32, #mn>
      // CHECK: warp.barrier
      // CHECK: warp.copy_async %V{{.*}} to %[[FIRST]]
      %v = tile.load %V[%n, %d] : tensor<?x16xf16>, (tensor<16xindex, #n>, tensor<16xindex, #d>) -> tensor<16x16xf16, #nd>
      // CHECK: warp.copy_async %W{{.*}} to %[[SECOND]]
      %w = tile.load %W[%n, %d] : tensor<?x16xf16>, (tensor<16xindex, #n>, tensor<16xindex, #d>) -> tensor<16x16xf16, #nd>
      %t = tile.dot %q, %v acc %s over ["d"] product f16 : tensor<16x16xf16, #md>, tensor<16x16xf16, #nd> acc tensor<16x16xf32, #mn> -> tensor<16x16xf32, #mn>
      %u = tile.dot %q, %w acc %t over ["d"] product f16 : tensor<16x16xf16, #md>, tensor<16x16xf16, #nd> acc tensor<16x16xf32, #mn> -> tensor<16x16xf32, #mn>
      %r = tile.reduce sum %u over ["n"] : tensor<16x16xf32, #mn> -> tensor<16xf32, #m>
      %m = tile.index %n0 : tensor<16xindex, #m>
      tile.store %r, %O[%m, %c0] : tensor<16xf32, #m>, tensor<?x16xf32>, (tensor<16xindex, #m>, index)
    } {tile.axis = "n"}
  }
}
