// RUN: attentile-opt %s --tile-to-loops=vector-bits=256 --canonicalize --cse | FileCheck %s

// Indices that go one way along a line and are the same at its ends read one
// element for all of it, as clamp(m - n, -9, 9) does in most lines. Those that
// turn back (the distance without its sign) are always read one by one.

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#nm = #tile.axes<"n", "m">

// CHECK-LABEL: func.func @clamped_0
// CHECK: scf.for %[[N:.*]] = %c0 to %c8
// CHECK: %[[FIRST:.*]] = arith.minsi
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[FIRST]], %[[LAST]] : index
// CHECK-NEXT: scf.if %[[SAME]] {
// CHECK: %[[ONE:.*]] = scf.if {{.*}} -> (f32)
// CHECK: %[[LINE:.*]] = vector.broadcast %[[ONE]] : f32 to vector<8xf32>
// CHECK-NEXT: scf.for
// CHECK: vector.store %[[LINE]]
// CHECK: } else {
// CHECK: llvm.intr.masked.gather
tile.program @clamped sizes(%M) ins(%T: f32[M]) outs(%Y: f32[8, M]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant dense<-9> : tensor<8x16xindex, #nm>
  %high = arith.constant dense<9> : tensor<8x16xindex, #nm>
  %blocks = arith.ceildivsi %M, %c16 : index
  tile.kernel @clamped_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<8xindex, #n>
    %mm = tile.broadcast %m : tensor<16xindex, #m> to tensor<8x16xindex, #nm>
    %nn = tile.broadcast %n : tensor<8xindex, #n> to tensor<8x16xindex, #nm>
    %distance = arith.subi %mm, %nn : tensor<8x16xindex, #nm>
    %above = arith.maxsi %distance, %low : tensor<8x16xindex, #nm>
    %at = arith.minsi %above, %high : tensor<8x16xindex, #nm>
    %x = tile.load %T[%at] : tensor<?xf32>, (tensor<8x16xindex, #nm>) -> tensor<8x16xf32, #nm>
    tile.store %x, %Y[%n, %m] : tensor<8x16xf32, #nm>, tensor<8x?xf32>, (tensor<8xindex, #n>, tensor<16xindex, #m>)
  }
}

// CHECK-LABEL: func.func @both_ways_0
// CHECK-NOT: arith.cmpi eq
// CHECK: llvm.intr.masked.gather
tile.program @both_ways sizes(%M) ins(%T: f32[M]) outs(%Y: f32[8, M]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c16 : index
  tile.kernel @both_ways_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<8xindex, #n>
    %mm = tile.broadcast %m : tensor<16xindex, #m> to tensor<8x16xindex, #nm>
    %nn = tile.broadcast %n : tensor<8xindex, #n> to tensor<8x16xindex, #nm>
    %forth = arith.subi %mm, %nn : tensor<8x16xindex, #nm>
    %back = arith.subi %nn, %mm : tensor<8x16xindex, #nm>
    %at = arith.maxsi %forth, %back : tensor<8x16xindex, #nm>
    %x = tile.load %T[%at] : tensor<?xf32>, (tensor<8x16xindex, #nm>) -> tensor<8x16xf32, #nm>
    tile.store %x, %Y[%n, %m] : tensor<8x16xf32, #nm>, tensor<8x?xf32>, (tensor<8xindex, #n>, tensor<16xindex, #m>)
  }
}
