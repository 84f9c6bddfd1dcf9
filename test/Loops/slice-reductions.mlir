// RUN: attentile-opt %s --tile-slice-reductions --split-input-file | FileCheck %s

#d = #tile.axes<"d">
#m_d = #tile.axes<"m", "d">
#m_n = #tile.axes<"m", "n">
#m_n_d = #tile.axes<"m", "n", "d">
#n = #tile.axes<"n">
#n_d = #tile.axes<"n", "d">
#m = #tile.axes<"m">

// 1,024 elements for a lane become 16 slices of 64. All that has the axis is computed for a slice, from the loads on, those
// before the loop over keys too; nothing of it stays.
// CHECK-LABEL: tile.program @additive
// CHECK-NOT: tensor<128xindex
// CHECK: scf.for %[[N0:[a-z0-9]+]] =
// CHECK:   %[[N:.*]] = tile.index %[[N0]] : tensor<16xindex, #n>
// CHECK:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x16xf32, #m_n>
// CHECK:   %[[S:.*]] = scf.for %[[D0:[a-z0-9]+]] = %{{.*}} to %c128{{.*}} step %c8{{.*}} iter_args(%[[SUM:[a-z0-9]+]] = %[[ZERO]])
// CHECK-DAG: %[[HALVES:.*]] = arith.constant dense<5.000000e-01> : tensor<16x16x8xf32, #m_n_d>
// CHECK-DAG: %[[D1:.*]] = arith.addi %{{.*}}, %[[D0]]
// CHECK-DAG: %[[D:.*]] = tile.index %[[D1]] : tensor<8xindex, #d>
// CHECK-DAG: %[[Q:.*]] = tile.load %Q[%{{.*}}, %[[D]]] {{.*}} -> tensor<16x8xf32, #m_d>
// CHECK-DAG: %[[K:.*]] = tile.load %K[%[[N]], %[[D]]] {{.*}} -> tensor<16x8xf32, #n_d>
// CHECK:     %[[T:.*]] = math.tanh %{{.*}} : tensor<16x16x8xf32, #m_n_d>
// CHECK:     %[[X:.*]] = arith.mulf %[[T]], %[[HALVES]]
// CHECK:     %[[PART:.*]] = tile.reduce sum %[[X]] over ["d"] : tensor<16x16x8xf32, #m_n_d> -> tensor<16x16xf32, #m_n>
// CHECK:     %[[NEXT:.*]] = arith.addf %[[SUM]], %[[PART]]
// CHECK:     scf.yield %[[NEXT]]
// CHECK:   } {tile.slices}
// CHECK:   tile.reduce sum %[[S]] over ["n"]
tile.program @additive sizes(%M, %N) ins(%Q: f32[M, 128], %K: f32[N, 128]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @additive_0 grid(%i < %c1) attributes {tile.resources = #tile.resources<warps = 1, stages = 2, registers = 255, shared = 8192, blocks = 8, keep_left = false>} {
    %halves = arith.constant dense<0.5> : tensor<16x16x128xf32, #m_n_d>
    %none = arith.constant dense<0.0> : tensor<16xf32, #m>
    %m = tile.index %i : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<128xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x128xf32>, (tensor<16xindex, #m>, tensor<128xindex, #d>) -> tensor<16x128xf32, #m_d>
    %qs = tile.broadcast %q : tensor<16x128xf32, #m_d> to tensor<16x16x128xf32, #m_n_d>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %none) -> (tensor<16xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %k = tile.load %K[%n, %d] : tensor<?x128xf32>, (tensor<16xindex, #n>, tensor<128xindex, #d>) -> tensor<16x128xf32, #n_d>
      %ks = tile.broadcast %k : tensor<16x128xf32, #n_d> to tensor<16x16x128xf32, #m_n_d>
      %x = arith.addf %qs, %ks : tensor<16x16x128xf32, #m_n_d>
      %t = math.tanh %x : tensor<16x16x128xf32, #m_n_d>
      %h = arith.mulf %t, %halves : tensor<16x16x128xf32, #m_n_d>
      %s = tile.reduce sum %h over ["d"] : tensor<16x16x128xf32, #m_n_d> -> tensor<16x16xf32, #m_n>
      %l = tile.reduce sum %s over ["n"] : tensor<16x16xf32, #m_n> -> tensor<16xf32, #m>
      %b = arith.addf %a, %l : tensor<16xf32, #m>
      scf.yield %b : tensor<16xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
}

// -----

#d = #tile.axes<"d">
#m = #tile.axes<"m">
#m_d = #tile.axes<"m", "d">

// 128 elements for each lane are reduced at once whatever they are, and 512 without functions and loads of their own.
// CHECK-LABEL: tile.program @small
// CHECK-NOT: tile.slices
tile.program @small sizes(%M) ins(%Q: f32[M, 64], %K: f32[256]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel @small_0 grid(%i < %c1) {
    %m = tile.index %i : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x64xf32>, (tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xf32, #m_d>
    %t = math.tanh %q : tensor<64x64xf32, #m_d>
    %s = tile.reduce sum %t over ["d"] : tensor<64x64xf32, #m_d> -> tensor<64xf32, #m>
    tile.store %s, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
  tile.kernel @small_1 grid(%i < %c1) {
    %m = tile.index %i : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<256xindex, #d>
    %k = tile.load %K[%d] : tensor<256xf32>, (tensor<256xindex, #d>) -> tensor<256xf32, #d>
    %q = tile.broadcast %k : tensor<256xf32, #d> to tensor<64x256xf32, #m_d>
    %t = math.absf %q : tensor<64x256xf32, #m_d>
    %s = tile.reduce sum %t over ["d"] : tensor<64x256xf32, #m_d> -> tensor<64xf32, #m>
    tile.store %s, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
}

// -----

#d = #tile.axes<"d">
#m = #tile.axes<"m">
#m_d = #tile.axes<"m", "d">
#m_n = #tile.axes<"m", "n">
#m_n_d = #tile.axes<"m", "n", "d">
#n = #tile.axes<"n">
#n_d = #tile.axes<"n", "d">

// Slices of cheap terms have 256 elements for a lane.
// CHECK-LABEL: tile.program @cheap
// CHECK: tile.reduce sum %{{.*}} over ["d"] : tensor<16x16x32xf32, #m_n_d>
tile.program @cheap sizes(%M) ins(%Q: f32[M, 128]) outs(%Y: f32[M, M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel @cheap_0 grid(%i < %c1) {
    %m = tile.index %i : tensor<16xindex, #m>
    %n = tile.index %i : tensor<16xindex, #n>
    %d = tile.index %c0 : tensor<128xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x128xf32>, (tensor<16xindex, #m>, tensor<128xindex, #d>) -> tensor<16x128xf32, #m_d>
    %k = tile.load %Q[%n, %d] : tensor<?x128xf32>, (tensor<16xindex, #n>, tensor<128xindex, #d>) -> tensor<16x128xf32, #n_d>
    %qs = tile.broadcast %q : tensor<16x128xf32, #m_d> to tensor<16x16x128xf32, #m_n_d>
    %ks = tile.broadcast %k : tensor<16x128xf32, #n_d> to tensor<16x16x128xf32, #m_n_d>
    %x = arith.subf %qs, %ks : tensor<16x16x128xf32, #m_n_d>
    %t = math.absf %x : tensor<16x16x128xf32, #m_n_d>
    %s = tile.reduce sum %t over ["d"] : tensor<16x16x128xf32, #m_n_d> -> tensor<16x16xf32, #m_n>
    tile.store %s, %Y[%m, %n] : tensor<16x16xf32, #m_n>, tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>)
  }
}

// -----

#c = #tile.axes<"c">
#d = #tile.axes<"d">
#d_c = #tile.axes<"d", "c">
#m = #tile.axes<"m">
#m_c = #tile.axes<"m", "c">
#m_d = #tile.axes<"m", "d">

// A maximum starts at -inf and is one of a maximum and the slice's; the larger axis is cut where both would do.
// CHECK-LABEL: tile.program @largest
// CHECK: arith.constant dense<0xFF800000> : tensor<16xf32, #m>
// CHECK: scf.for
// CHECK: %[[PART:.*]] = tile.reduce max %{{.*}} over ["c", "d"] : tensor<16x16x8xf32, #m_c_d>
// CHECK: arith.maximumf %{{.*}}, %[[PART]]
// CHECK: {tile.slices}
// CHECK-LABEL: tile.kernel @largest_1
// What a product gives along the axis is not computed again.
// CHECK-NOT: tile.slices
tile.program @largest sizes(%M) ins(%Q: f32[M, 16, 128], %X: f32[M, 16], %W: f32[512, 16]) outs(%Y: f32[M], %Z: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel @largest_0 grid(%i < %c1) {
    %m = tile.index %i : tensor<16xindex, #m>
    %cs = tile.index %c0 : tensor<16xindex, #c>
    %d = tile.index %c0 : tensor<128xindex, #d>
    %q = tile.load %Q[%m, %cs, %d] : tensor<?x16x128xf32>, (tensor<16xindex, #m>, tensor<16xindex, #c>, tensor<128xindex, #d>) -> tensor<16x16x128xf32, #tile.axes<"m", "c", "d">>
    %s = tile.reduce max %q over ["c", "d"] : tensor<16x16x128xf32, #tile.axes<"m", "c", "d">> -> tensor<16xf32, #m>
    tile.store %s, %Y[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
  tile.kernel @largest_1 grid(%i < %c1) {
    %m = tile.index %i : tensor<16xindex, #m>
    %cs = tile.index %c0 : tensor<16xindex, #c>
    %d = tile.index %c0 : tensor<512xindex, #d>
    %x = tile.load %X[%m, %cs] : tensor<?x16xf32>, (tensor<16xindex, #m>, tensor<16xindex, #c>) -> tensor<16x16xf32, #m_c>
    %w = tile.load %W[%d, %cs] : tensor<512x16xf32>, (tensor<512xindex, #d>, tensor<16xindex, #c>) -> tensor<512x16xf32, #d_c>
    %p = tile.dot %x, %w over ["c"] product f32 : tensor<16x16xf32, #m_c>, tensor<512x16xf32, #d_c> -> tensor<16x512xf32, #m_d>
    %t = math.tanh %p : tensor<16x512xf32, #m_d>
    %s = tile.reduce sum %t over ["d"] : tensor<16x512xf32, #m_d> -> tensor<16xf32, #m>
    tile.store %s, %Z[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
}

// -----

#d = #tile.axes<"d">

// A condition's `any` stays as it is.
// CHECK-LABEL: tile.program @any
// CHECK-NOT: tile.slices
tile.program @any sizes(%M) ins(%Q: i1[8192]) outs(%Y: i1[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel @any_0 grid(%i < %c1) {
    %d = tile.index %c0 : tensor<8192xindex, #d>
    %q = tile.load %Q[%d] : tensor<8192xi1>, (tensor<8192xindex, #d>) -> tensor<8192xi1, #d>
    %s = tile.reduce any %q over ["d"] : tensor<8192xi1, #d> -> i1
    tile.store %s, %Y[%c0] : i1, tensor<1xi1>, (index)
  }
}
