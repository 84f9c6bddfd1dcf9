// RUN: attentile-opt %s --warp-step-quotients | FileCheck %s

// Of six columns one is divided; the others follow from the one two before.
// CHECK-LABEL: warp.kernel @columns
// CHECK: %[[W:.*]] = arith.index_cast %w
// CHECK-DAG: %[[Q8:.*]] = arith.divui %c8_i32{{.*}}, %[[W]]
// CHECK-DAG: %[[R8:.*]] = arith.remui %c8_i32{{.*}}, %[[W]]
// CHECK-DAG: %[[R1:.*]] = arith.remui %c1_i32{{.*}}, %[[W]]
// CHECK: scf.for
// CHECK: %[[START:.*]] = arith.addi %[[BASE:.*]], %c0_i32
// CHECK-NEXT: %[[Q:.*]] = arith.divui %[[START]], %[[W]]
// CHECK-NEXT: %[[R:.*]] = arith.remui %[[START]], %[[W]]
// CHECK-NEXT: arith.addi %[[R]], %[[R1]]
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: %[[WHOLE:.*]] = arith.addi %[[R]], %[[R8]] : i32
// CHECK-NEXT: %[[LESS:.*]] = arith.subi %[[WHOLE]], %[[W]] : i32
// CHECK-NEXT: %[[NEXT:.*]] = arith.minui %[[WHOLE]], %[[LESS]] : i32
// CHECK-NEXT: %[[FULL:.*]] = arith.cmpi uge, %[[WHOLE]], %[[W]] : i32
// CHECK-NEXT: %[[CARRY:.*]] = arith.extui %[[FULL]]
// CHECK-NEXT: %[[MORE:.*]] = arith.addi %[[Q]], %[[Q8]] : i32
// CHECK-NEXT: %[[QUOTIENT:.*]] = arith.addi %[[MORE]], %[[CARRY]] : i32
// CHECK: warp.store %[[QUOTIENT]]
// CHECK: warp.store %[[NEXT]]
// Too few, or not the same divisor throughout: as they are.
// CHECK: arith.remui
// CHECK: arith.remui
// CHECK: }
tile.program @p sizes(%N) ins(%X: i32[N], %w: index) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  warp.kernel @columns grid(%i < %N) warps(1) {
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %c9_i32 = arith.constant 9 : i32
    %c16_i32 = arith.constant 16 : i32
    %c17_i32 = arith.constant 17 : i32
    %width = arith.index_cast %w : index to i32
    scf.for %k = %c0 to %N step %c1 {
      %n = arith.index_cast %k : index to i32
      %n1 = arith.addi %n, %c1_i32 overflow<nsw> : i32
      %n8 = arith.addi %n, %c8_i32 overflow<nsw> : i32
      %n9 = arith.addi %n, %c9_i32 overflow<nsw> : i32
      %n16 = arith.addi %n, %c16_i32 overflow<nsw> : i32
      %n17 = arith.addi %n, %c17_i32 overflow<nsw> : i32
      %x = arith.remui %n, %width : i32
      %x1 = arith.remui %n1, %width : i32
      %x8 = arith.remui %n8, %width : i32
      %x9 = arith.remui %n9, %width : i32
      %x16 = arith.remui %n16, %width : i32
      %x17 = arith.remui %n17, %width : i32
      %y8 = arith.divui %n8, %width : i32
      warp.store %y8, %Y[%k] : i32, tensor<?xi32>
      warp.store %x, %Y[%k] : i32, tensor<?xi32>
      warp.store %x1, %Y[%k] : i32, tensor<?xi32>
      warp.store %x8, %Y[%k] : i32, tensor<?xi32>
      warp.store %x9, %Y[%k] : i32, tensor<?xi32>
      warp.store %x16, %Y[%k] : i32, tensor<?xi32>
      warp.store %x17, %Y[%k] : i32, tensor<?xi32>
      %z = warp.load %X[%k] : tensor<?xi32> -> i32
      %z1 = arith.remui %n, %z : i32
      %z8 = arith.remui %n8, %z : i32
      warp.store %z1, %Y[%k] : i32, tensor<?xi32>
      warp.store %z8, %Y[%k] : i32, tensor<?xi32>
    }
  }
}
