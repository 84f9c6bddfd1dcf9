// RUN: attentile-opt %s --warp-narrow-indices --split-input-file | FileCheck %s

// A tile's first row lies below its axis's extent and so many rows more: from
// its end it fits 32 bits, and so does its place among the keys. The grid may
// count from its end.
// CHECK-LABEL: warp.kernel @behind
// CHECK: %[[M0:.*]] = arith.muli %{{.*}} overflow<nsw> : i32
// CHECK: %[[BEHIND:.*]] = arith.subi %[[M0]], %[[M:.*]] overflow<nsw> : i32
// CHECK: %[[HELD:.*]] = arith.minsi %[[BEHIND]], %c63
// CHECK: %[[KEY:.*]] = arith.addi %[[HELD]], %{{.*}} overflow<nsw> : i32
// CHECK: arith.addi %[[KEY]], %c1{{.*}} overflow<nsw> : i32
tile.program @p sizes(%M, %N) ins(%X: f32[M]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  warp.kernel @behind grid(%i < %blocks) warps(1) {
    %one = arith.constant 1.0 : f32
    %last = arith.subi %blocks, %c1 : index
    %left = arith.subi %last, %i : index
    %r = arith.maxsi %left, %c0 : index
    %m0 = arith.muli %r, %c64 : index
    %key = arith.addi %m0, %N : index
    %aligned = arith.subi %key, %M : index
    %end = arith.addi %aligned, %c1 : index
    %seen = arith.cmpi sgt, %end, %c0 : index
    warp.store %one, %Y[%c0] if %seen : f32, tensor<?xf32>
  }
}

// -----

// The coordinate may be another program's, held within the grid's bound.
// CHECK-LABEL: warp.kernel @held
// CHECK: %[[M0:.*]] = arith.muli %{{.*}} overflow<nsw> : i32
// CHECK: %[[BEHIND:.*]] = arith.subi %[[M0]], %[[M:.*]] overflow<nsw> : i32
// CHECK: %[[HELD:.*]] = arith.minsi %[[BEHIND]], %c63
// CHECK: arith.addi %[[HELD]], %{{.*}} overflow<nsw> : i32
// Of one that is held below something else nothing is known.
// CHECK-LABEL: warp.kernel @loose
// CHECK-NOT: %c63
tile.program @p sizes(%M, %N) ins(%X: f32[M]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  warp.kernel @held grid(%i < %blocks) warps(1) {
    %one = arith.constant 1.0 : f32
    %last = arith.subi %blocks, %c1 : index
    %next = arith.addi %i, %c1 : index
    %least = arith.minsi %next, %last : index
    %r = arith.maxsi %least, %c0 : index
    %m0 = arith.muli %r, %c64 : index
    %key = arith.addi %m0, %N : index
    %aligned = arith.subi %key, %M : index
    %seen = arith.cmpi sgt, %aligned, %c0 : index
    warp.store %one, %Y[%c0] if %seen : f32, tensor<?xf32>
  }
  warp.kernel @loose grid(%i < %blocks) warps(1) {
    %one = arith.constant 1.0 : f32
    %next = arith.addi %i, %c1 : index
    %least = arith.minsi %next, %blocks : index
    %r = arith.maxsi %least, %c0 : index
    %m0 = arith.muli %r, %c64 : index
    %key = arith.addi %m0, %N : index
    %aligned = arith.subi %key, %M : index
    %seen = arith.cmpi sgt, %aligned, %c0 : index
    warp.store %one, %Y[%c0] if %seen : f32, tensor<?xf32>
  }
}

// -----

// Likewise the end of its rows, which is the axis's at most: from there it is 0 or less.
// CHECK-LABEL: warp.kernel @end
// CHECK: %[[BEHIND:.*]] = arith.subi %{{.*}}, %{{.*}} overflow<nsw> : i32
// CHECK: %[[HELD:.*]] = arith.minsi %[[BEHIND]], %c63
// CHECK: %[[END:.*]] = arith.addi %[[HELD]], %c64{{.*}} overflow<nsw> : i32
// CHECK: %[[LEAST:.*]] = arith.minsi %[[END]], %c0
// CHECK: arith.addi %[[LEAST]], %{{.*}} overflow<nsw> : i32
tile.program @p sizes(%M, %N) ins(%X: f32[M]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  warp.kernel @end grid(%i < %blocks) warps(1) {
    %one = arith.constant 1.0 : f32
    %m0 = arith.muli %i, %c64 : index
    %next = arith.addi %m0, %c64 : index
    %end = arith.minsi %next, %M : index
    %key = arith.addi %end, %N : index
    %aligned = arith.subi %key, %M : index
    %seen = arith.cmpi sgt, %aligned, %c0 : index
    warp.store %one, %Y[%c0] if %seen : f32, tensor<?xf32>
  }
}

// -----

// Of another axis's extent nothing is known: the sum stays in 64 bits.
// CHECK-LABEL: warp.kernel @other
// CHECK: arith.subi %{{.*}}, %{{.*}} : index
// CHECK: arith.cmpi sgt, %{{.*}}, %{{.*}} : index
tile.program @p sizes(%M, %N, %K) ins(%X: f32[M]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  warp.kernel @other grid(%i < %blocks) warps(1) {
    %one = arith.constant 1.0 : f32
    %m0 = arith.muli %i, %c64 : index
    %key = arith.addi %m0, %N : index
    %aligned = arith.subi %key, %K : index
    %seen = arith.cmpi sgt, %aligned, %c0 : index
    warp.store %one, %Y[%c0] if %seen : f32, tensor<?xf32>
  }
}

// -----

// A head of a group: G divides H and is not 0, H / G may be. Divisions are of
// 32 bits, and one by 0 gives 0. A scalar within i32 is not clamped beyond it.
// CHECK-LABEL: warp.kernel @groups
// CHECK-NOT: 2305843009213693952
// CHECK: %[[EACH:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[EACH]], %{{.*}} : i32
// CHECK: %[[BY:.*]] = arith.maxsi %[[EACH]], %{{.*}} : i32
// CHECK: %[[QUOTIENT:.*]] = arith.divui %{{.*}}, %[[BY]] : i32
// CHECK: arith.select %[[NONE]], %{{.*}}, %[[QUOTIENT]] : i32
// CHECK-NOT: attn.floordiv
tile.program @p sizes(%H, %G) ins(%X: f32[H], %window: index) outs(%Y: f32[H]) {
  %c0 = arith.constant 0 : index
  %least = arith.constant -2147483648 : index
  %most = arith.constant 2147483647 : index
  %far = arith.constant -2305843009213693952 : index
  %rest = attn.floormod %H, %G : index
  %divides = arith.cmpi eq, %rest, %c0 : index
  %some = arith.cmpi ne, %G, %c0 : index
  %both = arith.andi %divides, %some : i1
  attn.assume %both, "H % G == 0"
  %above = arith.cmpi sge, %window, %least : index
  %below = arith.cmpi sle, %window, %most : index
  %fits = arith.andi %above, %below : i1
  attn.assume %fits, "window fits i32"
  warp.kernel @groups grid(%h < %H) warps(1) {
    %one = arith.constant 1.0 : f32
    %each = attn.floordiv %H, %G : index
    %g = attn.floordiv %h, %each : index
    %held = arith.maxsi %window, %far : index
    %seen = arith.cmpi sgt, %held, %g : index
    warp.store %one, %Y[%g] if %seen : f32, tensor<?xf32>
  }
}
