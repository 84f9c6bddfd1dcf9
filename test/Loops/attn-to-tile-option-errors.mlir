// RUN: attentile-opt %s -verify-diagnostics -attn-to-tile=tile-sizes=m

// expected-error @+1 {{expected axis=size in 'tile-sizes', got 'm'}}
attn.kernel @option sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
}
