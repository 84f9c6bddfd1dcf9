// RUN: attentile-opt %s --tile-to-loops --split-input-file --verify-diagnostics

#m = #tile.axes<"m">

tile.program @varied sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  tile.kernel @varied_0 grid(%i < %M) {
    %m = tile.index %i : tensor<2xindex, #m>
    // expected-error @+1 {{expected one value for all elements}}
    %x = arith.constant dense<[1.0, 2.0]> : tensor<2xf32, #m>
    tile.store %x, %Y[%m] : tensor<2xf32, #m>, tensor<?xf32>, (tensor<2xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">

tile.program @swapped sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<2xf32, #m>
  %one = arith.constant dense<1.0> : tensor<2xf32, #m>
  tile.kernel @swapped_0 grid(%i < %M) {
    %m = tile.index %i : tensor<2xindex, #m>
    %r:2 = scf.for %n = %c0 to %M step %c1 iter_args(%a = %zero, %b = %one) -> (tensor<2xf32, #m>, tensor<2xf32, #m>) {
      // expected-error @+1 {{expected a carried tile to keep its place}}
      scf.yield %b, %a : tensor<2xf32, #m>, tensor<2xf32, #m>
    } {tile.axis = "n"}
    tile.store %r#0, %Y[%m] : tensor<2xf32, #m>, tensor<?xf32>, (tensor<2xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">

tile.program @undecided sizes(%M) ins(%more: i1) outs(%Y: f32[M]) {
  %zero = arith.constant dense<0.0> : tensor<2xf32, #m>
  tile.kernel @undecided_0 grid(%i < %M) {
    %m = tile.index %i : tensor<2xindex, #m>
    %r = scf.while (%a = %zero) : (tensor<2xf32, #m>) -> tensor<2xf32, #m> {
      // expected-error @+1 {{expected an operation on tiles that tile-to-loops lowers}}
      scf.condition(%more) %a : tensor<2xf32, #m>
    } do {
    ^bb0(%a: tensor<2xf32, #m>):
      scf.yield %a : tensor<2xf32, #m>
    }
    tile.store %r, %Y[%m] : tensor<2xf32, #m>, tensor<?xf32>, (tensor<2xindex, #m>)
  }
}
