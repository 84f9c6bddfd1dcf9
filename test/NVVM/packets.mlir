// Loads and stores of several elements, where the tensor permits and where not.
// RUN: attentile-opt %s --warp-unroll-fragments --warp-to-nvvm | FileCheck %s

// CHECK-LABEL: llvm.func @sums_0(
tile.program @sums sizes(%M) ins(%A: bf16[M, 64], %B: f32[M, 64]) outs(%O: bf16[M, 64], %P: f32[M, 64]) {
  %work = attn.workspace "work" shape affine_map<()[s0] -> (s0, 64)> : tensor<?x64xf32>
  %c1 = arith.constant 1 : index
  warp.kernel @sums_0 grid(%b < %c1) warps(1) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %lane = warp.lane_id : index
    // One branch for both loads, with the second's address before it.
    // CHECK-COUNT-3: llvm.intr.expect
    // CHECK: %[[LOADED:.*]]:8 = scf.if %{{.*}} -> (vector<2xbf16>,
    // CHECK-COUNT-2: ld.global.nc.v4.b32
    // CHECK: } else {
    // CHECK-COUNT-16: ld.global.nc.b16
    // CHECK: }
    %x = warp.load %A[%lane, %c0] : tensor<?x64xbf16> -> vector<8xbf16>
    %row = arith.addi %lane, %c8 : index
    %y = warp.load %A[%row, %c0] : tensor<?x64xbf16> -> vector<8xbf16>
    %z = arith.addf %x, %y : vector<8xbf16>
    // And one for both stores; element by element it is a loop for each.
    // CHECK: scf.if
    // CHECK-COUNT-2: st.global.v4.b32
    // CHECK: } else {
    // CHECK-COUNT-2: scf.for %{{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (!llvm.ptr<1>, i32, i32, i32, i32)
    // CHECK: }
    warp.store %z, %O[%lane, %c8] : vector<8xbf16>, tensor<?x64xbf16>
    warp.store %z, %O[%row, %c16] : vector<8xbf16>, tensor<?x64xbf16>
    // A workspace has no gaps: no branch.
    // CHECK-NOT: scf.if
    // CHECK: ld.global.nc.v2.b32
    %w = warp.load %work[%lane, %c8] : tensor<?x64xf32> -> vector<2xf32>
    // CHECK: scf.if
    // CHECK: st.global.v2.b32
    // CHECK: } else {
    // CHECK-COUNT-2: st.global.b32
    // CHECK-NOT: scf
    // CHECK: llvm.return
    warp.store %w, %P[%lane, %c8] : vector<2xf32>, tensor<?x64xf32>
  }
}
