// RUN: attentile-opt %s --tile-to-warp --canonicalize --cse | FileCheck %s

// Two warps with 16 keys each, of which each owns 16 columns. What a warp has
// for the other's goes through shared memory, 16 bytes a lane; what it has for
// its own stays. Values are read once for both of a warp's row blocks.

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 4 reg 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2, 2 warp 1]>>
#e = #tile.axes<"e", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2, 2 warp 1]>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2, 2 reg 8], [2 reg 1, 4 lane 1, 2 reg 4, 2 warp 1]>>
#m_e = #tile.axes<"m", "e", in = #tile.fragment<[8 lane 4, 2 reg 2, 2 reg 8], [2 reg 1, 4 lane 1, 2 reg 4, 2 warp 1]>>
#n_e = #tile.axes<"n", "e", in = #tile.shared<pitch = 32, chunk = 8>>

// CHECK-LABEL: warp.kernel @product_0
// CHECK: %[[SUMS:.*]] = warp.alloc : !warp.buffer<2x512xf32,
// The other warp's columns.
// CHECK: %[[OTHER:.*]] = arith.remui
// CHECK: %[[COLUMN:.*]] = arith.muli %[[OTHER]], %c16
// CHECK: warp.ldmatrix %{{.*}}[%{{.*}}, %[[COLUMN]]] num 4
// CHECK-COUNT-4: warp.mma
// CHECK-NOT: warp.mma
// CHECK-COUNT-4: warp.store_shared %{{.*}}, %[[SUMS]][%[[WARP:.*]], %{{.*}}] : vector<4xf32>
// CHECK-NEXT: warp.barrier
// The warp's own.
// CHECK: warp.ldmatrix
// CHECK-COUNT-4: warp.mma
// CHECK-NOT: warp.mma
// CHECK: warp.load_shared %[[SUMS]][%[[OTHER]],
// CHECK-NEXT: arith.addf
// CHECK-COUNT-3: warp.load_shared %[[SUMS]][%[[OTHER]],
// CHECK-NOT: warp.load_shared
// CHECK-NOT: warp.barrier
// CHECK: warp.store
tile.program @product sizes(%M) ins(%P: bf16[32, 32], %V: bf16[32, 32]) outs(%O: f32[32, 32]) {
  %c0 = arith.constant 0 : index
  tile.kernel @product_0 grid() attributes {tile.warps = #tile.warps<rows = "m", split_columns = 2, split_reduced = 2>} {
    %m = tile.index %c0 : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<32xindex, #n>
    %e = tile.index %c0 : tensor<32xindex, #e>
    %p = tile.load %P[%m, %n] : tensor<32x32xbf16>, (tensor<32xindex, #m>, tensor<32xindex, #n>) -> tensor<32x32xbf16, #m_n>
    %v = tile.load %V[%n, %e] : tensor<32x32xbf16>, (tensor<32xindex, #n>, tensor<32xindex, #e>) -> tensor<32x32xbf16, #n_e>
    %o = tile.dot %p, %v over ["n"] product bf16 : tensor<32x32xbf16, #m_n>, tensor<32x32xbf16, #n_e> -> tensor<32x32xf32, #m_e>
    tile.store %o, %O[%m, %e] : tensor<32x32xf32, #m_e>, tensor<32x32xf32>, (tensor<32xindex, #m>, tensor<32xindex, #e>)
  }
}

// The lanes of a row hold the same maximum: one of them writes it, four rows at
// a time, and all read it.
// CHECK-LABEL: warp.kernel @maxima_0
// CHECK: %[[LANE:.*]] = warp.lane_id
// CHECK: %[[GROUP:.*]] = arith.divui %[[LANE]], %c4
// CHECK: %[[COPY:.*]] = arith.remui %[[LANE]], %c4
// CHECK: %[[PARTS:.*]] = warp.alloc : !warp.buffer<2x32xf32,
// CHECK: %[[PLACE:.*]] = arith.muli %[[GROUP]], %c4
// CHECK: %[[WRITES:.*]] = arith.cmpi eq, %[[COPY]], %c0
// CHECK: warp.store_shared %{{.*}}, %[[PARTS]][%{{.*}}, %[[PLACE]]] if %[[WRITES]] : vector<4xf32>
// CHECK-NEXT: warp.barrier
// CHECK-COUNT-2: warp.load_shared %[[PARTS]][%{{.*}}, %[[PLACE]]] : {{.*}} -> vector<4xf32>
// CHECK-NOT: warp.load_shared
tile.program @maxima sizes(%M) ins(%P: f32[32, 32]) outs(%O: f32[32]) {
  %c0 = arith.constant 0 : index
  tile.kernel @maxima_0 grid() attributes {tile.warps = #tile.warps<rows = "m", split_columns = 2, split_reduced = 2>} {
    %m = tile.index %c0 : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<32xindex, #n>
    %p = tile.load %P[%m, %n] : tensor<32x32xf32>, (tensor<32xindex, #m>, tensor<32xindex, #n>) -> tensor<32x32xf32, #m_n>
    %o = tile.reduce max %p over ["n"] : tensor<32x32xf32, #m_n> -> tensor<32xf32, #m>
    tile.store %o, %O[%m] : tensor<32xf32, #m>, tensor<32xf32>, (tensor<32xindex, #m>)
  }
}
