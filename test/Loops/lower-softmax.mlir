// RUN: attentile-opt %s -attn-lower-softmax | FileCheck %s

// One reference and one sum for both; the row part has a select for rows that
// see nothing, the logsumexp needs none.
// CHECK-LABEL: attn.kernel @both
attn.kernel @both sizes(%M, %N) indices(%m < M, %n < N) ins(%S: f32[M, N]) outs(%P: f32[M, N], %L: f32[M]) {
  %s = attn.read %S[%m, %n] : tensor<?x?xf32>
  %p = attn.softmax %s over (%n) : f32
  %l = attn.logsumexp %s over (%n) : f32
  attn.write %p to %P[%m, %n] : f32, tensor<?x?xf32>
  attn.write %l to %L[%m] : f32, tensor<?xf32>
  // CHECK: %[[S:.*]] = attn.read
  // CHECK-NEXT: %[[REF:.*]] = attn.reduce ref %[[S]] over(%n) : f32
  // CHECK-NEXT: %[[SHIFTED:.*]] = arith.subf %[[S]], %[[REF]]
  // CHECK-NEXT: %[[WEIGHT:.*]] = math.exp %[[SHIFTED]]
  // CHECK-NEXT: %[[SUM:.*]] = attn.reduce sum %[[WEIGHT]] over(%n) : f32
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0
  // CHECK-NEXT: %[[UNSEEN:.*]] = arith.cmpf oeq, %[[SUM]], %[[ZERO]]
  // CHECK-NEXT: %[[QUOTIENT:.*]] = arith.divf %[[ONE]], %[[SUM]]
  // CHECK-NEXT: %[[INVERSE:.*]] = arith.select %[[UNSEEN]], %[[ZERO]], %[[QUOTIENT]]
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[WEIGHT]], %[[INVERSE]]
  // CHECK-NEXT: %[[LOG:.*]] = math.log %[[SUM]]
  // CHECK-NEXT: %[[L:.*]] = arith.addf %[[REF]], %[[LOG]]
  // CHECK-NEXT: attn.write %[[P]] to %P
  // CHECK-NEXT: attn.write %[[L]] to %L
}

// Several axes are one row, in whichever order they are named; other axes or
// another operand are other statistics.
// CHECK-LABEL: attn.kernel @several_axes
// CHECK-COUNT-3: attn.reduce ref %{{.*}} over({{%n, %r|%n|%n}}) : f32
// CHECK-NOT: attn.reduce ref
// CHECK-NOT: attn.softmax
// CHECK-NOT: attn.logsumexp
attn.kernel @several_axes sizes(%M, %N) indices(%m < M, %n < N, %r < 4)
    ins(%S: f32[M, N, 4]) outs(%L: f32[M], %A: f32[M, 4], %C: f32[M, 4]) {
  %s = attn.read %S[%m, %n, %r] : tensor<?x?x4xf32>
  %p = attn.softmax %s over (%r, %n) : f32
  %l = attn.logsumexp %s over (%n, %r) : f32
  %pn = attn.logsumexp %s over (%n) : f32
  %t = arith.addf %s, %s : f32
  %tn = attn.logsumexp %t over (%n) : f32
  %x = attn.reduce sum %p over (%n, %r) : f32
  %y = arith.addf %x, %l : f32
  attn.write %y to %L[%m] : f32, tensor<?xf32>
  attn.write %pn to %A[%m, %r] : f32, tensor<?x4xf32>
  attn.write %tn to %C[%m, %r] : f32, tensor<?x4xf32>
}
