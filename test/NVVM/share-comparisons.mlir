// RUN: attentile-opt %s --warp-share-comparisons --canonicalize --cse --split-input-file | FileCheck %s

// Four elements, three diagonals. The argument is clamped so that the sum cannot
// wrap, the sum to 32 bits, both before the loop; the loop's index is added
// where the comparisons are.
// CHECK-LABEL: warp.kernel @window
// CHECK: %[[LEAST:.*]] = arith.maxsi %w, %c-1152921504606846976
// CHECK: arith.minsi %[[LEAST]], %c1152921504606846976
// CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %c-2147467264
// CHECK: %[[FIXED:.*]] = arith.minsi %[[LOW]], %c16384
// CHECK: scf.for %[[N0:.*]] = %c0
// CHECK: scf.if
// CHECK: %[[BASE:.*]] = arith.addi %[[FIXED]], %[[N0]] : index
// CHECK-DAG: %[[SAME:.*]] = arith.cmpi sgt, %[[BASE]], %c0
// CHECK-DAG: %[[NEXT:.*]] = arith.cmpi sgt, %[[BASE]], %c-1
// CHECK-DAG: %[[BEFORE:.*]] = arith.cmpi sgt, %[[BASE]], %c1
// CHECK-NOT: arith.cmpi
// CHECK: arith.select %[[SAME]], %x
// CHECK: arith.select %[[NEXT]], %x
// CHECK: arith.select %[[BEFORE]], %x
// CHECK: arith.select %[[SAME]], %{{.*}}, %x
tile.program @p sizes(%N) ins(%w: index, %x: f32) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  warp.kernel @window grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %next = arith.addi %i, %c1 : index
    %m0 = arith.subi %i, %w : index
    %m1 = arith.subi %next, %w : index
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.addi %n0, %lane : index
      %n1 = arith.addi %n, %c1 : index
      %odd = arith.cmpi ne, %n, %i : index
      %r = scf.if %odd -> (f32) {
        %v00 = arith.cmpi sgt, %n, %m0 : index
        %v01 = arith.cmpi sgt, %n1, %m0 : index
        %v10 = arith.cmpi sgt, %n, %m1 : index
        %v11 = arith.cmpi sgt, %n1, %m1 : index
        %s00 = arith.select %v00, %x, %zero : f32
        %s01 = arith.select %v01, %x, %zero : f32
        %s10 = arith.select %v10, %x, %zero : f32
        %s11 = arith.select %v11, %zero, %x : f32
        %a = arith.subf %s00, %s01 : f32
        %b = arith.subf %s10, %s11 : f32
        %s = arith.mulf %a, %b : f32
        scf.yield %s : f32
      } else {
        scf.yield %x : f32
      }
      warp.store %r, %Y[%n] : f32, tensor<?xf32>
    } {tile.axis = "n"}
  }
}

// -----

// Of two values nothing is known: in 64 bits their difference could wrap. One
// limit for all elements needs no register of its own.
// CHECK-LABEL: warp.kernel @unknown
// CHECK-NOT: arith.maxsi
// CHECK: arith.cmpi slt, %{{.*}}, %a : index
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK: arith.cmpi slt, %{{.*}}, %N : index
// CHECK: arith.cmpi slt, %{{.*}}, %N : index
tile.program @p sizes(%N) ins(%a: index, %b: index, %x: f32) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  warp.kernel @unknown grid(%i < %N) warps(1) {
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.addi %n0, %b : index
      %limit = arith.addi %a, %c1 : index
      %near = arith.cmpi slt, %n, %a : index
      %far = arith.cmpi slt, %n, %limit : index
      %n1 = arith.addi %n0, %c1 : index
      %in = arith.cmpi slt, %n0, %N : index
      %in1 = arith.cmpi slt, %n1, %N : index
      %p = arith.select %near, %x, %zero : f32
      %q = arith.select %far, %p, %zero : f32
      %r = arith.select %in, %q, %zero : f32
      %s = arith.select %in1, %r, %x : f32
      warp.store %s, %Y[%n0] : f32, tensor<?xf32>
    } {tile.axis = "n"}
  }
}

// -----

// A loop that descends has a position, its last less its index, in the index's place; and a grid that counts from its end has
// rows that are as well known.
// CHECK-LABEL: warp.kernel @descends
// CHECK: %[[FIXED:.*]] = arith.minsi %{{.*}}, %c16384
// CHECK: scf.for %[[N0:.*]] = %c0
// CHECK: %[[POSITION:.*]] = arith.subi %{{.*}}, %[[N0]] : index
// CHECK: %[[BASE:.*]] = arith.addi %[[FIXED]], %[[POSITION]] : index
// CHECK-DAG: arith.cmpi sle, %[[BASE]], %c0
// CHECK-DAG: arith.cmpi sle, %[[BASE]], %c8
// CHECK-NOT: arith.cmpi
tile.program @p sizes(%M, %N) ins(%x: f32) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %blocks = arith.ceildivsi %M, %c64 : index
  warp.kernel @descends grid(%i < %blocks) warps(1) {
    %from = arith.subi %blocks, %c1 : index
    %left = arith.subi %from, %i : index
    %r = arith.maxsi %left, %c0 : index
    %m0 = arith.muli %r, %c64 : index
    %m = arith.addi %m0, %N : index
    %m8 = arith.addi %m, %c8 : index
    %before = arith.subi %N, %c1 : index
    %block = arith.divui %before, %c64 : index
    %last = arith.muli %block, %c64 : index
    scf.for %n0 = %c0 to %N step %c64 {
      %n = arith.subi %last, %n0 : index
      %near = arith.cmpi sle, %n, %m : index
      %far = arith.cmpi sle, %n, %m8 : index
      %p = arith.select %near, %x, %zero : f32
      %q = arith.select %far, %p, %x : f32
      warp.store %q, %Y[%n] : f32, tensor<?xf32>
    } {tile.axis = "n", tile.descending}
  }
}

