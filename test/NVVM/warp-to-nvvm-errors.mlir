// RUN: attentile-opt %s --warp-to-nvvm -verify-diagnostics

tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  warp.kernel @k grid(%i < %M) warps(1) {
    // expected-error @below {{expected an offset, got none}}
    %b = warp.alloc : !warp.buffer<64xf32, #tile.shared<pitch = 64, chunk = 4>>
  }
}
