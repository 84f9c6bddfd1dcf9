// RUN: attentile-opt %s -split-input-file -verify-diagnostics -attn-to-tile

attn.kernel @whole sizes(%M, %D) indices(%m < M, %d < D) ins(%X: f32[M, D]) outs(%Y: f32[M]) {
  // expected-error @+1 {{expected the size of axis 'd' to be known, as it stands whole in the tile}}
  attn.grid step() tile(%m) loop() whole(%d) {
    %x = attn.read %X[%m, %d] : tensor<?x?xf32>
    %y = attn.reduce sum %x over (%d) : f32
    attn.write %y to %Y[%m] : f32, tensor<?xf32>
  }
}

// -----

attn.kernel @no_grid sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  // expected-error @+1 {{expected a write to stand in a grid; attn-form-grids makes them}}
  attn.write %x to %Y[%m] : f32, tensor<?xf32>
}

// -----

attn.kernel @nested sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[N]) {
  attn.grid step() tile() loop(%m, %n) whole() {
    %x = attn.read %X[%m, %n] : tensor<?x?xf32>
    // expected-error @+1 {{expected the result of a loop not to depend on the loop axis 'n'}}
    %y = attn.reduce sum %x over (%m) : f32
    attn.write %y to %Y[%n] : f32, tensor<?xf32>
  }
}

// -----

attn.kernel @reduced_tile sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[N]) {
  attn.grid step() tile(%m, %n) loop() whole() {
    %x = attn.read %X[%m, %n] : tensor<?x?xf32>
    // expected-error @+1 {{expected to reduce over loop and whole axes of the grid, got 'm'}}
    %y = attn.reduce sum %x over (%m) : f32
    attn.write %y to %Y[%n] : f32, tensor<?xf32>
  }
}

// -----

attn.kernel @strange sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  attn.grid step() tile(%m) loop() whole() {
    // expected-error @+1 {{expected an axis of the grid, got 'n'}}
    %x = attn.read %X[%m, %n] : tensor<?x?xf32>
    attn.write %x to %Y[%m] : f32, tensor<?xf32>
  }
}

// -----

attn.kernel @pointwise sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: i64[M]) {
  attn.grid step() tile(%m) loop() whole() {
    // expected-error @+1 {{expected an element-wise operation, got 'index.add'}}
    %y = index.add %m, %m
    attn.write %y to %Y[%m] : index, tensor<?xi64>
  }
}

// -----

// expected-error @+1 {{expected an axis of the kernel to tile, got 'q'}}
attn.kernel @unknown_axis sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M])
    attributes {attn.tile_sizes = {q = 64}} {
}

// -----

// expected-error @+1 {{expected an axis that is tiled, got 'd', which no grid visits in tiles}}
attn.kernel @untiled_axis sizes(%M) indices(%m < M, %d < 64) ins(%X: f32[M]) outs(%Y: f32[M])
    attributes {attn.tile_sizes = {d = 64}} {
}

// -----

// expected-error @+1 {{expected a positive tile size for 'm', got 0}}
attn.kernel @no_size sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M])
    attributes {attn.tile_sizes = {m = 0}} {
  attn.grid step() tile(%m) loop() whole() {
  }
}

// -----

// expected-error @+1 {{expected an integer as tile size of 'm', got "64"}}
attn.kernel @no_integer sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M])
    attributes {attn.tile_sizes = {m = "64"}} {
}

// -----

// expected-error @+1 {{expected 'attn.tile_sizes' to map axes to sizes, got 64}}
attn.kernel @no_map sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%Y: f32[M])
    attributes {attn.tile_sizes = 64} {
}

// Rules: [L7.5]

// -----

// A loop over tiles is the only one around what it does. [L5.8]
attn.kernel @other_loop sizes(%M, %N, %R) indices(%m < M, %n < N, %r < R) ins(%X: f32[M, N, R]) outs(%Y: f32[M]) {
  attn.grid step() tile(%m) loop(%n, %r) whole() {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %x = attn.read %X[%m, %n, %r] : tensor<?x?x?xf32>
    %y = attn.for %t of %n from %c0 to %N by 16 carry(%sum = %zero) : f32 {
      %z = arith.addf %sum, %x : f32
      // expected-error @+1 {{expected a reduction within a loop over 'n' to be over that axis or one that stands whole in the tile, got 'r'}}
      %s = attn.reduce sum %z over (%r) : f32
      %u = attn.reduce sum %s over (%t) : f32
      attn.next %u : f32
    }
    attn.write %y to %Y[%m] : f32, tensor<?xf32>
  }
}

// -----

// A program has one loop: its rows begin and end together. [L5.9]
attn.kernel @row_bounds sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  attn.grid step() tile(%m) loop(%n) whole() {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    // expected-error @+1 {{expected a loop's bounds to be the same for a whole tile, got some that depend on 'm'}}
    %y = attn.for %t of %n from %c0 to %m by 16 carry(%sum = %zero) : f32 {
      attn.next %sum : f32
    }
    attn.write %y to %Y[%m] : f32, tensor<?xf32>
  }
}

// -----

attn.kernel @carried_loop sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  attn.grid step() tile() loop(%m, %n) whole() {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %x = attn.read %X[%m, %n] : tensor<?x?xf32>
    // expected-error @+1 {{expected what a loop over tiles carries not to depend on the loop axis 'm'}}
    %y = attn.for %t of %n from %c0 to %N by 16 carry(%sum = %zero) : f32 {
      %u = attn.reduce sum %x over (%t) : f32
      attn.next %u : f32
    }
    attn.write %y to %Y[%m] : f32, tensor<?xf32>
  }
}
