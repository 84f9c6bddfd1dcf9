// RUN: attentile-opt %s -verify-diagnostics -attn-form-grids

attn.kernel @left_side sizes(%M, %N) indices(%m < M, %n < N) ins(%S: f32[M, N]) outs(%Y: f32[M]) {
  %s = attn.read %S[%m, %n] : tensor<?x?xf32>
  // expected-error @+1 {{expected the indices of a write to have every axis of its value, got none for 'n'}}
  attn.write %s to %Y[%m] : f32, tensor<?xf32>
}
