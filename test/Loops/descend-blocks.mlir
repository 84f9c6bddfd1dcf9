// RUN: attentile-opt %s --tile-descend-blocks=all --split-input-file | FileCheck %s

#n = #tile.axes<"n">

// RUN: attentile-opt %s --tile-descend-blocks --split-input-file | FileCheck %s --check-prefix=POSITION

// A loop that stands alone, in which no float is made of the position.
// POSITION-LABEL: tile.program @alone
// POSITION-NOT: tile.descending
// CHECK-LABEL: tile.program @alone
// CHECK: tile.blocks = #tile.blocks<mixed>, tile.descending}
tile.program @alone sizes(%N) ins(%X: f32[N]) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @alone_0 grid(%i < %c1) {
    %start = arith.constant 0.0 : f32
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %t = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}

// -----

#n = #tile.axes<"n">

// Chained loops, and loops over anything but a reduction's blocks, stay.
// CHECK-LABEL: tile.program @chained
// CHECK-NOT: tile.descending
tile.program @chained sizes(%N) ins(%X: f32[N], %to: index) outs(%Y: f32[N], %Z: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @chained_0 grid(%i < %c1) {
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
      %t = tile.reduce sum %s over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    tile.store %q, %Z[%c0] : f32, tensor<1xf32>, (index)
    scf.for %n0 = %c0 to %N step %c16 {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      tile.store %s, %Y[%n] : tensor<16xf32, #n>, tensor<?xf32>, (tensor<16xindex, #n>)
    } {tile.axis = "n"}
  }
}

// -----

#n = #tile.axes<"n">

// A term of the position, as ALiBi has it.
// CHECK-LABEL: tile.program @position
// CHECK: tile.blocks = #tile.blocks<mixed>, tile.descending}
// POSITION-LABEL: tile.program @position
// POSITION: tile.blocks = #tile.blocks<mixed>, tile.descending}
tile.program @position sizes(%N) ins(%X: f32[N]) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @position_0 grid(%i < %c1) {
    %start = arith.constant 0.0 : f32
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %i32 = arith.index_cast %n : tensor<16xindex, #n> to tensor<16xi32, #n>
      %f = arith.sitofp %i32 : tensor<16xi32, #n> to tensor<16xf32, #n>
      %t = tile.reduce sum %f over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}
