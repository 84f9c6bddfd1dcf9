// Weights are the right side of a product whose rows are an output's columns: normalised at each step they are divided, not the left side.
// RUN: attentile-opt %s --tile-fuse-online-softmax=normalize=each-step --tile-verify | FileCheck %s
// CHECK: %[[P:.*]] = math.exp %{{.*}} : tensor<8x8xf32, #n_m>
// CHECK: %[[V:.*]] = arith.select %{{.*}} : tensor<16x8xi1, #e_n>, tensor<16x8xf32, #e_n>
// CHECK: %[[INVERSE:.*]] = tile.broadcast %{{.*}} : tensor<8xf32, #m> to tensor<8x8xf32, #n_m>
// CHECK: %[[WEIGHT:.*]] = arith.mulf %[[P]], %[[INVERSE]] : tensor<8x8xf32, #n_m>
// CHECK: tile.dot %[[V]], %[[WEIGHT]] acc %{{.*}} over ["n"]
#e = #tile.axes<"e">
#e_m = #tile.axes<"e", "m">
#e_n = #tile.axes<"e", "n">
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#n_m = #tile.axes<"n", "m">
tile.program @few sizes(%H, %N)
    ins(%X: f32[H, 8], %Y: f32[H, N], %V: f32[H, 16, N]) outs(%O: f32[H, 8, 16]) {
  %c8 = arith.constant 8 : index
  %c0 = arith.constant 0 : index
  tile.kernel @few_0 grid(%h < %H) {
    %e = tile.index %c0 : tensor<16xindex, #e>
    %m = tile.index %c0 : tensor<8xindex, #m>
    %lowest = arith.constant dense<0xFF800000> : tensor<8xf32, #m>
    %top = scf.for %arg0 = %c0 to %N step %c8 iter_args(%arg1 = %lowest) -> (tensor<8xf32, #m>) {
      %n = tile.index %arg0 : tensor<8xindex, #n>
      %x = tile.load %X[%h, %m] : tensor<?x8xf32>, (index, tensor<8xindex, #m>) -> tensor<8xf32, #m>
      %y = tile.load %Y[%h, %n] : tensor<?x?xf32>, (index, tensor<8xindex, #n>) -> tensor<8xf32, #n>
      %xs = tile.broadcast %x : tensor<8xf32, #m> to tensor<8x8xf32, #n_m>
      %ys = tile.broadcast %y : tensor<8xf32, #n> to tensor<8x8xf32, #n_m>
      %s = arith.addf %xs, %ys : tensor<8x8xf32, #n_m>
      %end = tile.broadcast %N : index to tensor<8xindex, #n>
      %in = arith.cmpi slt, %n, %end : tensor<8xindex, #n>
      %ins = tile.broadcast %in : tensor<8xi1, #n> to tensor<8x8xi1, #n_m>
      %none = arith.constant dense<0xFF800000> : tensor<8x8xf32, #n_m>
      %t = arith.select %ins, %s, %none : tensor<8x8xi1, #n_m>, tensor<8x8xf32, #n_m>
      %r = tile.reduce ref %t over ["n"] : tensor<8x8xf32, #n_m> -> tensor<8xf32, #m>
      %next = arith.maxnumf %arg1, %r : tensor<8xf32, #m>
      scf.yield %next : tensor<8xf32, #m>
    } {tile.axis = "n"}
    %ref = tile.ref %top : tensor<8xf32, #m>
    %zeros = arith.constant dense<0.0> : tensor<8xf32, #m>
    %sum = scf.for %arg0 = %c0 to %N step %c8 iter_args(%arg1 = %zeros) -> (tensor<8xf32, #m>) {
      %n = tile.index %arg0 : tensor<8xindex, #n>
      %x = tile.load %X[%h, %m] : tensor<?x8xf32>, (index, tensor<8xindex, #m>) -> tensor<8xf32, #m>
      %y = tile.load %Y[%h, %n] : tensor<?x?xf32>, (index, tensor<8xindex, #n>) -> tensor<8xf32, #n>
      %xs = tile.broadcast %x : tensor<8xf32, #m> to tensor<8x8xf32, #n_m>
      %ys = tile.broadcast %y : tensor<8xf32, #n> to tensor<8x8xf32, #n_m>
      %s = arith.addf %xs, %ys : tensor<8x8xf32, #n_m>
      %refs = tile.broadcast %ref : tensor<8xf32, #m> to tensor<8x8xf32, #n_m>
      %d = arith.subf %s, %refs : tensor<8x8xf32, #n_m>
      %p = math.exp %d : tensor<8x8xf32, #n_m>
      %end = tile.broadcast %N : index to tensor<8xindex, #n>
      %in = arith.cmpi slt, %n, %end : tensor<8xindex, #n>
      %ins = tile.broadcast %in : tensor<8xi1, #n> to tensor<8x8xi1, #n_m>
      %none = arith.constant dense<0.0> : tensor<8x8xf32, #n_m>
      %t = arith.select %ins, %p, %none : tensor<8x8xi1, #n_m>, tensor<8x8xf32, #n_m>
      %r = tile.reduce sum %t over ["n"] : tensor<8x8xf32, #n_m> -> tensor<8xf32, #m>
      %next = arith.addf %arg1, %r : tensor<8xf32, #m>
      scf.yield %next : tensor<8xf32, #m>
    } {tile.axis = "n"}
    %start = arith.constant dense<0.0> : tensor<16x8xf32, #e_m>
    %o = scf.for %arg0 = %c0 to %N step %c8 iter_args(%arg1 = %start) -> (tensor<16x8xf32, #e_m>) {
      %n = tile.index %arg0 : tensor<8xindex, #n>
      %x = tile.load %X[%h, %m] : tensor<?x8xf32>, (index, tensor<8xindex, #m>) -> tensor<8xf32, #m>
      %y = tile.load %Y[%h, %n] : tensor<?x?xf32>, (index, tensor<8xindex, #n>) -> tensor<8xf32, #n>
      %xs = tile.broadcast %x : tensor<8xf32, #m> to tensor<8x8xf32, #n_m>
      %ys = tile.broadcast %y : tensor<8xf32, #n> to tensor<8x8xf32, #n_m>
      %s = arith.addf %xs, %ys : tensor<8x8xf32, #n_m>
      %refs = tile.broadcast %ref : tensor<8xf32, #m> to tensor<8x8xf32, #n_m>
      %d = arith.subf %s, %refs : tensor<8x8xf32, #n_m>
      %p = math.exp %d : tensor<8x8xf32, #n_m>
      %isNone = arith.cmpf oeq, %sum, %zeros : tensor<8xf32, #m>
      %ones = arith.constant dense<1.0> : tensor<8xf32, #m>
      %quotient = arith.divf %ones, %sum : tensor<8xf32, #m>
      %inverse = arith.select %isNone, %zeros, %quotient : tensor<8xi1, #m>, tensor<8xf32, #m>
      %inverses = tile.broadcast %inverse : tensor<8xf32, #m> to tensor<8x8xf32, #n_m>
      %w = arith.mulf %p, %inverses : tensor<8x8xf32, #n_m>
      %v = tile.load %V[%h, %e, %n] : tensor<?x16x?xf32>, (index, tensor<16xindex, #e>, tensor<8xindex, #n>) -> tensor<16x8xf32, #e_n>
      %end = tile.broadcast %N : index to tensor<8xindex, #n>
      %in = arith.cmpi slt, %n, %end : tensor<8xindex, #n>
      %insW = tile.broadcast %in : tensor<8xi1, #n> to tensor<8x8xi1, #n_m>
      %noneW = arith.constant dense<0.0> : tensor<8x8xf32, #n_m>
      %tW = arith.select %insW, %w, %noneW : tensor<8x8xi1, #n_m>, tensor<8x8xf32, #n_m>
      %insV = tile.broadcast %in : tensor<8xi1, #n> to tensor<16x8xi1, #e_n>
      %noneV = arith.constant dense<0.0> : tensor<16x8xf32, #e_n>
      %tV = arith.select %insV, %v, %noneV : tensor<16x8xi1, #e_n>, tensor<16x8xf32, #e_n>
      %next = tile.dot %tV, %tW acc %arg1 over ["n"] product f32 : tensor<16x8xf32, #e_n>, tensor<8x8xf32, #n_m> acc tensor<16x8xf32, #e_m> -> tensor<16x8xf32, #e_m>
      scf.yield %next : tensor<16x8xf32, #e_m>
    } {tile.axis = "n"}
    tile.store %o, %O[%h, %m, %e] : tensor<16x8xf32, #e_m>, tensor<?x8x16xf32>, (index, tensor<8xindex, #m>, tensor<16xindex, #e>)
  }
}
