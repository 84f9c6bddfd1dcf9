// RUN: attentile-opt %s -attn-lower-softmax -attn-form-grids -attn-to-tile -canonicalize -cse -tile-verify | FileCheck %s
// RUN: attentile-opt %s -attn-lower-softmax -attn-form-grids -attn-to-tile=multiply-adds -canonicalize -cse -tile-verify | FileCheck %s --check-prefix=CPU
// RUN: attentile-opt %S/Inputs/several-axes.mlir -attn-form-grids='tile-sizes=n=8,r=16' -attn-to-tile='tile-sizes=n=8,r=16' -canonicalize -cse -tile-verify | FileCheck %s --check-prefix=TILES

// Of several axes one in tiles; the others one by one around it. Sums of parts lose less than one of all terms.
// CHECK-LABEL: tile.kernel @walked_0
// CHECK: %[[OUTER:.*]] = scf.for %[[N:.*]] = %c0 to %N step %c1 iter_args(%[[OUTER_ACC:.*]] = %{{.*}})
// CHECK: %[[INNER:.*]] = scf.for %[[R:.*]] = %c0 to %R step %c64 iter_args(%[[ACC:.*]] = %cst{{.*}})
// CHECK: %[[I:.*]] = tile.index %[[R]]
// CHECK: tile.load %X[%{{.*}}, %[[N]], %[[I]]]
// CHECK: %[[SUM:.*]] = tile.reduce sum %{{.*}} over ["r"]
// CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[SUM]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: } {tile.axis = "r"}
// CHECK: %[[BOTH:.*]] = arith.addf %[[OUTER_ACC]], %[[INNER]]
// CHECK: scf.yield %[[BOTH]]
// CHECK: } {tile.axis = "n"}
attn.kernel @walked sizes(%M, %N, %R) indices(%m < M, %n < N, %r < R) ins(%X: f32[M, N, R]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m, %n, %r] : tensor<?x?x?xf32>
  %y = attn.reduce sum %x over (%n, %r) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}

// The longest comes in tiles, as far as sizes are known; nothing is left to reduce where all are walked.
// CHECK-LABEL: tile.kernel @longest_0
// CHECK: scf.for %[[R:.*]] = %c0 to %c3 step %c1
// CHECK: scf.for %[[N:.*]] = %c0 to %c1000 step %c64
// CHECK: } {tile.axis = "n"}
// CHECK: } {tile.axis = "r"}
// CHECK: scf.for %[[R:.*]] = %c0 to %c3 step %c1 iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<64xf32, #m>) {
// CHECK-NOT: tile.reduce
// CHECK: arith.addf %[[ACC]]
// CHECK: } {tile.axis = "r"}
attn.kernel @longest sizes(%M) indices(%m < M, %n < 1000, %r < 3) ins(%X: f32[M, 1000, 3], %Z: f32[M, 3]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m, %n, %r] : tensor<?x1000x3xf32>
  %z = attn.read %Z[%m, %r] : tensor<?x3xf32>
  %s = attn.reduce sum %x over (%n, %r) : f32
  %t = attn.reduce sum %z over (%r) : f32
  %y = arith.addf %s, %t : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}

// Tiles that are asked for: nested loops, one test of the tail for both.
// TILES-LABEL: tile.kernel @several_axes_0
// TILES: %[[OUTER:.*]] = scf.for %[[N:.*]] = %c0 to %N step %{{.*}} iter_args(%[[OUTER_ACC:.*]] = %{{.*}})
// TILES: %[[INNER:.*]] = scf.for %[[R:.*]] = %c0 to %R step %{{.*}} iter_args(%[[ACC:.*]] = %[[OUTER_ACC]])
// TILES: %[[IN:.*]] = arith.andi
// TILES: arith.select %[[IN]]
// TILES: %[[SUM:.*]] = tile.reduce sum %{{.*}} over ["n", "r"]
// TILES: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[SUM]]
// TILES: scf.yield %[[NEXT]]
// TILES: } {tile.axis = "r"}
// TILES: scf.yield %[[INNER]]
// TILES: } {tile.axis = "n"}
// TILES: tile.store %[[OUTER]], %Y

// One axis, reduced and kept: scalars, a grid of one program, a loop of stores.
// CHECK-LABEL: tile.kernel @one_row_0 grid() {
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: scf.for %{{.*}} = %c0 to %N step %c64 {
// CHECK: tile.store {{.*}} : tensor<64xf32, #n>, tensor<?xf32>, (tensor<64xindex, #n>)
// CHECK: } {tile.axis = "n"}
attn.kernel @one_row sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %x = attn.read %X[%n] : tensor<?xf32>
  %p = attn.softmax %x over (%n) : f32
  attn.write %p to %Y[%n] : f32, tensor<?xf32>
}

