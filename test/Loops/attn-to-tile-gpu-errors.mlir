// RUN: attentile-opt %s -verify-diagnostics -attn-to-tile="target=sm_86 tile-sizes=m=256,n=256"
// RUN: sed 's/expected-\(error\|note\).*$//' %s | not attentile-opt -attn-to-tile="target=sm_86 tile-sizes=m=20" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: sed 's/expected-\(error\|note\).*$//' %s | not attentile-opt -attn-to-tile=target=sm_99 2>&1 | FileCheck %s --check-prefix=TARGET

// MULTIPLE: error: expected a tile size of a multiple of 16 for 'm' on sm_86, got 20
// TARGET: error: expected a target of cpu, sm_80, sm_86, sm_89 or sm_90, got 'sm_99'
attn.kernel @attention sizes(%M, %N) indices(%m < M, %d < 128, %n < N, %e < 128)
    ins(%Q: bf16[M, 128], %K: bf16[N, 128], %V: bf16[N, 128]) outs(%O: f32[M, 128]) {
  // expected-error @below {{expected tiles that fit sm_86, 101376 bytes of shared memory and 255 registers, got tiles that need 196608 and}}
  // expected-note @below {{the nearest that fit: m=128, n=32}}
  attn.grid step() tile(%m) loop(%n) whole(%d, %e) {
    %q = attn.read %Q[%m, %d] : tensor<?x128xbf16>
    %k = attn.read %K[%n, %d] : tensor<?x128xbf16>
    %v = attn.read %V[%n, %e] : tensor<?x128xbf16>
    %qf = arith.extf %q : bf16 to f32
    %kf = arith.extf %k : bf16 to f32
    %vf = arith.extf %v : bf16 to f32
    %qk = arith.mulf %qf, %kf : f32
    %s = attn.reduce sum %qk over(%d) product bf16 : f32
    %p = math.exp %s : f32
    %pv = arith.mulf %p, %vf : f32
    %o = attn.reduce sum %pv over(%n) product bf16 : f32
    attn.write %o to %O[%m, %e] : f32, tensor<?x128xf32>
  }
}

// Rules: [L7.6]
