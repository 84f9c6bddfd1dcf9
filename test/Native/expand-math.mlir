// RUN: attentile-opt %s --native-expand-math | FileCheck %s
// RUN: attentile-opt %s --native-expand-math="fma=false rounding=false" | FileCheck %s --check-prefix=PLAIN

// CHECK-LABEL: @exp2(
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// PLAIN-LABEL: @exp2(
func.func @exp2(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK: %[[T:.*]] = arith.addf %[[X]], %[[ROUNDER:.*]] : vector<8xf32>
  // CHECK: %[[R:.*]] = arith.subf %[[T]], %[[ROUNDER_2:.*]] : vector<8xf32>
  // CHECK: %[[F:.*]] = arith.subf %[[X]], %[[R]] : vector<8xf32>
  // CHECK-COUNT-6: math.fma
  // CHECK-NOT: math.
  // CHECK-NOT: arith.fptosi
  // CHECK: %[[SMALL:.*]] = arith.cmpf olt, %[[X]],
  // CHECK: arith.select %[[SMALL]]
  // PLAIN-NOT: math.
  %y = math.exp2 %x : vector<8xf32>
  return %y : vector<8xf32>
}

// Every function, on scalars too, and nothing of the math dialect that would
// become a call is left.
// CHECK-LABEL: @others(
// PLAIN-LABEL: @others(
func.func @others(%x: f32, %v: vector<4xf32>) -> (f32, f32, vector<4xf32>, f32, vector<4xf32>) {
  // CHECK-NOT: math.{{exp|log|tanh|powf}}
  // PLAIN-NOT: math.{{exp|log|tanh|powf|fma|floor}}
  // PLAIN-NOT: vector.fma
  %a = math.exp %x : f32
  %b = math.log %x : f32
  %c = math.tanh %v : vector<4xf32>
  %d = math.powf %a, %b : f32
  %e = math.log2 %v : vector<4xf32>
  %f = vector.fma %e, %c, %v : vector<4xf32>
  // CHECK: math.floor
  %g = math.floor %f : vector<4xf32>
  return %a, %b, %c, %d, %g : f32, f32, vector<4xf32>, f32, vector<4xf32>
}

// The library is called out of line, and only if a lane needs it.
// CHECK-LABEL: @sin(
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
func.func @sin(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK: %[[SIZE:.*]] = math.absf %[[X]]
  // CHECK: %[[FAR:.*]] = arith.cmpf ogt, %[[SIZE]],
  // CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[FAR]]
  // CHECK: scf.if %[[ANY]]
  // CHECK-NEXT: func.call @attentile_sinf_far_8(%[[X]])
  // CHECK: } else {
  // CHECK-NOT: call
  %y = math.sin %x : vector<8xf32>
  return %y : vector<8xf32>
}
// CHECK: func.func private @attentile_sinf_far_8(%{{.*}}: vector<8xf32>) -> vector<8xf32> attributes {llvm.linkage = #llvm.linkage<internal>}
// CHECK-COUNT-8: call @sinf
