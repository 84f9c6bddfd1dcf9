// RUN: attentile-opt %s --tile-assign-layouts --tile-verify-layouts | FileCheck %s

// A left factor that is a product itself lies by other rows than the product
// that takes it: it goes through shared memory, as the right one does.
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#e = #tile.axes<"e">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#de = #tile.axes<"d", "e">

// CHECK-LABEL: tile.kernel @crossed
// CHECK: %[[A:.*]] = tile.dot {{.*}} over ["e"]
// CHECK: %[[B:.*]] = tile.dot {{.*}} over ["d"]
// CHECK-DAG: tile.convert_layout {{.*}} : tensor<16x32xbf16, #n_d_fragment> to tensor<16x32xbf16, #n_d_shared>
// CHECK-DAG: tile.convert_layout {{.*}} : tensor<16x32xbf16, #n_e_fragment> to tensor<16x32xbf16, #n_e_shared>
// CHECK: tile.dot {{.*}} over ["n"] {{.*}} : tensor<16x32xbf16, #n_d_shared>, tensor<16x32xbf16, #n_e_shared>
tile.program @kernels sizes(%N) ins(%X: bf16[N, 32], %V: bf16[N, 32], %W: bf16[32, 32]) outs(%S: f32[32, 32]) {
  %c0 = arith.constant 0 : index
  tile.kernel @crossed grid() attributes {tile.warps = #tile.warps<rows = "n", split_rows = 1>} {
    %n = tile.index %c0 : tensor<16xindex, #n>
    %d = tile.index %c0 : tensor<32xindex, #d>
    %e = tile.index %c0 : tensor<32xindex, #e>
    %x = tile.load %X[%n, %d] : tensor<?x32xbf16>, (tensor<16xindex, #n>, tensor<32xindex, #d>) -> tensor<16x32xbf16, #nd>
    %v = tile.load %V[%n, %e] : tensor<?x32xbf16>, (tensor<16xindex, #n>, tensor<32xindex, #e>) -> tensor<16x32xbf16, #ne>
    %w = tile.load %W[%d, %e] : tensor<32x32xbf16>, (tensor<32xindex, #d>, tensor<32xindex, #e>) -> tensor<32x32xbf16, #de>
    %a = tile.dot %v, %w over ["e"] product bf16 : tensor<16x32xbf16, #ne>, tensor<32x32xbf16, #de> -> tensor<16x32xf32, #nd>
    %b = tile.dot %x, %w over ["d"] product bf16 : tensor<16x32xbf16, #nd>, tensor<32x32xbf16, #de> -> tensor<16x32xf32, #ne>
    %s = tile.dot %a, %b over ["n"] product bf16 : tensor<16x32xf32, #nd>, tensor<16x32xf32, #ne> -> tensor<32x32xf32, #de>
    tile.store %s, %S[%d, %e] : tensor<32x32xf32, #de>, tensor<32x32xf32>, (tensor<32xindex, #d>, tensor<32xindex, #e>)
  }

  // A constant as a factor: of registers first, from where it is copied.
  // CHECK-LABEL: tile.kernel @constant
  // CHECK: %[[ONES:.*]] = arith.constant dense<1.{{.*}}> : tensor<32x32xbf16, #d_e_fragment>
  // CHECK: %[[SHARED:.*]] = tile.convert_layout %[[ONES]] : {{.*}} to tensor<32x32xbf16, #d_e_shared>
  // CHECK: tile.dot %{{.*}}, %[[SHARED]] over ["d"]
  tile.kernel @constant grid() attributes {tile.warps = #tile.warps<rows = "n", split_rows = 1>} {
    %n = tile.index %c0 : tensor<16xindex, #n>
    %d = tile.index %c0 : tensor<32xindex, #d>
    %e = tile.index %c0 : tensor<32xindex, #e>
    %ones = arith.constant dense<1.0> : tensor<32x32xbf16, #de>
    %x = tile.load %X[%n, %d] : tensor<?x32xbf16>, (tensor<16xindex, #n>, tensor<32xindex, #d>) -> tensor<16x32xbf16, #nd>
    %y = tile.dot %x, %ones over ["d"] product bf16 : tensor<16x32xbf16, #nd>, tensor<32x32xbf16, #de> -> tensor<16x32xf32, #ne>
    tile.store %y, %S[%n, %e] : tensor<16x32xf32, #ne>, tensor<32x32xf32>, (tensor<16xindex, #n>, tensor<32xindex, #e>)
  }
}
