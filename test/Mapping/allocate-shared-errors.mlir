// RUN: attentile-opt %s --warp-allocate-shared=limit=256 -verify-diagnostics

tile.program @large sizes() ins() outs(%O: f32[32]) {
  // expected-error@+1 {{expected at most 256 bytes of shared memory, got 512}}
  warp.kernel @large_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %a = warp.alloc : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>>
    %x = warp.load_shared %a[%c0, %c0] : !warp.buffer<4x32xf32, #tile.shared<pitch = 32, chunk = 4>> -> f32
    warp.store %x, %O[%c0] : f32, tensor<32xf32>
  }
}
