attn.kernel @several_axes sizes(%M, %N, %R) indices(%m < M, %n < N, %r < R) ins(%X: f32[M, N, R]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m, %n, %r] : tensor<?x?x?xf32>
  %y = attn.reduce sum %x over (%n, %r) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}
