// RUN: attentile-opt %s -attn-merge-sums | FileCheck %s

// A projection of all heads: one sum.
// CHECK-LABEL: attn.kernel @projection
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NEXT: %[[S:.*]] = attn.reduce sum %[[P]] over(%h, %e) product bf16 : f32
// CHECK-NEXT: attn.write %[[S]]
attn.kernel @projection sizes(%M, %H) indices(%m < M, %h < H, %e < 64, %f < 256)
    ins(%A: bf16[H, M, 64], %W: bf16[H, 64, 256]) outs(%O: f32[M, 256]) {
  %a = attn.read %A[%h, %m, %e] : tensor<?x?x64xbf16>
  %x = arith.extf %a : bf16 to f32
  %w = attn.read %W[%h, %e, %f] : tensor<?x64x256xbf16>
  %y = arith.extf %w : bf16 to f32
  %p = arith.mulf %x, %y : f32
  %inner = attn.reduce sum %p over(%e) product bf16 : f32
  %s = attn.reduce sum %inner over(%h) : f32
  attn.write %s to %O[%m, %f] : f32, tensor<?x256xf32>
}

// Not where a factor lacks an axis, where the inner sum is no product (and none is merged) or used elsewhere, nor a maximum of sums.
// CHECK-LABEL: attn.kernel @others
// CHECK: attn.reduce sum {{.*}} over(%d) product f32
// CHECK-NEXT: attn.reduce {{.*}} over(%n)
// CHECK: attn.reduce sum {{.*}} over(%d) : f32
// CHECK-NEXT: attn.reduce {{.*}} over(%h)
// CHECK: attn.reduce sum {{.*}} over(%d) product f32
// CHECK-NEXT: attn.reduce {{.*}} over(%h)
attn.kernel @others sizes(%M, %N, %H) indices(%m < M, %n < N, %h < H, %d < 64)
    ins(%Q: f32[H, M, 64], %K: f32[H, N, 64]) outs(%A: f32[H, M], %B: f32[M], %C: f32[M, N]) {
  %q = attn.read %Q[%h, %m, %d] : tensor<?x?x64xf32>
  %k = attn.read %K[%h, %n, %d] : tensor<?x?x64xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%d) product f32 : f32
  %rows = attn.reduce sum %s over(%n) : f32
  attn.write %rows to %A[%h, %m] : f32, tensor<?x?xf32>
  %square = arith.mulf %q, %q : f32
  %norm = attn.reduce sum %square over(%d) : f32
  %norms = attn.reduce sum %norm over(%h) : f32
  attn.write %norms to %B[%m] : f32, tensor<?xf32>
  %t = attn.reduce sum %p over(%d) product f32 : f32
  %most = attn.reduce max %t over(%h) : f32
  attn.write %most to %C[%m, %n] : f32, tensor<?x?xf32>
}

// A row's own product beside one of matrices that is merged.
// CHECK-LABEL: attn.kernel @own
// CHECK: attn.reduce sum {{.*}} over(%h, %d) : f32
// CHECK-NEXT: attn.write
// CHECK: attn.reduce sum {{.*}} over(%h, %d) product f32 : f32
// CHECK-NEXT: attn.write
attn.kernel @own sizes(%M, %N) indices(%m < M, %n < N, %h < 4, %d < 64)
    ins(%Q: f32[4, M, 64], %K: f32[4, N, 64], %L: f32[4, M, 64]) outs(%A: f32[M], %B: f32[M, N]) {
  %q = attn.read %Q[%h, %m, %d] : tensor<4x?x64xf32>
  %l = attn.read %L[%h, %m, %d] : tensor<4x?x64xf32>
  %p = arith.mulf %q, %l : f32
  %s = attn.reduce sum %p over(%d) : f32
  %a = attn.reduce sum %s over(%h) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
  %k = attn.read %K[%h, %n, %d] : tensor<4x?x64xf32>
  %r = arith.mulf %q, %k : f32
  %t = attn.reduce sum %r over(%d) product f32 : f32
  %b = attn.reduce sum %t over(%h) : f32
  attn.write %b to %B[%m, %n] : f32, tensor<?x?xf32>
}

// In a score axes stand whole: only of known sizes.
// CHECK-LABEL: attn.kernel @scores
// CHECK: attn.reduce sum {{.*}} over(%d) product f32
// CHECK-NEXT: attn.reduce sum {{.*}} over(%h) : f32
// CHECK: attn.reduce sum {{.*}} over(%g, %d) product f32
// CHECK-NEXT: attn.reduce max
attn.kernel @scores sizes(%M, %N, %H) indices(%m < M, %n < N, %h < H, %g < 4, %d < 64)
    ins(%Q: f32[H, M, 64], %K: f32[H, N, 64]) outs(%A: f32[M], %B: f32[M]) {
  %q = attn.read %Q[%h, %m, %d] : tensor<?x?x64xf32>
  %k = attn.read %K[%h, %n, %d] : tensor<?x?x64xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%d) product f32 : f32
  %t = attn.reduce sum %s over(%h) : f32
  %u = attn.reduce max %t over(%n) : f32
  attn.write %u to %A[%m] : f32, tensor<?xf32>
  %qg = attn.read %Q[%g, %m, %d] : tensor<?x?x64xf32>
  %kg = attn.read %K[%g, %n, %d] : tensor<?x?x64xf32>
  %pg = arith.mulf %qg, %kg : f32
  %sg = attn.reduce sum %pg over(%d) product f32 : f32
  %tg = attn.reduce sum %sg over(%g) : f32
  %ug = attn.reduce max %tg over(%n) : f32
  attn.write %ug to %B[%m] : f32, tensor<?xf32>
}

// Nor where a score elsewhere sums over such an axis: it would stand whole then.
// CHECK-LABEL: attn.kernel @elsewhere
// CHECK: attn.reduce sum {{.*}} over(%d) product f32
// CHECK-NEXT: attn.reduce sum {{.*}} over(%h) : f32
// CHECK: attn.reduce sum {{.*}} over(%h, %d) product f32
// CHECK-NEXT: attn.reduce max
attn.kernel @elsewhere sizes(%M, %N, %H) indices(%m < M, %n < N, %h < H, %d < 64)
    ins(%Q: f32[H, M, 64], %K: f32[H, N, 64]) outs(%A: f32[M, N], %B: f32[M]) {
  %q = attn.read %Q[%h, %m, %d] : tensor<?x?x64xf32>
  %k = attn.read %K[%h, %n, %d] : tensor<?x?x64xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%d) product f32 : f32
  %t = attn.reduce sum %s over(%h) : f32
  attn.write %t to %A[%m, %n] : f32, tensor<?x?xf32>
  %u = attn.reduce sum %p over(%h, %d) product f32 : f32
  %most = attn.reduce max %u over(%n) : f32
  attn.write %most to %B[%m] : f32, tensor<?xf32>
}
