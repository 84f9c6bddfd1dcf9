// Two programs that are not forms of one.
// RUN: attentile-opt %s --warp-join-forms --split-input-file -verify-diagnostics

tile.program @p sizes(%M) ins(%X: bf16[M]) outs(%O: bf16[M]) {
  warp.kernel @p_0 grid(%i < %M) warps(1) {
  }
}
// expected-error @below {{expected 1 kernels for any strides, got 0}}
tile.program @p_by_element sizes(%M) ins(%X: bf16[M]) outs(%O: bf16[M]) {
}

// -----

tile.program @p sizes(%M) ins(%X: bf16[M]) outs(%O: bf16[M]) {
  warp.kernel @p_0 grid(%i < %M) warps(1) {
  }
}
// expected-error @below {{expected the arguments of 'p', got others}}
tile.program @p_by_element sizes(%M) ins(%X: f16[M]) outs(%O: bf16[M]) {
  warp.kernel @p_by_element_0 grid(%i < %M) warps(1) {
  }
}

// -----

tile.program @p sizes(%M) ins(%X: bf16[M]) outs(%O: bf16[M]) {
  %w = attn.workspace "w" shape affine_map<()[s0] -> (s0, 64)> : tensor<?x64xbf16>
  warp.kernel @p_0 grid(%i < %M) warps(1) {
  }
}
tile.program @p_by_element sizes(%M) ins(%X: bf16[M]) outs(%O: bf16[M]) {
  // expected-error @below {{expected a workspace of 'p', got another}}
  %w = attn.workspace "w" shape affine_map<()[s0] -> (s0, 32)> : tensor<?x32xbf16>
  warp.kernel @p_by_element_0 grid(%i < %M) warps(1) {
  }
}
