// RUN: attentile-opt %s -attn-to-tile=target=sm_90 | FileCheck %s --check-prefix=LARGE
// RUN: attentile-opt %s -attn-to-tile=target=sm_86 | FileCheck %s --check-prefix=SMALL
// RUN: attentile-opt %s -attn-to-tile="target=sm_90 tile-sizes=m=32" | FileCheck %s --check-prefix=FORCED
// RUN: attentile-opt %s -attn-to-tile="target=sm_90 tile-sizes=m=32 small-tiles" | FileCheck %s --check-prefix=LITTLE
// RUN: attentile-opt %s -attn-to-tile="target=sm_90 tile-sizes=m=192,n=64 split-reduced" | FileCheck %s --check-prefix=KEYS

// A head size of 72 is padded to 80; the store drops what is beyond. Two blocks
// fit multiprocessors of 100 KB too, and with two buffers for each factor of the
// loop as well. A size that is asked for stays, and the
// rest fits itself to it.
// LARGE: tile.resources = #tile.resources<warps = 4, stages = 2, registers = {{[0-9]+}}, shared = 67584, blocks = 2, keep_left = false>
// LARGE: tile.dot {{.*}} : tensor<128x80xbf16, #m_d>, tensor<64x80xbf16, #n_d> -> tensor<128x64xf32, #m_n>
// LARGE: tile.store {{.*}} : tensor<128x80xf32, #m_e>, tensor<?x72xf32>
// SMALL: tile.resources = #tile.resources<warps = 4, stages = 2, registers = {{[0-9]+}}, shared = 45056, blocks = 2, keep_left = false>
// SMALL: tile.dot {{.*}} : tensor<128x80xbf16, #m_d>, tensor<32x80xbf16, #n_d> -> tensor<128x32xf32, #m_n>
// FORCED: tile.resources = #tile.resources<warps = 2,
// FORCED: tile.dot {{.*}} : tensor<32x80xbf16, #m_d>, tensor<{{[0-9]+}}x80xbf16, #n_d>
// Little code: 16 rows a warp, whatever is asked for.
// LITTLE: tile.resources = #tile.resources<warps = 4,
// LITTLE: tile.dot {{.*}} : tensor<64x80xbf16, #m_d>, tensor<32x80xbf16, #n_d>
// Four warps have the same rows, so that 192 go over eight; their sums take room.
// KEYS: tile.resources = #tile.resources<warps = 8, stages = 2, registers = {{[0-9]+}}, shared = 119808, blocks = 1,
attn.kernel @attention sizes(%M, %N) indices(%m < M, %d < 72, %n < N, %e < 72)
    ins(%Q: bf16[M, 72], %K: bf16[N, 72], %V: bf16[N, 72]) outs(%O: f32[M, 72]) {
  attn.grid step() tile(%m) loop(%n) whole(%d, %e) {
    %q = attn.read %Q[%m, %d] : tensor<?x72xbf16>
    %k = attn.read %K[%n, %d] : tensor<?x72xbf16>
    %v = attn.read %V[%n, %e] : tensor<?x72xbf16>
    %qf = arith.extf %q : bf16 to f32
    %kf = arith.extf %k : bf16 to f32
    %vf = arith.extf %v : bf16 to f32
    %qk = arith.mulf %qf, %kf : f32
    %s = attn.reduce sum %qk over(%d) product bf16 : f32
    %p = math.exp %s : f32
    %pv = arith.mulf %p, %vf : f32
    %o = attn.reduce sum %pv over(%n) product bf16 : f32
    attn.write %o to %O[%m, %e] : f32, tensor<?x72xf32>
  }
}
