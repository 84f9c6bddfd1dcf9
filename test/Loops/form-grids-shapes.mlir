// RUN: attentile-opt %s -attn-lower-softmax -attn-form-grids | FileCheck %s

// Kernels that are no attention: which axes get which role.

// Nothing is reduced: the last two axes are tiled, a small constant one stands
// whole beside another.
// CHECK-LABEL: attn.kernel @elementwise
// CHECK: attn.grid step(%b) tile(%m, %n) loop() whole() {
// CHECK: attn.grid step(%b) tile(%m) loop() whole(%d) {
attn.kernel @elementwise sizes(%B, %M, %N) indices(%b < B, %m < M, %n < N, %d < 48)
    ins(%X: f32[B, M, N]) outs(%Y: f32[B, M, N], %Z: f32[B, M, 48]) {
  %x = attn.read %X[%b, %m, %n] : tensor<?x?x?xf32>
  %y = math.exp %x : f32
  attn.write %y to %Y[%b, %m, %n] : f32, tensor<?x?x?xf32>
  %z = attn.read %X[%b, %m, %d] : tensor<?x?x?xf32>
  attn.write %z to %Z[%b, %m, %d] : f32, tensor<?x?x48xf32>
}

// Two axes stand whole, for the sum of rows and for the output: what other axes
// there are is stepped along.
// CHECK-LABEL: attn.kernel @whole
// CHECK: attn.grid step(%h) tile() loop(%n) whole(%m, %e) {
attn.kernel @whole sizes(%H, %N) indices(%h < H, %m < 40, %n < N, %e < 48)
    ins(%X: f32[H, 40, N], %Y: f32[N, 48]) outs(%Z: f32[H, 40, 48]) {
  %x = attn.read %X[%h, %m, %n] : tensor<?x40x?xf32>
  %p = attn.softmax %x over (%m) : f32
  %y = attn.read %Y[%n, %e] : tensor<?x48xf32>
  %py = arith.mulf %p, %y : f32
  %z = attn.reduce sum %py over (%n) product f32 : f32
  attn.write %z to %Z[%h, %m, %e] : f32, tensor<?x40x48xf32>
}

// A product outside any loop over keys is tiled along both sides.
// CHECK-LABEL: attn.kernel @matmul
// CHECK: attn.grid step(%b) tile(%m, %n) loop(%k) whole() {
attn.kernel @matmul sizes(%B, %M, %N, %K) indices(%b < B, %m < M, %n < N, %k < K)
    ins(%X: f32[B, M, K], %Y: f32[B, K, N]) outs(%Z: f32[B, M, N]) {
  %x = attn.read %X[%b, %m, %k] : tensor<?x?x?xf32>
  %y = attn.read %Y[%b, %k, %n] : tensor<?x?x?xf32>
  %xy = arith.mulf %x, %y : f32
  %z = attn.reduce sum %xy over (%k) product f32 : f32
  attn.write %z to %Z[%b, %m, %n] : f32, tensor<?x?x?xf32>
}

// The axis that is reduced is kept too: its writes stand in a loop of their
// own. b is repeated: no step, or each would compute the row again.
// CHECK-LABEL: attn.kernel @kept
// CHECK: attn.grid step() tile(%m) loop(%b, %n) whole() {
attn.kernel @kept sizes(%B, %M, %N) indices(%b < B, %m < M, %n < N)
    ins(%X: f32[M, N]) outs(%Y: f32[B, M, N]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %p = attn.softmax %x over (%n) : f32
  attn.write %p to %Y[%b, %m, %n] : f32, tensor<?x?x?xf32>
}

// Rows and columns at once: neither can stand in the other's loop, so both
// statistics go through workspace.
// CHECK-LABEL: attn.kernel @rows_and_columns
// CHECK-COUNT-2: attn.workspace
// CHECK-DAG: attn.grid step() tile(%m) loop(%n) whole() {
// CHECK-DAG: attn.grid step() tile(%n) loop(%m) whole() {
// CHECK: attn.grid step() tile(%m, %n) loop() whole() {
// CHECK-NOT: attn.reduce
attn.kernel @rows_and_columns sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[M, N]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %r = attn.reduce max %x over (%n) : f32
  %c = attn.reduce max %x over (%m) : f32
  %y = arith.addf %r, %c : f32
  attn.write %y to %Y[%m, %n] : f32, tensor<?x?xf32>
}

