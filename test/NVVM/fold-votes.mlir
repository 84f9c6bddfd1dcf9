// RUN: attentile-opt %s --warp-fold-votes --canonicalize --cse --split-input-file | FileCheck %s

// Whether all rows of a block see a key: rows grow with the lane, so that lane 0's has the answer, and of two that are 8 apart
// the lower. Whether none lies too far back: lane 31's, the higher.
// CHECK-LABEL: warp.kernel @rows
// CHECK-DAG: %[[W:.*]] = warp.warp_id
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %i
// CHECK-NOT: warp.vote_all
// CHECK: %[[SEEN:.*]] = arith.cmpi sle, %[[N:[a-z0-9]+]], %[[FIRST]] : index
// CHECK: %[[FARTHEST:.*]] = arith.addi %[[FIRST]], %c15
// CHECK: %[[NEAR:.*]] = arith.cmpi slt, %[[FARTHEST]], %{{.*}} : index
// CHECK-NOT: warp.vote_all
// CHECK: scf.if %[[SEEN]]
// CHECK: scf.if %[[NEAR]]
tile.program @p sizes(%M, %N) ins(%x: f32) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  warp.kernel @rows grid(%i < %M) warps(4) {
    %lane = warp.lane_id : index
    %warp = warp.warp_id : index
    %below = arith.muli %warp, %c16 : index
    %first = arith.addi %below, %i : index
    %row = arith.divui %lane, %c4 : index
    %m = arith.addi %first, %row : index
    %m8 = arith.addi %m, %c8 : index
    scf.for %n = %c0 to %N step %c64 {
      %end = arith.addi %n, %c64 : index
      %a = arith.cmpi sge, %m8, %n : index
      %b = arith.cmpi sle, %n, %m : index
      %ab = arith.andi %a, %b : i1
      %seen = warp.vote_all %ab
      %c = arith.cmpi slt, %m, %end : index
      %d = arith.cmpi sgt, %end, %m8 : index
      %cd = arith.andi %c, %d : i1
      %near = warp.vote_all %cd
      scf.if %seen {
        warp.store %x, %Y[%n] : f32, tensor<?xf32>
      }
      scf.if %near {
        warp.store %x, %Y[%end] : f32, tensor<?xf32>
      }
    } {tile.axis = "n"}
  }
}

// -----

// A remainder of the lane's number goes up and down, and what lanes load is anything; nor is equality a matter of order.
// CHECK-LABEL: warp.kernel @others
// CHECK-COUNT-3: warp.vote_all
tile.program @p sizes(%M, %N) ins(%T: index[M], %x: f32) outs(%Y: f32[N]) {
  %c4 = arith.constant 4 : index
  warp.kernel @others grid(%i < %M) warps(1) {
    %lane = warp.lane_id : index
    %column = arith.remui %lane, %c4 : index
    %loaded = warp.load %T[%lane] : tensor<?xindex> -> index
    %a = arith.cmpi slt, %column, %i : index
    %b = arith.cmpi slt, %loaded, %i : index
    %c = arith.cmpi eq, %lane, %i : index
    %u = warp.vote_all %a
    %v = warp.vote_all %b
    %w = warp.vote_all %c
    warp.store %x, %Y[%i] if %u : f32, tensor<?xf32>
    warp.store %x, %Y[%i] if %v : f32, tensor<?xf32>
    warp.store %x, %Y[%i] if %w : f32, tensor<?xf32>
  }
}
