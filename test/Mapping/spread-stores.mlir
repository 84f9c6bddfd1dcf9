// RUN: attentile-opt %s --tile-spread-stores | FileCheck %s
// RUN: attentile-opt %s --tile-spread-stores --tile-to-warp --cse | FileCheck %s --check-prefix=WARP

// CHECK-DAG: #[[ROWS:.*]] = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 4 reg 1, 2 warp 1]>>
// CHECK-DAG: #[[OWN:.*]] = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 4 lane 1, 2 warp 1]>>
// CHECK-DAG: #[[PAIRS:.*]] = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 32 lane 1]>>
// CHECK-DAG: #[[HALF:.*]] = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 lane 1, 4 warp 1]>>
#rows = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 4 reg 1, 2 warp 1]>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2, 2 reg 4, 2 warp 1], [2 reg 1, 4 lane 1]>>
#columns = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 8 reg 2]>>
#narrow = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1, 4 warp 1]>>
#single = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 8 warp 1]>>

tile.program @p sizes(%M, %N) ins(%X: f32[M], %Y: f32[N]) outs(%L: f32[M], %Z: f32[M], %W: f32[N]) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64xf32, #rows>

  // The lanes of a quad hold the same four rows: each takes the logarithm of
  // one of them. What something else needs too stays as it is.
  // CHECK-LABEL: tile.kernel @rows
  // CHECK: %[[X:.*]] = tile.load %X
  // CHECK: %[[MINE:.*]] = tile.convert_layout %[[X]] : tensor<64xf32, #[[ROWS]]> to tensor<64xf32, #[[OWN]]>

  // CHECK: %[[SUM:.*]] = arith.addf %[[MINE]], %{{.*}} : tensor<64xf32, #[[OWN]]>
  // CHECK: %[[LOG:.*]] = math.log %[[SUM]] : tensor<64xf32, #[[OWN]]>
  // CHECK: tile.store %[[LOG]], %L[%{{.*}}] : tensor<64xf32, #[[OWN]]>
  // CHECK: math.exp2 %[[X]] : tensor<64xf32, #[[ROWS]]>
  // WARP-LABEL: warp.kernel @rows
  // WARP: %[[LANE:.*]] = warp.lane_id
  // WARP: %[[OFQUAD:.*]] = arith.remui %[[LANE]], %c4
  // WARP: %[[X:.*]]:4 = vector.to_elements
  // WARP: %[[IS1:.*]] = arith.cmpi eq, %[[OFQUAD]], %c1
  // WARP: %[[V1:.*]] = arith.select %[[IS1]], %[[X]]#1, %[[X]]#0
  // WARP: %[[V2:.*]] = arith.select %{{.*}}, %[[X]]#2, %[[V1]]
  // WARP: %[[V3:.*]] = arith.select %{{.*}}, %[[X]]#3, %[[V2]]
  // WARP: math.log %{{.*}} : vector<1xf32>
  // All lanes store, a row each.
  // WARP: warp.store %{{.*}}, %L[%{{[^]]*}}] : f32
  tile.kernel @rows grid() attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m = tile.index %c0 : tensor<64xindex, #rows>
    %x = tile.load %X[%m] : tensor<?xf32>, (tensor<64xindex, #rows>) -> tensor<64xf32, #rows>
    %sum = arith.addf %x, %one : tensor<64xf32, #rows>
    %log = math.log %sum : tensor<64xf32, #rows>
    tile.store %log, %L[%m] : tensor<64xf32, #rows>, tensor<?xf32>, (tensor<64xindex, #rows>)
    %e = math.exp2 %x : tensor<64xf32, #rows>
    %s = tile.broadcast %e : tensor<64xf32, #rows> to tensor<64x8xf32, #m_n>
    %r = tile.reduce sum %s over ["n"] : tensor<64x8xf32, #m_n> -> tensor<64xf32, #rows>
    %all = arith.addf %r, %e : tensor<64xf32, #rows>
    %twice = arith.mulf %all, %all : tensor<64xf32, #rows>
    tile.store %twice, %Z[%m] : tensor<64xf32, #rows>, tensor<?xf32>, (tensor<64xindex, #rows>)
  }

  // Columns keep their pairs; the rows of pairs go to the lanes below each
  // other. Two rows a thread go to two lanes of four, and one row has nowhere
  // to go.
  // CHECK-LABEL: tile.kernel @others
  // CHECK: tile.store %{{.*}}, %W[%{{.*}}] : tensor<64xf32, #[[PAIRS]]>
  // CHECK: tile.store %{{.*}}, %L[%{{.*}}] : tensor<64xf32, #[[HALF]]>
  // CHECK: tile.store %[[Y:.*]], %Z[%{{.*}}] : tensor<64xf32
  // CHECK-NOT: tile.convert_layout %[[Y]]
  // WARP-LABEL: warp.kernel @others
  // WARP: warp.store %{{.*}}, %W[%{{[^]]*}}]{{.*}} : vector<2xf32>
  // WARP-NOT: %W[
  // WARP: warp.store %{{.*}}, %L[%{{[^]]*}}] if %{{.*}} : f32
  tile.kernel @others grid() attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>} {
    %n = tile.index %c0 : tensor<64xindex, #columns>
    %y = tile.load %Y[%n] : tensor<?xf32>, (tensor<64xindex, #columns>) -> tensor<64xf32, #columns>
    tile.store %y, %W[%n] : tensor<64xf32, #columns>, tensor<?xf32>, (tensor<64xindex, #columns>)
    %m = tile.index %c0 : tensor<64xindex, #narrow>
    %x = tile.load %X[%m] : tensor<?xf32>, (tensor<64xindex, #narrow>) -> tensor<64xf32, #narrow>
    tile.store %x, %L[%m] : tensor<64xf32, #narrow>, tensor<?xf32>, (tensor<64xindex, #narrow>)
    %k = tile.index %c0 : tensor<64xindex, #single>
    %z = tile.load %X[%k] : tensor<?xf32>, (tensor<64xindex, #single>) -> tensor<64xf32, #single>
    tile.store %z, %Z[%k] : tensor<64xf32, #single>, tensor<?xf32>, (tensor<64xindex, #single>)
  }
}
