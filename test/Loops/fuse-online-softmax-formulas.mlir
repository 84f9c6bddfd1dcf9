// RUN: attentile-opt %s --attn-lower-softmax --attn-form-grids --attn-to-tile --canonicalize --cse --tile-fuse-online-softmax | FileCheck %s
// RUN: attentile-opt %s --attn-lower-softmax --attn-form-grids --attn-to-tile --canonicalize --cse --tile-fuse-online-softmax --remarks-filter=tile-fuse-online-softmax --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A difference of two softmaxes: one loop with two maxima, two row sums and
// two outputs.
// CHECK-LABEL: tile.program @difference
// CHECK: scf.for
// CHECK-SAME: -> (tensor<[[M:.*]]xf32, #m>, tensor<[[M]]xf32, #m>, tensor<[[M]]xf32, #m>, tensor<[[M]]xf32, #m>, tensor<[[M]]x64xf32, #m_e>, tensor<[[M]]x64xf32, #m_e>)
// CHECK-COUNT-2: arith.maxnumf
// CHECK-COUNT-2: tile.reduce sum
// CHECK-COUNT-2: tile.dot {{.*}} over ["n"]
// CHECK-NOT: scf.for
attn.kernel @difference sizes(%M, %N) indices(%m < M, %n < N, %d < 64, %e < 64)
    ins(%Q: f32[M, 64], %R: f32[M, 64], %K: f32[N, 64], %V: f32[N, 64], %lambda: f32) outs(%O: f32[M, 64]) {
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %p = attn.softmax %s over (%n) : f32
  %r = attn.read %R[%m, %d] : tensor<?x64xf32>
  %rk = arith.mulf %r, %k : f32
  %t = attn.reduce sum %rk over (%d) product f32 : f32
  %u = attn.softmax %t over (%n) : f32
  %lu = arith.mulf %lambda, %u : f32
  %w = arith.subf %p, %lu : f32
  %v = attn.read %V[%n, %e] : tensor<?x64xf32>
  %wv = arith.mulf %w, %v : f32
  %o = attn.reduce sum %wv over (%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// A threshold on p needs all of p's row: the sum takes a second loop, and the
// remark names the comparison.
// CHECK-LABEL: tile.program @threshold
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// REMARK: remark: [Missed] NextLoop {{.*}}Op=arith.cmpf
// REMARK-SAME: the condition depends on a statistic of this loop{{.*}}a sum over n takes the next loop
attn.kernel @threshold sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64]) outs(%O: f32[M]) {
  %limit = arith.constant 0.05 : f32
  %zero = arith.constant 0.0 : f32
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %p = attn.softmax %s over (%n) : f32
  %above = arith.cmpf ogt, %p, %limit : f32
  %kept = arith.select %above, %p, %zero : f32
  %o = attn.reduce sum %kept over (%n) : f32
  attn.write %o to %O[%m] : f32, tensor<?xf32>
}

// (s - mean) * p would be two large sums that cancel; it waits for the mean.
// CHECK-LABEL: tile.program @variance
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// REMARK: remark: [Missed] NextLoop {{.*}}Op=arith.subf
// REMARK-SAME: a statistic of this loop is added, and may cancel
attn.kernel @variance sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64]) outs(%O: f32[M]) {
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %p = attn.softmax %s over (%n) : f32
  %ps = arith.mulf %p, %s : f32
  %mean = attn.reduce sum %ps over (%n) : f32
  %off = arith.subf %s, %mean : f32
  %weighted = arith.mulf %p, %off : f32
  %square = arith.mulf %weighted, %off : f32
  %o = attn.reduce sum %square over (%n) : f32
  attn.write %o to %O[%m] : f32, tensor<?xf32>
}

// P itself is stored: statistics in one loop, the stores in another.
// CHECK-LABEL: tile.program @stored
// CHECK: scf.for {{.*}} iter_args
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: tile.store
// CHECK: } {tile.axis = "n"}
attn.kernel @stored sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64]) outs(%P: f32[M, N]) {
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %p = attn.softmax %s over (%n) : f32
  attn.write %p to %P[%m, %n] : f32, tensor<?x?xf32>
}
