// RUN: attentile-opt %s -attn-unroll-sums | FileCheck %s
// RUN: attentile-opt %s -attn-unroll-sums=multiply-adds | FileCheck %s --check-prefix=ADDS

// A score over groups of features, which lie together along d: a product for each group.
// CHECK-LABEL: attn.kernel @groups
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: attn.read %Q[%m, %[[C0]], %d]
// CHECK: %[[S0:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: attn.read %K[%n, %[[C1]], %d]
// CHECK: %[[S1:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// CHECK: %[[S:.*]] = arith.addf %[[S0]], %[[S1]]
// CHECK: math.exp %[[S]]
attn.kernel @groups sizes(%M, %N) indices(%m < M, %n < N, %g < 2, %d < 32, %e < 64)
    ins(%Q: f32[M, 2, 32], %K: f32[N, 2, 32], %V: f32[N, 64]) outs(%O: f32[M, 64]) {
  %q = attn.read %Q[%m, %g, %d] : tensor<?x2x32xf32>
  %k = attn.read %K[%n, %g, %d] : tensor<?x2x32xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%d, %g) product f32 : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%n, %e] : tensor<?x64xf32>
  %x = arith.mulf %w, %v : f32
  %o = attn.reduce sum %x over(%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// Many groups, and keys that go through memory: a sum of sums.
// CHECK-LABEL: attn.kernel @many
// CHECK: %[[S:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// CHECK-NEXT: attn.reduce sum %[[S]] over(%g) : f32
// CHECK: attn.materialize
// CHECK: %[[T:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// CHECK-NEXT: attn.reduce sum %[[T]] over(%r) : f32
attn.kernel @many sizes(%M, %N) indices(%m < M, %n < N, %g < 32, %r < 2, %d < 32, %e < 64)
    ins(%Q: f32[M, 32, 32], %K: f32[N, 32, 32], %V: f32[N, 64]) outs(%O: f32[M, 64]) {
  %q = attn.read %Q[%m, %g, %d] : tensor<?x32x32xf32>
  %k = attn.read %K[%n, %g, %d] : tensor<?x32x32xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%g, %d) product f32 : f32
  %qr = attn.read %Q[%m, %r, %d] : tensor<?x32x32xf32>
  %kr = attn.read %K[%n, %r, %d] : tensor<?x32x32xf32>
  %kept = attn.materialize %kr, "k" : f32
  %pr = arith.mulf %qr, %kept : f32
  %t = attn.reduce sum %pr over(%r, %d) product f32 : f32
  %both = arith.addf %s, %t : f32
  %w = math.exp %both : f32
  %v = attn.read %V[%n, %e] : tensor<?x64xf32>
  %x = arith.mulf %w, %v : f32
  %o = attn.reduce sum %x over(%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// No score: nothing is reduced of a projection. Nor is what has reductions in it, as weights have, nor of unknown sizes.
// CHECK-LABEL: attn.kernel @others
// CHECK: attn.reduce sum %{{.*}} over(%g, %d) product f32
// CHECK: attn.reduce max
// CHECK: attn.reduce sum %{{.*}} over(%g, %d) product f32
// CHECK: attn.reduce sum %{{.*}} over(%h, %d) product f32
attn.kernel @others sizes(%M, %N, %H) indices(%m < M, %n < N, %g < 2, %h < H, %d < 32, %e < 64)
    ins(%Q: f32[M, 2, 32], %K: f32[N, 2, 32], %X: f32[M, H, 32], %Y: f32[N, H, 32]) outs(%A: f32[M, N], %B: f32[M], %C: f32[M]) {
  %q = attn.read %Q[%m, %g, %d] : tensor<?x2x32xf32>
  %k = attn.read %K[%n, %g, %d] : tensor<?x2x32xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%g, %d) product f32 : f32
  attn.write %s to %A[%m, %n] : f32, tensor<?x?xf32>
  %top = attn.reduce max %k over(%g) : f32
  %z = arith.mulf %k, %top : f32
  %r = arith.mulf %q, %z : f32
  %t = attn.reduce sum %r over(%g, %d) product f32 : f32
  %u = attn.reduce max %t over(%n) : f32
  attn.write %u to %B[%m] : f32, tensor<?xf32>
  %xr = attn.read %X[%m, %h, %d] : tensor<?x?x32xf32>
  %yr = attn.read %Y[%n, %h, %d] : tensor<?x?x32xf32>
  %xy = arith.mulf %xr, %yr : f32
  %v = attn.reduce sum %xy over(%h, %d) product f32 : f32
  %w = attn.reduce max %v over(%n) : f32
  attn.write %w to %C[%m] : f32, tensor<?xf32>
}

// Products are over an axis of both factors; what one alone has in many indices stays.
// CHECK-LABEL: attn.kernel @alone
// CHECK-COUNT-2: attn.reduce sum %{{.*}} over(%d) product f32
// CHECK: attn.reduce sum %{{.*}} over(%d, %r) product f32
attn.kernel @alone sizes(%M, %N) indices(%m < M, %n < N, %g < 2, %r < 32, %d < 8)
    ins(%Q: f32[M, 8, 2], %R: f32[M, 8, 32], %K: f32[N, 8]) outs(%A: f32[M]) {
  %q = attn.read %Q[%m, %d, %g] : tensor<?x8x2xf32>
  %k = attn.read %K[%n, %d] : tensor<?x8xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%d, %g) product f32 : f32
  %x = attn.read %R[%m, %d, %r] : tensor<?x8x32xf32>
  %y = arith.mulf %x, %k : f32
  %t = attn.reduce sum %y over(%d, %r) product f32 : f32
  %both = arith.addf %s, %t : f32
  %u = attn.reduce max %both over(%n) : f32
  attn.write %u to %A[%m] : f32, tensor<?xf32>
}

