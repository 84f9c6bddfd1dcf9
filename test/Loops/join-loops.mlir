// RUN: attentile-opt %s --tile-join-loops --canonicalize --cse --split-input-file \
// RUN:   --remarks-filter=tile-join-loops --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks

#n = #tile.axes<"n">

// Blocks before, between and behind: the condition stands on one side, and what
// makes it with it.
// CHECK-LABEL: tile.program @both_ends
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %first to %last step %c16 iter_args(%[[A:.*]] = %{{.*}})
// CHECK-DAG: %[[FROM:.*]] = arith.cmpi sge, %[[I]], %from
// CHECK-DAG: %[[TO:.*]] = arith.cmpi slt, %[[I]], %to
// CHECK: %[[FULL:.*]] = arith.andi %[[FROM]], %[[TO]]
// CHECK: %[[INDEX:.*]] = tile.index %[[I]]
// CHECK: %[[S:.*]] = tile.load %X[%[[INDEX]]]
// CHECK-NOT: arith.cmpi
// CHECK: %[[X:.*]] = scf.if %[[FULL]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: arith.cmpi slt, %[[INDEX]]
// CHECK: %[[MASKED:.*]] = arith.select %{{.*}}, %[[S]], %[[ZERO]]
// CHECK: scf.yield %[[MASKED]]
// CHECK: tile.reduce sum %[[X]]
// CHECK: } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
// CHECK-NOT: scf.for
// CHECK: tile.store %[[SUM]]
// REMARK: Joined {{.*}}Function=both_ends_0 | Loops=3{{.*}}one loop branches around what full blocks need not evaluate
tile.program @both_ends sizes(%N) ins(%X: f32[N], %first: index, %from: index, %to: index, %last: index) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @both_ends_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %p = scf.for %n0 = %first to %from step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    %q = scf.for %n0 = %from to %to step %c16 iter_args(%a = %p) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %t = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %r = scf.for %n0 = %to to %last step %c16 iter_args(%a = %q) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}

// -----

#n = #tile.axes<"n">

// A mask before the full blocks and the axis's end behind them: the body with
// both serves for all partial ones, wherever it stands.
// CHECK-LABEL: tile.program @two_conditions
// CHECK: scf.for %[[I:.*]] = %first to %last
// CHECK: %[[X:.*]] = scf.if
// CHECK-DAG: arith.cmpi sge, %{{.*}}, %{{.*}} : tensor<16xindex
// CHECK-DAG: arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<16xindex
// CHECK: tile.reduce sum %[[X]]
// CHECK: tile.blocks = #tile.blocks<mixed>
// CHECK-NOT: scf.for
// REMARK: Joined {{.*}}Function=two_conditions_0 | Loops=3
tile.program @two_conditions sizes(%N) ins(%X: f32[N], %first: index, %from: index, %to: index, %last: index) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @two_conditions_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %begin = tile.broadcast %first : index to tensor<16xindex, #n>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %p = scf.for %n0 = %first to %from step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    %q = scf.for %n0 = %from to %to step %c16 iter_args(%a = %p) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %t = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %r = scf.for %n0 = %to to %last step %c16 iter_args(%a = %q) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %seen = arith.cmpi sge, %n, %begin : tensor<16xindex, #n>
      %x = arith.select %seen, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %x, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}

// -----

#n = #tile.axes<"n">

// A condition that full blocks evaluate too, a sum that no select touches, and
// two selects around each other, which become one branch.
// CHECK-LABEL: tile.program @common
// CHECK: scf.for %[[I:.*]] = %c0 to %last
// CHECK: %[[FULL:.*]] = arith.cmpi slt, %[[I]], %to
// CHECK: %[[S:.*]] = tile.load %X
// CHECK: %[[SEEN:.*]] = arith.cmpf
// CHECK: %[[Z:.*]] = scf.if %[[FULL]]
// CHECK-NEXT: arith.select %[[SEEN]], %[[S]]
// CHECK: } else {
// CHECK: %[[BOTH:.*]] = arith.andi %[[SEEN]]
// CHECK: arith.select %[[BOTH]], %[[S]]
// CHECK: arith.select
// CHECK: }
// CHECK-NOT: scf.if
// CHECK: tile.reduce sum %[[Z]]
// CHECK: tile.reduce sum %[[S]]
// CHECK: tile.blocks = #tile.blocks<mixed>
tile.program @common sizes(%N) ins(%X: f32[N], %to: index, %last: index) outs(%Y: f32[1], %Z: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @common_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %bound = tile.broadcast %last : index to tensor<16xindex, #n>
    %p:2 = scf.for %n0 = %c0 to %to step %c16 iter_args(%a = %start, %b = %start) -> (f32, f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %seen = arith.cmpf ogt, %s, %zero : tensor<16xf32, #n>
      %x = arith.select %seen, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %x over ["n"] : tensor<16xf32, #n> -> f32
      %u = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %a1 = arith.addf %a, %t : f32
      %b1 = arith.addf %b, %u : f32
      scf.yield %a1, %b1 : f32, f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %q:2 = scf.for %n0 = %to to %last step %c16 iter_args(%a = %p#0, %b = %p#1) -> (f32, f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %seen = arith.cmpf ogt, %s, %zero : tensor<16xf32, #n>
      %mask = arith.cmpi slt, %n, %bound : tensor<16xindex, #n>
      %both = arith.andi %seen, %mask : tensor<16xi1, #n>
      %x = arith.select %both, %s, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %in = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %y = arith.select %in, %x, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %u = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %a1 = arith.addf %a, %t : f32
      %b1 = arith.addf %b, %u : f32
      scf.yield %a1, %b1 : f32, f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    tile.store %q#0, %Y[%c0] : f32, tensor<1xf32>, (index)
    tile.store %q#1, %Z[%c0] : f32, tensor<1xf32>, (index)
  }
}

// -----

#n = #tile.axes<"n">

// Bodies that differ in more, and loops with a gap between them, stay.
// CHECK-LABEL: tile.program @apart
// CHECK: scf.for
// CHECK: tile.blocks = #tile.blocks<full>
// CHECK: scf.for
// CHECK: tile.blocks = #tile.blocks<partial>
// CHECK: scf.for
// CHECK: tile.blocks = #tile.blocks<full>
// REMARK: NotJoined {{.*}}their bodies differ in more than selects{{.*}}full and partial blocks keep a loop each
// REMARK-NOT: Joined
tile.program @apart sizes(%N) ins(%X: f32[N], %to: index, %again: index) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @apart_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %p = scf.for %n0 = %c0 to %to step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %t = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %q = scf.for %n0 = %to to %N step %c16 iter_args(%a = %p) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %y = arith.addf %s, %s : tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    %r = scf.for %n0 = %again to %N step %c16 iter_args(%a = %q) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %t = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}