// Sizes that are known: no larger tile than needed, no test where the tile
// divides the axis.
// CHECK-LABEL: tile.program @known
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[END:.*]] = arith.constant 128 : index
// CHECK: tile.kernel @known_0 grid(%i < %[[ONE]])
// CHECK: tile.index %{{.*}} : tensor<8xindex, #m>
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c64
// CHECK-NOT: arith.select
// CHECK: tile.reduce max %{{.*}} over ["n"] : tensor<8x64xf32, #m_n> -> tensor<8xf32, #m>
// CHECK: arith.maximumf
attn.kernel @known sizes() indices(%m < 3, %n < 128) ins(%X: f32[3, 128]) outs(%Y: f32[3]) {
  %x = attn.read %X[%m, %n] : tensor<3x128xf32>
  %y = attn.reduce max %x over (%n) : f32
  attn.write %y to %Y[%m] : f32, tensor<3xf32>
}

// Neutral elements of integers and booleans; an integer maximum of nothing is 0.
// CHECK-LABEL: tile.program @integers
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<-9223372036854775808> : tensor<64xindex, #m>
// CHECK-DAG: %[[FALSE:.*]] = arith.constant dense<false> : tensor<64xi1, #m>
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[LEAST]], %{{.*}} = %[[FALSE]])
// CHECK: arith.maxsi
// CHECK: arith.ori
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %N, %c0
// CHECK: arith.select %[[EMPTY]], %{{.*}}, %[[R]]#0 : tensor<64xindex, #m>
attn.kernel @integers sizes(%M, %N) indices(%m < M, %n < N) ins(%X: i32[M, N], %B: i1[M, N])
    outs(%Y: i32[M], %Z: i1[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xi32>
  %i = arith.index_cast %x : i32 to index
  %y = attn.reduce max %i over (%n) : index
  %b = attn.read %B[%m, %n] : tensor<?x?xi1>
  %z = attn.reduce any %b over (%n) : i1
  attn.write %y to %Y[%m] : index, tensor<?xi32>
  attn.write %z to %Z[%m] : i1, tensor<?xi1>
}

// A value that lacks the axis is repeated: the sum is M's extent times it.
// CHECK-LABEL: tile.kernel @lacking_0
// CHECK: %[[X:.*]] = tile.load %X
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[X]] : tensor<64xf32, #m> to tensor<64x64xf32, #m_n>
// CHECK: arith.select %{{.*}}, %[[WIDE]]
// CHECK: tile.reduce sum
attn.kernel @lacking sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  %y = attn.reduce sum %x over (%n) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}

// Keys behind a table: past the end the table reads 0, which is a key, so both
// factors are cut. K itself reads 0 there and is not.
// CHECK-LABEL: tile.kernel @table_0
// CHECK: %[[V:.*]] = tile.load %V
// CHECK: %[[V0:.*]] = arith.select %{{.*}}, %[[V]], %{{.*}} : tensor<64x64xi1, #n_e>
attn.kernel @table sizes(%M, %N, %P) indices(%m < M, %n < N, %e < 64)
    ins(%S: f32[M, N], %V: f32[P, 64], %page: i32[N]) outs(%O: f32[M, 64]) {
  %s = attn.read %S[%m, %n] : tensor<?x?xf32>
  %i = attn.read %page[%n] : tensor<?xi32>
  %j = arith.index_cast %i : i32 to index
  %v = attn.read %V[%j, %e] : tensor<?x64xf32>
  %sv = arith.mulf %s, %v : f32
  %o = attn.reduce sum %sv over (%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// Past the end of m, m + 3 may still be inside the tensor: those rows are sent
// outside.
// CHECK-LABEL: tile.kernel @shifted_0
// CHECK: %[[M:.*]] = tile.index %{{.*}} : tensor<64xindex, #m>
// CHECK: %[[AT:.*]] = arith.addi %[[M]]
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[M]]
// CHECK: %[[SAFE:.*]] = arith.select %[[IN]], %[[AT]], %{{.*}} : tensor<64xi1, #m>
// CHECK: tile.store %{{.*}}, %Y[%[[SAFE]]]
attn.kernel @shifted sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M + 9]) {
  %c3 = arith.constant 3 : index
  %x = attn.read %X[%m] : tensor<?xf32>
  %at = arith.addi %m, %c3 : index
  attn.write %x to %Y[%at] : f32, tensor<?xf32>
}