// -----

// Nor does it matter which program's rows they are, where its number is held within the grid's bound.
// CHECK-LABEL: warp.kernel @held
// CHECK: scf.for
// CHECK: %[[BASE:.*]] = arith.addi
// CHECK-DAG: arith.cmpi sle, %[[BASE]], %c0
// CHECK-DAG: arith.cmpi sle, %[[BASE]], %c8
// CHECK-NOT: arith.cmpi
tile.program @p sizes(%M, %N) ins(%x: f32, %first: index) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %blocks = arith.ceildivsi %M, %c64 : index
  warp.kernel @held grid(%i < %blocks) warps(1) {
    %last = arith.subi %blocks, %c1 : index
    %number = arith.addi %i, %first : index
    %least = arith.minsi %number, %last : index
    %r = arith.maxsi %least, %c0 : index
    %m0 = arith.muli %r, %c64 : index
    %m = arith.addi %m0, %N : index
    %m8 = arith.addi %m, %c8 : index
    scf.for %n = %c0 to %N step %c64 {
      %near = arith.cmpi sle, %n, %m : index
      %far = arith.cmpi sle, %n, %m8 : index
      %p = arith.select %near, %x, %zero : f32
      %q = arith.select %far, %p, %x : f32
      warp.store %q, %Y[%n] : f32, tensor<?xf32>
    } {tile.axis = "n"}
  }
}

// -----

// Over a list a block's position is its entry's: held below 2^31 - 2^15, or nothing is shared.
// CHECK-LABEL: warp.kernel @listed
// CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %c-2147467264
// CHECK: %[[FIXED:.*]] = arith.minsi %[[LOW]], %c16384
// CHECK: scf.for
// CHECK: %[[N0:.*]] = arith.muli %{{.*}}, %c64
// CHECK: %[[BASE:.*]] = arith.addi %[[FIXED]], %[[N0]] : index
// CHECK-DAG: arith.cmpi sle, %[[BASE]], %c0
// CHECK-DAG: arith.cmpi sle, %[[BASE]], %c8
// CHECK-NOT: arith.cmpi
// CHECK-LABEL: warp.kernel @far
// CHECK: scf.for
// CHECK: %[[N:.*]] = arith.muli %{{.*}}, %c64
// CHECK: arith.cmpi sle, %[[N]], %{{[^c]}}
// CHECK: arith.cmpi sle, %[[N]], %{{[^c]}}
tile.program @p sizes(%M, %N) ins(%x: f32) outs(%Y: f32[N], %Z: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %most = arith.constant 33553919 : index
  %beyond = arith.constant 33553920 : index
  %zero = arith.constant 0.0 : f32
  %list = attn.workspace "list" shape affine_map<()[s0, s1] -> (s1)> : tensor<?xi32>
  warp.kernel @listed grid(%i < %M) warps(1) {
    %m = arith.muli %i, %c64 : index
    %m8 = arith.addi %m, %c8 : index
    scf.for %k = %c0 to %N step %c1 {
      %entry = warp.load %list[%k] : tensor<?xi32> -> i32
      %number = arith.index_cast %entry : i32 to index
      %positive = arith.maxsi %number, %c0 : index
      %held = arith.minsi %positive, %most : index
      %n = arith.muli %held, %c64 : index
      %near = arith.cmpi sle, %n, %m : index
      %far = arith.cmpi sle, %n, %m8 : index
      %p = arith.select %near, %x, %zero : f32
      %q = arith.select %far, %p, %x : f32
      warp.store %q, %Y[%n] : f32, tensor<?xf32>
    } {tile.axis = "n", tile.from_list}
  }
  warp.kernel @far grid(%i < %M) warps(1) {
    %m = arith.muli %i, %c64 : index
    %m8 = arith.addi %m, %c8 : index
    scf.for %k = %c0 to %N step %c1 {
      %entry = warp.load %list[%k] : tensor<?xi32> -> i32
      %number = arith.index_cast %entry : i32 to index
      %positive = arith.maxsi %number, %c0 : index
      %held = arith.minsi %positive, %beyond : index
      %n = arith.muli %held, %c64 : index
      %near = arith.cmpi sle, %n, %m : index
      %far = arith.cmpi sle, %n, %m8 : index
      %p = arith.select %near, %x, %zero : f32
      %q = arith.select %far, %p, %x : f32
      warp.store %q, %Z[%n] : f32, tensor<?xf32>
    } {tile.axis = "n", tile.from_list}
  }
}
