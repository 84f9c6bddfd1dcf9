// RUN: attentile-opt %s --tile-skip-masked-blocks --canonicalize --cse --split-input-file \
// RUN:   --remarks-filter=tile-skip-masked-blocks --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: attentile-opt %s --tile-skip-masked-blocks=keep-masks --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=MASKS

// Row maxima of masked scores: bounds, classes, and what is left of the mask.
// test/unit/SkipMaskedBlocksTest.cpp compares bounds with brute force.

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// The end of the axis is a bound, not a mask.
// CHECK-LABEL: tile.program @no_mask
// CHECK: scf.for %{{.*}} = %c0 to %N step
// CHECK: tile.blocks = #tile.blocks<full>
// CHECK-NOT: scf.for
tile.program @no_mask sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @no_mask_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Full blocks, then those that the diagonal crosses; or both in one loop.
// MASKS-LABEL: tile.program @causal
// MASKS: %[[ROWS:.*]] = arith.minsi %{{.*}}, %M
// MASKS: scf.for %{{.*}} = %c0 to %{{.*}} step %c16
// MASKS: arith.cmpi sle
// MASKS: tile.blocks = #tile.blocks<partial>
// MASKS-NOT: scf.for
// MASKS-LABEL: tile.program
// CHECK-LABEL: tile.program @causal
// CHECK: %[[M0:.*]] = arith.muli %{{.*}}, %c32
// CHECK: %[[END:.*]] = arith.addi %[[M0]], %c32
// CHECK: %[[ROWS:.*]] = arith.minsi %[[END]], %M
// CHECK: %[[FULL:.*]] = scf.for %{{.*}} = %c0 to %[[FULL_END:.*]] step %c16
// CHECK-NOT: arith.cmpi sle
// CHECK: tile.blocks = #tile.blocks<full>
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} = %[[FULL_END]] to %{{.*}} step %c16 iter_args(%{{.*}} = %[[FULL]])
// CHECK: arith.cmpi sle
// CHECK: tile.blocks = #tile.blocks<partial>
// CHECK-NOT: scf.for
// CHECK: tile.store %[[ALL]]
// REMARK: block-ranges | {{.*}}Function=causal_0 | FullLoops=1, Loops=2
tile.program @causal sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @causal_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Both ends of a band cut blocks; its width is a number at run time.
// CHECK-LABEL: tile.program @window
// CHECK: scf.for
// CHECK: tile.blocks = #tile.blocks<partial>
// CHECK: scf.for
// CHECK-NOT: arith.cmpi s{{[lg]}}{{[et]}}, %{{.*}} : tensor<32x16xindex
// CHECK: tile.blocks = #tile.blocks<full>
// CHECK: scf.for
// CHECK: tile.blocks = #tile.blocks<partial>
// CHECK-NOT: scf.for
// REMARK: Function=window_0 | FullLoops=1, Loops=3
tile.program @window sizes(%M, %N) ins(%X: f32[M, N], %width: i64) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @window_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %width_i = arith.index_cast %width : i64 to index
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %w = tile.broadcast %width_i : index to tensor<32x16xindex, #mn>
      %first = arith.subi %mm, %w : tensor<32x16xindex, #mn>
      %k0 = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %k1 = arith.cmpi sgt, %nn, %first : tensor<32x16xindex, #mn>
      %k = arith.andi %k0, %k1 : tensor<32x16xi1, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Two intervals: two chains. Four keys fill no block.
// CHECK-LABEL: tile.program @leading_or_window
// CHECK-COUNT-4: scf.for
// CHECK-NOT: scf.for
// REMARK: Function=leading_or_window_0 | FullLoops=1, Loops=4
tile.program @leading_or_window sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @leading_or_window_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %four = arith.constant dense<4> : tensor<32x16xindex, #mn>
      %width = arith.constant dense<100> : tensor<32x16xindex, #mn>
      %first = arith.subi %mm, %width : tensor<32x16xindex, #mn>
      %k0 = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %k1 = arith.cmpi sgt, %nn, %first : tensor<32x16xindex, #mn>
      %band = arith.andi %k0, %k1 : tensor<32x16xi1, #mn>
      %lead = arith.cmpi slt, %nn, %four : tensor<32x16xindex, #mn>
      %k = arith.ori %band, %lead : tensor<32x16xi1, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Nothing is known of a remainder: with it, the causal bound holds, no block is full.
