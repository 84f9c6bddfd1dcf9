// RUN: attentile-opt %s --warp-share-reciprocals | FileCheck %s

// Once for each divisor, before the loop: 2^32 / w, no more than that.
// CHECK-LABEL: warp.kernel @divided
// CHECK: %[[W:.*]] = arith.index_cast %w
// CHECK-NEXT: %[[WIDE:.*]] = arith.uitofp %[[W]] : i32 to f32
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[WIDE]] : f32
// CHECK: %[[SCALED:.*]] = arith.mulf %[[INVERSE]], %{{.*}} : f32
// CHECK: %[[FIRST:.*]] = arith.fptoui %[[SCALED]] : f32 to i32
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[W]], %[[FIRST]] : i32
// CHECK: %[[ERROR:.*]] = arith.subi %{{.*}}, %[[PRODUCT]] : i32
// CHECK: %{{.*}}, %[[MORE:.*]] = arith.mului_extended %[[FIRST]], %[[ERROR]] : i32
// CHECK: %[[Z:.*]] = arith.addi %[[FIRST]], %[[MORE]] : i32
// CHECK: arith.divui
// CHECK: scf.for
// CHECK-NOT: arith.uitofp
// CHECK: %{{.*}}, %[[Q0:.*]] = arith.mului_extended %[[X:.*]], %[[Z]] : i32
// CHECK-NEXT: %[[BACK:.*]] = arith.muli %[[Q0]], %[[W]] : i32
// CHECK-NEXT: %[[R0:.*]] = arith.subi %[[X]], %[[BACK]] : i32
// CHECK: %[[IS1:.*]] = arith.cmpi uge, %[[R0]], %[[W]] : i32
// CHECK: %[[Q1:.*]] = arith.select %[[IS1]]
// CHECK: %[[L1:.*]] = arith.subi %[[R0]], %[[W]] : i32
// CHECK: arith.minui %[[R0]], %[[L1]] : i32
// CHECK: warp.store %[[Q1]]
// CHECK: arith.mului_extended %[[X]], %[[Z]]
// CHECK: %[[R:.*]] = arith.minui
// CHECK: warp.store %[[R]]
// What the loop changes, and constants: as they are.
// CHECK: arith.divui
// CHECK: arith.remui
tile.program @p sizes(%N) ins(%X: i32[N], %w: index) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7_i32 = arith.constant 7 : i32
  warp.kernel @divided grid(%i < %N) warps(1) {
    %width = arith.index_cast %w : index to i32
    %c = arith.index_cast %i : index to i32
    %once = arith.divui %c, %width : i32
    warp.store %once, %Y[%i] : i32, tensor<?xi32>
    scf.for %n = %c0 to %N step %c1 {
      %x = warp.load %X[%n] : tensor<?xi32> -> i32
      %q = arith.divui %x, %width : i32
      warp.store %q, %Y[%n] : i32, tensor<?xi32>
      %r = arith.remui %x, %width : i32
      warp.store %r, %Y[%n] : i32, tensor<?xi32>
      %y = arith.index_cast %n : index to i32
      %other = arith.divui %c, %y : i32
      warp.store %other, %Y[%n] : i32, tensor<?xi32>
      %seventh = arith.remui %x, %c7_i32 : i32
      warp.store %seventh, %Y[%n] : i32, tensor<?xi32>
    }
  }
}
