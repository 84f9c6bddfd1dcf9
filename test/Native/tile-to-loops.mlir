// RUN: attentile-opt %s --tile-to-loops=vector-bits=256 --canonicalize --cse | FileCheck %s
// RUN: attentile-opt %s --tile-to-loops=vector-bits=512 --canonicalize --cse | FileCheck %s --check-prefix=WIDE

#m = #tile.axes<"m">
#d = #tile.axes<"d">
#n = #tile.axes<"n">
#e = #tile.axes<"e">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#me = #tile.axes<"m", "e">
#mn = #tile.axes<"m", "n">

// exp(S) V with a row maximum nobody rescales by: enough to see every decision.
tile.program @scores sizes(%M, %N)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %V: f32[N, 64]) outs(%O: f32[M, 64], %X: f32[M]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @scores_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %e = tile.index %c0 : tensor<64xindex, #e>
    %q = tile.load %Q[%m, %d] : tensor<?x64xf32>, (tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xf32, #md>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #me>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32, #m>
    %r:2 = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %zero, %mx = %low)
        -> (tensor<64x64xf32, #me>, tensor<64xf32, #m>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      %k = tile.load %K[%n, %d] : tensor<?x64xf32>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xf32, #nd>
      %v = tile.load %V[%n, %e] : tensor<?x64xf32>, (tensor<64xindex, #n>, tensor<64xindex, #e>) -> tensor<64x64xf32, #ne>
      %s = tile.dot %q, %k over ["d"] product f32 : tensor<64x64xf32, #md>, tensor<64x64xf32, #nd> -> tensor<64x64xf32, #mn>
      %mb = tile.broadcast %m : tensor<64xindex, #m> to tensor<64x64xindex, #mn>
      %nb = tile.broadcast %n : tensor<64xindex, #n> to tensor<64x64xindex, #mn>
      %visible = arith.cmpi sle, %nb, %mb : tensor<64x64xindex, #mn>
      %hidden = arith.constant dense<0xFF800000> : tensor<64x64xf32, #mn>
      %x = arith.select %visible, %s, %hidden : tensor<64x64xi1, #mn>, tensor<64x64xf32, #mn>
      %t = tile.reduce ref %x over ["n"] : tensor<64x64xf32, #mn> -> tensor<64xf32, #m>
      %p = math.exp2 %x : tensor<64x64xf32, #mn>
      %mx1 = arith.maxnumf %mx, %t : tensor<64xf32, #m>
      %acc1 = tile.dot %p, %v acc %acc over ["n"] product f32 : tensor<64x64xf32, #mn>, tensor<64x64xf32, #ne> acc tensor<64x64xf32, #me> -> tensor<64x64xf32, #me>
      scf.yield %acc1, %mx1 : tensor<64x64xf32, #me>, tensor<64xf32, #m>
    } {tile.axis = "n"}
    tile.store %r#0, %O[%m, %e] : tensor<64x64xf32, #me>, tensor<?x64xf32>, (tensor<64xindex, #m>, tensor<64xindex, #e>)
    tile.store %r#1, %X[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
}

// Five tiles of 16 KB (Q^T, O^T, S^T that P overwrites, the edges of K and of
// V) and one row.
// CHECK: func.func @scores_0(%[[ARGS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK-SAME: native.scratch_bytes = 82176 : i64
// CHECK-NOT: vector<16x
// Accumulators of the product are apart, in registers, K is read where it is.
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: llvm.load
// CHECK: vector.broadcast
// CHECK: vector.fma
// One nest for the maximum and P: the mask is a comparison of 32-bit lanes.
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>) {
// CHECK: arith.cmpi s{{[gl]}}e, {{.*}} : vector<8xi32>
// CHECK-DAG: math.exp2 {{.*}} : vector<8xf32>
// CHECK-DAG: arith.cmpf ogt
// CHECK-NOT: tile.

// WIDE: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
// WIDE-NOT: vector<32x
