// RUN: attentile-opt %s -attn-materialize-factors | FileCheck %s

// Keys turned by their place: computed once for all rows.
// CHECK-LABEL: attn.kernel @rotary
attn.kernel @rotary sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: bf16[M, 64], %K: bf16[N, 64], %F: f32[64]) outs(%S: f32[M, N]) {
  %f = attn.read %F[%d] : tensor<64xf32>
  %read = attn.read %K[%n, %d] : tensor<?x64xbf16>
  %key = arith.extf %read : bf16 to f32
  %i = arith.index_cast %n : index to i64
  %place = arith.sitofp %i : i64 to f32
  %angle = arith.mulf %place, %f : f32
  %cos = math.cos %angle : f32
  // CHECK: math.cos
  // CHECK-NEXT: %[[K:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  // CHECK-NEXT: %[[KEPT:.*]] = attn.materialize %[[K]], "factor" : f32
  %k = arith.mulf %key, %cos : f32
  %q = attn.read %Q[%m, %d] : tensor<?x64xbf16>
  %query = arith.extf %q : bf16 to f32
  // CHECK-NOT: attn.materialize
  // CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %[[KEPT]] : f32
  %p = arith.mulf %query, %k : f32
  %s = attn.reduce sum %p over(%d) product bf16 : f32
  attn.write %s to %S[%m, %n] : f32, tensor<?x?xf32>
}

// Cosines of no tensor's elements, as many as keys have: computed once, too.
// CHECK-LABEL: attn.kernel @angles
// CHECK: math.cos
// CHECK-NEXT: attn.materialize %{{.*}}, "factor" : f32
attn.kernel @angles sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: f32[M, 64], %P: f32[N]) outs(%S: f32[M, N]) {
  %place = attn.read %P[%n] : tensor<?xf32>
  %j = arith.index_cast %d : index to i64
  %f = arith.sitofp %j : i64 to f32
  %angle = arith.mulf %place, %f : f32
  %k = math.cos %angle : f32
  %query = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %p = arith.mulf %query, %k : f32
  %s = attn.reduce sum %p over(%d) product f32 : f32
  attn.write %s to %S[%m, %n] : f32, tensor<?x?xf32>
}

// Those of pairs may be more than any tensor has.
// CHECK-LABEL: attn.kernel @pairs
// CHECK-NOT: attn.materialize
attn.kernel @pairs sizes(%B, %M, %N) indices(%b < B, %m < M, %n < N)
    ins(%X: f32[B, N], %P: f32[M], %R: f32[N]) outs(%S: f32[B, M]) {
  %row = attn.read %P[%m] : tensor<?xf32>
  %column = attn.read %R[%n] : tensor<?xf32>
  %angle = arith.mulf %row, %column : f32
  %k = math.cos %angle : f32
  %x = attn.read %X[%b, %n] : tensor<?x?xf32>
  %p = arith.mulf %x, %k : f32
  %s = attn.reduce sum %p over(%n) product f32 : f32
  attn.write %s to %S[%b, %m] : f32, tensor<?x?xf32>
}

// 16 rows see each key once.
// CHECK-LABEL: attn.kernel @few_rows
// CHECK-NOT: attn.materialize
attn.kernel @few_rows sizes(%N) indices(%m < 16, %n < N, %d < 64)
    ins(%Q: f32[16, 64], %K: f32[N, 64]) outs(%S: f32[16, N]) {
  %key = attn.read %K[%n, %d] : tensor<?x64xf32>
  %k = math.cos %key : f32
  %query = attn.read %Q[%m, %d] : tensor<16x64xf32>
  %p = arith.mulf %query, %k : f32
  %s = attn.reduce sum %p over(%d) product f32 : f32
  attn.write %s to %S[%m, %n] : f32, tensor<16x?xf32>
}

// A row of a table for each pair: as many elements as pairs, not as the table has.
// CHECK-LABEL: attn.kernel @table
// CHECK-NOT: attn.materialize
attn.kernel @table sizes(%M, %N, %Z) indices(%b < 1024, %m < M, %n < N, %d < 64)
    ins(%Q: f32[1024, M, 64], %R: f32[Z, 64]) outs(%S: f32[1024, M, N]) {
  %i = arith.addi %m, %n : index
  %row = attn.read %R[%i, %d] : tensor<?x64xf32>
  %r = math.cos %row : f32
  %query = attn.read %Q[%b, %m, %d] : tensor<1024x?x64xf32>
  %p = arith.mulf %query, %r : f32
  %s = attn.reduce sum %p over(%d) product f32 : f32
  attn.write %s to %S[%b, %m, %n] : f32, tensor<1024x?x?xf32>
}

// A function of the angle alone, an exponential, a reduction in it: computed where it is needed.
// CHECK-LABEL: attn.kernel @cheap
// CHECK-NOT: attn.materialize
attn.kernel @cheap sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %F: f32[64]) outs(%S: f32[M, N], %T: f32[M, N], %U: f32[M, N]) {
  %key = attn.read %K[%n, %d] : tensor<?x64xf32>
  %query = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %f = attn.read %F[%d] : tensor<64xf32>
  %cos = math.cos %f : f32
  %k = arith.mulf %key, %cos : f32
  %p = arith.mulf %query, %k : f32
  %s = attn.reduce sum %p over(%d) product f32 : f32
  attn.write %s to %S[%m, %n] : f32, tensor<?x?xf32>
  %exp = math.exp %key : f32
  %p2 = arith.mulf %query, %exp : f32
  %t = attn.reduce sum %p2 over(%d) product f32 : f32
  attn.write %t to %T[%m, %n] : f32, tensor<?x?xf32>
  %most = attn.reduce max %key over(%d) : f32
  %shifted = arith.subf %key, %most : f32
  %sin = math.sin %shifted : f32
  %p3 = arith.mulf %query, %sin : f32
  %u = attn.reduce sum %p3 over(%d) product f32 : f32
  attn.write %u to %U[%m, %n] : f32, tensor<?x?xf32>
}