// CHECK-LABEL: tile.program @remainder
// CHECK: scf.for
// CHECK: tile.blocks = #tile.blocks<partial>
// CHECK-NOT: scf.for
// REMARK: [Missed] condition-not-closed | {{.*}}Function=remainder_0 {{.*}}no bounds in closed form: this condition is taken to hold or fail anywhere
// REMARK-NEXT: arith.cmpi eq, %rest
// REMARK: Function=remainder_0 | FullLoops=0, Loops=1
tile.program @remainder sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @remainder_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %seven = arith.constant dense<7> : tensor<32x16xindex, #mn>
      %zero = arith.constant dense<0> : tensor<32x16xindex, #mn>
      %rest = attn.floormod %nn, %seven : tensor<32x16xindex, #mn>
      %k0 = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %k1 = arith.cmpi eq, %rest, %zero : tensor<32x16xindex, #mn>
      %k = arith.andi %k0, %k1 : tensor<32x16xi1, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// More than two intervals: their hull.
// CHECK-LABEL: tile.program @three_keys
// CHECK: scf.for
// CHECK-NOT: scf.for
// REMARK: [Missed] hull-of-intervals | {{.*}}Function=three_keys_0 | Intervals=3{{.*}}needed indices lie in several intervals: blocks between the first and the last are computed
tile.program @three_keys sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @three_keys_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %key0 = arith.constant dense<100> : tensor<32x16xindex, #mn>
      %k0 = arith.cmpi eq, %nn, %key0 : tensor<32x16xindex, #mn>
      %key1 = arith.constant dense<500> : tensor<32x16xindex, #mn>
      %k1 = arith.cmpi eq, %nn, %key1 : tensor<32x16xindex, #mn>
      %key2 = arith.constant dense<900> : tensor<32x16xindex, #mn>
      %k2 = arith.cmpi eq, %nn, %key2 : tensor<32x16xindex, #mn>
      %k01 = arith.ori %k0, %k1 : tensor<32x16xi1, #mn>
      %k = arith.ori %k01, %k2 : tensor<32x16xi1, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// tanh(-inf) is -1: a mask before a soft cap hides nothing, and still need not
// be evaluated where it holds.
// CHECK-LABEL: tile.program @soft_cap
// CHECK: scf.for %{{.*}} = %c0 to %[[FULL_END:.*]] step
// CHECK: tile.blocks = #tile.blocks<full>
// CHECK: scf.for %{{.*}} = %[[FULL_END]] to %[[ALL:.*]] step
// CHECK: tile.blocks = #tile.blocks<partial>
// CHECK-NOT: scf.for
tile.program @soft_cap sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @soft_cap_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %z = math.tanh %x : tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %z, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// -inf times a factor of unknown sign is no neutral element.
// CHECK-LABEL: tile.program @unknown_factor
// CHECK: %[[BLOCKS:.*]] = arith.divui
// CHECK: scf.for %{{.*}} = %c0 to %[[FULL_END:.*]] step
// CHECK: %[[ALL:.*]] = arith.muli %[[BLOCKS]], %c16
// CHECK: scf.for %{{.*}} = %[[FULL_END]] to %[[ALL]] step
tile.program @unknown_factor sizes(%M, %N) ins(%X: f32[M, N], %factor: f32) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @unknown_factor_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %f = tile.broadcast %factor : f32 to tensor<32x16xf32, #mn>
      %z = arith.mulf %x, %f : tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %z, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// A condition on floats stays in the code and hides no block.
