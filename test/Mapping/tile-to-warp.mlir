// RUN: attentile-opt %s --tile-to-warp --canonicalize --cse --split-input-file | FileCheck %s

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1, 2 warp 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 4 reg 2]>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2, 2 warp 1], [2 reg 1, 4 lane 1, 4 reg 4]>>
#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>
#n_d = #tile.axes<"n", "d", in = #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>
#d = #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>

// A window of the tensor is copied and waited for; the last dimension is known
// to be inside. 32 keys are two ldmatrix, of two column blocks each; the row
// maximum takes two shuffles over the lanes of a quad and nothing else.
// CHECK-LABEL: warp.kernel @scores_0 grid(%i < %{{.*}}) warps(2)
// CHECK-DAG: %[[LANE:.*]] = warp.lane_id
// CHECK-DAG: %[[Q:.*]] = warp.alloc : !warp.buffer<32x16xbf16
// CHECK-DAG: %[[K:.*]] = warp.alloc : !warp.buffer<32x16xbf16
// CHECK: warp.copy_async %Q[%{{.*}}, %c0] dims [0, 1] to %[[Q]] {in_bounds = array<i1: false, true>}
// CHECK-NEXT: warp.commit_group
// CHECK-NEXT: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK: warp.copy_async %K[
// CHECK: %[[A:.*]] = warp.ldmatrix %[[Q]][%{{.*}}, %c0] num 4
// CHECK-COUNT-2: warp.ldmatrix %[[K]][{{.*}}] num 4 order columns
// CHECK-NOT: warp.ldmatrix
// CHECK: vector.to_elements
// CHECK: arith.maxnumf
// CHECK: warp.shuffle_xor %{{.*}}, 1 : vector<2xf32>
// CHECK: warp.shuffle_xor %{{.*}}, 2 : vector<2xf32>
// CHECK-NOT: warp.barrier
// One of the four lanes that hold a row stores it.
// CHECK: %[[QUAD:.*]] = arith.remui %[[LANE]], %c4
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[QUAD]], %c0
// CHECK-COUNT-2: warp.store %{{.*}}, %L[%{{.*}}] if %[[FIRST]] : f32
tile.program @scores sizes(%M) ins(%Q: bf16[M, 16], %K: bf16[M, 16]) outs(%L: f32[M]) {
  %c32 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @scores_0 grid(%i < %blocks) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<32xindex, #n>
    %d = tile.index %c0 : tensor<16xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x16xbf16>, (tensor<32xindex, #m>, tensor<16xindex, #d>) -> tensor<32x16xbf16, #m_d>
    %k = tile.load %K[%n, %d] : tensor<?x16xbf16>, (tensor<32xindex, #n>, tensor<16xindex, #d>) -> tensor<32x16xbf16, #n_d>
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<32x16xbf16, #m_d>, tensor<32x16xbf16, #n_d> -> tensor<32x32xf32, #m_n>
    %r = tile.reduce ref %s over ["n"] : tensor<32x32xf32, #m_n> -> tensor<32xf32, #m>
    tile.store %r, %L[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#e = #tile.axes<"e", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2, 2 warp 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>
#m_e = #tile.axes<"m", "e", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4, 2 warp 1]>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#n_e = #tile.axes<"n", "e", in = #tile.shared<pitch = 32, chunk = 4, period = 8>>

// The reduced axis is the shared tile's row, and in f32: element loads, and
// three products of tf32 parts, the small ones first and without infinities,
// which beside a part that is 0 would make NaN. Both warps hold the same
// rows of the left factor; each reads its own columns.
// CHECK-LABEL: warp.kernel @product_0
// CHECK-DAG: %[[WARP:.*]] = warp.warp_id
// CHECK-DAG: %[[OWN:.*]] = arith.muli %[[WARP]], %c16
// CHECK: %[[HIGH:.*]], %[[LOW:.*]] = warp.split_tf32 %{{.*}} : vector<4xf32>
// CHECK: %[[SIZE:.*]] = math.absf %[[HIGH]]
// CHECK: %[[INFINITE:.*]] = arith.cmpf oeq, %[[SIZE]]
// CHECK: %[[FINITE:.*]] = arith.select %[[INFINITE]], %{{.*}}, %[[HIGH]]
// CHECK: warp.load_shared {{.*}} -> f32
// CHECK: %[[B:.*]], %[[BLOW:.*]] = warp.split_tf32 %{{.*}} : vector<2xf32>
// CHECK: %[[BFINITE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[B]]
// CHECK: %[[C0:.*]] = warp.mma %[[LOW]], %[[BFINITE]],
// CHECK: %[[C1:.*]] = warp.mma %[[FINITE]], %[[BLOW]], %[[C0]]
// CHECK: warp.mma %[[HIGH]], %[[B]], %[[C1]]
// Two columns are stored at once, where both are declared inside.
// CHECK: warp.store %{{.*}}, %O[%{{.*}}, %{{.*}}] {in_bounds = array<i1: false, true>} : vector<2xf32>
tile.program @product sizes(%M) ins(%P: f32[M, 16], %V: f32[16, 32]) outs(%O: f32[M, 32]) {
  %c16 = arith.constant 16 : index
  %c0 = arith.constant 0 : index
  %blocks = arith.ceildivsi %M, %c16 : index
  tile.kernel @product_0 grid(%i < %blocks) attributes {tile.warps = #tile.warps<rows = "m", split_columns = 2>} {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<16xindex, #n>
    %e = tile.index %c0 : tensor<32xindex, #e>
    %p = tile.load %P[%m, %n] : tensor<?x16xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>) -> tensor<16x16xf32, #m_n>
    %v = tile.load %V[%n, %e] : tensor<16x32xf32>, (tensor<16xindex, #n>, tensor<32xindex, #e>) -> tensor<16x32xf32, #n_e>
    %o = tile.dot %p, %v over ["n"] product f32 : tensor<16x16xf32, #m_n>, tensor<16x32xf32, #n_e> -> tensor<16x32xf32, #m_e>
    tile.store %o, %O[%m, %e] : tensor<16x32xf32, #m_e>, tensor<?x32xf32>, (tensor<16xindex, #m>, tensor<32xindex, #e>)
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1, 2 warp 1]>>

// The rows of a warp decide together, so warps may go different ways; what a
// side leaves open is poison.
// CHECK-LABEL: warp.kernel @guarded_0
// CHECK: %[[BOTH:.*]]:2 = vector.to_elements %{{.*}} : vector<2xi1>
// CHECK: %[[OWN:.*]] = arith.andi %[[BOTH]]#0, %[[BOTH]]#1
// CHECK: %[[CALM:.*]] = warp.vote_all %[[OWN]]
// CHECK: scf.if %[[CALM]] -> (vector<2xf32>)
// CHECK-NOT: warp.barrier
tile.program @guarded sizes(%M) ins(%X: f32[M]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  %limit = arith.constant 4.0 : f32
  tile.kernel @guarded_0 grid() attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %open = ub.poison : tensor<32xf32, #m>
    %m = tile.index %c0 : tensor<32xindex, #m>
    %x = tile.load %X[%m] : tensor<?xf32>, (tensor<32xindex, #m>) -> tensor<32xf32, #m>
    %t = tile.broadcast %limit : f32 to tensor<32xf32, #m>
    %small = arith.cmpf ole, %x, %t : tensor<32xf32, #m>
    %calm = tile.vote %small : tensor<32xi1, #m>
    %y = scf.if %calm -> (tensor<32xf32, #m>) {
      %e = math.exp2 %x : tensor<32xf32, #m>
      scf.yield %e : tensor<32xf32, #m>
    } else {
      scf.yield %open : tensor<32xf32, #m>
    }
    tile.store %y, %O[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}
