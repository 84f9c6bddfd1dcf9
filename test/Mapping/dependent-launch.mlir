// RUN: attentile-opt %s --warp-dependent-launch | FileCheck %s

// What needs no memory stands before the wait, on every path.
// CHECK-LABEL: warp.kernel @copies_0
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK: arith.muli
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: scf.for
// CHECK: warp.load
// CHECK-NOT: griddepcontrol
tile.program @copies sizes(%M) ins(%Q: f32[M, 64]) outs(%O: f32[M, 64]) {
  warp.kernel @copies_0 grid(%i < %M) warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %lane = warp.lane_id : index
    %n = arith.muli %i, %c2 : index
    scf.for %k = %c0 to %n step %c1 {
      %x = warp.load %Q[%k, %lane] : tensor<?x64xf32> -> f32
      warp.store %x, %O[%k, %lane] : f32, tensor<?x64xf32>
    }
  }
}

// Kernels behind this one rely on its wait for those before.
// CHECK-LABEL: warp.kernel @nothing_0
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: warp.lane_id
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: }
tile.program @nothing sizes(%M) ins(%Q: f32[M, 64]) outs(%O: f32[M, 64]) {
  warp.kernel @nothing_0 grid(%i < %M) warps(1) {
    %lane = warp.lane_id : index
  }
}

// What is stored follows from indices alone: it is computed before the wait, on
// which ptxas would not let arithmetic wait otherwise.
// CHECK-LABEL: warp.kernel @numbers_0
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK: %[[NUMBER:.*]] = arith.index_cast
// CHECK: %[[OWN:.*]] = warp.shuffle_from %[[NUMBER]], %{{.*}} : i32
// CHECK-NEXT: %[[THERE:.*]] = arith.cmpi eq, %[[OWN]], %[[NUMBER]]
// CHECK-NEXT: scf.if %[[THERE]] {
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: }
// CHECK-NEXT: warp.store %[[NUMBER]]
tile.program @numbers sizes(%M) ins(%Q: f32[M]) outs(%O: i32[M]) {
  warp.kernel @numbers_0 grid(%i < %M) warps(1) {
    %n = arith.muli %i, %i : index
    %number = arith.index_cast %n : index to i32
    warp.store %number, %O[%i] : i32, tensor<?xi32>
  }
}
