// RUN: attentile compile %S/../../examples/14-sigmoid.attn --bind D=48,E=16,T=f32 --emit=tile --disable-pass tile-fold-scales > %t.before.mlir
// RUN: attentile-opt %t.before.mlir --tile-fold-scales --canonicalize --cse | FileCheck %s
// RUN: attentile-opt %s --tile-fold-scales --canonicalize --cse | FileCheck %s --check-prefix=RULES
// RUN: attentile-opt %s --tile-fold-scales --remarks-filter=tile-fold-scales --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: [Passed] Folded
// REMARK-SAME: an exponential in base 2

// Scale, shift and sign in one multiply-add; the shift's product is rounded
// once, and made once. -log2 e / sqrt(48) is -0.208.
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<-0.2082
// CHECK-DAG: %[[HIGH:.*]] = arith.constant -1.442695
// CHECK-DAG: %[[LOW:.*]] = arith.constant -1.92596303E-8
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[REST:.*]] = arith.mulf %bias, %[[LOW]]
// CHECK: %[[SHIFT:.*]] = math.fma %bias, %[[HIGH]], %[[REST]]
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[SHIFT]]
// CHECK: %[[X:.*]] = math.fma %[[S]], %[[SCALE]], %[[WIDE]]
// CHECK-NEXT: %[[P:.*]] = math.exp2 %[[X]]
// CHECK-NOT: arith.divf %[[S]]

#m = #tile.axes<"m">
module {
  tile.program @rules sizes(%M) ins(%X: f32[M], %b: f32) outs(%O: f32[M], %P: f32[M], %Q: f32[M], %R: f32[M], %S: f32[M]) {
    %c16 = arith.constant 16 : index
    %third = arith.constant dense<3.0> : tensor<16xf32, #m>
    %minus = arith.constant dense<-1.0> : tensor<16xf32, #m>
    %tiny = arith.constant dense<1.0e-39> : tensor<16xf32, #m>
    %grid = arith.ceildivsi %M, %c16 : index
    tile.kernel @rules_0 grid(%i < %grid) {
      %m0 = arith.muli %i, %c16 : index
      %m = tile.index %m0 : tensor<16xindex, #m>
      %x = tile.load %X[%m] : tensor<?xf32>, (tensor<16xindex, #m>) -> tensor<16xf32, #m>
      %bs = tile.broadcast %b : f32 to tensor<16xf32, #m>
      // Read and exact: the exponential of nature.
      // RULES: %[[A:.*]] = math.exp %[[READ:.*]] : tensor
      %a = math.exp %x : tensor<16xf32, #m>
      // A sum that may cancel keeps its shift: only the base changes, by log2 e
      // in two parts.
      // RULES: %[[SUM:.*]] = arith.addf %[[READ]], %{{.*}}
      // RULES-NEXT: %[[LOW:.*]] = arith.mulf %[[SUM]], %{{.*}}
      // RULES-NEXT: %[[ARG:.*]] = math.fma %[[SUM]], %{{.*}}, %[[LOW]]
      // RULES-NEXT: math.exp2 %[[ARG]]
      %sum = arith.addf %x, %bs : tensor<16xf32, #m>
      %e = math.exp %sum : tensor<16xf32, #m>
      // So does one with a product that rounds nothing: x - x is 0, however
      // large x is (random program 5200000263).
      // RULES: %[[MINUS:.*]] = arith.mulf %[[READ]], %{{.*}}
      // RULES: %[[REST:.*]] = arith.addf %[[MINUS]], %{{.*}}
      // RULES-NEXT: %[[LOW:.*]] = arith.mulf %[[REST]], %{{.*}}
      // RULES-NEXT: %[[ARG:.*]] = math.fma %[[REST]], %{{.*}}, %[[LOW]]
      // RULES-NEXT: math.exp2 %[[ARG]]
      %less = arith.mulf %x, %minus : tensor<16xf32, #m>
      %rest = arith.addf %less, %bs : tensor<16xf32, #m>
      %f = math.exp %rest : tensor<16xf32, #m>
      // A quotient by a constant is a product,
      // RULES: arith.mulf %[[READ]], %{{.*}} : tensor
      %third_of = arith.divf %x, %third : tensor<16xf32, #m>
      // unless its reciprocal is no normal number.
      // RULES: arith.divf %[[READ]], %{{.*}} : tensor
      %huge = arith.divf %x, %tiny : tensor<16xf32, #m>
      tile.store %a, %O[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
      tile.store %e, %P[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
      tile.store %third_of, %Q[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
      tile.store %f, %S[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
      tile.store %huge, %R[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
    }
  }
}
