// RUN: attentile-opt %s --tile-peel-tails --remarks-filter=tile-peel-tails --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks

#n = #tile.axes<"n">

// Two tensors of different sizes along one axis, and a mask for each: which is the axis's bound is not said.
// REMARK: BoundKept | {{.*}}its extent is not known{{.*}}every full block evaluates the axis's bound
// CHECK-COUNT-2: arith.cmpi slt
tile.program @two sizes(%N, %P) ins(%X: f32[N], %Z: f32[P]) outs(%Y: f32[1]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.kernel @two_0 grid(%i < %c1) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
    %start = arith.constant 0.0 : f32
    %x_end = tile.broadcast %N : index to tensor<16xindex, #n>
    %z_end = tile.broadcast %P : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (f32) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %x = tile.load %X[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %z = tile.load %Z[%n] : tensor<?xf32>, (tensor<16xindex, #n>) -> tensor<16xf32, #n>
      %in_x = arith.cmpi slt, %n, %x_end : tensor<16xindex, #n>
      %in_z = arith.cmpi slt, %n, %z_end : tensor<16xindex, #n>
      %in = arith.andi %in_x, %in_z : tensor<16xi1, #n>
      %p = arith.mulf %x, %z : tensor<16xf32, #n>
      %y = arith.select %in, %p, %zero : tensor<16xi1, #n>, tensor<16xf32, #n>
      %t = tile.reduce sum %y over ["n"] : tensor<16xf32, #n> -> f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    tile.store %r, %Y[%c0] : f32, tensor<1xf32>, (index)
  }
}
