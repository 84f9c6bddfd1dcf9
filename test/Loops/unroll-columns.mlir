// RUN: attentile-opt %s -attn-unroll-columns | FileCheck %s

// Points of values share their weights: a product over the points for each coordinate.
// CHECK-LABEL: attn.kernel @points
// CHECK: %[[W:.*]] = math.exp
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: attn.read %V[%n, %p, %[[C0]]]
// CHECK: arith.mulf %[[W]]
// CHECK: %[[O0:.*]] = attn.reduce sum %{{.*}} over(%n) product f32
// CHECK: attn.write %[[O0]] to %O[%m, %p, %[[C0]]]
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: attn.read %V[%n, %p, %[[C1]]]
// CHECK: %[[O1:.*]] = attn.reduce sum %{{.*}} over(%n) product f32
// CHECK: attn.write %[[O1]] to %O[%m, %p, %[[C1]]]
// CHECK-NOT: attn.write
attn.kernel @points sizes(%M, %N) indices(%m < M, %n < N, %d < 64, %p < 4, %x < 2)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %V: f32[N, 4, 2]) outs(%O: f32[M, 4, 2]) {
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over(%d) product f32 : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%n, %p, %x] : tensor<?x4x2xf32>
  %wv = arith.mulf %w, %v : f32
  %o = attn.reduce sum %wv over(%n) product f32 : f32
  attn.write %o to %O[%m, %p, %x] : f32, tensor<?x4x2xf32>
}

// A sum over coordinates of such points, each coordinate's term by itself.
// CHECK-LABEL: attn.kernel @lengths
// CHECK-DAG: attn.read %V[%n, %p, %{{.*}}]
// CHECK-COUNT-2: attn.reduce sum %{{.*}} over(%n) product f32
// CHECK: %[[TWO:.*]] = arith.addf
// CHECK-NOT: over(%x)
// CHECK: attn.write %[[TWO]] to %O[%m, %p]
attn.kernel @lengths sizes(%M, %N) indices(%m < M, %n < N, %p < 4, %x < 2)
    ins(%S: f32[M, N], %V: f32[N, 4, 2]) outs(%O: f32[M, 4]) {
  %s = attn.read %S[%m, %n] : tensor<?x?xf32>
  %top = attn.reduce max %s over(%n) : f32
  %less = arith.subf %s, %top : f32
  %w = math.exp %less : f32
  %v = attn.read %V[%n, %p, %x] : tensor<?x4x2xf32>
  %wv = arith.mulf %w, %v : f32
  %o = attn.reduce sum %wv over(%n) product f32 : f32
  %square = arith.mulf %o, %o : f32
  %r = attn.reduce sum %square over(%x) product f32 : f32
  attn.write %r to %O[%m, %p] : f32, tensor<?x4xf32>
}

// Left as they are: more columns than a tile holds, an axis that something else reduces, one that the weights have, weights
// that are read.
// CHECK-LABEL: attn.kernel @others
// CHECK: attn.write %{{.*}} to %A[%m, %g, %e]
// CHECK: attn.write %{{.*}} to %B[%m, %p, %x]
// CHECK: attn.write %{{.*}} to %C[%m, %p, %x]
// CHECK: attn.write %{{.*}} to %D[%m, %p, %x]
attn.kernel @others sizes(%M, %N) indices(%m < M, %n < N, %d < 64, %p < 4, %x < 2, %g < 4, %e < 128)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %V: f32[N, 4, 2], %U: f32[N, 4, 128], %S: f32[M, N], %T: f32[N, 2])
    outs(%A: f32[M, 4, 128], %B: f32[M, 4, 2], %C: f32[M, 4, 2], %D: f32[M, 4, 2]) {
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over(%d) product f32 : f32
  %w = math.exp %s : f32
  %u = attn.read %U[%n, %g, %e] : tensor<?x4x128xf32>
  %wu = arith.mulf %w, %u : f32
  %a = attn.reduce sum %wu over(%n) product f32 : f32
  attn.write %a to %A[%m, %g, %e] : f32, tensor<?x4x128xf32>
  %v = attn.read %V[%n, %p, %x] : tensor<?x4x2xf32>
  %wv = arith.mulf %w, %v : f32
  %o = attn.reduce sum %wv over(%n) product f32 : f32
  %top = attn.reduce max %o over(%x) : f32
  %b = arith.subf %o, %top : f32
  attn.write %b to %B[%m, %p, %x] : f32, tensor<?x4x2xf32>
  %t = attn.read %T[%n, %x] : tensor<?x2xf32>
  %wt = arith.mulf %w, %t : f32
  %wtv = arith.mulf %wt, %v : f32
  %c = attn.reduce sum %wtv over(%n) product f32 : f32
  attn.write %c to %C[%m, %p, %x] : f32, tensor<?x4x2xf32>
  %r = attn.read %S[%m, %n] : tensor<?x?xf32>
  %rv = arith.mulf %r, %v : f32
  %y = attn.reduce sum %rv over(%n) product f32 : f32
  attn.write %y to %D[%m, %p, %x] : f32, tensor<?x4x2xf32>
}
