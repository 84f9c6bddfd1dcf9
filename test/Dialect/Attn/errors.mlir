// RUN: attentile-opt %s -split-input-file -verify-diagnostics

attn.kernel @rank sizes(%M) indices(%m < M) ins(%X: f32[M, 4]) outs(%Y: f32[M]) {
  // expected-error @below {{expected 2 indices, got 1}}
  %x = attn.read %X[%m] : tensor<?x4xf32>
  attn.write %x to %Y[%m] : f32, tensor<?xf32>
}

// -----

attn.kernel @write_input sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  // expected-error @below {{expected to write an output or a workspace}}
  attn.write %x to %X[%m] : f32, tensor<?xf32>
}

// -----

attn.kernel @write_type sizes(%M) indices(%m < M) ins() outs(%Y: f32[M]) {
  // expected-error @below {{expected a value that converts to 'f32', got 'index'}}
  attn.write %m to %Y[%m] : index, tensor<?xf32>
}

// -----

attn.kernel @read_output sizes(%M) indices(%m < M) ins() outs(%Y: f32[M]) {
  // expected-error @below {{expected output 'Y' to be written only}}
  %y = attn.read %Y[%m] : tensor<?xf32>
}

// -----

attn.kernel @one_name sizes(%M) indices(%m < M) ins() outs(%Y: f32[M]) {
  %r = attn.workspace "r" shape affine_map<()[s0] -> (s0)> : tensor<?xf32>
  // expected-error @below {{expected a name of its own, got 'r' again}}
  %s = attn.workspace "r" shape affine_map<()[s0] -> (s0)> : tensor<?xf32>
}

// -----

attn.kernel @axis_is_size sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  // expected-error @below {{expected an index variable as axis, got}}
  %s = attn.reduce sum %x over (%M) : f32
  attn.write %s to %Y[%m] : f32, tensor<?xf32>
}

// -----

attn.kernel @axis_twice sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  // expected-error @below {{expected each axis once}}
  %s = attn.softmax %x over (%m, %m) : f32
  attn.write %s to %Y[%m] : f32, tensor<?xf32>
}

// -----

attn.kernel @no_axis sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  // expected-error @below {{expected at least one axis to reduce over}}
  %s = attn.logsumexp %x over () : f32
  attn.write %s to %Y[%m] : f32, tensor<?xf32>
}

// -----

attn.kernel @any_of_floats sizes(%M) indices(%m < M, %n < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%n] : tensor<?xf32>
  // expected-error @below {{expected an i1 operand, got 'f32'}}
  %s = attn.reduce any %x over (%n) : f32
}

// -----

attn.kernel @ref_of_index sizes(%M) indices(%m < M, %n < M) ins() outs(%Y: f32[M]) {
  // expected-error @below {{expected an f32 operand, got 'index'}}
  %s = attn.reduce ref %n over (%n) : index
}

// -----

attn.kernel @sum_of_bool sizes(%M) indices(%m < M, %n < M) ins(%X: i1[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%n] : tensor<?xi1>
  // expected-error @below {{expected an f32 or index operand, got 'i1'}}
  %s = attn.reduce sum %x over (%n) : i1
}

// -----

attn.kernel @product_of_max sizes(%M) indices(%m < M, %n < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%n] : tensor<?xf32>
  // expected-error @below {{expected 'product' on a sum only}}
  %s = attn.reduce max %x over (%n) product bf16 : f32
}

// -----

attn.kernel @product_type sizes(%M) indices(%m < M, %n < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%n] : tensor<?xf32>
  // expected-error @below {{expected product type f32, f16 or bf16, got 'i8'}}
  %s = attn.reduce sum %x over (%n) product i8 : f32
}

// -----

attn.kernel @default_of_tensor sizes(%M) indices(%m < M) ins(%X: f32[M], %scale: f32) outs(%Y: f32[M]) {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{expected a scalar parameter of the enclosing kernel}}
  attn.default %X = %one : tensor<?xf32>, f32
}

// -----

attn.kernel @grid_in_grid sizes(%M) indices(%m < M) ins() outs(%Y: f32[M]) {
  attn.grid step(%m) tile() loop() whole() {
    // expected-error @below {{expected to stand in an attn.kernel's own block}}
    attn.grid step(%m) tile() loop() whole() {
    }
  }
}

// -----

func.func @reduce_alone(%x: f32, %m: index) -> f32 {
  // expected-error @below {{expected an enclosing attn.kernel}}
  %s = attn.reduce sum %x over(%m) : f32
  return %s : f32
}

// -----

