// RUN: attentile-opt %s -attn-lower-softmax -attn-form-grids | FileCheck %s

// Two statements of the same axes share a grid and its sums; assumptions stay
// in the kernel's block, formulas do not.
// CHECK-LABEL: attn.kernel @attention
attn.kernel @attention sizes(%B, %M, %N) indices(%b < B, %m < M, %n < N, %d < 64, %e < 32)
    ins(%Q: f32[B, M, 64], %K: f32[B, N, 64], %V: f32[B, N, 32]) outs(%O: f32[B, M, 32], %L: f32[B, M]) {
  %any = arith.cmpi sle, %M, %N : index
  attn.assume %any, "M <= N"
  %q = attn.read %Q[%b, %m, %d] : tensor<?x?x64xf32>
  %k = attn.read %K[%b, %n, %d] : tensor<?x?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %p = attn.softmax %s over (%n) : f32
  %v = attn.read %V[%b, %n, %e] : tensor<?x?x32xf32>
  %pv = arith.mulf %p, %v : f32
  %o = attn.reduce sum %pv over (%n) product f32 : f32
  %l = attn.logsumexp %s over (%n) : f32
  attn.write %o to %O[%b, %m, %e] : f32, tensor<?x?x32xf32>
  attn.write %l to %L[%b, %m] : f32, tensor<?x?xf32>
  // CHECK: arith.cmpi
  // CHECK-NEXT: attn.assume
  // CHECK-NEXT: attn.grid step(%b) tile(%m) loop(%n) whole(%d, %e) {
  // CHECK-COUNT-4: attn.reduce
  // CHECK-NOT: attn.reduce
  // CHECK: attn.write %{{.*}} to %L
  // CHECK-NOT: attn.grid
}

// The row's statistics are made once for all columns and go through workspace;
// their grid is that of the output, so its loops are shared.
// CHECK-LABEL: attn.kernel @column_sums
attn.kernel @column_sums sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64]) outs(%L: f32[M], %A: f32[N]) {
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %p = attn.softmax %s over (%n) : f32
  %a = attn.reduce sum %p over (%m) : f32
  %l = attn.logsumexp %s over (%n) : f32
  attn.write %l to %L[%m] : f32, tensor<?xf32>
  attn.write %a to %A[%n] : f32, tensor<?xf32>
  // CHECK-DAG: %[[SUM:.*]] = attn.workspace "sum" shape #{{.*}} : tensor<?xf32>
  // CHECK-DAG: %[[REF:.*]] = attn.workspace "ref" shape #{{.*}} : tensor<?xf32>
  // CHECK: attn.grid step() tile(%m) loop(%n) whole(%d) {
  // CHECK: attn.write %{{.*}} to %L[%m]
  // CHECK-DAG: attn.write %{{.*}} to %[[SUM]][%m]
  // CHECK-DAG: attn.write %{{.*}} to %[[REF]][%m]
  // CHECK: }
  // CHECK-NEXT: attn.grid step() tile(%n) loop(%m) whole(%d) {
  // CHECK: attn.reduce sum %{{.*}} over(%d)
  // CHECK: attn.read %[[REF]][%m]
  // CHECK: attn.read %[[SUM]][%m]
  // CHECK: attn.reduce sum %{{.*}} over(%m)
  // CHECK-NOT: attn.reduce
  // CHECK: attn.write %{{.*}} to %A[%n]
}

// Standard attention: scores tiled both ways (d is summed in nothing else: a
// loop), then each row's softmax in a grid that writes in its loop, then the
// second product.
// CHECK-LABEL: attn.kernel @standard
attn.kernel @standard sizes(%M, %N) indices(%m < M, %n < N, %d < 64, %e < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %V: f32[N, 64]) outs(%O: f32[M, 64]) {
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s0 = attn.reduce sum %qk over (%d) product f32 : f32
  %s = attn.materialize %s0, "s" : f32
  %p0 = attn.softmax %s over (%n) : f32
  %p = attn.materialize %p0, "p" : f32
  %v = attn.read %V[%n, %e] : tensor<?x64xf32>
  %pv = arith.mulf %p, %v : f32
  %o = attn.reduce sum %pv over (%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
  // CHECK-DAG: %[[S:.*]] = attn.workspace "s"
  // CHECK-DAG: %[[P:.*]] = attn.workspace "p"
  // CHECK: attn.grid step() tile(%m, %n) loop(%d) whole() {
  // CHECK: attn.write %{{.*}} to %[[S]][%m, %n]
  // CHECK: attn.grid step() tile(%m) loop(%n) whole() {
  // CHECK-NEXT: attn.read %[[S]][%m, %n]
  // CHECK: attn.write %{{.*}} to %[[P]][%m, %n]
  // CHECK: attn.grid step() tile(%m) loop(%n) whole(%e) {
  // CHECK-NEXT: attn.read %[[P]][%m, %n]
  // CHECK: attn.write %{{.*}} to %O[%m, %e]
  // CHECK-NOT: attn.materialize
}

// Features of unknown number stand whole in no tile: a loop, before that over
// keys.
// CHECK-LABEL: attn.kernel @any_features
attn.kernel @any_features sizes(%M, %N, %D) indices(%m < M, %n < N, %d < D)
    ins(%Q: f32[M, D], %K: f32[N, D]) outs(%Y: f32[M]) {
  %q = attn.read %Q[%m, %d] : tensor<?x?xf32>
  %k = attn.read %K[%n, %d] : tensor<?x?xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %y = attn.reduce max %s over (%n) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
  // CHECK: %[[S:.*]] = attn.workspace "sum"
  // CHECK: attn.grid step() tile(%m, %n) loop(%d) whole() {
  // CHECK: attn.write %{{.*}} to %[[S]][%m, %n]
  // CHECK: attn.grid step() tile(%m) loop(%n) whole() {
  // CHECK: attn.write %{{.*}} to %Y[%m]
}
