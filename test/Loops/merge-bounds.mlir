// RUN: attentile-opt %s --tile-merge-bounds --canonicalize --cse --split-input-file | FileCheck %s

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// The axis's end and the mask's are one bound a row; the window's start, on the
// other side, stays a comparison of its own.
// CHECK-LABEL: tile.program @window
// CHECK: scf.for %[[N0:.*]] = 
// CHECK: %[[N:.*]] = tile.index %[[N0]]
// CHECK: %[[NS:.*]] = tile.broadcast %[[N]] : tensor<16xindex, #n>
// CHECK: %[[LAST_KEY:.*]] = arith.addi %N, %c-1
// CHECK: %[[LAST_KEYS:.*]] = tile.broadcast %[[LAST_KEY]] : index to tensor<16xindex, #m>
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %{{.*}} : tensor<16xindex, #m>
// CHECK: %[[ENDS:.*]] = tile.broadcast %[[END]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle, %[[NS]], %[[ENDS]]
// CHECK: %[[VISIBLE:.*]] = arith.andi
// CHECK: arith.select %[[VISIBLE]]
// CHECK-NOT: arith.select
tile.program @window sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M, N]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  tile.kernel @window_0 grid(%i < %M) {
    %m = tile.index %i : tensor<16xindex, #m>
    %ninf = arith.constant dense<0xFF800000> : tensor<16x16xf32, #mn>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %ms = tile.broadcast %m : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %size = tile.broadcast %c16 : index to tensor<16x16xindex, #mn>
    scf.for %n0 = %c0 to %N step %c16 {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>) -> tensor<16x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<16x16xi1, #mn>
      %ns = tile.broadcast %n : tensor<16xindex, #n> to tensor<16x16xindex, #mn>
      %seen = arith.cmpi sge, %ms, %ns : tensor<16x16xindex, #mn>
      %from = arith.subi %ms, %size : tensor<16x16xindex, #mn>
      %near = arith.cmpi sgt, %ns, %from : tensor<16x16xindex, #mn>
      %both = arith.andi %seen, %near : tensor<16x16xi1, #mn>
      %x = arith.select %both, %s, %ninf : tensor<16x16xi1, #mn>, tensor<16x16xf32, #mn>
      %y = arith.select %in, %x, %ninf : tensor<16x16xi1, #mn>, tensor<16x16xf32, #mn>
      tile.store %y, %Y[%m, %n] : tensor<16x16xf32, #mn>, tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>)
    }
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// One more than a value that was loaded may wrap; a select of something else
// hides something else.
// CHECK-LABEL: tile.program @apart
// CHECK-COUNT-2: arith.cmpi
// CHECK: arith.andi
// CHECK-COUNT-2: arith.select
tile.program @apart sizes(%M, %N) ins(%X: f32[M, N], %len: i64[M], %pad: i64[M]) outs(%Y: f32[M, N]) {
  %c0 = arith.constant 0 : index
  tile.kernel @apart_0 grid(%i < %M) {
    %m = tile.index %i : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<16xindex, #n>
    %ninf = arith.constant dense<0xFF800000> : tensor<16x16xf32, #mn>
    %zero = arith.constant dense<0.0> : tensor<16x16xf32, #mn>
    %l = tile.load %len[%m] : tensor<?xi64>, (tensor<16xindex, #m>) -> tensor<16xi64, #m>
    %p = tile.load %pad[%m] : tensor<?xi64>, (tensor<16xindex, #m>) -> tensor<16xi64, #m>
    %li = arith.index_cast %l : tensor<16xi64, #m> to tensor<16xindex, #m>
    %pi = arith.index_cast %p : tensor<16xi64, #m> to tensor<16xindex, #m>
    %ls = tile.broadcast %li : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %ps = tile.broadcast %pi : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %ns = tile.broadcast %n : tensor<16xindex, #n> to tensor<16x16xindex, #mn>
    %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>) -> tensor<16x16xf32, #mn>
    %a = arith.cmpi slt, %ns, %ls : tensor<16x16xindex, #mn>
    %b = arith.cmpi sle, %ns, %ps : tensor<16x16xindex, #mn>
    %both = arith.andi %a, %b : tensor<16x16xi1, #mn>
    %x = arith.select %both, %s, %zero : tensor<16x16xi1, #mn>, tensor<16x16xf32, #mn>
    %y = arith.select %a, %x, %ninf : tensor<16x16xi1, #mn>, tensor<16x16xf32, #mn>
    tile.store %y, %Y[%m, %n] : tensor<16x16xf32, #mn>, tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Three bounds on one side: two that merge do not take turns with the third.
// CHECK-LABEL: tile.program @three
// CHECK: arith.minsi
// CHECK: arith.minsi
// CHECK: arith.cmpi
// CHECK-NOT: arith.cmpi
// CHECK: arith.select
// CHECK-NOT: arith.select
tile.program @three sizes(%M, %N) ins(%X: f32[M, N], %a: index[M], %b: index[M]) outs(%Y: f32[M, N]) {
  %c0 = arith.constant 0 : index
  tile.kernel @three_0 grid(%i < %M) {
    %m = tile.index %i : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<16xindex, #n>
    %ninf = arith.constant dense<0xFF800000> : tensor<16x16xf32, #mn>
    %al = tile.load %a[%m] : tensor<?xindex>, (tensor<16xindex, #m>) -> tensor<16xindex, #m>
    %bl = tile.load %b[%m] : tensor<?xindex>, (tensor<16xindex, #m>) -> tensor<16xindex, #m>
    %ns = tile.broadcast %n : tensor<16xindex, #n> to tensor<16x16xindex, #mn>
    %ms = tile.broadcast %m : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %as = tile.broadcast %al : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %bs = tile.broadcast %bl : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>) -> tensor<16x16xf32, #mn>
    %first = arith.cmpi sle, %ns, %ms : tensor<16x16xindex, #mn>
    %second = arith.cmpi sle, %ns, %as : tensor<16x16xindex, #mn>
    %third = arith.cmpi sle, %ns, %bs : tensor<16x16xindex, #mn>
    %two = arith.andi %first, %second : tensor<16x16xi1, #mn>
    %all = arith.andi %two, %third : tensor<16x16xi1, #mn>
    %y = arith.select %all, %s, %ninf : tensor<16x16xi1, #mn>, tensor<16x16xf32, #mn>
    tile.store %y, %Y[%m, %n] : tensor<16x16xf32, #mn>, tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// The last row, M - 1, sees up to the axis's end: no row that exists sees beyond it, and its bound says nothing. A key farther
// ahead would lie beyond.
// CHECK-LABEL: tile.program @causal
// CHECK-NOT: arith.minsi
// CHECK: arith.cmpi sle
// CHECK-NOT: arith.minsi
// CHECK: tile.store
// CHECK: arith.minsi
// CHECK: tile.store
tile.program @causal sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M, N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c16 : index
  tile.kernel @causal_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<16xindex, #n>
    %ninf = arith.constant dense<0xFF800000> : tensor<16x16xf32, #mn>
    %more = arith.subi %N, %M : index
    %mores = tile.broadcast %more : index to tensor<16xindex, #m>
    %last = arith.addi %m, %mores : tensor<16xindex, #m>
    %ones = tile.broadcast %c1 : index to tensor<16xindex, #m>
    %beyond = arith.addi %last, %ones : tensor<16xindex, #m>
    %lasts = tile.broadcast %last : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %beyonds = tile.broadcast %beyond : tensor<16xindex, #m> to tensor<16x16xindex, #mn>
    %ns = tile.broadcast %n : tensor<16xindex, #n> to tensor<16x16xindex, #mn>
    %end = tile.broadcast %N : index to tensor<16x16xindex, #mn>
    %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>) -> tensor<16x16xf32, #mn>
    %in = arith.cmpi slt, %ns, %end : tensor<16x16xindex, #mn>
    %seen = arith.cmpi sle, %ns, %lasts : tensor<16x16xindex, #mn>
    %both = arith.andi %in, %seen : tensor<16x16xi1, #mn>
    %x = arith.select %both, %s, %ninf : tensor<16x16xi1, #mn>, tensor<16x16xf32, #mn>
    tile.store %x, %Y[%m, %n] : tensor<16x16xf32, #mn>, tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>)
    %far = arith.cmpi sle, %ns, %beyonds : tensor<16x16xindex, #mn>
    %all = arith.andi %in, %far : tensor<16x16xi1, #mn>
    %y = arith.select %all, %s, %ninf : tensor<16x16xi1, #mn>, tensor<16x16xf32, #mn>
    tile.store %y, %Y[%m, %n] : tensor<16x16xf32, #mn>, tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<16xindex, #n>)
  }
}