// Parts of a number lie together and are no packet: a product for each of them, not one of two parts for each feature.
// CHECK-LABEL: attn.kernel @parts
// CHECK-COUNT-2: attn.reduce sum %{{.*}} over(%d) product f32
// CHECK-NOT: over(%r)
// CHECK: attn.reduce max
attn.kernel @parts sizes(%M, %N) indices(%m < M, %n < N, %d < 64, %r < 2)
    ins(%Q: f32[M, 64, 2], %K: f32[N, 64, 2]) outs(%A: f32[M]) {
  %q = attn.read %Q[%m, %d, %r] : tensor<?x64x2xf32>
  %k = attn.read %K[%n, %d, %r] : tensor<?x64x2xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%d, %r) product f32 : f32
  %u = attn.reduce max %s over(%n) : f32
  attn.write %u to %A[%m] : f32, tensor<?xf32>
}

// The distance of points of three coordinates, no product of matrices: its terms one by one. What one tensor has all of
// (a key's length) is none of pairs, a product of coordinates is one of matrices, and sixteen terms are a tile's.
// CHECK-LABEL: attn.kernel @points
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: %[[TWO:.*]] = arith.addf
// CHECK: %[[D:.*]] = arith.addf %[[TWO]], %{{.*}} : f32
// ADDS-LABEL: attn.kernel @points
// ADDS: %[[TWO:.*]] = math.fma %[[F:.*]], %[[F]], %{{.*}} : f32
// ADDS: math.fma %[[G:.*]], %[[G]], %[[TWO]]
// CHECK: arith.mulf
// CHECK: attn.reduce sum %{{.*}} over(%x) product f32
// CHECK: arith.mulf
// CHECK: attn.reduce sum %{{.*}} over(%x) product f32
// CHECK: attn.reduce sum %{{.*}} over(%y) : f32
attn.kernel @points sizes(%M, %N) indices(%m < M, %n < N, %x < 3, %y < 16)
    ins(%Q: f32[M, 3], %K: f32[N, 3], %A: f32[M, 16], %B: f32[N, 16]) outs(%O: f32[M]) {
  %q = attn.read %Q[%m, %x] : tensor<?x3xf32>
  %k = attn.read %K[%n, %x] : tensor<?x3xf32>
  %far = arith.subf %q, %k : f32
  %square = arith.mulf %far, %far : f32
  %d = attn.reduce sum %square over(%x) product f32 : f32
  %kk = arith.mulf %k, %k : f32
  %length = attn.reduce sum %kk over(%x) product f32 : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over(%x) product f32 : f32
  %a = attn.read %A[%m, %y] : tensor<?x16xf32>
  %b = attn.read %B[%n, %y] : tensor<?x16xf32>
  %ab = arith.subf %a, %b : f32
  %t = attn.reduce sum %ab over(%y) : f32
  %0 = arith.addf %d, %length : f32
  %1 = arith.addf %0, %s : f32
  %2 = arith.addf %1, %t : f32
  %o = attn.reduce max %2 over(%n) : f32
  attn.write %o to %O[%m] : f32, tensor<?xf32>
}

// On a CPU a row's own product is added up as the pairs' is.
// CHECK-LABEL: attn.kernel @own
// CHECK: attn.reduce sum %{{.*}} over(%g, %d) : f32
// ADDS-LABEL: attn.kernel @own
// ADDS: %[[INNER:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS-NEXT: %{{.*}} = attn.reduce sum %[[INNER]] over(%g) : f32
// ADDS-COUNT-2: attn.reduce sum %{{.*}} over(%d) product f32
attn.kernel @own sizes(%M, %N) indices(%m < M, %n < N, %g < 2, %d < 32)
    ins(%Q: f32[M, 2, 32], %K: f32[N, 2, 32], %L: f32[M, 2, 32]) outs(%O: f32[M]) {
  %q = attn.read %Q[%m, %g, %d] : tensor<?x2x32xf32>
  %l = attn.read %L[%m, %g, %d] : tensor<?x2x32xf32>
  %ql = arith.mulf %q, %l : f32
  %own = attn.reduce sum %ql over(%g, %d) : f32
  %k = attn.read %K[%n, %g, %d] : tensor<?x2x32xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over(%g, %d) product f32 : f32
  %0 = arith.subf %s, %own : f32
  %o = attn.reduce max %0 over(%n) : f32
  attn.write %o to %O[%m] : f32, tensor<?xf32>
}

