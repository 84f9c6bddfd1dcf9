// RUN: attentile-opt %s -split-input-file -verify-diagnostics -attn-form-grids

attn.kernel @head_size sizes(%M, %N, %D) indices(%m < M, %n < N, %d < D)
    ins(%Q: f32[M, D], %K: f32[N, D]) outs(%Y: f32[M]) {
  %q = attn.read %Q[%m, %d] : tensor<?x?xf32>
  %k = attn.read %K[%n, %d] : tensor<?x?xf32>
  %qk = arith.mulf %q, %k : f32
  // expected-error @+1 {{expected the size of axis 'd' to be known: it is summed inside a score}}
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %y = attn.reduce max %s over (%n) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}

// -----

attn.kernel @left_side sizes(%M, %N) indices(%m < M, %n < N) ins(%S: f32[M, N]) outs(%Y: f32[M]) {
  %s = attn.read %S[%m, %n] : tensor<?x?xf32>
  // expected-error @+1 {{expected the indices of a write to have every axis of its value, got none for 'n'}}
  attn.write %s to %Y[%m] : f32, tensor<?xf32>
}
