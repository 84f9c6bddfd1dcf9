// What warp-unroll-fragments does not take.
// RUN: attentile-opt %s --warp-unroll-fragments -split-input-file -verify-diagnostics

tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  warp.kernel @k grid(%i < %M) warps(1) {
    %x = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @below {{expected vectors of one dimension, got 'vector<2x2xf32>'}}
    %y = vector.shape_cast %x : vector<4xf32> to vector<2x2xf32>
  }
}

// -----

tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  warp.kernel @k grid(%i < %M) warps(1) {
    %x = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @below {{expected register moves, elementwise operations and those of the warp dialect}}
    %y = vector.reduction <add>, %x : vector<4xf32> into f32
  }
}

// -----

tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  warp.kernel @k grid(%i < %M) warps(1) {
    // expected-error @below {{expected loops and branches by scf.for and scf.if}}
    scf.execute_region {
      scf.yield
    }
  }
}

// -----

tile.program @p sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  warp.kernel @k grid(%i < %M) warps(1) {
    %x = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @below {{expected one element at a constant position}}
    %y = vector.extract %x[%i] : f32 from vector<4xf32>
  }
}
