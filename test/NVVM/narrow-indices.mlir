// Positions fit 32 bits, as sizes and numbers of blocks do; an index that was
// loaded is not known to.
// RUN: attentile-opt %s --warp-narrow-indices --split-input-file | FileCheck %s

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

// -----

// A position between bounds that fit is held near the ends of 32 bits once,
// for all that differ by a constant; a loop over an axis stays within it.
// CHECK-LABEL: warp.kernel @gather
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: scf.for %[[N:.*]] = %{{.*}} to %[[END]]
// CHECK: %[[BELOW:.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: %[[BASE:.*]] = arith.index_cast %[[BELOW]] : index to i32
// CHECK: %[[SUM:.*]] = arith.addi %[[BASE]], %{{.*}} overflow<nsw> : i32
// CHECK: %[[LOW:.*]] = arith.maxsi %[[SUM]], %{{.*}} : i32
// CHECK: %[[HIGH:.*]] = arith.minsi %[[LOW]], %{{.*}} : i32
// CHECK: arith.index_cast %[[HIGH]] : i32 to index
tile.program @p sizes(%N, %R) ins(%T: f32[R], %far: index) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c64 = arith.constant 64 : index
  warp.kernel @gather grid(%i < %N) warps(1) {
    %last = arith.subi %R, %c1 : index
    scf.for %n = %c0 to %far step %c64 {
      %base = arith.addi %n, %far : index
      %d = arith.addi %base, %c9 : index
      %low = arith.maxsi %d, %c0 : index
      %place = arith.minsi %low, %last : index
      %x = warp.load %T[%place] : tensor<?xf32> -> f32
      warp.store %x, %Y[%n] : f32, tensor<?xf32>
    } {tile.axis = "n"}
  }
}

// -----

// By a number that is assumed positive, whatever it is, positions are divided
// in 32 bits; what is made of quotients and remainders fits too. Where nothing
// is said of a divisor nothing is known of the quotient.
// CHECK-LABEL: warp.kernel @quotients
// CHECK: %[[MOST:.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: %[[WIDTH:.*]] = arith.index_cast %[[MOST]] : index to i32
// CHECK: %[[Q:.*]] = arith.divui %{{.*}}, %[[WIDTH]] : i32
// CHECK: %[[R:.*]] = arith.remui %{{.*}}, %[[WIDTH]] : i32
// CHECK: %[[D:.*]] = arith.subi %[[R]], %[[Q]] overflow<nsw> : i32
// CHECK: math.absi %[[D]] : i32
// CHECK: attn.floordiv %{{.*}}, %far : index
tile.program @p sizes(%N) ins(%width: index, %far: index) outs(%Y: f32[N]) {
  %c1 = arith.constant 1 : index
  %positive = arith.cmpi sge, %width, %c1 : index
  attn.assume %positive, "width >= 1"
  warp.kernel @quotients grid(%i < %N) warps(1) {
    %one = arith.constant 1.0 : f32
    %q = attn.floordiv %i, %width : index
    %r = attn.floormod %i, %width : index
    %d = arith.subi %r, %q : index
    %a = math.absi %d : index
    %f = attn.floordiv %i, %far : index
    warp.store %one, %Y[%a] : f32, tensor<?xf32>
    warp.store %one, %Y[%f] : f32, tensor<?xf32>
  }
}

// -----

// What a loop hands on unchanged fits, and so does what either branch gives; a
// counter of iterations may be anything.
// CHECK-LABEL: warp.kernel @carried
tile.program @p sizes(%N) ins(%far: index) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  warp.kernel @carried grid(%i < %N) warps(1) {
    %one = arith.constant 1.0 : f32
    %lane = warp.lane_id : index
    // CHECK: scf.for
    %kept, %counted = scf.for %n = %c0 to %far step %c64
        iter_args(%a = %lane, %b = %c0) -> (index, index) {
      %inside = arith.cmpi slt, %n, %N : index
      // CHECK: %[[EITHER:.*]] = scf.if
      %either = scf.if %inside -> index {
        scf.yield %a : index
      } else {
        scf.yield %c64 : index
      }
      // CHECK: %[[EITHER32:.*]] = arith.index_cast %[[EITHER]] : index to i32
      // CHECK: arith.cmpi slt, %[[EITHER32]], %{{.*}} : i32
      %low = arith.cmpi slt, %either, %c1 : index
      warp.store %one, %Y[%lane] if %low : f32, tensor<?xf32>
      // CHECK: arith.addi %{{.*}}, %{{.*}} : index
      %next = arith.addi %b, %c1 : index
      scf.yield %a, %next : index, index
    }
    // CHECK: arith.addi %{{.*}}, %{{.*}} overflow<nsw> : i32
    %m = arith.addi %kept, %lane : index
    %far_away = arith.cmpi slt, %counted, %N : index
    warp.store %one, %Y[%m] if %far_away : f32, tensor<?xf32>
  }
}
