// RUN: attentile-opt %s --tile-peel-tails --canonicalize --cse --split-input-file \
// RUN:   --remarks-filter=tile-peel-tails --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// The last block, where it is not whole, has a loop of its own.
// CHECK-DAG: #[[N:.*]] = affine_map<()[s0, s1] -> (s1)>
// CHECK-LABEL: tile.program @own_tail
// CHECK: %[[BLOCKS:.*]] = arith.divui %N, %c16
// CHECK: %[[WHOLE:.*]] = arith.muli %[[BLOCKS]], %c16
// CHECK: %[[FULL:.*]] = scf.for %{{.*}} = %c0 to %[[WHOLE]]
// CHECK-NOT: arith.cmpi
// CHECK: tile.blocks = #tile.blocks<full>, tile.inside = #[[N]]}
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} = %[[WHOLE]] to %N step %c16 iter_args(%{{.*}} = %[[FULL]])
// CHECK: arith.cmpi slt
// CHECK: tile.blocks = #tile.blocks<partial>}
// CHECK: tile.store %[[ALL]]
// REMARK: Peeled | {{.*}}full blocks run without the axis's bound; the last, shorter one is left to a loop of its own
tile.program @own_tail sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  tile.kernel @own_tail_0 grid(%i < %M) {
    %m = tile.index %i : tensor<1xindex, #m>
    %ninf = arith.constant dense<0xFF800000> : tensor<1x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<1xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<1xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<1xindex, #m>, tensor<16xindex, #n>) -> tensor<1x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<1x16xi1, #mn>
      %y = arith.select %in, %s, %ninf : tensor<1x16xi1, #mn>, tensor<1x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<1x16xf32, #mn> -> tensor<1xf32, #m>
      %b = arith.maximumf %a, %t : tensor<1xf32, #m>
      scf.yield %b : tensor<1xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    tile.store %r, %Y[%m] : tensor<1xf32, #m>, tensor<?xf32>, (tensor<1xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Partial blocks follow: they take the rest. Where there is no full block, the
// loop over them must not start earlier than it did.
// CHECK-LABEL: tile.program @following
// CHECK: %[[FROM:.*]] = arith.muli %first, %c16
// CHECK: %[[TO:.*]] = arith.muli %last, %c16
// CHECK: %[[WHOLE:.*]] = arith.muli %{{.*}}, %c16
// CHECK: %[[SHORTER:.*]] = arith.minsi %[[TO]], %[[WHOLE]]
// CHECK: %[[END:.*]] = arith.maxsi %[[FROM]], %[[SHORTER]]
// CHECK: %[[FULL:.*]] = scf.for %{{.*}} = %[[FROM]] to %[[END]]
// CHECK: scf.for %{{.*}} = %[[END]] to %N step %c16 iter_args(%{{.*}} = %[[FULL]])
// CHECK-NOT: scf.for
// REMARK: Peeled | {{.*}}left to the loop that follows
tile.program @following sizes(%N) ins(%X: f32[N], %first: index, %last: index) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @following_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %from = arith.muli %first, %c16 : index
    %to = arith.muli %last, %c16 : index
    %r = scf.for %n0 = %from to %to step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %q = scf.for %n0 = %to to %N step %c16 iter_args(%a = %r) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    tile.store %q, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}

// -----

#n = #tile.axes<"n">

// A whole number of blocks: no bound, no tail. A mask that is a comparison with
// another size stays.
// CHECK-DAG: #[[N:.*]] = affine_map<()[s0] -> (4096)>
// CHECK-LABEL: tile.program @whole
// CHECK: scf.for %{{.*}} = %c0 to %c4096
// CHECK: %[[MASK:.*]] = arith.cmpi slt
// CHECK-NOT: arith.cmpi
// CHECK: arith.select %[[MASK]]
// CHECK-NOT: arith.select
// CHECK: tile.inside = #[[N]]}
// CHECK-NOT: scf.for
// REMARK: Whole | {{.*}}the axis is a whole number of blocks
tile.program @whole sizes(%G) ins(%X: f32[4096]) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c4096 = arith.constant 4096 : index
  tile.kernel @whole_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %end = tile.broadcast %c4096 : index to tensor<16xindex, #n>
    %seen = tile.broadcast %G : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %c4096 step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<4096xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %mask = arith.cmpi slt, %n, %seen : tensor<16xindex, #n>
      %x = arith.select %mask, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %x, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}

// -----

#n = #tile.axes<"n">

// Blocks that may start anywhere reach the end anywhere.
// CHECK-LABEL: tile.program @shifted
// CHECK: scf.for %{{.*}} = %first to %N
// CHECK: arith.cmpi slt
// CHECK-NOT: scf.for
// REMARK: BoundKept | {{.*}}blocks may start anywhere{{.*}}every full block evaluates the axis's bound
tile.program @shifted sizes(%N) ins(%X: f32[N], %first: index) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @shifted_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %first to %N step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Full blocks of a list lie within the axis: no bound, no tail.
// CHECK-LABEL: tile.program @listed
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK: tile.from_list, tile.inside
// CHECK-NOT: scf.for
// REMARK: Listed | {{.*}}the list's full blocks lie within the axis
tile.program @listed sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %list = attn.workspace "blocks" shape affine_map<()[s0, s1] -> (s0, s1)> : tensor<?x?xi32>
  tile.kernel @listed_0 grid(%i < %M) {
    %m = tile.index %i : tensor<1xindex, #m>
    %ninf = arith.constant dense<0xFF800000> : tensor<1x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<1xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %k = %c0 to %N step %c1 iter_args(%a = %start) -> (tensor<1xf32, #m>) {
      %entry = tile.load %list[%i, %k] : tensor<?x?xi32>, (index, index) -> i32
      %block = arith.index_cast %entry : i32 to index
      %n0 = arith.muli %block, %c16 : index
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<1xindex, #m>, tensor<16xindex, #n>) -> tensor<1x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<1x16xi1, #mn>
      %y = arith.select %in, %s, %ninf : tensor<1x16xi1, #mn>, tensor<1x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<1x16xf32, #mn> -> tensor<1xf32, #m>
      %next = arith.maximumf %a, %t : tensor<1xf32, #m>
      scf.yield %next : tensor<1xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>, tile.from_list}
    tile.store %r, %Y[%m] : tensor<1xf32, #m>, tensor<?xf32>, (tensor<1xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">

// A mask that compares the index with a number, also a multiple of the block, is not the axis's bound, which is 32 here.
// CHECK-LABEL: tile.program @mask_alone
// CHECK: scf.for %{{.*}} = %c0 to %c32
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<16xindex, #n>
// CHECK: arith.select %[[MASK]],
// REMARK-NOT: Function=mask_alone
tile.program @mask_alone sizes(%M) ins(%X: f32[M, 32]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.kernel @mask_alone_0 grid(%i < %M) {
    %m = tile.index %i : tensor<1xindex, #m>
    %one = arith.constant dense<1.0> : tensor<16xf32, #n>
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %sixteen = arith.constant dense<16> : tensor<16xindex, #n>
    %start = arith.constant 0.0 : f32
    %r = scf.for %n0 = %c0 to %c32 step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %few = arith.cmpi slt, %n, %sixteen : tensor<16xindex, #n>
      %y = arith.select %few, %one, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %all = tile.broadcast %r : f32 to tensor<1xf32, #m>
    tile.store %all, %Y[%m] : tensor<1xf32, #m>, tensor<?xf32>, (tensor<1xindex, #m>)
  }
}
