// RUN: attentile-opt %s --warp-share-offsets --cse --split-input-file | FileCheck %s

// The distance of two keys from two queries: three different ones, of one base
// that is converted once; what the loop does not change is subtracted outside.
// CHECK-LABEL: warp.kernel @distance
// CHECK: %[[BEFORE_M:.*]] = arith.subi %{{.*}}, %i : index
// CHECK: %[[SAME:.*]] = arith.addi %[[BEFORE_M]], %{{.*}} : index
// CHECK: scf.for %[[N0:.*]] = %c0
// CHECK: %[[BASE:.*]] = arith.addi %[[SAME]], %[[N0]] : index
// CHECK: %[[INTEGER:.*]] = arith.index_cast %[[BASE]] : index to i64
// CHECK: %[[FLOAT:.*]] = arith.sitofp %[[INTEGER]] : i64 to f32
// CHECK: %[[NEXT:.*]] = arith.addf %[[FLOAT]], %{{.*}} : f32
// CHECK: %[[BEFORE:.*]] = arith.addf %[[FLOAT]], %{{.*}} : f32
// CHECK-NOT: arith.sitofp
// CHECK: arith.mulf %slope, %[[FLOAT]]
// CHECK: arith.mulf %slope, %[[NEXT]]
// CHECK: arith.mulf %slope, %[[BEFORE]]
// CHECK-NOT: arith.mulf
tile.program @p sizes(%N) ins(%slope: f32) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  warp.kernel @distance grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %m = arith.addi %i, %c1 : index
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.addi %n0, %lane : index
      %n1 = arith.addi %n, %c1 : index
      %d00 = arith.subi %n, %i : index
      %d01 = arith.subi %n1, %i : index
      %d10 = arith.subi %n, %m : index
      %d11 = arith.subi %n1, %m : index
      %i00 = arith.index_cast %d00 : index to i64
      %i01 = arith.index_cast %d01 : index to i64
      %i10 = arith.index_cast %d10 : index to i64
      %i11 = arith.index_cast %d11 : index to i64
      %f00 = arith.sitofp %i00 : i64 to f32
      %f01 = arith.sitofp %i01 : i64 to f32
      %f10 = arith.sitofp %i10 : i64 to f32
      %f11 = arith.sitofp %i11 : i64 to f32
      %p00 = arith.mulf %slope, %f00 : f32
      %p01 = arith.mulf %slope, %f01 : f32
      %p10 = arith.mulf %slope, %f10 : f32
      %p11 = arith.mulf %slope, %f11 : f32
      %s0 = arith.addf %p00, %p11 : f32
      %s1 = arith.addf %p01, %p01 : f32
      %s2 = arith.addf %p10, %s0 : f32
      %s3 = arith.addf %s1, %s2 : f32
      warp.store %s3, %Y[%n] : f32, tensor<?xf32>
    }
  }
}

// -----

// A conversion that is not fused into a sum would round once more: it stays.
// CHECK-LABEL: warp.kernel @stored
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK: %[[INTEGER:.*]] = arith.index_cast %[[SUM]]
// CHECK: arith.sitofp %[[INTEGER]]
tile.program @p sizes(%N) ins() outs(%Y: f32[N]) {
  %c1 = arith.constant 1 : index
  warp.kernel @stored grid(%i < %N) warps(1) {
    %m = arith.addi %i, %c1 : index
    %w = arith.index_cast %m : index to i64
    %f = arith.sitofp %w : i64 to f32
    warp.store %f, %Y[%i] : f32, tensor<?xf32>
  }
}

// -----

// Clamped sums are a base and a constant; equal ones are loaded once.
// CHECK-LABEL: warp.kernel @clamped
// CHECK: %[[BEFORE:.*]] = arith.subi %{{.*}}, %i : index
// CHECK: %[[BASE:.*]] = arith.addi %[[BEFORE]], %{{.*}} : index
// CHECK: %[[SUM:.*]] = arith.addi %[[BASE]], %c2 : index
// CHECK: %[[LOW:.*]] = arith.maxsi %[[SUM]], %{{.*}}
// CHECK: %[[PLACE:.*]] = arith.minsi %[[LOW]], %{{.*}}
// CHECK: warp.load %{{.*}}[%[[PLACE]]]
// CHECK-NOT: warp.load
tile.program @p sizes(%N, %R) ins(%T: f32[R]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %last = arith.subi %R, %c1 : index
  warp.kernel @clamped grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %n2 = arith.addi %lane, %c2 : index
    %d = arith.subi %n2, %i : index
    %n3 = arith.addi %n2, %c1 : index
    %m1 = arith.addi %i, %c1 : index
    %e = arith.subi %n3, %m1 : index
    %dl = arith.maxsi %d, %c0 : index
    %el = arith.maxsi %e, %c0 : index
    %dp = arith.minsi %dl, %last : index
    %ep = arith.minsi %el, %last : index
    %x = warp.load %T[%dp] : tensor<?xf32> -> f32
    %y = warp.load %T[%ep] : tensor<?xf32> -> f32
    %z = arith.addf %x, %y : f32
    warp.store %z, %Y[%lane] : f32, tensor<?xf32>
  }
}
