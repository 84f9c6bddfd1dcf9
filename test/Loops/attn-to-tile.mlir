// RUN: attentile-opt %s -attn-lower-softmax -attn-form-grids -attn-to-tile=tile-sizes=n=32 \
// RUN:   -canonicalize -cse -loop-invariant-code-motion -cse -tile-verify | FileCheck %s

// Unfused softmax: three loops, each with its own scores; the tiles of Q leave
// them. 16-bit tiles enter products as they are.
// CHECK-LABEL: tile.program @causal
attn.kernel @causal sizes(%B, %H, %G, %M, %N)
    indices(%b < B, %h < H, %m < M, %n < N, %d < 64, %e < 128)
    ins(%Q: bf16[B, H, M, 64], %K: bf16[B, G, N, 64], %V: bf16[B, G, N, 128], %scale: f32)
    outs(%O: bf16[B, H, M, 128], %L: f32[B, H, M]) {
  %group = attn.floordiv %H, %G : index
  %g = attn.floordiv %h, %group : index
  %q16 = attn.read %Q[%b, %h, %m, %d] : tensor<?x?x?x64xbf16>
  %q = arith.extf %q16 : bf16 to f32
  %k16 = attn.read %K[%b, %g, %n, %d] : tensor<?x?x?x64xbf16>
  %k = arith.extf %k16 : bf16 to f32
  %qk = arith.mulf %k, %q : f32
  %s0 = attn.reduce sum %qk over (%d) product bf16 : f32
  %s1 = arith.mulf %s0, %scale : f32
  %shift = arith.subi %N, %M : index
  %last = arith.addi %m, %shift : index
  %visible = arith.cmpi sle, %n, %last : index
  %hidden = arith.constant 0xFF800000 : f32
  %s = arith.select %visible, %s1, %hidden : f32
  %p = attn.softmax %s over (%n) : f32
  %v16 = attn.read %V[%b, %g, %n, %e] : tensor<?x?x?x128xbf16>
  %v = arith.extf %v16 : bf16 to f32
  %pv = arith.mulf %p, %v : f32
  %o = attn.reduce sum %pv over (%n) product bf16 : f32
  %l = attn.logsumexp %s over (%n) : f32
  attn.write %o to %O[%b, %h, %m, %e] : f32, tensor<?x?x?x128xbf16>
  attn.write %l to %L[%b, %h, %m] : f32, tensor<?x?x?xf32>
}
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : tensor<64x32xf32, #m_n>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32, #m_n>
// CHECK-DAG: %[[BLOCKS:.*]] = arith.ceildivsi %M, %c64
// CHECK: tile.kernel @causal_0 grid(%b < %B, %h < %H, %i < %[[BLOCKS]]) {
// CHECK: %[[BASE:.*]] = arith.muli %i, %c64
// CHECK: %[[ROWS:.*]] = tile.index %[[BASE]] : tensor<64xindex, #m>
// CHECK: %[[Q:.*]] = tile.load %Q[%b, %h, %[[ROWS]], %{{.*}}]
// CHECK-NOT: tile.load %Q

// CHECK: %[[MAX:.*]] = scf.for %[[N0:.*]] = %c0 to %N step %c32 iter_args(%[[OLD:.*]] = %{{.*}}) -> (tensor<64xf32, #m>) {
// CHECK: %[[KEYS:.*]] = tile.index %[[N0]] : tensor<32xindex, #n>
// CHECK: %[[K:.*]] = tile.load %K[%b, %{{.*}}, %[[KEYS]], %{{.*}}]
// CHECK: tile.dot %[[Q]], %[[K]] over ["d"] product bf16 : tensor<64x64xbf16, #m_d>, tensor<32x64xbf16, #n_d> -> tensor<64x32xf32, #m_n>
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[KEYS]], %{{.*}} : tensor<32xindex, #n>
// CHECK: %[[IN2:.*]] = tile.broadcast %[[IN]]
// CHECK: %[[S:.*]] = arith.select %[[IN2]], %{{.*}}, %[[NONE]]
// CHECK: %[[TILEMAX:.*]] = tile.reduce ref %[[S]] over ["n"]
// CHECK: arith.maxnumf %[[OLD]], %[[TILEMAX]]
// CHECK: } {tile.axis = "n"}
// CHECK: %[[REF:.*]] = tile.ref %[[MAX]]

// CHECK: %[[SUM:.*]] = scf.for
// CHECK: tile.dot
// CHECK: %[[X:.*]] = math.exp
// CHECK: %[[X0:.*]] = arith.select %{{.*}}, %[[X]], %[[ZERO]]
// CHECK: tile.reduce sum %[[X0]] over ["n"]
// CHECK: } {tile.axis = "n"}

// CHECK: %[[O:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<64x128xf32, #m_e>) {
// CHECK: %[[V:.*]] = tile.load %V
// CHECK: %[[P0:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ZERO]]
// CHECK: tile.dot %[[P0]], %[[V]] acc %[[ACC]] over ["n"] product bf16
// CHECK: } {tile.axis = "n"}
// CHECK-NOT: scf.for
// CHECK: tile.store %[[O]], %O
// CHECK: math.log %[[SUM]]
// CHECK: tile.store %{{.*}}, %L
