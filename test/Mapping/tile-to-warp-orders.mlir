// RUN: attentile-opt %s --tile-to-warp --canonicalize --cse --split-input-file | FileCheck %s

// In every other turn of the loop around it a loop goes from its last block to
// its first.
// CHECK-LABEL: warp.kernel @turns_0
// CHECK: scf.for %[[I:.*]] = %c0 to %M
// CHECK: %[[TURN:.*]] = arith.remui %[[I]], %c2
// CHECK: %[[ISBACK:.*]] = arith.cmpi ne, %[[TURN]], %c0
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: scf.for %[[N:.*]] = %c0 to %M
// CHECK: %[[BACK:.*]] = arith.subi %[[LAST]], %[[N]]
// CHECK: %[[AT:.*]] = arith.select %[[ISBACK]], %[[BACK]], %[[N]]
// CHECK: warp.load %X[%[[AT]]]
tile.program @turns sizes(%M) ins(%X: f32[M]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel @turns_0 grid() attributes {tile.warps = #tile.warps<rows = "">} {
    scf.for %i = %c0 to %M step %c1 {
      %a = scf.for %n = %c0 to %M step %c1 iter_args(%sum = %zero) -> (f32) {
        %x = tile.load %X[%n] : tensor<?xf32>, (index) -> f32
        %next = arith.addf %sum, %x : f32
        scf.yield %next : f32
      } {tile.axis = "n", tile.alternating}
      tile.store %a, %O[%i] : f32, tensor<?xf32>, (index)
    } {tile.axis = "i"}
  }
}

// -----

// One that left the loop around it, which it did not depend on, goes forward.
// CHECK-LABEL: warp.kernel @left_0
// CHECK: scf.for %[[N:.*]] = %c0 to %M
// CHECK-NEXT: warp.load %X[%[[N]]]
tile.program @left sizes(%M) ins(%X: f32[M]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel @left_0 grid() attributes {tile.warps = #tile.warps<rows = "">} {
    %a = scf.for %n = %c0 to %M step %c1 iter_args(%sum = %zero) -> (f32) {
      %x = tile.load %X[%n] : tensor<?xf32>, (index) -> f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n", tile.alternating}
    tile.store %a, %O[%c0] : f32, tensor<?xf32>, (index)
  }
}
