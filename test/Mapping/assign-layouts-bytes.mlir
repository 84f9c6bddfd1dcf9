// RUN: attentile-opt %s -tile-assign-layouts -tile-verify-layouts -tile-to-warp | FileCheck %s --check-prefix=WARP
// RUN: attentile-opt %s -tile-assign-layouts -tile-verify-layouts | FileCheck %s

// 8-bit factors: their bytes are copied, each thread converts eight at a time,
// and the product reads bf16.
// CHECK: #[[PACKETS:.*]] = #tile.axes<"n", "d", in = #tile.fragment<[4 lane 8, 8 reg 8, 2 warp 1], [8 reg 1, 8 lane 1]>>
// CHECK-DAG: #[[BYTES:.*]] = #tile.axes<"n", "d", in = #tile.shared<pitch = 64, chunk = 16{{.*}}>>
// CHECK-DAG: #[[HALVES:.*]] = #tile.axes<"n", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#mn = #tile.axes<"m", "n">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">

// CHECK-LABEL: tile.kernel @bytes
// CHECK: %[[COPIED:.*]] = tile.load %K{{.*}} -> tensor<64x64xi8, #[[BYTES]]>
// CHECK-NEXT: %[[PARTS:.*]] = tile.convert_layout %[[COPIED]] : {{.*}} to tensor<64x64xi8, #[[PACKETS]]>
// CHECK: %[[WIDE:.*]] = arith.sitofp %[[PARTS]] : {{.*}} to tensor<64x64xf32, #[[PACKETS]]>
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[WIDE]] : {{.*}} to tensor<64x64xbf16, #[[PACKETS]]>
// CHECK: %[[FACTOR:.*]] = tile.convert_layout %[[ROUNDED]] : {{.*}} to tensor<64x64xbf16, #[[HALVES]]>
// CHECK: tile.dot %{{.*}}, %[[FACTOR]]
// WARP-LABEL: warp.kernel @bytes
// WARP: warp.copy_async %K{{.*}} : tensor<?x64xi8>, !warp.buffer<64x64xi8
// WARP: warp.load_shared {{.*}} -> vector<8xi8>
// WARP-NOT: warp.load %K
// WARP: warp.store_shared {{.*}} vector<8xbf16>
// WARP: warp.ldmatrix
tile.program @kernels sizes(%M, %N) ins(%Q: bf16[M, 64], %K: i8[N, 64]) outs(%O: f32[M, N]) {
  %c0 = arith.constant 0 : index
  tile.kernel @bytes grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m = tile.index %i : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<64xindex, #n>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x64xbf16>, (tensor<32xindex, #m>, tensor<64xindex, #d>) -> tensor<32x64xbf16, #md>
    %k = tile.load %K[%n, %d] : tensor<?x64xi8>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xi8, #nd>
    %wide = arith.sitofp %k : tensor<64x64xi8, #nd> to tensor<64x64xf32, #nd>
    %s = tile.dot %q, %wide over ["d"] product bf16 : tensor<32x64xbf16, #md>, tensor<64x64xf32, #nd> -> tensor<32x64xf32, #mn>
    tile.store %s, %O[%m, %n] : tensor<32x64xf32, #mn>, tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<64xindex, #n>)
  }
}
