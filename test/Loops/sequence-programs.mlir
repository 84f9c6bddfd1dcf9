// RUN: attentile-opt %s --tile-sequence-programs | FileCheck %s

#m = #tile.axes<"m">

// The last axis becomes a loop around the body; the others stay.
// CHECK-LABEL: tile.kernel @two
// CHECK-SAME: grid(%[[H:.*]] < %{{[^,]*}}) {
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[BLOCKS:.*]] step
// CHECK:   %[[AT:.*]] = arith.muli %[[I]],
// CHECK:   tile.index %[[AT]]
// CHECK:   tile.store
// CHECK: } {tile.axis = "i", tile.programs}
// A grid without axes has no program to lose.
// CHECK-LABEL: tile.kernel @none grid() {
// CHECK-NOT: scf.for
tile.program @copy sizes(%H, %M) ins(%X: f32[H, M]) outs(%Y: f32[H, M]) {
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @two grid(%h < %H, %i < %blocks) {
    %at = arith.muli %i, %c64 : index
    %m = tile.index %at : tensor<64xindex, #m>
    %x = tile.load %X[%h, %m] : tensor<?x?xf32>, (index, tensor<64xindex, #m>) -> tensor<64xf32, #m>
    tile.store %x, %Y[%h, %m] : tensor<64xf32, #m>, tensor<?x?xf32>, (index, tensor<64xindex, #m>)
  }
  tile.kernel @none grid() {
  }
}

// A reduction goes there and back; one with an order of its own keeps it, and
// so do loops that go on where another ends, and what is no reduction.
// CHECK-LABEL: tile.kernel @sums
// CHECK: scf.for
// CHECK: } {tile.alternating, tile.axis = "n", tile.blocks = #tile.blocks<full>}
// CHECK: } {tile.axis = "n", tile.blocks = #tile.blocks<full>, tile.descending}
// CHECK: } {tile.axis = "n", tile.blocks = #tile.blocks<full>, tile.in_order}
// CHECK: } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
// CHECK: } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
// CHECK: } {tile.axis = "n"}
// CHECK: } {tile.axis = "i", tile.programs}
tile.program @sums sizes(%H, %M) ins(%X: f32[H, M]) outs(%Y: f32[H]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel @sums grid(%i < %H) {
    %a = scf.for %n = %c0 to %M step %c1 iter_args(%sum = %zero) -> (f32) {
      %x = tile.load %X[%i, %n] : tensor<?x?xf32>, (index, index) -> f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %b = scf.for %n = %c0 to %M step %c1 iter_args(%sum = %zero) -> (f32) {
      %x = tile.load %X[%i, %n] : tensor<?x?xf32>, (index, index) -> f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>, tile.descending}
    %counted = scf.for %n = %c0 to %M step %c1 iter_args(%sum = %zero) -> (f32) {
      %x = tile.load %X[%i, %n] : tensor<?x?xf32>, (index, index) -> f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>, tile.in_order}
    %c = scf.for %n = %c0 to %i step %c1 iter_args(%sum = %zero) -> (f32) {
      %x = tile.load %X[%i, %n] : tensor<?x?xf32>, (index, index) -> f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %d = scf.for %n = %i to %M step %c1 iter_args(%sum = %c) -> (f32) {
      %x = tile.load %X[%i, %n] : tensor<?x?xf32>, (index, index) -> f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %half = arith.constant 0.5 : f32
    %e = scf.for %n = %c0 to %M step %c1 iter_args(%last = %zero) -> (f32) {
      %x = tile.load %X[%i, %n] : tensor<?x?xf32>, (index, index) -> f32
      %less = arith.mulf %half, %last : f32
      %next = arith.addf %less, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n"}
    %ab = arith.addf %a, %b : f32
    %abd = arith.addf %ab, %d : f32
    %all = arith.addf %abd, %e : f32
    tile.store %all, %Y[%i] : f32, tensor<?xf32>, (index)
  }
}
