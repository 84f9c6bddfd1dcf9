// Rows of a workspace are padded to 16 bytes: a packet at a row's end is written
// whole; of one that is read, what lies behind the end is 0.
// RUN: attentile-opt %s --warp-mark-elements --warp-allocate-shared --warp-to-nvvm | FileCheck %s

// CHECK-LABEL: llvm.func @p_0
tile.program @p sizes(%M, %N) ins() outs(%O: f32[M, 2]) {
  %w = attn.workspace "w" shape affine_map<()[s0, s1] -> (s0, s1)> : tensor<?x?xf32>
  warp.kernel @p_0 grid(%i < %M) warps(1) {
    %lane = warp.lane_id : index
    %c2 = arith.constant 2 : index
    %n = arith.muli %lane, %c2 : index
    %zero = arith.constant dense<0.0> : vector<2xf32>
    // CHECK: "@$1 st.global.v2.b32 [$0], {$2, $3};"
    warp.store %zero, %w[%i, %n] : vector<2xf32>, tensor<?x?xf32>
    // CHECK: ld.global.nc.v2.b32
    // CHECK: arith.select
    %a = warp.load %w[%i, %n] : tensor<?x?xf32> -> vector<2xf32>
    %c0 = arith.constant 0 : index
    warp.store %a, %O[%i, %c0] : vector<2xf32>, tensor<?x2xf32>
  }
}
