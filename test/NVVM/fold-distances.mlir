// RUN: attentile-opt %s --warp-fold-distances --split-input-file | FileCheck %s

// A row's x + r once; a score's difference, compared without a sign. A radius
// below 0 has no one near.
// CHECK-LABEL: warp.kernel @near
// CHECK: %[[ROW:.*]] = arith.index_cast %i
// CHECK: %[[R:.*]] = arith.index_cast %r
// CHECK: %[[CENTRE:.*]] = arith.addi %[[ROW]], %[[R]] : i32
// CHECK: %[[TWICE:.*]] = arith.addi %[[R]], %[[R]] : i32
// CHECK: %[[END:.*]] = arith.addi %[[TWICE]], %c1_i32
// CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[R]], %c0_i32
// CHECK: %[[BOUND:.*]] = arith.select %[[SOME]], %[[END]], %c0_i32
// CHECK: scf.for
// CHECK-NOT: math.absi
// CHECK: %[[PLACE:.*]] = arith.subi %[[CENTRE]], %{{.*}} : i32
// CHECK-NEXT: %[[NEAR:.*]] = arith.cmpi ult, %[[PLACE]], %[[BOUND]] : i32
// CHECK: warp.store {{.*}} if %[[NEAR]]
// |y - x| < r, the other way round: y - (x - (r - 1)).
// CHECK: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[BELOW:.*]] : i32
// CHECK-NEXT: %[[FAR:.*]] = arith.cmpi uge, %[[OTHER]], %{{.*}} : i32
// CHECK: warp.store {{.*}} if %[[FAR]]
tile.program @p sizes(%N) ins(%X: i32[N], %r: index) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  warp.kernel @near grid(%i < %N) warps(1) {
    %x = arith.index_cast %i : index to i32
    %radius = arith.index_cast %r : index to i32
    scf.for %n = %c0 to %N step %c1 {
      %y = warp.load %X[%n] : tensor<?xi32> -> i32
      %d = arith.subi %x, %y overflow<nsw> : i32
      %a = math.absi %d : i32
      %near = arith.cmpi sle, %a, %radius : i32
      warp.store %y, %Y[%n] if %near : i32, tensor<?xi32>
      %d1 = arith.subi %y, %x overflow<nsw> : i32
      %a1 = math.absi %d1 : i32
      %far = arith.cmpi sge, %a1, %radius : i32
      warp.store %y, %Y[%n] if %far : i32, tensor<?xi32>
    }
  }
}

// -----

// What may overflow, or has no part outside of the loop, takes the radius
// itself; what is used otherwise stays.
// CHECK-LABEL: warp.kernel @others
// CHECK-COUNT-2: arith.cmpi ult
// CHECK: math.absi
// CHECK-NOT: math.absi
tile.program @p sizes(%N) ins(%X: i32[N], %r: index) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  warp.kernel @others grid(%i < %N) warps(1) {
    %x = arith.index_cast %i : index to i32
    %radius = arith.index_cast %r : index to i32
    scf.for %n = %c0 to %N step %c1 {
      %y = warp.load %X[%n] : tensor<?xi32> -> i32
      %d = arith.subi %x, %y : i32
      %a = math.absi %d : i32
      %near = arith.cmpi sle, %a, %radius : i32
      warp.store %y, %Y[%n] if %near : i32, tensor<?xi32>
      %z = arith.index_cast %n : index to i32
      %d1 = arith.subi %y, %z overflow<nsw> : i32
      %a1 = math.absi %d1 : i32
      %near1 = arith.cmpi sle, %a1, %radius : i32
      warp.store %y, %Y[%n] if %near1 : i32, tensor<?xi32>
      %d2 = arith.subi %x, %y overflow<nsw> : i32
      %a2 = math.absi %d2 : i32
      %near2 = arith.cmpi eq, %a2, %radius : i32
      warp.store %a2, %Y[%n] if %near2 : i32, tensor<?xi32>
    }
  }
}

// -----

// A constant stands before the kernel: what is made of it stands inside.
// CHECK-LABEL: warp.kernel @constant
// CHECK: arith.addi %c3_i32, %c3_i32
// CHECK: scf.for
// CHECK: arith.cmpi ult
tile.program @p sizes(%N) ins(%X: i32[N]) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3_i32 = arith.constant 3 : i32
  warp.kernel @constant grid(%i < %N) warps(1) {
    %x = arith.index_cast %i : index to i32
    scf.for %n = %c0 to %N step %c1 {
      %y = warp.load %X[%n] : tensor<?xi32> -> i32
      %d = arith.subi %x, %y overflow<nsw> : i32
      %a = math.absi %d : i32
      %near = arith.cmpi sle, %a, %c3_i32 : i32
      warp.store %y, %Y[%n] if %near : i32, tensor<?xi32>
    }
  }
}

// -----

// A diagonal's constant: the tile's base and the radius once.
// CHECK-LABEL: warp.kernel @diagonals
// CHECK: scf.for
// CHECK: %[[BASE:.*]] = arith.subi %{{.*}}, %{{.*}} overflow<nsw> : i32
// CHECK-NEXT: %[[CENTRE:.*]] = arith.addi %[[BASE]], %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.addi %[[CENTRE]], %c8_i32 : i32
// CHECK-NEXT: arith.cmpi ult, %[[PLACE]], %[[END:.*]] : i32
// CHECK: %[[OTHER:.*]] = arith.addi %[[CENTRE]], %c16_i32 : i32
// CHECK-NEXT: arith.cmpi ult, %[[OTHER]], %[[END]] : i32
// CHECK: arith.cmpi ult, %[[CENTRE]], %[[END]] : i32
// CHECK-NOT: math.absi
tile.program @p sizes(%N) ins(%X: i32[N], %r: index) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8_i32 = arith.constant 8 : i32
  %c16_i32 = arith.constant 16 : i32
  warp.kernel @diagonals grid(%i < %N) warps(1) {
    %radius = arith.index_cast %r : index to i32
    scf.for %n = %c0 to %N step %c1 {
      %x = warp.load %X[%n] : tensor<?xi32> -> i32
      %y = arith.index_cast %n : index to i32
      %base = arith.subi %x, %y overflow<nsw> : i32
      %d8 = arith.addi %base, %c8_i32 overflow<nsw> : i32
      %a8 = math.absi %d8 : i32
      %near8 = arith.cmpi sle, %a8, %radius : i32
      warp.store %x, %Y[%n] if %near8 : i32, tensor<?xi32>
      %d16 = arith.addi %base, %c16_i32 overflow<nsw> : i32
      %a16 = math.absi %d16 : i32
      %near16 = arith.cmpi sle, %a16, %radius : i32
      warp.store %x, %Y[%n] if %near16 : i32, tensor<?xi32>
      %a0 = math.absi %base : i32
      %near0 = arith.cmpi sle, %a0, %radius : i32
      warp.store %x, %Y[%n] if %near0 : i32, tensor<?xi32>
    }
  }
}
