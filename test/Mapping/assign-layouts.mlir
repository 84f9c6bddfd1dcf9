// RUN: attentile-opt %s -tile-assign-layouts -tile-verify-layouts | FileCheck %s

// CHECK-DAG: #[[Q:.*]] = #tile.axes<"m", "d", in = #tile.fragment<[8 lane 4, 2 reg 2, 4 warp 1], [2 reg 1, 4 lane 1, 8 reg 4]>>
// CHECK-DAG: #[[S:.*]] = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2, 4 warp 1], [2 reg 1, 4 lane 1, 8 reg 4]>>
// CHECK-DAG: #[[O:.*]] = #tile.axes<"m", "e", in = #tile.fragment<[8 lane 4, 2 reg 2, 4 warp 1], [2 reg 1, 4 lane 1, 8 reg 4]>>
// CHECK-DAG: #[[ROW:.*]] = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1, 4 warp 1]>>
// CHECK-DAG: #[[QS:.*]] = #tile.axes<"m", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
// CHECK-DAG: #[[K:.*]] = #tile.axes<"n", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
// CHECK-DAG: #[[V:.*]] = #tile.axes<"n", "e", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#e = #tile.axes<"e">
#mn = #tile.axes<"m", "n">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#me = #tile.axes<"m", "e">

// Queries stay in registers; from the first product's result to the second
// product's factor nothing moves.
// CHECK-LABEL: tile.kernel @attention
tile.program @kernels sizes(%M, %N) ins(%Q: bf16[M, 64], %K: bf16[N, 64], %V: bf16[N, 64]) outs(%O: bf16[M, 64]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #me>
  tile.kernel @attention grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>} {
    %m = tile.index %i : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %e = tile.index %c0 : tensor<64xindex, #e>
    // CHECK: %[[SHARED:.*]] = tile.load %Q{{.*}} -> tensor<64x64xbf16, #[[QS]]>
    // CHECK-NEXT: %[[KEPT:.*]] = tile.convert_layout %[[SHARED]] : {{.*}} to tensor<64x64xbf16, #[[Q]]>
    %q = tile.load %Q[%m, %d] : tensor<?x64xbf16>, (tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #md>
    // CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[O]]>)
    // CHECK-NOT: tile.convert_layout
    %o = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32, #me>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      // CHECK: tile.load %K{{.*}} -> tensor<64x64xbf16, #[[K]]>
      %k = tile.load %K[%n, %d] : tensor<?x64xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #nd>
      // CHECK: tile.dot %[[KEPT]], {{.*}} -> tensor<64x64xf32, #[[S]]>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<64x64xbf16, #md>, tensor<64x64xbf16, #nd> -> tensor<64x64xf32, #mn>
      // CHECK: tile.reduce max {{.*}} -> tensor<64xf32, #[[ROW]]>
      %mx = tile.reduce max %s over ["n"] : tensor<64x64xf32, #mn> -> tensor<64xf32, #m>
      %b = tile.broadcast %mx : tensor<64xf32, #m> to tensor<64x64xf32, #mn>
      %x = arith.subf %s, %b : tensor<64x64xf32, #mn>
      %p = math.exp2 %x : tensor<64x64xf32, #mn>
      // CHECK: tile.load %V{{.*}} -> tensor<64x64xbf16, #[[V]]>
      %v = tile.load %V[%n, %e] : tensor<?x64xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #e>) -> tensor<64x64xbf16, #ne>
      // CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x64xbf16, #[[S]]>
      // CHECK: tile.dot %[[P]],
      %next = tile.dot %p, %v acc %acc over ["n"] product bf16 : tensor<64x64xf32, #mn>, tensor<64x64xbf16, #ne> acc tensor<64x64xf32, #me> -> tensor<64x64xf32, #me>
      scf.yield %next : tensor<64x64xf32, #me>
    } {tile.axis = "n"}
    tile.store %o, %O[%m, %e] : tensor<64x64xf32, #me>, tensor<?x64xbf16>, (tensor<64xindex, #m>, tensor<64xindex, #e>)
  }

  // With no registers left the product reads queries from shared memory.
  // CHECK-LABEL: tile.kernel @reread
  // CHECK-NOT: tile.convert_layout
  // CHECK: tile.dot {{.*}} : tensor<64x64xbf16, #[[QS]]>, tensor<64x64xbf16, #[[K]]>
  tile.kernel @reread grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>,
      tile.resources = #tile.resources<warps = 4, stages = 1, registers = 255, shared = 24576, blocks = 1, keep_left = false>} {
    %m = tile.index %i : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x64xbf16>, (tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #md>
    scf.for %n0 = %c0 to %N step %c64 {
      %n = tile.index %n0 : tensor<64xindex, #n>
      %k = tile.load %K[%n, %d] : tensor<?x64xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #nd>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<64x64xbf16, #md>, tensor<64x64xbf16, #nd> -> tensor<64x64xf32, #mn>
      tile.store %s, %O[%m, %n] : tensor<64x64xf32, #mn>, tensor<?x64xbf16>, (tensor<64xindex, #m>, tensor<64xindex, #n>)
    } {tile.axis = "n"}
  }
}
