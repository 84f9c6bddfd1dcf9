// RUN: attentile-opt %s --split-input-file --tile-order-programs | FileCheck %s

// The end of the loop rises with %i, through a minimum and a division: %i counts down.
// CHECK-LABEL: tile.kernel @rises
// CHECK-SAME: %[[I:[a-z0-9]+]] < %[[N:[a-z0-9]+]])
// CHECK: %[[LAST:.*]] = arith.subi %[[N]], %{{.*}} : index
// CHECK: %[[R:.*]] = arith.subi %[[LAST]], %[[I]] : index
// CHECK: arith.muli %[[R]],
tile.program @rises sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c64 : index
  tile.kernel @rises grid(%i < %n) {
    %at = arith.muli %i, %c64 : index
    %reach = arith.addi %at, %c64 : index
    %end = arith.minsi %reach, %M : index
    %blocks = arith.divui %end, %c64 : index
    %to = arith.muli %blocks, %c64 : index
    %r = scf.for %n0 = %c0 to %to step %c64 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n"}
  }
}

// -----

// It falls: they start in order already. (Nor where nothing is known.)
// CHECK-LABEL: tile.kernel @falls
// CHECK-NOT: arith.subi %{{.*}}, %i
// CHECK: arith.muli %i,
tile.program @falls sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c64 : index
  tile.kernel @falls grid(%i < %n) {
    %at = arith.muli %i, %c64 : index
    %to = arith.subi %M, %at : index
    %r = scf.for %n0 = %c0 to %to step %c64 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n"}
  }
}
