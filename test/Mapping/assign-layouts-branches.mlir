// RUN: attentile-opt %s --tile-assign-layouts --tile-verify-layouts | FileCheck %s

// A sum for each column lies as the rows of what it sums. What compares it in a
// branch, which warps may take apart, has it in the columns' lanes before.
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#c = #tile.axes<"c">
#mn = #tile.axes<"m", "n">
#nc = #tile.axes<"n", "c">

// CHECK: #[[LANES:.*]] = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1
// CHECK: #[[ROWS:.*]] = #tile.axes<"n", in = #tile.fragment<[8 lane 4, 2 reg 1
// CHECK-LABEL: tile.kernel @counted
// CHECK: %[[SUM:.*]] = tile.reduce sum {{.*}} -> tensor<32xf32, #[[ROWS]]>
// CHECK-NEXT: %[[MOVED:.*]] = tile.convert_layout %[[SUM]] : {{.*}} to tensor<32xf32, #[[LANES]]>
// CHECK: scf.if
// CHECK: arith.cmpf ogt, %[[MOVED]]
// CHECK-NOT: convert_layout
tile.program @kernels sizes(%M, %N) ins(%X: f32[N, 16], %S: f32[M, N]) outs(%O: f32[M, N]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  tile.kernel @counted grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<32xindex, #n>
    %c = tile.index %c0 : tensor<16xindex, #c>
    %x = tile.load %X[%n, %c] : tensor<?x16xf32>, (tensor<32xindex, #n>, tensor<16xindex, #c>) -> tensor<32x16xf32, #nc>
    %sum = tile.reduce sum %x over ["c"] : tensor<32x16xf32, #nc> -> tensor<32xf32, #n>
    %s = tile.load %S[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<32xindex, #n>) -> tensor<32x32xf32, #mn>
    %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #mn>
    %one = arith.constant dense<1.0> : tensor<32xf32, #n>
    %limit = arith.constant dense<16> : tensor<32xindex, #m>
    %low = arith.cmpi slt, %m, %limit : tensor<32xindex, #m>
    %all = tile.vote %low : tensor<32xi1, #m>
    %y = scf.if %all -> (tensor<32x32xf32, #mn>) {
      scf.yield %s : tensor<32x32xf32, #mn>
    } else {
      %more = arith.cmpf ogt, %sum, %one : tensor<32xf32, #n>
      %pairs = tile.broadcast %more : tensor<32xi1, #n> to tensor<32x32xi1, #mn>
      %kept = arith.select %pairs, %s, %zeros : tensor<32x32xi1, #mn>, tensor<32x32xf32, #mn>
      scf.yield %kept : tensor<32x32xf32, #mn>
    }
    tile.store %y, %O[%m, %n] : tensor<32x32xf32, #mn>, tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<32xindex, #n>)
  }

  // Likewise what is compared with a value of the rows that decide together,
  // another one in each warp: no warp may take the answer from another.
  // CHECK-LABEL: tile.kernel @own
  // CHECK: %[[SUM:.*]] = tile.reduce sum {{.*}} -> tensor<32xf32, #[[ROWS]]>
  // CHECK-NEXT: %[[MOVED:.*]] = tile.convert_layout %[[SUM]] : {{.*}} to tensor<32xf32, #[[LANES]]>
  // CHECK: %[[LEAST:.*]] = tile.broadcast {{.*}} to tensor<32xf32, #[[LANES]]>
  // CHECK: arith.cmpf olt, %[[MOVED]], %[[LEAST]]
  // CHECK-NOT: convert_layout
  tile.kernel @own grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<32xindex, #n>
    %c = tile.index %c0 : tensor<16xindex, #c>
    %x = tile.load %X[%n, %c] : tensor<?x16xf32>, (tensor<32xindex, #n>, tensor<16xindex, #c>) -> tensor<32x16xf32, #nc>
    %sum = tile.reduce sum %x over ["c"] : tensor<32x16xf32, #nc> -> tensor<32xf32, #n>
    %first = tile.reduce_group min %m : tensor<32xindex, #m> -> index
    %number = arith.index_cast %first : index to i32
    %least = arith.sitofp %number : i32 to f32
    %limits = tile.broadcast %least : f32 to tensor<32xf32, #n>
    %less = arith.cmpf olt, %sum, %limits : tensor<32xf32, #n>
    %pairs = tile.broadcast %less : tensor<32xi1, #n> to tensor<32x32xi1, #mn>
    %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #mn>
    %ones = arith.constant dense<1.0> : tensor<32x32xf32, #mn>
    %y = arith.select %pairs, %ones, %zeros : tensor<32x32xi1, #mn>, tensor<32x32xf32, #mn>
    tile.store %y, %O[%m, %n] : tensor<32x32xf32, #mn>, tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<32xindex, #n>)
  }
}
