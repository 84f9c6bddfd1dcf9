// RUN: attentile-opt %s -split-input-file -verify-diagnostics -tile-assign-layouts

tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  // expected-error @below {{expected 'tile.warps'; tile-partition-warps writes it}}
  tile.kernel @warps grid() {
  }
}

// -----

#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  tile.kernel @factor grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %q = arith.constant dense<1.0> : tensor<16x16xf16, #md>
    %k = arith.constant dense<1.0> : tensor<16x16xf16, #nd>
    // expected-error @below {{expected factors of 'bf16' or f32, got 'tensor<16x16xf16}}
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<16x16xf16, #md>, tensor<16x16xf16, #nd> -> tensor<16x16xf32, #tile.axes<"m", "n">>
  }
}

// -----

#m = #tile.axes<"m">
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  tile.kernel @operation grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %q = arith.constant dense<1.0> : tensor<16xf32, #m>
    // expected-error @below {{expected an operation on tiles that tile-assign-layouts knows, got tensor.cast}}
    %s = tensor.cast %q : tensor<16xf32, #m> to tensor<?xf32>
  }
}
