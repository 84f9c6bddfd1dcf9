// RUN: attentile-opt %s -tile-assign-layouts -tile-verify-layouts | FileCheck %s

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#mn = #tile.axes<"m", "n">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#nm = #tile.axes<"n", "m">

tile.program @kernels sizes(%M, %N) ins(%Q: f16[M, 32], %K: f16[N, 32], %T: index[N], %W: f32[N]) outs(%O: f32[M, N]) {
  %c0 = arith.constant 0 : index
  // Keys through a table, times a weight: registers, then shared memory. The
  // weights lie otherwise for the keys than for the scores: loaded twice.
  // CHECK-LABEL: tile.kernel @gathered
  tile.kernel @gathered grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m = tile.index %i : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<64xindex, #n>
    %d = tile.index %c0 : tensor<32xindex, #d>
    // CHECK: tile.load %Q{{.*}} -> tensor<32x32xf16, #m_d_shared>
    %q = tile.load %Q[%m, %d] : tensor<?x32xf16>, (tensor<32xindex, #m>, tensor<32xindex, #d>) -> tensor<32x32xf16, #md>
    %t = tile.load %T[%n] : tensor<?xindex>, (tensor<64xindex, #n>) -> tensor<64xindex, #n>
    // CHECK: tile.load %K{{.*}} -> tensor<64x32xf16, #n_d_fragment>
    %k = tile.load %K[%t, %d] : tensor<?x32xf16>, (tensor<64xindex, #n>, tensor<32xindex, #d>) -> tensor<64x32xf16, #nd>
    // CHECK-COUNT-2: tile.load %W
    %w = tile.load %W[%n] : tensor<?xf32>, (tensor<64xindex, #n>) -> tensor<64xf32, #n>
    %wide = arith.extf %k : tensor<64x32xf16, #nd> to tensor<64x32xf32, #nd>
    %wk = tile.broadcast %w : tensor<64xf32, #n> to tensor<64x32xf32, #nd>
    %scaled = arith.mulf %wide, %wk : tensor<64x32xf32, #nd>
    // CHECK: %[[ROUNDED:.*]] = arith.truncf {{.*}} to tensor<64x32xf16, #n_d_fragment>
    // CHECK: %[[RIGHT:.*]] = tile.convert_layout %[[ROUNDED]] : {{.*}} to tensor<64x32xf16, #n_d_shared>
    // CHECK: tile.dot %{{.*}}, %[[RIGHT]]
    %s = tile.dot %q, %scaled over ["d"] product f16 : tensor<32x32xf16, #md>, tensor<64x32xf32, #nd> -> tensor<32x64xf32, #mn>
    %ws = tile.broadcast %w : tensor<64xf32, #n> to tensor<32x64xf32, #mn>
    %y = arith.mulf %s, %ws : tensor<32x64xf32, #mn>
    tile.store %y, %O[%m, %n] : tensor<32x64xf32, #mn>, tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<64xindex, #n>)
  }

  // Column sums: the keys are the rows; sums over m leave them.
  // CHECK-LABEL: tile.kernel @columns
  // CHECK: tile.dot {{.*}} -> tensor<32x64xf32, #n_m_fragment>
  // CHECK: tile.reduce sum {{.*}} -> tensor<32xf32, #n_fragment
  tile.kernel @columns grid(%i < %N) attributes {tile.warps = #tile.warps<rows = "n", split_rows = 2>} {
    %n = tile.index %i : tensor<32xindex, #n>
    %m = tile.index %c0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<32xindex, #d>
    %k = tile.load %K[%n, %d] : tensor<?x32xf16>, (tensor<32xindex, #n>, tensor<32xindex, #d>) -> tensor<32x32xf16, #nd>
    %q = tile.load %Q[%m, %d] : tensor<?x32xf16>, (tensor<64xindex, #m>, tensor<32xindex, #d>) -> tensor<64x32xf16, #md>
    %s = tile.dot %k, %q over ["d"] product f16 : tensor<32x32xf16, #nd>, tensor<64x32xf16, #md> -> tensor<32x64xf32, #nm>
    %a = tile.reduce sum %s over ["m"] : tensor<32x64xf32, #nm> -> tensor<32xf32, #n>
    tile.store %a, %O[%c0, %n] : tensor<32xf32, #n>, tensor<?x?xf32>, (index, tensor<32xindex, #n>)
  }
}
