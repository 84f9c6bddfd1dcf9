// RUN: attentile-opt %s --tile-to-loops=count-blocks --canonicalize --cse | FileCheck %s

#m = #tile.axes<"m">
#d = #tile.axes<"d">
#n = #tile.axes<"n">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#mn = #tile.axes<"m", "n">

// Keys of 16 bits are converted once a tile, not in the product; the tail test
// n < N is out of whole tiles; each loop over tiles counts its blocks.
// CHECK-LABEL: func.func @sums_0
// CHECK: llvm.atomicrmw add
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<8xbf16>
// CHECK: arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: vector.fma
// CHECK: %[[WHOLE:.*]] = arith.cmpi slt
// CHECK: scf.if %[[WHOLE]]
// CHECK-NOT: arith.select {{.*}} : vector<8xf32>
// CHECK: } else {
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<8xf32>
tile.program @sums sizes(%M, %N) ins(%Q: bf16[M, 64], %K: bf16[N, 64]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @sums_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x64xbf16>, (tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #md>
    %zero = arith.constant dense<0.0> : tensor<64xf32, #m>
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #mn>
    %last = tile.broadcast %N : index to tensor<64xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %zero) -> (tensor<64xf32, #m>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      %k = tile.load %K[%n, %d] : tensor<?x64xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #nd>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<64x64xbf16, #md>, tensor<64x64xbf16, #nd> -> tensor<64x64xf32, #mn>
      %in = arith.cmpi slt, %n, %last : tensor<64xindex, #n>
      %inb = tile.broadcast %in : tensor<64xi1, #n> to tensor<64x64xi1, #mn>
      %x = arith.select %inb, %s, %none : tensor<64x64xi1, #mn>, tensor<64x64xf32, #mn>
      %t = tile.reduce sum %x over ["n"] : tensor<64x64xf32, #mn> -> tensor<64xf32, #m>
      %next = arith.addf %acc, %t : tensor<64xf32, #m>
      scf.yield %next : tensor<64xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
}

// Integers that are not a scalar + c * lane take 64-bit lanes, half as many.
// CHECK-LABEL: func.func @pages_0
// CHECK: attn.floordiv {{.*}} : vector<4xindex>
// CHECK-NOT: vector<8x
tile.program @pages sizes(%M) ins(%c: i64) outs(%Y: i64[M]) {
  %c64 = arith.constant 64 : index
  %page = arith.index_cast %c : i64 to index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @pages_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %cb = tile.broadcast %page : index to tensor<64xindex, #m>
    %q = attn.floordiv %m, %cb : tensor<64xindex, #m>
    tile.store %q, %Y[%m] : tensor<64xindex, #m>, tensor<?xi64>, (tensor<64xindex, #m>)
  }
}
