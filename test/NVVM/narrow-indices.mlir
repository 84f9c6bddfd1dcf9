// Positions fit 32 bits, as sizes and numbers of blocks do; an index that was
// loaded is not known to.
// RUN: attentile-opt %s --warp-narrow-indices | FileCheck %s

tile.program @p sizes(%M) ins(%X: i64[M]) outs(%Y: f32[M]) {
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  // CHECK: warp.kernel
  warp.kernel @k grid(%i < %blocks) warps(1) {
    %one = arith.constant 1.0 : f32
    %lane = warp.lane_id : index
    // CHECK: %[[M0:.*]] = arith.muli %{{.*}}, %{{.*}} overflow<nsw> : i32
    %m0 = arith.muli %i, %c64 : index
    // CHECK: %[[M32:.*]] = arith.addi %[[M0]], %{{.*}} overflow<nsw> : i32
    // CHECK: %[[M:.*]] = arith.index_cast %[[M32]] : i32 to index
    %m = arith.addi %m0, %lane : index
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[M32]], %{{.*}} : i32
    %inside = arith.cmpi slt, %m, %M : index
    %raw = warp.load %X[%m] : tensor<?xi64> -> i64
    %n = arith.index_cast %raw : i64 to index
    // CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : index
    %before = arith.cmpi slt, %n, %m : index
    %both = arith.andi %inside, %before : i1
    // A bound that may not fit and meets several positions is clamped, once.
    // CHECK: %[[LOW:.*]] = arith.maxsi %[[LAST:.*]], %{{.*}} : index
    // CHECK: %[[HIGH:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
    // CHECK: %[[LAST32:.*]] = arith.index_cast %[[HIGH]] : index to i32
    // CHECK-COUNT-2: arith.cmpi sle, %{{.*}}, %[[LAST32]] : i32
    %far = warp.load %X[%lane] : tensor<?xi64> -> i64
    %last = arith.index_cast %far : i64 to index
    %v0 = arith.cmpi sle, %lane, %last : index
    %v1 = arith.cmpi sle, %m, %last : index
    %v = arith.andi %v0, %v1 : i1
    warp.store %one, %Y[%lane] if %v : f32, tensor<?xf32>
    // CHECK: warp.store %{{.*}}, %{{.*}}[%[[M]]] if
    warp.store %one, %Y[%m] if %both : f32, tensor<?xf32>
  }
}
