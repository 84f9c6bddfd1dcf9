// RUN: attentile-opt %s --native-expand-narrow-floats | FileCheck %s
// RUN: attentile-opt %s --native-expand-narrow-floats=f16=false | FileCheck %s --check-prefix=PLAIN

// CHECK-LABEL: @to_bf16(
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
func.func @to_bf16(%x: vector<8xf32>) -> vector<8xbf16> {
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : vector<8xf32> to vector<8xi32>
  // CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
  // CHECK: %[[RESULT:.*]] = arith.select %[[NAN]]
  // CHECK: %[[HALF:.*]] = arith.trunci %[[RESULT]] : vector<8xi32> to vector<8xi16>
  // CHECK: arith.bitcast %[[HALF]] : vector<8xi16> to vector<8xbf16>
  // CHECK-NOT: arith.truncf
  %y = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  return %y : vector<8xbf16>
}

// A machine with instructions for f16 keeps the operations.
// CHECK-LABEL: @through_f16(
// PLAIN-LABEL: @through_f16(
func.func @through_f16(%x: f32) -> f32 {
  // CHECK: arith.truncf
  // CHECK: arith.extf
  // PLAIN-NOT: arith.{{truncf|extf}}
  %h = arith.truncf %x : f32 to f16
  %y = arith.extf %h : f16 to f32
  return %y : f32
}