attn.kernel @assume_in_grid sizes(%M) indices(%m < M) ins() outs(%Y: f32[M]) {
  attn.grid step(%m) tile() loop() whole() {
    %true = arith.constant true
    // expected-error @below {{expected to stand in a kernel's own block}}
    attn.assume %true, "true"
  }
}

// -----

attn.kernel @workspace_rank sizes(%M) indices(%m < M) ins() outs(%Y: f32[M]) {
  // expected-error @below {{expected a shape of 2 extents, got 1}}
  %w = attn.workspace "w" shape affine_map<()[s0] -> (s0)> : tensor<?x?xf32>
}

// -----

// expected-error @below {{expected 1 shapes, got 0}}
"attn.kernel"() <{sym_name = "shapes", in_names = [], out_names = ["Y"], size_names = [], index_names = [],
  shapes = [], extents = []}> ({
^bb0(%Y: tensor<4xf32>):
}) : () -> ()

// -----

// expected-error @below {{expected 1 block arguments, got 0}}
"attn.kernel"() <{sym_name = "arguments", in_names = [], out_names = ["Y"], size_names = [], index_names = [],
  shapes = [affine_map<() -> (4)>], extents = []}> ({
^bb0():
}) : () -> ()

// -----

// expected-error @below {{expected 1 extents, got 0}}
"attn.kernel"() <{sym_name = "extents", in_names = [], out_names = [], size_names = [], index_names = ["m"],
  shapes = [], extents = []}> ({
^bb0(%m: index):
}) : () -> ()

// -----

// expected-error @below {{expected 'm' of type index, got 'f32'}}
"attn.kernel"() <{sym_name = "index_type", in_names = [], out_names = [], size_names = [], index_names = ["m"],
  shapes = [], extents = [affine_map<() -> (4)>]}> ({
^bb0(%m: f32):
}) : () -> ()

// -----

// expected-error @below {{expected the shape of 'Y' to map 0 sizes to 1 extents, got affine_map<() -> (4, 4)>}}
"attn.kernel"() <{sym_name = "shape_rank", in_names = [], out_names = ["Y"], size_names = [], index_names = [],
  shapes = [affine_map<() -> (4, 4)>], extents = []}> ({
^bb0(%Y: tensor<4xf32>):
}) : () -> ()

// -----

// expected-error @below {{expected an extent to map 0 sizes to one number, got affine_map<() -> (4, 4)>}}
"attn.kernel"() <{sym_name = "extent_rank", in_names = [], out_names = [], size_names = [], index_names = ["m"],
  shapes = [], extents = [affine_map<() -> (4, 4)>]}> ({
^bb0(%m: index):
}) : () -> ()

// -----

func.func @random_indices(%seed: index, %i: index) -> i32 {
  // expected-error @below {{expected one to four indices, got 5}}
  %bits = attn.random %seed at [%i, %i, %i, %i, %i] : index -> i32
  return %bits : i32
}

// -----

attn.kernel @tile_size sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected tiles of a positive size, got 0}}
  %l = attn.for %tile of %n from %c0 to %N by 0 carry(%sum = %zero) : f32 {
    attn.next %sum : f32
  }
}

// -----

attn.kernel @loop_axis sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected an index variable as axis}}
  %l = attn.for %tile of %N from %c0 to %N by 8 carry(%sum = %zero) : f32 {
    attn.next %sum : f32
  }
}

// -----

attn.kernel @nexts sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected its block to end with an attn.next of what is carried}}
  %l = attn.for %tile of %n from %c0 to %N by 8 carry(%sum = %zero) : f32 {
    attn.next %sum, %sum : f32, f32
  }
}

// -----

attn.kernel @nested sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %l = attn.for %tile of %n from %c0 to %N by 8 carry(%sum = %zero) : f32 {
    // expected-error @below {{expected to stand outside of loops over tiles}}
    attn.write %sum to %Y[%n] : f32, tensor<?xf32>
    attn.next %sum : f32
  }
}

// -----

attn.kernel @arguments sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected an index and what is carried as arguments of its block}}
  %l = "attn.for"(%n, %c0, %N, %zero) <{size = 8 : i64}> ({
  ^bb0(%tile: index):
    "attn.next"(%zero) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
}

// -----

attn.kernel @results sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected results of the types of the starts}}
  %l = "attn.for"(%n, %c0, %N, %zero) <{size = 8 : i64}> ({
  ^bb0(%tile: index, %x: f32):
    "attn.next"(%x) : (f32) -> ()
  }) : (index, index, index, f32) -> index
}

// -----

attn.kernel @types sizes(%N) indices(%n < N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{expected 1 types, got 2}}
  %l = attn.for %tile of %n from %c0 to %N by 8 carry(%sum = %zero) : f32, f32 {
    attn.next %sum : f32
  }
}
