// Kernels for any strides come to stand behind those that ask something of their tensors.
// RUN: attentile-opt %s --warp-join-forms | FileCheck %s

// CHECK-LABEL: tile.program @p
// CHECK: %[[W:.*]] = attn.workspace "w"
tile.program @p sizes(%M) ins(%X: bf16[M, 64]) outs(%O: bf16[M, 64]) {
  %w = attn.workspace "w" shape affine_map<()[s0] -> (s0, 64)> : tensor<?x64xbf16>
  // CHECK: attn.assume
  %c1 = arith.constant 1 : index
  %some = arith.cmpi sge, %M, %c1 : index
  attn.assume %some, "M >= 1"
  // A kernel that lists blocks has no other form, and the other form no such kernel.
  // CHECK: warp.kernel @p_0_blocks
  warp.kernel @p_0_blocks grid(%i < %M) warps(1) attributes {tile.block_list} {
  }
  // CHECK: %[[ROWS:.*]] = arith.ceildivsi %M, %{{.*}}
  // CHECK: warp.kernel @p_0 grid(%{{.*}} < %M) warps(8) attributes {otherwise = "p_by_element_0"}
  warp.kernel @p_0 grid(%i < %M) warps(8) {
    %c0 = arith.constant 0 : index
    %a = warp.load %X[%i, %c0] : tensor<?x64xbf16> -> vector<2xbf16>
    warp.store %a, %w[%i, %c0] : vector<2xbf16>, tensor<?x64xbf16>
  }
  // CHECK: warp.kernel @p_by_element_0 grid(%[[I:.*]] < %[[ROWS]]) warps(4)
  // CHECK: warp.load %X
  // CHECK: warp.store %{{.*}}, %[[W]]
  // CHECK: warp.kernel @p_1 grid(%{{.*}} < %M) warps(1) {
  warp.kernel @p_1 grid(%i < %M) warps(1) {
    %c0 = arith.constant 0 : index
    %a = warp.load %w[%i, %c0] : tensor<?x64xbf16> -> bf16
    warp.store %a, %O[%i, %c0] : bf16, tensor<?x64xbf16>
  }
}

// CHECK-NOT: by_element_1
// CHECK-NOT: tile.program
tile.program @p_by_element sizes(%M) ins(%X: bf16[M, 64]) outs(%O: bf16[M, 64]) {
  %w = attn.workspace "w" shape affine_map<()[s0] -> (s0, 64)> : tensor<?x64xbf16>
  %c16 = arith.constant 16 : index
  %rows = arith.ceildivsi %M, %c16 : index
  %some = arith.cmpi sge, %M, %c16 : index
  attn.assume %some, "M >= 16"
  warp.kernel @p_by_element_0 grid(%i < %rows) warps(4) {
    %c0 = arith.constant 0 : index
    %a = warp.load %X[%i, %c0] : tensor<?x64xbf16> -> bf16
    warp.store %a, %w[%i, %c0] : bf16, tensor<?x64xbf16>
  }
  warp.kernel @p_by_element_1 grid(%i < %rows) warps(4) {
  }
}
