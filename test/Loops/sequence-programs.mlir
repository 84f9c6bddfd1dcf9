// RUN: attentile-opt %s --tile-sequence-programs | FileCheck %s

#m = #tile.axes<"m">

// The last axis becomes a loop around the body; the others stay.
// CHECK-LABEL: tile.kernel @two
// CHECK-SAME: grid(%[[H:.*]] < %{{[^,]*}}) {
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[BLOCKS:.*]] step
// CHECK:   %[[AT:.*]] = arith.muli %[[I]],
// CHECK:   tile.index %[[AT]]
// CHECK:   tile.store
// CHECK: } {tile.axis = "i"}
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
