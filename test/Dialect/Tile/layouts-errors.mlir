// RUN: attentile-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected lanes up to 32, got 64}}
#m = #tile.axes<"m", in = #tile.fragment<[16 lane 4]>>

// -----

// expected-error @below {{expected each digit to step over those of smaller stride, 8, got 2 lane 4}}
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 1, 2 lane 4]>>

// -----

// expected-error @below {{expected a positive extent and stride, got 0 reg 1}}
#m = #tile.axes<"m", in = #tile.fragment<[0 reg 1]>>

// -----

// expected-error @below {{expected reg, lane or warp, got 'offset'}}
#m = #tile.axes<"m", in = #tile.fragment<[8 offset 1]>>

// -----

// expected-error @below {{expected #tile.fragment<...> or #tile.shared<...>, got 3 : i64}}
#m = #tile.axes<"m", in = 3>

// -----

// expected-error @below {{expected the layout last}}
#m = #tile.axes<in = #tile.fragment<[8 lane 1]>, "m">

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1], [2 reg 2]>>
// expected-error @below {{expected digits for 1 axes, got them for 2}}
func.func private @axes(tensor<16xf32, #m>)

// -----

#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1]>>
// expected-error @below {{expected digits for 32 positions on axis 0, got them for 16}}
func.func private @size(tensor<32xf32, #m>)

// -----

#m = #tile.axes<"m", in = #tile.shared<pitch = 64, chunk = 8>>
// expected-error @below {{expected a shared tile of two axes, got 1}}
func.func private @rank(tensor<64xf16, #m>)

// -----

#mn = #tile.axes<"m", "n", in = #tile.shared<pitch = 64, chunk = 2>>
// expected-error @below {{expected a shared tile of numbers, got 'index'}}
func.func private @element(tensor<64x64xindex, #mn>)

// -----

#mn = #tile.axes<"m", "n", in = #tile.shared<pitch = 64, chunk = 8>>
// expected-error @below {{expected chunks of 16 bytes, got 32}}
func.func private @chunk(tensor<64x64xf32, #mn>)

// -----

#mn = #tile.axes<"m", "n", in = #tile.shared<pitch = 60, chunk = 4>>
// expected-error @below {{expected a pitch of whole chunks of at least 64 elements, got 60}}
func.func private @pitch(tensor<64x64xf32, #mn>)

// -----

#mn = #tile.axes<"m", "n", in = #tile.shared<pitch = 72, chunk = 8, period = 8>>
// expected-error @below {{expected a row's 9 chunks to be a multiple of the period, a power of two, got 8}}
func.func private @period(tensor<64x64xf16, #mn>)

// -----

#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1]>>
#m = #tile.axes<"m", in = #tile.fragment<[16 lane 1]>>
func.func @slice(%r: tensor<16xf32, #m>) {
  // expected-error @below {{to lie as a slice of 'tensor<16x8xf32, #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1]>>>', #tile.fragment<[8 lane 4, 2 reg 1]>}}
  %0 = tile.broadcast %r : tensor<16xf32, #m> to tensor<16x8xf32, #mn>
  return
}

// -----

#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1]>>
func.func @convert(%a: tensor<16x8xf32, #mn>) {
  // expected-error-re @below {{expected types that differ in the layout alone, got {{.*}} and}}
  %0 = tile.convert_layout %a : tensor<16x8xf32, #mn> to tensor<16x8xf16, #mn>
  return
}

// -----

#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1]>>
func.func @convert(%a: tensor<16x8xf32, #mn>) {
  // expected-error-re @below {{expected layouts on both sides, got {{.*}} and}}
  %0 = tile.convert_layout %a : tensor<16x8xf32, #mn> to tensor<16x8xf32, #tile.axes<"m", "n">>
  return
}

// -----

// expected-error @below {{expected each split to be a power of two, got 3}}
#w = #tile.warps<rows = "m", split_rows = 3>

// -----

// expected-error @below {{expected split_reduced to be 1 or split_columns, 2, got 4}}
#w = #tile.warps<rows = "m", split_columns = 2, split_reduced = 4>

// -----

tile.program @warps sizes() ins() outs() {
  // expected-error @below {{expected 'tile.warps' to be #tile.warps<...>, got 4 : i64}}
  tile.kernel @k grid() attributes {tile.warps = 4} {
  }
}

// -----

// expected-error @below {{expected 'tile.warps' on tile.kernel only}}
tile.program @warps sizes() ins() outs() attributes {tile.warps = #tile.warps<rows = "m">} {
}

// -----

tile.program @resources sizes() ins() outs() {
  // expected-error @below {{expected 'tile.resources' to be #tile.resources<...>, got 4 : i64}}
  tile.kernel @k grid() attributes {tile.resources = 4} {
  }
}

// -----

// expected-error @below {{expected 'tile.resources' on a kernel only}}
tile.program @resources sizes() ins() outs() attributes {tile.resources = 4} {
}
