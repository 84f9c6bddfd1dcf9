// RUN: attentile-opt %s --tile-assign-layouts | FileCheck %s
// RUN: attentile-opt %s --tile-assign-layouts --tile-to-warp --canonicalize --cse | FileCheck %s --check-prefix=WARP

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// What is asked of loaded columns: each lane loads two of 64 and asks, a
// result's layout has the truths by ballots. What is computed for columns is
// asked where it is needed.
// CHECK-DAG: #[[SLICE:.*]] = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 8 reg 2]>>
// CHECK-DAG: #[[LANES:.*]] = #tile.axes<"n", in = #tile.fragment<[32 lane 1, 2 reg 1]>>
// CHECK-LABEL: tile.kernel @asked
// CHECK: %[[LOADED:.*]] = tile.load %doc{{.*}} -> tensor<64xi32, #[[LANES]]>
// CHECK: %[[TRUTHS:.*]] = arith.cmpi eq, %[[LOADED]], %{{.*}} : tensor<64xi32, #[[LANES]]>
// CHECK: %[[THERE:.*]] = tile.convert_layout %[[TRUTHS]] : tensor<64xi1, #[[LANES]]> to tensor<64xi1, #[[SLICE]]>
// CHECK: tile.broadcast %[[THERE]] : tensor<64xi1, #[[SLICE]]> to tensor<64x64xi1
// CHECK: %[[OWN:.*]] = arith.cmpi slt, %{{.*}} : tensor<64xindex, #[[SLICE]]>
// CHECK: tile.broadcast %[[OWN]] : tensor<64xi1, #[[SLICE]]>
// CHECK-NOT: tile.convert_layout
// Columns 0, 1, 8 and on of the first word, 32 to 57 of the second.
// WARP-LABEL: warp.kernel @asked
// WARP: %[[LANE:.*]] = warp.lane_id
// WARP: %[[QUAD:.*]] = arith.remui %[[LANE]], %c4
// WARP: %[[PART:.*]] = arith.muli %[[QUAD]], %c2
// WARP: %[[LOW:.*]] = warp.load %doc[%[[LANE]]] : tensor<?xi32> -> i32
// WARP: %[[NEXT:.*]] = arith.addi %[[LANE]], %c32
// WARP: %[[HIGH:.*]] = warp.load %doc[%[[NEXT]]] : tensor<?xi32> -> i32
// WARP-NOT: warp.load %doc
// WARP: %[[BOTH:.*]] = vector.from_elements %[[LOW]], %[[HIGH]]
// WARP: %[[ARE:.*]] = arith.cmpi eq, %[[BOTH]], %{{.*}} : vector<2xi32>
// WARP-DAG: %[[IS:.*]]:2 = vector.to_elements %[[ARE]]
// WARP-DAG: %[[SHIFT:.*]] = arith.index_cast %[[PART]] : index to i32
// WARP: %[[B0:.*]] = warp.ballot %[[IS]]#0 : i32
// WARP: %[[W0:.*]] = arith.shrui %[[B0]], %[[SHIFT]]
// WARP: %[[B1:.*]] = warp.ballot %[[IS]]#1 : i32
// WARP: %[[W1:.*]] = arith.shrui %[[B1]], %[[SHIFT]]
// WARP: %[[X0:.*]] = arith.andi %[[W0]], %c1_i32
// WARP: %[[T0:.*]] = arith.cmpi ne, %[[X0]], %c0_i32
// WARP: arith.andi %[[W0]], %c2_i32
// WARP: arith.andi %[[W0]], %c256_i32
// WARP: arith.andi %[[W1]], %c1_i32
// WARP: %[[X57:.*]] = arith.andi %[[W1]], %c33554432_i32
// WARP: %[[T57:.*]] = arith.cmpi ne, %[[X57]], %c0_i32
// WARP: vector.from_elements %[[T0]], {{.*}}, %[[T57]] : vector<16xi1>
// WARP-NOT: warp.barrier
tile.program @p sizes(%M, %N) ins(%doc: i32[N], %first: i32) outs(%Y: f32[M, N]) {
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @asked grid(%i < %blocks) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>, tile.resources = #tile.resources<warps = 4, stages = 1, registers = 64, shared = 0, blocks = 1, keep_left = false>} {
    %c0 = arith.constant 0 : index
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %n = tile.index %c0 : tensor<64xindex, #n>
    %d = tile.load %doc[%n] : tensor<?xi32>, (tensor<64xindex, #n>) -> tensor<64xi32, #n>
    %one = tile.broadcast %first : i32 to tensor<64xi32, #n>
    %is = arith.cmpi eq, %d, %one : tensor<64xi32, #n>
    %all = tile.broadcast %is : tensor<64xi1, #n> to tensor<64x64xi1, #mn>
    %end = tile.broadcast %N : index to tensor<64xindex, #n>
    %in = arith.cmpi slt, %n, %end : tensor<64xindex, #n>
    %inside = tile.broadcast %in : tensor<64xi1, #n> to tensor<64x64xi1, #mn>
    %both = arith.andi %all, %inside : tensor<64x64xi1, #mn>
    %yes = arith.constant dense<1.0> : tensor<64x64xf32, #mn>
    %no = arith.constant dense<0.0> : tensor<64x64xf32, #mn>
    %y = arith.select %both, %yes, %no : tensor<64x64xi1, #mn>, tensor<64x64xf32, #mn>
    tile.store %y, %Y[%m, %n] : tensor<64x64xf32, #mn>, tensor<?x?xf32>, (tensor<64xindex, #m>, tensor<64xindex, #n>)
  }
}
