// RUN: attentile-opt %s --attn-expand-integer-division | FileCheck %s

// A power of two needs no division and no guard.
// CHECK-LABEL: @by_power_of_two(
// CHECK-SAME: %[[A:.*]]: index
func.func @by_power_of_two(%a: index) -> (index, index) {
  // CHECK-NOT: arith.divsi
  // CHECK: arith.shrsi %[[A]]
  // CHECK: arith.andi %[[A]]
  %c8 = arith.constant 8 : index
  %q = attn.floordiv %a, %c8 : index
  %r = attn.floormod %a, %c8 : index
  return %q, %r : index, index
}

// CHECK-LABEL: @by_positive(
// CHECK-SAME: %[[A:.*]]: vector<8xindex>
func.func @by_positive(%a: vector<8xindex>) -> vector<8xindex> {
  // CHECK: %[[C7:.*]] = arith.constant dense<7>
  // CHECK: %[[Q:.*]] = arith.divsi %[[A]], %[[C7]]
  // CHECK: %[[BACK:.*]] = arith.muli %[[Q]], %[[C7]]
  // CHECK: %[[R:.*]] = arith.subi %[[A]], %[[BACK]]
  // CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[R]],
  // CHECK: %[[LESS:.*]] = arith.subi %[[Q]],
  // CHECK: arith.select %[[BELOW]], %[[LESS]], %[[Q]]
  %c7 = arith.constant dense<7> : vector<8xindex>
  %q = attn.floordiv %a, %c7 : vector<8xindex>
  return %q : vector<8xindex>
}

// 0 and -1 are divided by 1 instead, so that nothing traps.
// CHECK-LABEL: @by_any(
// CHECK-SAME: %[[A:.*]]: i64, %[[B:.*]]: i64
func.func @by_any(%a: i64, %b: i64) -> i64 {
  // CHECK: %[[NEXT:.*]] = arith.addi %[[B]], %c1
  // CHECK: %[[TRAPS:.*]] = arith.cmpi ult, %[[NEXT]], %c2
  // CHECK: %[[SAFE:.*]] = arith.select %[[TRAPS]], %c1{{.*}}, %[[B]]
  // CHECK: arith.divsi %[[A]], %[[SAFE]]
  // CHECK: %[[PRODUCT:.*]] = arith.muli %[[A]], %[[B]]
  // CHECK: arith.select %[[TRAPS]], %[[PRODUCT]],
  %q = attn.floordiv %a, %b : i64
  return %q : i64
}
