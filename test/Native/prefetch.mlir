// RUN: attentile-opt %s --tile-to-loops=vector-bits=512 --canonicalize --cse | FileCheck %s

#m = #tile.axes<"m">
#d = #tile.axes<"d">
#n = #tile.axes<"n">
#e = #tile.axes<"e">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#me = #tile.axes<"m", "e">
#mn = #tile.axes<"m", "n">

// (Q K + B) V, where a tile of K takes 16 KB, of V 32, and of B no other program reads.
tile.program @scores sizes(%M, %N)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %V: f32[N, 128], %B: f32[M, N]) outs(%O: f32[M, 128]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @scores_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %e = tile.index %c0 : tensor<128xindex, #e>
    %q = tile.load %Q[%m, %d] : tensor<?x64xf32>, (tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xf32, #md>
    %zero = arith.constant dense<0.0> : tensor<64x128xf32, #me>
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %zero) -> (tensor<64x128xf32, #me>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      %k = tile.load %K[%n, %d] : tensor<?x64xf32>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xf32, #nd>
      %v = tile.load %V[%n, %e] : tensor<?x128xf32>, (tensor<64xindex, #n>, tensor<128xindex, #e>) -> tensor<64x128xf32, #ne>
      %b = tile.load %B[%m, %n] : tensor<?x?xf32>, (tensor<64xindex, #m>, tensor<64xindex, #n>) -> tensor<64x64xf32, #mn>
      %s = tile.dot %q, %k over ["d"] product f32 : tensor<64x64xf32, #md>, tensor<64x64xf32, #nd> -> tensor<64x64xf32, #mn>
      %x = arith.addf %s, %b : tensor<64x64xf32, #mn>
      %acc1 = tile.dot %x, %v acc %acc over ["n"] product f32 : tensor<64x64xf32, #mn>, tensor<64x128xf32, #ne> acc tensor<64x128xf32, #me> -> tensor<64x128xf32, #me>
      scf.yield %acc1 : tensor<64x128xf32, #me>
    } {tile.axis = "n"}
    tile.store %r, %O[%m, %e] : tensor<64x128xf32, #me>, tensor<?x128xf32>, (tensor<64xindex, #m>, tensor<128xindex, #e>)
  }
}

// The first product's 16 register blocks each ask for 4 rows: of the next program's Q in the first iteration, of the K
// that follows the last, of the next V and B in each. The second product asks for nothing.
// CHECK: scf.for %[[N0:.*]] = %c0 to %[[N:.*]] step %c64 {
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[N0]], %c0
// CHECK: %[[AFTER:.*]] = arith.addi %[[N0]], %c64
// CHECK: %[[LAST:.*]] = arith.cmpi sge, %[[AFTER]], %[[N]]
// CHECK-NOT: llvm.intr.prefetch
// CHECK: scf.if %[[FIRST]] {
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1 {
// CHECK-COUNT-4: llvm.intr.prefetch"{{.*}}cache = 1 : i32, hint = 2 : i32, rw = 0 : i32
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: scf.if %[[LAST]] {
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1 {
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NOT: scf.if
// CHECK: scf.for %{{.*}} = %[[ROW:.*]] to %[[END:.*]] step %c1 {
// CHECK-COUNT-8: llvm.intr.prefetch
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: scf.for %{{.*}} = %[[ROW]] to %[[END]] step %c1 {
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NOT: llvm.intr.prefetch

// The same K over a list of blocks: it is asked for in each iteration.
tile.program @listed sizes(%M, %N)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %L: i32[M, N]) outs(%O: f32[M, 64]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @listed_0 grid(%i < %blocks) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x64xf32>, (tensor<64xindex, #m>, tensor<64xindex, #d>) -> tensor<64x64xf32, #md>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #md>
    %r = scf.for %at = %c0 to %N step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #md>) {
      %entry = tile.load %L[%i, %at] : tensor<?x?xi32>, (index, index) -> i32
      %block = arith.index_cast %entry : i32 to index
      %n0 = arith.muli %block, %c64 : index
      %n = tile.index %n0 : tensor<64xindex, #n>
      %k = tile.load %K[%n, %d] : tensor<?x64xf32>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xf32, #nd>
      %s = tile.dot %q, %k over ["d"] product f32 : tensor<64x64xf32, #md>, tensor<64x64xf32, #nd> -> tensor<64x64xf32, #mn>
      %acc1 = tile.dot %s, %k acc %acc over ["n"] product f32 : tensor<64x64xf32, #mn>, tensor<64x64xf32, #nd> acc tensor<64x64xf32, #md> -> tensor<64x64xf32, #md>
      scf.yield %acc1 : tensor<64x64xf32, #md>
    } {tile.axis = "n", tile.from_list}
    tile.store %r, %O[%m, %d] : tensor<64x64xf32, #md>, tensor<?x64xf32>, (tensor<64xindex, #m>, tensor<64xindex, #d>)
  }
}

// CHECK-LABEL: func.func @listed_0(
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NOT: llvm.intr.prefetch