// What is no product of two matrices (three axes in a factor) is multiplied out;
// for a CPU it is added up as a product of matrices is. Its tiles are cut down to
// what the cache holds.
// CHECK-LABEL: tile.kernel @batched_0
// CHECK-NOT: tile.dot
// CHECK: arith.mulf {{.*}} : tensor<32x16x64xf32, #h_n_d>
// CHECK: tile.reduce sum %{{.*}} over ["d"]
// CPU-LABEL: tile.kernel @batched_0
// CPU: tile.dot {{.*}} over ["d"] product f32 : tensor<32x16x64xf32, #h_n_d>, tensor<16x64xf32, #n_d> -> tensor<32x16xf32, #h_n>
attn.kernel @batched sizes(%H, %N) indices(%h < H, %n < N, %d < 64)
    ins(%Q: f32[H, 64], %K: f32[H, N, 64], %W: f32[N, 64]) outs(%Y: f32[H]) {
  %q = attn.read %Q[%h, %d] : tensor<?x64xf32>
  %k = attn.read %K[%h, %n, %d] : tensor<?x?x64xf32>
  %w = attn.read %W[%n, %d] : tensor<?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %qkw = arith.mulf %qk, %w : f32
  %s = attn.reduce sum %qkw over (%d) : f32
  %y = attn.reduce max %s over (%n) : f32
  attn.write %y to %Y[%h] : f32, tensor<?xf32>
}

// Heads that have no key in common are programs.
// CHECK-LABEL: tile.kernel @apart_0 grid(%h < %H)
// CHECK: arith.mulf {{.*}} : tensor<64x64xf32, #n_d>
// CHECK: tile.reduce sum %{{.*}} over ["d"]
// CPU-LABEL: tile.kernel @apart_0
// CPU: tile.dot {{.*}} over ["d"] product f32 : tensor<64x64xf32, #n_d>, tensor<64xf32, #d> -> tensor<64xf32, #n>
attn.kernel @apart sizes(%H, %N) indices(%h < H, %n < N, %d < 64)
    ins(%Q: f32[H, 64], %K: f32[H, N, 64]) outs(%Y: f32[H]) {
  %q = attn.read %Q[%h, %d] : tensor<?x64xf32>
  %k = attn.read %K[%h, %n, %d] : tensor<?x?x64xf32>
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) : f32
  %y = attn.reduce max %s over (%n) : f32
  attn.write %y to %Y[%h] : f32, tensor<?xf32>
}

// A row's own product has no other axis: a number of the program.
// CPU-LABEL: tile.kernel @own_0 grid(%h < %H)
// CPU: tile.dot {{.*}} over ["d"] product f32 : tensor<64xf32, #d>, tensor<64xf32, #d> -> f32
attn.kernel @own sizes(%H, %N) indices(%h < H, %n < N, %d < 64)
    ins(%Q: f32[H, 64], %K: f32[H, N, 64]) outs(%Y: f32[H]) {
  %q = attn.read %Q[%h, %d] : tensor<?x64xf32>
  %k = attn.read %K[%h, %n, %d] : tensor<?x?x64xf32>
  %qq = arith.mulf %q, %q : f32
  %own = attn.reduce sum %qq over (%d) : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.reduce sum %qk over (%d) : f32
  %above = arith.maximumf %s, %own : f32
  %y = attn.reduce max %above over (%n) : f32
  attn.write %y to %Y[%h] : f32, tensor<?xf32>
}

// A kernel's own sizes: the schedule's, then the option's.
// CHECK-LABEL: tile.kernel @scheduled_0
// CHECK: tile.index %{{.*}} : tensor<16xindex, #m>
// CHECK: tile.index %{{.*}} : tensor<128xindex, #n>
attn.kernel @scheduled sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[M])
    attributes {attn.tile_sizes = {m = 16 : i64, n = 128 : i64}} {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %y = attn.reduce max %x over (%n) : f32
  attn.write %y to %Y[%m] : f32, tensor<?xf32>
}

// Extents are expressions of sizes; a quotient by a size that is 0 is 0.
// CHECK-LABEL: tile.program @extents
// CHECK-DAG: %[[STEPS:.*]] = attn.floordiv %H, %G
// CHECK-DAG: %[[ROWS:.*]] = arith.addi %M, %c1
// CHECK: %[[BLOCKS:.*]] = arith.ceildivsi %[[ROWS]], %c64
// CHECK: tile.kernel @extents_0 grid(%h < %[[STEPS]], %i < %[[BLOCKS]]) {
attn.kernel @extents sizes(%H, %G, %M, %N) indices(%h < H floordiv G, %m < M + 1, %n < N)
    ins(%X: f32[H floordiv G, M + 1, N]) outs(%Y: f32[H floordiv G, M + 1]) {
  %x = attn.read %X[%h, %m, %n] : tensor<?x?x?xf32>
  %y = attn.reduce max %x over (%n) : f32
  attn.write %y to %Y[%h, %m] : f32, tensor<?x?xf32>
}

// Nothing to compute is a program without kernels.
// CHECK-LABEL: tile.program @nothing
// CHECK-NOT: tile.kernel
attn.kernel @nothing sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
}
