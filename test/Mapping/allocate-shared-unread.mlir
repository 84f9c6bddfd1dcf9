// RUN: attentile-opt %s --warp-allocate-shared | FileCheck %s

// A copy that nothing reads is gone: it would be on its way still when the
// second writes to the same place.
// CHECK-LABEL: warp.kernel @unread_0
// CHECK-SAME: shared_bytes = 512 : i64
// CHECK-NOT: warp.copy_async %X
// CHECK: warp.copy_async %Y
tile.program @unread sizes(%N) ins(%X: f32[4, 32], %Y: f32[4, 32]) outs(%O: f32[32]) {
  warp.kernel @unread_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %lane = warp.lane_id : index
    %a = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %b = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.copy_async %X[%c0, %c0] dims [0, 1] to %a : tensor<4x32xf32>, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.commit_group
    warp.copy_async %Y[%c0, %c0] dims [0, 1] to %b : tensor<4x32xf32>, !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    warp.commit_group
    warp.wait_group 0
    warp.barrier
    %x = warp.load_shared %b[%c0, %lane] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
    warp.store %x, %O[%lane] : f32, tensor<32xf32>
  }
}