// A sum inside a sum over an axis whose size is not known, and that is no head
// size: workspace. Integers are kept as i64.
// CHECK-LABEL: attn.kernel @sum_of_maxima
// CHECK: %[[MAX:.*]] = attn.workspace "max" {{.*}} : tensor<?x?xi64>
// CHECK: attn.grid step(%m) tile(%n) loop(%r) whole() {
// CHECK: attn.write %{{.*}} to %[[MAX]][%m, %n] : index, tensor<?x?xi64>
// CHECK: attn.grid step() tile(%m) loop(%n) whole() {
// CHECK: %[[READ:.*]] = attn.read %[[MAX]][%m, %n]
// CHECK: arith.index_cast %[[READ]] : i64 to index
attn.kernel @sum_of_maxima sizes(%M, %N, %R) indices(%m < M, %n < N, %r < R) ins(%X: i32[M, N, R]) outs(%Y: i32[M]) {
  %x = attn.read %X[%m, %n, %r] : tensor<?x?x?xi32>
  %i = arith.index_cast %x : i32 to index
  %t = attn.reduce max %i over (%r) : index
  %y = attn.reduce sum %t over (%n) : index
  attn.write %y to %Y[%m] : index, tensor<?xi32>
}

// Queries normalised over d: d stays whole, although a reduction over d stands
// in another's body, and though a statement sums squares by itself.
// CHECK-LABEL: attn.kernel @normalised_queries
// CHECK: attn.grid step() tile(%m) loop(%n) whole(%d) {
// CHECK: attn.grid step() tile(%m) loop() whole(%d) {
attn.kernel @normalised_queries sizes(%M, %N) indices(%m < M, %n < N, %d < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64]) outs(%L: f32[M], %Y: f32[M]) {
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %qq = arith.mulf %q, %q : f32
  %square = attn.reduce sum %qq over (%d) : f32
  %inverse = math.rsqrt %square : f32
  %unit = arith.mulf %q, %inverse : f32
  %k = attn.read %K[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %unit, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %l = attn.logsumexp %s over (%n) : f32
  attn.write %l to %L[%m] : f32, tensor<?xf32>
  attn.write %square to %Y[%m] : f32, tensor<?xf32>
}

// An axis that is too large for a tile is a loop, or is tiled.
// CHECK-LABEL: attn.kernel @large_heads
// CHECK: attn.grid step() tile(%m, %n) loop(%d) whole() {
// CHECK: attn.grid step() tile(%m, %e) loop(%n) whole() {
attn.kernel @large_heads sizes(%M, %N) indices(%m < M, %n < N, %d < 4096, %e < 4096)
    ins(%Q: f32[M, 4096], %K: f32[N, 4096], %V: f32[N, 4096]) outs(%O: f32[M, 4096]) {
  %q = attn.read %Q[%m, %d] : tensor<?x4096xf32>
  %k = attn.read %K[%n, %d] : tensor<?x4096xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) product f32 : f32
  %v = attn.read %V[%n, %e] : tensor<?x4096xf32>
  %sv = arith.mulf %s, %v : f32
  %o = attn.reduce sum %sv over (%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x4096xf32>
}

// m is bound inside a sum that keeps m outside: the inner use, a number without
// axes, goes to workspace; the outer one is tiled.
// CHECK-LABEL: attn.kernel @two_meanings
// CHECK: %[[MAX:.*]] = attn.workspace "max" {{.*}} : tensor<f32>
// CHECK: attn.grid step() tile() loop(%m) whole() {
// CHECK: attn.write %{{.*}} to %[[MAX]][]
// CHECK: attn.grid step() tile(%m) loop(%n) whole() {
// CHECK: attn.read %[[MAX]][]
attn.kernel @two_meanings sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N], %Z: f32[M]) outs(%Y: f32[M]) {
  %z = attn.read %Z[%m] : tensor<?xf32>
  %top = attn.reduce max %z over (%m) : f32
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %p = arith.mulf %x, %top : f32
  %y = attn.reduce sum %p over (%n) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}

// A softmax over n under a sum over m, and a product over n that stands under
// nothing: no size need be known for its sake.
// CHECK-LABEL: attn.kernel @product_elsewhere
// CHECK: attn.grid step() tile(%m) loop(%n)
attn.kernel @product_elsewhere sizes(%M, %N) indices(%m < M, %n < N, %e < 32)
    ins(%X: f32[M, N], %V: f32[N, 32]) outs(%A: f32[N], %O: f32[M, 32]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %p = attn.softmax %x over (%n) : f32
  %a = attn.reduce sum %p over (%m) : f32
  attn.write %a to %A[%n] : f32, tensor<?xf32>
  %v = attn.read %V[%n, %e] : tensor<?x32xf32>
  %xv = arith.mulf %x, %v : f32
  %o = attn.reduce sum %xv over (%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x32xf32>
}
