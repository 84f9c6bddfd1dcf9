// RUN: attentile-opt %s --tile-to-loops | FileCheck %s

// A block that is hidden from some rows is computed; what says so is erased, once where it was used twice.
// CHECK-LABEL: func.func @k
// CHECK-NOT: arith.{{cmpi sgt|select}}
// CHECK: return
#n = #tile.axes<"n">
tile.program @p sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c8 = arith.constant 8 : index
  tile.kernel @k grid(%i < %N) {
    %n0 = arith.muli %i, %c8 : index
    %later = arith.cmpi sgt, %n0, %N : index
    %twice = arith.andi %later, %later : i1
    %all = arith.andi %twice, %twice : i1
    tile.hidden %all
    %from = arith.select %later, %c8, %N : index
    tile.sees 8 from %from of 8
    %n = tile.index %n0 : tensor<8xindex, #n>
    %x = tile.load %X[%n] : tensor<?xf32>, (tensor<8xindex, #n>) -> tensor<8xf32, #n>
    tile.store %x, %Y[%n] : tensor<8xf32, #n>, tensor<?xf32>, (tensor<8xindex, #n>)
  }
}