// Of three axes a sum for each index of the first, of the sums for each of the second; a row's own likewise.
// CHECK-LABEL: attn.kernel @three
// CHECK: attn.reduce sum %{{.*}} over(%g, %h, %d) : f32
// CHECK: %[[A0:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// CHECK: %[[A1:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// CHECK: %[[A2:.*]] = arith.addf %[[A0]], %[[A1]]
// CHECK: %[[A3:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// CHECK: arith.addf %[[A2]], %[[A3]]
// ADDS-LABEL: attn.kernel @three
// ADDS: %[[D:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS-NEXT: %[[H:.*]] = attn.reduce sum %[[D]] over(%h) : f32
// ADDS-NEXT: attn.reduce sum %[[H]] over(%g) : f32
// ADDS: %[[S00:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS: %[[S01:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS: %[[S0:.*]] = arith.addf %[[S00]], %[[S01]]
// ADDS: %[[S10:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS: %[[S11:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS: %[[S1:.*]] = arith.addf %[[S10]], %[[S11]]
// ADDS: arith.addf %[[S0]], %[[S1]]
attn.kernel @three sizes(%M, %N) indices(%m < M, %n < N, %g < 2, %h < 2, %d < 32)
    ins(%Q: f32[M, 2, 2, 32], %K: f32[N, 2, 2, 32], %L: f32[M, 2, 2, 32]) outs(%O: f32[M]) {
  %q = attn.read %Q[%m, %g, %h, %d] : tensor<?x2x2x32xf32>
  %l = attn.read %L[%m, %g, %h, %d] : tensor<?x2x2x32xf32>
  %ql = arith.mulf %q, %l : f32
  %own = attn.reduce sum %ql over(%g, %h, %d) : f32
  %k = attn.read %K[%n, %g, %h, %d] : tensor<?x2x2x32xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over(%g, %h, %d) product f32 : f32
  %0 = arith.subf %s, %own : f32
  %o = attn.reduce max %0 over(%n) : f32
  attn.write %o to %O[%m] : f32, tensor<?xf32>
}

// A factor that goes through memory leaves no slices to take: on a CPU a score is nested then, and so is a row's own. What has a reduction in it that
// does not go through memory stays, as does what no score has the axes of.
// CHECK-LABEL: attn.kernel @nested
// CHECK-COUNT-2: attn.reduce sum %{{.*}} over(%g, %d) : f32
// CHECK: attn.reduce sum %{{.*}} over(%d, %e) : f32
// ADDS-LABEL: attn.kernel @nested
// ADDS: %[[K0:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS-NEXT: attn.reduce sum %[[K0]] over(%g) : f32
// ADDS: %[[K1:.*]] = attn.reduce sum %{{.*}} over(%d) product f32
// ADDS-NEXT: attn.reduce sum %[[K1]] over(%g) : f32
// ADDS: attn.reduce max
// ADDS: attn.reduce sum %{{.*}} over(%g, %d) : f32
// ADDS: attn.reduce sum %{{.*}} over(%d, %e) : f32
attn.kernel @nested sizes(%M, %N) indices(%m < M, %n < N, %g < 2, %d < 32, %e < 8)
    ins(%Q: f32[M, 2, 32], %K: f32[N, 2, 32], %L: f32[M, 2, 32], %X: f32[M, 32, 8]) outs(%S: f32[M], %P: f32[M], %Y: f32[M]) {
  %q = attn.read %Q[%m, %g, %d] : tensor<?x2x32xf32>
  %k = attn.read %K[%n, %g, %d] : tensor<?x2x32xf32>
  %kept = attn.materialize %k, "k" : f32
  %qk = arith.mulf %q, %kept : f32
  %s = attn.reduce sum %qk over(%g, %d) product f32 : f32
  %l = attn.read %L[%m, %g, %d] : tensor<?x2x32xf32>
  %ql = arith.mulf %q, %l : f32
  %own = attn.reduce sum %ql over(%g, %d) : f32
  %0 = arith.subf %s, %own : f32
  %1 = attn.reduce max %0 over(%n) : f32
  attn.write %1 to %S[%m] : f32, tensor<?xf32>
  %top = attn.reduce max %l over(%d) : f32
  %lt = arith.mulf %l, %top : f32
  %qt = arith.mulf %q, %lt : f32
  %t = attn.reduce sum %qt over(%g, %d) : f32
  attn.write %t to %P[%m] : f32, tensor<?xf32>
  %x = attn.read %X[%m, %d, %e] : tensor<?x32x8xf32>
  %xx = arith.mulf %x, %x : f32
  %y = attn.reduce sum %xx over(%d, %e) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}
