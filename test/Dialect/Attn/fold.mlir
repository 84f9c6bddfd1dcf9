// RUN: attentile-opt %s --canonicalize | FileCheck %s

// Division rounds toward minus infinity and gives 0 for a divisor of 0.
// CHECK-LABEL: attn.kernel @fold
attn.kernel @fold sizes() indices(%m < 8) ins() outs(%Y: i64[8]) {
  %c7 = arith.constant 7 : index
  %c-7 = arith.constant -7 : index
  %c2 = arith.constant 2 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-DAG: %[[M4:.*]] = arith.constant -4 : index
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  %a = attn.floordiv %c-7, %c2 : index
  // CHECK: attn.write %[[M4]] to
  attn.write %a to %Y[%m] : index, tensor<8xi64>
  %b = attn.floormod %c-7, %c2 : index
  // CHECK-NEXT: attn.write %[[C1]] to
  attn.write %b to %Y[%m] : index, tensor<8xi64>
  %c = attn.floordiv %c7, %c0 : index
  // CHECK-NEXT: attn.write %[[C0]] to
  attn.write %c to %Y[%m] : index, tensor<8xi64>
  %d = attn.floormod %m, %c0 : index
  // CHECK-NEXT: attn.floormod
  // CHECK-NEXT: attn.write
  attn.write %d to %Y[%m] : index, tensor<8xi64>
  %e = attn.floordiv %m, %c1 : index
  // CHECK-NEXT: attn.write %m to
  attn.write %e to %Y[%m] : index, tensor<8xi64>
}