// CHECK-LABEL: tile.program @threshold
// CHECK: scf.for %{{.*}} = %c0 to %[[FULL_END:.*]] step
// CHECK-NOT: arith.cmpi sle
// CHECK: arith.cmpf
// CHECK: tile.blocks = #tile.blocks<full>
// CHECK: scf.for %{{.*}} = %[[FULL_END]] to
// CHECK: tile.blocks = #tile.blocks<partial>
// REMARK-NOT: condition-not-closed
tile.program @threshold sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @threshold_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %x = arith.select %k, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %low = arith.constant dense<-5.0> : tensor<32x16xf32, #mn>
      %above = arith.cmpf ogt, %x, %low : tensor<32x16xf32, #mn>
      %z = arith.select %above, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %z, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// exp(-inf) is 0: hidden blocks add nothing.
// CHECK-LABEL: tile.program @weights
// CHECK: arith.minsi %{{.*}}, %M
// REMARK: Function=weights_0 | FullLoops=1, Loops=2
tile.program @weights sizes(%M, %N) ins(%X: f32[M, N], %R: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @weights_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %zero = arith.constant dense<0.0> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0.0> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %row = tile.load %R[%m] : tensor<?xf32>, (tensor<32xindex, #m>) -> tensor<32xf32, #m>
    %sum = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s0 = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %s = arith.select %k, %s0, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %r = tile.broadcast %row : tensor<32xf32, #m> to tensor<32x16xf32, #mn>
      %d = arith.subf %s, %r : tensor<32x16xf32, #mn>
      %p = math.exp %d : tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %p, %zero : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce sum %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.addf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %sum, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// 0 * -inf is NaN in the formula: no block may be left out.
// CHECK-LABEL: tile.program @weights_times_scores
// CHECK: %[[BLOCKS:.*]] = arith.divui
// CHECK: %[[ALL:.*]] = arith.muli %[[BLOCKS]], %c16
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ALL]] step
tile.program @weights_times_scores sizes(%M, %N) ins(%X: f32[M, N], %R: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @weights_times_scores_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %zero = arith.constant dense<0.0> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0.0> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %row = tile.load %R[%m] : tensor<?xf32>, (tensor<32xindex, #m>) -> tensor<32xf32, #m>
    %sum = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s0 = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %s = arith.select %k, %s0, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %r = tile.broadcast %row : tensor<32xf32, #m> to tensor<32x16xf32, #mn>
      %d = arith.subf %s, %r : tensor<32x16xf32, #mn>
      %p = math.exp %d : tensor<32x16xf32, #mn>
      %z = arith.mulf %p, %s : tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %z, %zero : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce sum %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.addf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %sum, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// A maximum over the keys may be -inf, and -inf - -inf is NaN: the same.
// CHECK-LABEL: tile.program @maximum_of_nothing
// CHECK: %[[N15:.*]] = arith.addi %N, %c15
// CHECK: %[[BLOCKS:.*]] = arith.divui %[[N15]], %c16
// CHECK: } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
// CHECK: %[[ALL:.*]] = arith.muli %[[BLOCKS]], %c16
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ALL]] step
tile.program @maximum_of_nothing sizes(%M, %N) ins(%X: f32[M, N], %R: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c32 : index
  tile.kernel @maximum_of_nothing_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %zero = arith.constant dense<0.0> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0.0> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %row = tile.load %R[%m] : tensor<?xf32>, (tensor<32xindex, #m>) -> tensor<32xf32, #m>
    %low = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %max = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %low) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s0 = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %s = arith.select %k, %s0, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    %sum = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s0 = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %k = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %s = arith.select %k, %s0, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %r = tile.broadcast %max : tensor<32xf32, #m> to tensor<32x16xf32, #mn>
      %d = arith.subf %s, %r : tensor<32x16xf32, #mn>
      %p = math.exp %d : tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %p, %zero : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce sum %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %b = arith.addf %a, %t : tensor<32xf32, #m>
      scf.yield %b : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %sum, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}
