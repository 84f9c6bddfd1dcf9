// What goes element by element: of a workspace what is not along its padded rows, with `all` everything.
// RUN: attentile-opt %s --warp-mark-elements | FileCheck %s
// RUN: attentile-opt %s --warp-mark-elements=all | FileCheck %s --check-prefix=ALL

!rows = !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>

tile.program @p sizes(%M, %N) ins(%X: bf16[M, 64]) outs(%O: bf16[M, 64]) {
  %even = attn.workspace "even" shape affine_map<()[s0, s1] -> (s0, 64)> : tensor<?x64xbf16>
  %any = attn.workspace "any" shape affine_map<()[s0, s1] -> (s0, s1)> : tensor<?x?xbf16>
  warp.kernel @p_0 grid(%i < %M) warps(4) {
    %rows = warp.alloc : !rows
    %c0 = arith.constant 0 : index
    // CHECK: warp.copy_async %X[%{{.*}}] dims [0, 1] to %{{[0-9a-z]+}} :
    // ALL: warp.copy_async %X[%{{.*}}] dims [0, 1] to %{{[0-9a-z]+}} {by_element} :
    warp.copy_async %X[%i, %c0] dims [0, 1] to %rows : tensor<?x64xbf16>, !rows
    // CHECK: warp.load %even[%{{.*}}] : tensor
    // ALL: warp.load %even[%{{.*}}] {by_element} :
    %a = warp.load %even[%i, %c0] : tensor<?x64xbf16> -> vector<2xbf16>
    // CHECK: warp.load %any[%{{.*}}] : tensor
    %b = warp.load %any[%i, %c0] : tensor<?x?xbf16> -> vector<2xbf16>
    // CHECK: warp.load %any[%{{.*}}] dim 0 {by_element} :
    %d = warp.load %any[%i, %c0] dim 0 : tensor<?x?xbf16> -> vector<2xbf16>
    // One element asks for nothing.
    // ALL: warp.load %any[%{{.*}}] : tensor<?x?xbf16> -> bf16
    %c = warp.load %any[%i, %c0] : tensor<?x?xbf16> -> bf16
    // CHECK: warp.store %{{.*}}, %O[%{{.*}}] : vector
    // ALL: warp.store %{{.*}}, %O[%{{.*}}] {by_element} :
    warp.store %a, %O[%i, %c0] : vector<2xbf16>, tensor<?x64xbf16>
  }
  // A kernel that lists blocks asks for nothing.
  // CHECK: warp.kernel @p_0_blocks
  warp.kernel @p_0_blocks grid(%i < %M) warps(1) attributes {tile.block_list} {
    %c0 = arith.constant 0 : index
    // CHECK: warp.load %X[%{{.*}}] {by_element} :
    %a = warp.load %X[%i, %c0] : tensor<?x64xbf16> -> vector<2xbf16>
    warp.store %a, %even[%i, %c0] : vector<2xbf16>, tensor<?x64xbf16>
  }
}
