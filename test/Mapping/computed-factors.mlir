// RUN: attentile-opt %s -tile-assign-layouts -tile-verify-layouts | FileCheck %s
// RUN: attentile-opt %s -tile-assign-layouts -tile-verify-layouts -tile-to-warp -canonicalize -cse | FileCheck %s --check-prefix=WARP

// Factors that are computed from tiles: what they are made of lies as memory is
// read best, and goes to shared memory a piece of the rows at a time.
// CHECK: #[[LEFT:.*]] = #tile.axes<"m", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
// CHECK: #[[PACKETS:.*]] = #tile.axes<"n", "d", in = #tile.fragment<[4 lane 8, 2 warp 1, 8 reg 8], [8 reg 1, 8 lane 1]>>
// CHECK-DAG: #[[FACTOR:.*]] = #tile.axes<"n", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#mn = #tile.axes<"m", "n">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">

tile.program @kernels sizes(%M, %N) ins(%Q: bf16[M, 64], %K: bf16[N, 64], %C: f32[N, 32]) outs(%O: f32[M, N]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %half = arith.constant dense<32> : tensor<64xindex, #d>
  %whole = arith.constant dense<64> : tensor<64xindex, #d>
  %minus = arith.constant dense<-1.0> : tensor<64xf32, #d>
  %plus = arith.constant dense<1.0> : tensor<64xf32, #d>
  %two = arith.constant dense<2.0> : tensor<32x64xf32, #md>
  // The left one before the loop, once; the right one in it.
  // CHECK-LABEL: tile.kernel @rotated
  // CHECK: %[[ROUNDED:.*]] = arith.truncf
  // CHECK-NEXT: %[[Q:.*]] = tile.convert_layout %[[ROUNDED]] : {{.*}} to tensor<32x64xbf16, #[[LEFT]]>
  // CHECK: scf.for
  // CHECK: tile.load %K{{.*}} -> tensor<64x64xbf16, #[[PACKETS]]>
  // CHECK: tile.load %C{{.*}} -> tensor<64x64xf32, #[[PACKETS]]>
  // CHECK: %[[K:.*]] = tile.convert_layout %{{.*}} : {{.*}} to tensor<64x64xbf16, #[[FACTOR]]>
  // CHECK: tile.dot %[[Q]], %[[K]]
  // WARP-LABEL: warp.kernel @rotated
  // All columns of a run are on one side of a multiple of its length.
  // WARP: arith.cmpi slt, %{{.*}} : vector<1xindex>
  // Little enough to hold: no loop.
  // WARP-NOT: warp.rolled
  // WARP: scf.for
  // Pieces of two packets of a row each.
  // WARP: warp.barrier
  // WARP-NEXT: scf.for %[[ROW:.*]] = %c0{{.*}} to %c64{{.*}} step %c16
  // WARP: %[[K:.*]] = arith.addi %{{.*}}, %[[ROW]]
  // WARP: warp.load %K[%[[K]], {{.*}} -> vector<8xbf16>
  // WARP: warp.load %K{{.*}} -> vector<8xbf16>
  // WARP-COUNT-4: warp.load %C{{.*}} -> vector<4xf32>
  // The other half of a row, whose indices follow each other.
  // WARP: warp.load %K[%[[K]], {{.*}} -> vector<8xbf16>
  // WARP: warp.load %K{{.*}} -> vector<8xbf16>
  // WARP-NOT: warp.load
  // WARP-COUNT-2: warp.store_shared {{.*}} : vector<8xbf16>
  // WARP-NOT: warp.store_shared
  // WARP: {warp.rolled}
  // WARP-NEXT: warp.barrier
  // WARP: warp.mma
  tile.kernel @rotated grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>, tile.resources = #tile.resources<warps = 2, stages = 1, registers = 200, shared = 20000, blocks = 1, keep_left = false>} {
    %m = tile.index %i : tensor<32xindex, #m>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %loaded = tile.load %Q[%m, %d] : tensor<?x64xbf16>, (tensor<32xindex, #m>, tensor<64xindex, #d>) -> tensor<32x64xbf16, #md>
    %wide = arith.extf %loaded : tensor<32x64xbf16, #md> to tensor<32x64xf32, #md>
    %q = arith.mulf %wide, %two : tensor<32x64xf32, #md>
    %angle = attn.floormod %d, %half : tensor<64xindex, #d>
    %further = arith.addi %d, %half : tensor<64xindex, #d>
    %partner = attn.floormod %further, %whole : tensor<64xindex, #d>
    %isFirst = arith.cmpi slt, %d, %half : tensor<64xindex, #d>
    %sign = arith.select %isFirst, %minus, %plus : tensor<64xi1, #d>, tensor<64xf32, #d>
    %signs = tile.broadcast %sign : tensor<64xf32, #d> to tensor<64x64xf32, #nd>
    scf.for %j = %c0 to %N step %c64 {
      %n = tile.index %j : tensor<64xindex, #n>
      %k = tile.load %K[%n, %d] : tensor<?x64xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #nd>
      %kw = arith.extf %k : tensor<64x64xbf16, #nd> to tensor<64x64xf32, #nd>
      %other = tile.load %K[%n, %partner] : tensor<?x64xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #nd>
      %ow = arith.extf %other : tensor<64x64xbf16, #nd> to tensor<64x64xf32, #nd>
      %c = tile.load %C[%n, %angle] : tensor<?x32xf32>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xf32, #nd>
      %x = arith.mulf %kw, %c : tensor<64x64xf32, #nd>
      %y = arith.mulf %signs, %ow : tensor<64x64xf32, #nd>
      %factor = arith.addf %x, %y : tensor<64x64xf32, #nd>
      %s = tile.dot %q, %factor over ["d"] product bf16 : tensor<32x64xf32, #md>, tensor<64x64xf32, #nd> -> tensor<32x64xf32, #mn>
      tile.store %s, %O[%m, %n] : tensor<32x64xf32, #mn>, tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<64xindex, #n>)
    } {tile.axis = "n"}
  }

  // What is stored too is computed as a whole.
  // WARP-LABEL: warp.kernel @stored
  // WARP-NOT: warp.rolled
  tile.kernel @stored grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m = tile.index %i : tensor<32xindex, #m>
    %n = tile.index %c0 : tensor<64xindex, #n>
    %d = tile.index %c0 : tensor<64xindex, #d>
    %q = tile.load %Q[%m, %d] : tensor<?x64xbf16>, (tensor<32xindex, #m>, tensor<64xindex, #d>) -> tensor<32x64xbf16, #md>
    %k = tile.load %K[%n, %d] : tensor<?x64xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #nd>
    %kw = arith.extf %k : tensor<64x64xbf16, #nd> to tensor<64x64xf32, #nd>
    %factor = arith.addf %kw, %kw : tensor<64x64xf32, #nd>
    tile.store %factor, %O[%n, %d] : tensor<64x64xf32, #nd>, tensor<?x?xf32>, (tensor<64xindex, #n>, tensor<64xindex, #d>)
    %s = tile.dot %q, %factor over ["d"] product bf16 : tensor<32x64xbf16, #md>, tensor<64x64xf32, #nd> -> tensor<32x64xf32, #mn>
    tile.store %s, %O[%m, %n] : tensor<32x64xf32, #mn>, tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<64xindex, #n>)
  }
}
