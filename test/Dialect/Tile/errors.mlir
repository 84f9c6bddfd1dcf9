// RUN: attentile-opt %s -split-input-file -verify-diagnostics

#m = #tile.axes<"m">
func.func @index_rank(%i: index) {
  // expected-error @below {{expected one axis of index, got 'tensor<4xf32, #tile.axes<"m">>'}}
  %0 = tile.index %i : tensor<4xf32, #m>
  return
}

// -----

#m = #tile.axes<"m">
func.func @load_indices(%X: tensor<?x?xf32>, %m: tensor<4xindex, #m>) {
  // expected-error @below {{expected 2 indices, got 1}}
  %0 = tile.load %X[%m] : tensor<?x?xf32>, (tensor<4xindex, #m>) -> tensor<4xf32, #m>
  return
}

// -----

#m = #tile.axes<"m">
func.func @load_element(%X: tensor<?xf32>, %m: tensor<4xindex, #m>) {
  // expected-error @below {{expected a result of 'f32', got 'tensor<4xbf16, #tile.axes<"m">>'}}
  %0 = tile.load %X[%m] : tensor<?xf32>, (tensor<4xindex, #m>) -> tensor<4xbf16, #m>
  return
}

// -----

#m = #tile.axes<"m">
#mn = #tile.axes<"m", "n">
func.func @load_axes(%X: tensor<?xf32>, %m: tensor<4xindex, #m>) {
  // expected-error @below {{expected a value with the indices' 1 axes, got}}
  %0 = tile.load %X[%m] : tensor<?xf32>, (tensor<4xindex, #m>) -> tensor<4x4xf32, #mn>
  return
}

// -----

#m = #tile.axes<"m">
func.func @load_index_type(%X: tensor<?xf32>, %m: tensor<4xi32, #m>) {
  // expected-error @below {{expected indices of index type, got 'tensor<4xi32, #tile.axes<"m">>'}}
  %0 = tile.load %X[%m] : tensor<?xf32>, (tensor<4xi32, #m>) -> tensor<4xf32, #m>
  return
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
func.func @broadcast_axis(%x: tensor<4xf32, #m>) {
  // expected-error-re @below {{expected axis "m" of {{.*}} in}}
  %0 = tile.broadcast %x : tensor<4xf32, #m> to tensor<4xf32, #n>
  return
}

// -----

#m = #tile.axes<"m">
#mn = #tile.axes<"m", "n">
func.func @broadcast_size(%x: tensor<4xf32, #m>) {
  // expected-error @below {{expected axis "m" of size 8, got 4}}
  %0 = tile.broadcast %x : tensor<4xf32, #m> to tensor<8x4xf32, #mn>
  return
}

// -----

#mn = #tile.axes<"m", "n">
func.func @broadcast_element(%x: index) {
  // expected-error @below {{expected a result of 'index'}}
  %0 = tile.broadcast %x : index to tensor<8x4xf32, #mn>
  return
}

// -----

#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#mn = #tile.axes<"m", "n">
func.func @dot_over(%a: tensor<8x4xf32, #md>, %b: tensor<8x4xf32, #nd>) {
  // expected-error @below {{expected axis "e" in}}
  %0 = tile.dot %a, %b over ["e"] product f32 : tensor<8x4xf32, #md>, tensor<8x4xf32, #nd> -> tensor<8x8xf32, #mn>
  return
}

// -----

#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#mn = #tile.axes<"m", "n">
func.func @dot_size(%a: tensor<8x4xf32, #md>, %b: tensor<8x2xf32, #nd>) {
  // expected-error @below {{expected axis "d" of one size}}
  %0 = tile.dot %a, %b over ["d"] product f32 : tensor<8x4xf32, #md>, tensor<8x2xf32, #nd> -> tensor<8x8xf32, #mn>
  return
}

// -----

#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#mn = #tile.axes<"m", "n">
func.func @dot_factor(%a: tensor<8x4xindex, #md>, %b: tensor<8x4xf32, #nd>) {
  // expected-error @below {{expected factors of f32, f16 or bf16, got}}
  %0 = tile.dot %a, %b over ["d"] product f32 : tensor<8x4xindex, #md>, tensor<8x4xf32, #nd> -> tensor<8x8xf32, #mn>
  return
}

// -----

#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#mn = #tile.axes<"m", "n">
func.func @dot_result(%a: tensor<8x4xf32, #md>, %b: tensor<8x4xf32, #nd>) {
  // expected-error @below {{expected an f32 result with the factors' other axes, got}}
  %0 = tile.dot %a, %b over ["d"] product f32 : tensor<8x4xf32, #md>, tensor<8x4xf32, #nd> -> tensor<8x8xbf16, #mn>
  return
}

// -----

#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#mn = #tile.axes<"m", "n">
func.func @dot_acc(%a: tensor<8x4xf32, #md>, %b: tensor<8x4xf32, #nd>, %c: tensor<8x8xbf16, #mn>) {
  // expected-error-re @below {{expected an accumulator of type {{.*}}, got}}
  %0 = tile.dot %a, %b acc %c over ["d"] product f32 : tensor<8x4xf32, #md>, tensor<8x4xf32, #nd> acc tensor<8x8xbf16, #mn> -> tensor<8x8xf32, #mn>
  return
}

// -----

#mn = #tile.axes<"m", "n">
func.func @reduce_axis(%a: tensor<8x4xf32, #mn>) {
  // expected-error @below {{expected axis "d" in}}
  %0 = tile.reduce max %a over ["d"] : tensor<8x4xf32, #mn> -> tensor<8x4xf32, #mn>
  return
}

// -----

#mn = #tile.axes<"m", "n">
#n = #tile.axes<"n">
func.func @reduce_type(%a: tensor<8x4xf32, #mn>) {
  // expected-error @below {{expected a result of type 'tensor<8xf32, #tile.axes<"m">>', got}}
  %0 = tile.reduce max %a over ["n"] : tensor<8x4xf32, #mn> -> tensor<4xf32, #n>
  return
}

// -----

// expected-error @below {{expected each axis once, got 'm' twice}}
#mm = #tile.axes<"m", "m">

// -----

func.func @misplaced(%a: index) {
  // expected-error @below {{expected 'tile.axis' on scf.for only}}
  %0 = arith.addi %a, %a {tile.axis = "n"} : index
  return
}

// -----

func.func @shortcut_misplaced(%a: index) {
  // expected-error @below {{expected 'tile.shortcut' on scf.if only}}
  %0 = arith.addi %a, %a {tile.shortcut} : index
  return
}

// -----

func.func @blocks_type(%a: index) {
  // expected-error @below {{expected 'tile.blocks' to be #tile.blocks<...>, got "full"}}
  scf.for %i = %a to %a step %a {
  } {tile.blocks = "full"}
  return
}

// -----

func.func @descending_type(%a: index) {
  // expected-error @below {{expected 'tile.descending' to be a unit, got true}}
  scf.for %i = %a to %a step %a {
  } {tile.descending = true}
  return
}

// -----

func.func @alternating_type(%a: index) {
  // expected-error @below {{expected 'tile.alternating' to be a unit, got true}}
  scf.for %i = %a to %a step %a {
  } {tile.alternating = true}
  return
}

// -----

func.func @programs_type(%a: index) {
  // expected-error @below {{expected 'tile.programs' to be a unit, got true}}
  scf.for %i = %a to %a step %a {
  } {tile.programs = true}
  return
}

// -----

func.func @inside_type(%a: index) {
  // expected-error @below {{expected 'tile.inside' to be a map from sizes to one extent, got affine_map<(d0) -> (d0)>}}
  scf.for %i = %a to %a step %a {
  } {tile.inside = affine_map<(d0) -> (d0)>}
  return
}

// -----

#m = #tile.axes<"m">
func.func @group_type(%x: tensor<4xindex, #m>) {
  // expected-error@+1 {{expected a tile along one axis, reduced to 'index', got 'tensor<4xindex, #tile.axes<"m">>' to 'i1'}}
  %0 = tile.reduce_group min %x : tensor<4xindex, #m> -> i1
  return
}

// -----

#m = #tile.axes<"m">
func.func @vote_type(%x: tensor<4xindex, #m>) {
  // expected-error @below {{expected a tile of i1, got 'tensor<4xindex, #tile.axes<"m">>'}}
  %0 = tile.vote %x : tensor<4xindex, #m>
  return
}

// -----

func.func @common_place(%a: index) {
  // expected-error @below {{expected 'tile.common_bytes' on a kernel only}}
  scf.for %i = %a to %a step %a {
  } {tile.common_bytes = 64 : i64}
  return
}

// -----

tile.program @common_form sizes() ins() outs() {
  // expected-error @below {{expected 'tile.common_bytes' to be a positive number, got 0 : i64}}
  tile.kernel @k grid() attributes {tile.common_bytes = 0 : i64} {
  }
}

// -----

func.func @unknown(%a: index) {
  // expected-error @below {{unknown attribute 'tile.order'}}
  scf.for %i = %a to %a step %a {
  } {tile.order = "full"}
  return
}

// -----

"tile.program"() <{sym_name = "p", in_names = [], out_names = [], size_names = ["M"], shapes = []}> ({
^bb0(%M: index):
  // expected-error @below {{expected as many ids and block arguments as bounds, 1, got 0 and 0}}
  "tile.kernel"(%M) <{name = "k", ids = []}> ({
  ^bb1:
  }) : (index) -> ()
}) : () -> ()

// -----

#nd = #tile.axes<"n", "d">
func.func @slice_axis(%x: tensor<64x16xf32, #nd>, %i: index) {
  // expected-error @below {{expected axis "m" in}}
  %y = tile.slice %x along "m" from %i : tensor<64x16xf32, #nd> to tensor<48x16xf32, #nd>
  return
}

// -----

#nd = #tile.axes<"n", "d">
#sd = #tile.axes<"n_seen", "d">
func.func @slice_other(%x: tensor<64x16xf32, #nd>, %i: index) {
  // expected-error-re @below {{expected a part of {{.*}} along "n", got}}
  %y = tile.slice %x along "n" from %i : tensor<64x16xf32, #nd> to tensor<48x8xf32, #sd>
  return
}
