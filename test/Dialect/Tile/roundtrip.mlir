// RUN: attentile-opt %s | attentile-opt | FileCheck %s

#m = #tile.axes<"m">
#d = #tile.axes<"d">
#n = #tile.axes<"n">
#e = #tile.axes<"e">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#me = #tile.axes<"m", "e">
#mn = #tile.axes<"m", "n">

// A sum of scores, not a softmax: enough to show every operation once.
// CHECK-LABEL: tile.program @scores sizes(%B, %M, %N)
tile.program @scores sizes(%B, %M, %N)
    ins(%Q: bf16[B, M, 64], %K: bf16[B, N, 64], %V: bf16[B, N, 64], %scale: f32) outs(%O: bf16[B, M, 64]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  // CHECK: tile.kernel @scores_0 grid(%b < %B, %i < %{{.*}}) {
  tile.kernel @scores_0 grid(%b < %B, %i < %blocks) {
    %m0 = arith.muli %i, %c64 : index
    // CHECK: tile.index %{{.*}} : tensor<64xindex, #m>
    %m = tile.index %m0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %e = tile.index %c0 : tensor<64xindex, #e>
    %q = tile.load %Q[%b, %m, %d] : tensor<?x?x64xbf16>, (index, tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #md>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #me>
    %o = scf.for %n0 = %c0 to %N step %c32 iter_args(%acc = %zero) -> (tensor<64x64xf32, #me>) {
      %n = tile.index %n0 : tensor<32xindex, #n>
      %k = tile.load %K[%b, %n, %d] : tensor<?x?x64xbf16>, (index, tensor<32xindex, #n>, tensor<64xindex, #d>) -> tensor<32x64xbf16, #nd>
      %v = tile.load %V[%b, %n, %e] : tensor<?x?x64xbf16>, (index, tensor<32xindex, #n>, tensor<64xindex, #e>) -> tensor<32x64xbf16, #ne>
      // CHECK: tile.dot %{{.*}}, %{{.*}} over ["d"] product bf16 : tensor<64x64xbf16, #m_d>, tensor<32x64xbf16, #n_d> -> tensor<64x32xf32, #m_n>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<64x64xbf16, #md>, tensor<32x64xbf16, #nd> -> tensor<64x32xf32, #mn>
      %mx = tile.reduce ref %s over ["n"] : tensor<64x32xf32, #mn> -> tensor<64xf32, #m>
      %r = tile.ref %mx : tensor<64xf32, #m>
      %rb = tile.broadcast %r : tensor<64xf32, #m> to tensor<64x32xf32, #mn>
      %x = arith.subf %s, %rb : tensor<64x32xf32, #mn>
      %last = tile.broadcast %N : index to tensor<64x32xindex, #mn>
      %nb = tile.broadcast %n : tensor<32xindex, #n> to tensor<64x32xindex, #mn>
      // CHECK: arith.cmpi slt, %{{.*}} : tensor<64x32xindex, #m_n>
      %in = arith.cmpi slt, %nb, %last : tensor<64x32xindex, #mn>
      %none = arith.constant dense<0.0> : tensor<64x32xf32, #mn>
      %y = arith.select %in, %x, %none : tensor<64x32xi1, #mn>, tensor<64x32xf32, #mn>
      // CHECK: tile.dot %{{.*}}, %{{.*}} acc %{{.*}} over ["n"]
      %next = tile.dot %y, %v acc %acc over ["n"] product bf16 : tensor<64x32xf32, #mn>, tensor<32x64xbf16, #ne> acc tensor<64x64xf32, #me> -> tensor<64x64xf32, #me>
      scf.yield %next : tensor<64x64xf32, #me>
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    tile.store %o, %O[%b, %m, %e] : tensor<64x64xf32, #me>, tensor<?x?x64xbf16>, (index, tensor<64xindex, #m>, tensor<64xindex, #e>)
  }
}

// CHECK-LABEL: func.func @guard
// CHECK: tile.vote %{{.*}} : tensor<8xi1, #m>
// CHECK: tile.reduce_group max %{{.*}} : tensor<8xi1, #m> -> i1
// CHECK: tile.inside = #{{.*}}
#m8 = #tile.axes<"m">
func.func @guard(%rows: tensor<8xi1, #m8>, %a: index) -> i1 {
  %calm = tile.vote %rows : tensor<8xi1, #m8>
  %some = tile.reduce_group max %rows : tensor<8xi1, #m8> -> i1
  scf.for %i = %a to %a step %a {
  } {tile.axis = "n", tile.inside = affine_map<()[s0] -> (s0)>}
  return %calm : i1
}
