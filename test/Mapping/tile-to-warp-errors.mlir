// RUN: attentile-opt %s --tile-to-warp --split-input-file -verify-diagnostics

tile.program @p sizes(%M) ins() outs(%O: f32[M]) {
  // expected-error@+1 {{expected `tile.warps`, as tile-partition-warps leaves it}}
  tile.kernel @p_0 grid() {
  }
}

// -----

tile.program @p sizes(%M) ins() outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    // expected-error@+1 {{expected a layout in the tile's type, got 'tensor<16xindex, #tile.axes<"m">>'}}
    %m = tile.index %c0 : tensor<16xindex, #tile.axes<"m">>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
tile.program @p sizes(%M) ins() outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    // expected-error@+1 {{expected a constant tile of one value, got several}}
    %m = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xindex, #m>
  }
}

// -----

tile.program @p sizes(%M) ins() outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    // expected-error@+1 {{expected an operation that tile-to-warp knows, got tensor.empty}}
    %x = tensor.empty() : tensor<4xf32>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
tile.program @p sizes(%M) ins(%X: bf16[M, 8]) outs(%O: bf16[M, 8]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>
    %x = tile.load %X[%m, %d] : tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<16x8xbf16, #m_d>
    // expected-error@+1 {{expected elementwise work in registers, got}}
    %y = arith.addf %x, %x : tensor<16x8xbf16, #m_d>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
tile.program @p sizes(%M) ins(%X: bf16[M, 8]) outs(%O: bf16[M, 8]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>
    %x = tile.load %X[%m, %d] : tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<16x8xbf16, #m_d>
    // expected-error@+1 {{expected an operand in registers, got}}
    %y = tile.reduce sum %x over ["m", "d"] : tensor<16x8xbf16, #m_d> -> bf16
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
tile.program @p sizes(%M) ins(%X: bf16[M, 8]) outs(%O: bf16[M, 8]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>
    %x = tile.load %X[%m, %d] : tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<16x8xbf16, #m_d>
    %one = arith.constant 1.0 : bf16
    // expected-error@+1 {{expected a broadcast in registers, got}}
    %y = tile.broadcast %one : bf16 to tensor<16x8xbf16, #m_d>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
tile.program @p sizes(%M) ins(%X: bf16[M, 8]) outs(%O: bf16[M, 8]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>
    %x = tile.load %X[%m, %d] : tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<16x8xbf16, #m_d>
    // expected-error@+1 {{expected a value in registers, got}}
    tile.store %x, %O[%m, %d] : tensor<16x8xbf16, #m_d>, tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>)
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
tile.program @p sizes(%M) ins(%X: bf16[M, 8]) outs(%O: bf16[M, 8]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>
    %x = tile.load %X[%m, %d] : tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<16x8xbf16, #m_d>
    // expected-error-re@+1 {{expected registers on one side, got {{.*}} and}}
    %y = tile.convert_layout %x : tensor<16x8xbf16, #m_d> to tensor<16x8xbf16, #tile.axes<"m", "d", in = #tile.shared<pitch = 16, chunk = 8>>>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[3 lane 1]>>
tile.program @p sizes(%M) ins() outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<3xindex, #m>
    // expected-error@+1 {{expected lanes in powers of two, got}}
    %s = tile.reduce sum %m over ["m"] : tensor<3xindex, #m> -> index
  }
}

// -----

#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
#n_d = #tile.axes<"n", "d", in = #tile.shared<pitch = 8, chunk = 8>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1]>>
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1]>>
tile.program @p sizes(%M) ins(%X: bf16[M, 8], %Y: bf16[M, 8]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<8xindex, #n>
    %d = tile.index %c0 : tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>
    %x = tile.load %X[%m, %d] : tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<16x8xbf16, #m_d>
    %y = tile.load %Y[%n, %d] : tensor<?x8xbf16>, (tensor<8xindex, #n>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<8x8xbf16, #n_d>
    // expected-error@+1 {{expected a multiple of 16 along "d" in each warp, got 8}}
    %s = tile.dot %x, %y over ["d"] product bf16 : tensor<16x8xbf16, #m_d>, tensor<8x8xbf16, #n_d> -> tensor<16x8xf32, #m_n>
  }
}

// -----

#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
#n_d = #tile.axes<"n", "d", in = #tile.shared<pitch = 8, chunk = 8>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 1], [2 reg 2, 4 lane 1]>>
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1]>>
tile.program @p sizes(%M) ins(%X: bf16[M, 8], %Y: bf16[M, 8]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<8xindex, #n>
    %d = tile.index %c0 : tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>
    %x = tile.load %X[%m, %d] : tensor<?x8xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<16x8xbf16, #m_d>
    %y = tile.load %Y[%n, %d] : tensor<?x8xbf16>, (tensor<8xindex, #n>, tensor<8xindex, #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>>) -> tensor<8x8xbf16, #n_d>
    // expected-error@+1 {{expected a result as matrix instructions leave it, got}}
    %s = tile.dot %x, %y over ["d"] product bf16 : tensor<16x8xbf16, #m_d>, tensor<8x8xbf16, #n_d> -> tensor<16x8xf32, #m_n>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#d = #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1]>>
#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 8, chunk = 8>>
tile.program @p sizes(%M) ins(%X: bf16[M, M]) outs(%O: bf16[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<8xindex, #d>
    %m2 = arith.muli %m, %m : tensor<16xindex, #m>
    // expected-error@+1 {{expected a window of consecutive indices to copy into shared memory, got}}
    %x = tile.load %X[%m2, %d] : tensor<?x?xbf16>, (tensor<16xindex, #m>, tensor<8xindex, #d>) -> tensor<16x8xbf16, #m_d>
  }
}

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2, 2 warp 1]>>
#e = #tile.axes<"e", in = #tile.fragment<[2 reg 1, 4 lane 1]>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 2 reg 4, 2 warp 1]>>
#m_e = #tile.axes<"m", "e", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1]>>
#n_e = #tile.axes<"n", "e", in = #tile.shared<pitch = 8, chunk = 8>>
tile.program @p sizes(%M) ins(%P: bf16[16, 32], %V: bf16[32, 8]) outs(%O: f32[16, 8]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m", split_columns = 2, split_reduced = 2>} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %n = tile.index %c0 : tensor<32xindex, #n>
    %e = tile.index %c0 : tensor<8xindex, #e>
    %p = tile.load %P[%m, %n] : tensor<16x32xbf16>, (tensor<16xindex, #m>, tensor<32xindex, #n>) -> tensor<16x32xbf16, #m_n>
    %v = tile.load %V[%n, %e] : tensor<32x8xbf16>, (tensor<32xindex, #n>, tensor<8xindex, #e>) -> tensor<32x8xbf16, #n_e>
    // expected-error@+1 {{expected a result whose columns go over the same warps as the left factor's, got}}
    %o = tile.dot %p, %v over ["n"] product bf16 : tensor<16x32xbf16, #m_n>, tensor<32x8xbf16, #n_e> -> tensor<16x8xf32, #m_e>
  }
}

// -----

#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 16, chunk = 8>>
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#d = #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>
tile.program @p sizes(%M) ins(%X: bf16[M, 16], %W: bf16[16]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<16xindex, #d>
    %x = tile.load %X[%m, %d] : tensor<?x16xbf16>, (tensor<16xindex, #m>, tensor<16xindex, #d>) -> tensor<16x16xbf16, #m_d>
    %w = tile.load %W[%d] : tensor<16xbf16>, (tensor<16xindex, #d>) -> tensor<16xbf16, #d>
    // expected-error@+1 {{expected a product of two axes in registers, over one, got}}
    %s = tile.dot %x, %w over ["d"] product bf16 : tensor<16x16xbf16, #m_d>, tensor<16xbf16, #d> -> tensor<16xf32, #m>
  }
}

// -----

#m_d = #tile.axes<"m", "d", in = #tile.shared<pitch = 16, chunk = 8>>
#m_n_d = #tile.axes<"m", "n", "d", in = #tile.fragment<[8 lane 4, 2 reg 1], [8 reg 2], [2 reg 16, 4 lane 1, 2 reg 32]>>
#m_n = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1]>>
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
#d = #tile.axes<"d", in = #tile.fragment<[2 reg 1, 4 lane 1, 2 reg 2]>>
tile.program @p sizes(%M) ins(%X: bf16[M, 16]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @p_0 grid() attributes {tile.warps = #tile.warps<rows = "m">} {
    %m = tile.index %c0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<16xindex, #d>
    %x = tile.load %X[%m, %d] : tensor<?x16xbf16>, (tensor<16xindex, #m>, tensor<16xindex, #d>) -> tensor<16x16xbf16, #m_d>
    %y = arith.constant dense<1.0> : tensor<16x8x16xbf16, #m_n_d>
    // expected-error@+1 {{expected a factor with the axes "n" and "d", got}}
    %s = tile.dot %x, %y over ["d"] product bf16 : tensor<16x16xbf16, #m_d>, tensor<16x8x16xbf16, #m_n_d> -> tensor<16x8xf32, #m_n>
  }
}
