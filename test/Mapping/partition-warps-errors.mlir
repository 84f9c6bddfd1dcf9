// RUN: attentile-opt %s -split-input-file -verify-diagnostics -tile-partition-warps

tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  // expected-error @below {{expected a tile of a multiple of 16 elements on axis 'm' for matrix instructions, got 24}}
  tile.kernel @rows grid() {
    %x = arith.constant dense<1.0> : tensor<24x16xf32, #tile.axes<"m", "d">>
    %y = arith.constant dense<1.0> : tensor<8x16xf32, #tile.axes<"n", "d">>
    %z = tile.dot %x, %y over ["d"] product f32 : tensor<24x16xf32, #tile.axes<"m", "d">>, tensor<8x16xf32, #tile.axes<"n", "d">> -> tensor<24x8xf32, #tile.axes<"m", "n">>
  }
}

// -----

tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  // expected-error @below {{expected a tile of a multiple of 8 elements on axis 'n' for matrix instructions, got 4}}
  tile.kernel @columns grid() {
    %x = arith.constant dense<1.0> : tensor<16x4xf32, #tile.axes<"m", "n">>
    %y = math.exp %x : tensor<16x4xf32, #tile.axes<"m", "n">>
  }
}
