// RUN: attentile-opt %s -split-input-file -verify-diagnostics -tile-verify-layouts

tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  // expected-error @below {{expected 'tile.warps'}}
  tile.kernel @warps grid() {
  }
}

// -----

tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @layout grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    // expected-error @below {{expected every tile to have a layout, got 'tensor<16xindex, #tile.axes<"m">>'}}
    %m = tile.index %c0 : tensor<16xindex, #tile.axes<"m">>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1, 2 warp 1]>>
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @count grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    // expected-error @below {{expected a layout over 1 warps, got}}
    %m = tile.index %c0 : tensor<32xindex, #m>
  }
}

// -----

#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#other = #tile.axes<"m", "d", in = #tile.fragment<[8 lane 1, 2 reg 1], [4 lane 8, 4 reg 2]>>
#shared = #tile.axes<"n", "d", in = #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  tile.kernel @factors grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %o = arith.constant dense<1.0> : tensor<16x16xf16, #other>
    %k = arith.constant dense<1.0> : tensor<16x16xf16, #shared>
    // expected-error-re @below {{expected the left factor as matrix instructions read it for{{.*}}, got}}
    %0 = tile.dot %o, %k over ["d"] product f16 : tensor<16x16xf16, #other>, tensor<16x16xf16, #shared> -> tensor<16x16xf32, #mn>
  }
}

// -----

#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#swapped = #tile.axes<"m", "d", in = #tile.fragment<[8 lane 4, 2 reg 1], [4 lane 1, 4 reg 2]>>
#shared = #tile.axes<"n", "d", in = #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  tile.kernel @columns grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %w = arith.constant dense<1.0> : tensor<16x16xf16, #swapped>
    %k = arith.constant dense<1.0> : tensor<16x16xf16, #shared>
    // expected-error-re @below {{expected the left factor as matrix instructions read it for{{.*}}, got}}
    %0 = tile.dot %w, %k over ["d"] product f16 : tensor<16x16xf16, #swapped>, tensor<16x16xf16, #shared> -> tensor<16x16xf32, #mn>
  }
}

// -----

#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#md = #tile.axes<"m", "d", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#nd = #tile.axes<"n", "d", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  tile.kernel @right grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %q = arith.constant dense<1.0> : tensor<16x16xf16, #md>
    %k = arith.constant dense<1.0> : tensor<16x16xf16, #nd>
    // expected-error @below {{expected the right factor in shared memory, got}}
    %0 = tile.dot %q, %k over ["d"] product f16 : tensor<16x16xf16, #md>, tensor<16x16xf16, #nd> -> tensor<16x16xf32, #mn>
  }
}

// -----

#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#md = #tile.axes<"m", "d", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#shared = #tile.axes<"n", "d", in = #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  tile.kernel @element grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %q = arith.constant dense<1.0> : tensor<16x16xf32, #md>
    %k = arith.constant dense<1.0> : tensor<16x16xf16, #shared>
    // expected-error-re @below {{expected factors of 'f16', got {{.*}} and}}
    %0 = tile.dot %q, %k over ["d"] product f16 : tensor<16x16xf32, #md>, tensor<16x16xf16, #shared> -> tensor<16x16xf32, #mn>
  }
}

// -----

#shared_mn = #tile.axes<"m", "n", in = #tile.shared<pitch = 16, chunk = 4, rows = 2, period = 4>>
#md = #tile.axes<"m", "d", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4]>>
#shared = #tile.axes<"n", "d", in = #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>
tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  tile.kernel @result grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %q = arith.constant dense<1.0> : tensor<16x16xf16, #md>
    %k = arith.constant dense<1.0> : tensor<16x16xf16, #shared>
    // expected-error @below {{expected a result that lies as matrix instructions accumulate it, got}}
    %0 = tile.dot %q, %k over ["d"] product f16 : tensor<16x16xf16, #md>, tensor<16x16xf16, #shared> -> tensor<16x16xf32, #shared_mn>
  }
}
