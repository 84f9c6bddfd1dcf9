// RUN: attentile-opt %s -tile-partition-warps | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: attentile-opt %s -tile-partition-warps="split=reduced" | FileCheck %s --check-prefixes=CHECK,KEYS

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#me = #tile.axes<"m", "e">

tile.program @kernels sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  // CHECK: tile.kernel @attention
  // ROWS-SAME: tile.warps = #tile.warps<rows = "m", split_rows = 4>
  // KEYS-SAME: tile.warps = #tile.warps<rows = "m", split_columns = 4, split_reduced = 4>
  tile.kernel @attention grid() {
    %q = arith.constant dense<1.0> : tensor<64x64xbf16, #md>
    %k = arith.constant dense<1.0> : tensor<64x64xbf16, #nd>
    %v = arith.constant dense<1.0> : tensor<64x64xbf16, #ne>
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<64x64xbf16, #md>, tensor<64x64xbf16, #nd> -> tensor<64x64xf32, #mn>
    %o = tile.dot %s, %v over ["n"] product bf16 : tensor<64x64xf32, #mn>, tensor<64x64xbf16, #ne> -> tensor<64x64xf32, #me>
  }
  // 512 columns of 16 rows are 256 registers: two warps share them.
  // CHECK: tile.kernel @wide
  // ROWS-SAME: tile.warps = #tile.warps<rows = "m", split_rows = 4, split_columns = 2>
  tile.kernel @wide grid() {
    %q = arith.constant dense<1.0> : tensor<64x64xbf16, #md>
    %k = arith.constant dense<1.0> : tensor<32x64xbf16, #nd>
    %v = arith.constant dense<1.0> : tensor<32x512xbf16, #ne>
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<64x64xbf16, #md>, tensor<32x64xbf16, #nd> -> tensor<64x32xf32, #mn>
    %o = tile.dot %s, %v over ["n"] product bf16 : tensor<64x32xf32, #mn>, tensor<32x512xbf16, #ne> -> tensor<64x512xf32, #me>
  }
  // 32 rows are two warps' work.
  // CHECK: tile.kernel @short
  // ROWS-SAME: tile.warps = #tile.warps<rows = "m", split_rows = 2>
  tile.kernel @short grid() {
    %q = arith.constant dense<1.0> : tensor<32x64xbf16, #md>
    %k = arith.constant dense<1.0> : tensor<64x64xbf16, #nd>
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<32x64xbf16, #md>, tensor<64x64xbf16, #nd> -> tensor<32x64xf32, #mn>
  }
  // Eight warps of which two share the columns: four for the rows.
  // CHECK: tile.kernel @resources
  // ROWS-SAME: tile.warps = #tile.warps<rows = "m", split_rows = 4, split_columns = 2>
  // KEYS-SAME: tile.warps = #tile.warps<rows = "m", split_rows = 2, split_columns = 4, split_reduced = 4>
  tile.kernel @resources grid() attributes {tile.resources = #tile.resources<warps = 8, stages = 1, registers = 200, shared = 0, blocks = 1, keep_left = false>} {
    %p = arith.constant dense<1.0> : tensor<128x16xbf16, #mn>
    %v = arith.constant dense<1.0> : tensor<16x512xbf16, #ne>
    %o = tile.dot %p, %v over ["n"] product bf16 : tensor<128x16xbf16, #mn>, tensor<16x512xbf16, #ne> -> tensor<128x512xf32, #me>
  }
  // Keys over four warps, and twice 64 rows over eight; a vote goes the same way in all.
  // KEYS: tile.kernel @rows
  // KEYS-SAME: tile.warps = #tile.warps<rows = "m", split_rows = 2, split_columns = 4, split_reduced = 4>
  tile.kernel @rows grid() attributes {tile.resources = #tile.resources<warps = 8, stages = 1, registers = 200, shared = 0, blocks = 1, keep_left = false>} {
    %q = arith.constant dense<1.0> : tensor<128x64xbf16, #md>
    %k = arith.constant dense<1.0> : tensor<64x64xbf16, #nd>
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<128x64xbf16, #md>, tensor<64x64xbf16, #nd> -> tensor<128x64xf32, #mn>
  }
  // KEYS: tile.kernel @voting
  // KEYS-SAME: tile.warps = #tile.warps<rows = "m", split_columns = 4, split_reduced = 4>
  tile.kernel @voting grid() attributes {tile.resources = #tile.resources<warps = 8, stages = 1, registers = 200, shared = 0, blocks = 1, keep_left = false>} {
    %q = arith.constant dense<1.0> : tensor<128x64xbf16, #md>
    %k = arith.constant dense<1.0> : tensor<64x64xbf16, #nd>
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<128x64xbf16, #md>, tensor<64x64xbf16, #nd> -> tensor<128x64xf32, #mn>
    %good = arith.constant dense<true> : tensor<128xi1, #m>
    %all = tile.vote %good : tensor<128xi1, #m>
  }
  // Nor do warps share out columns on which they vote: they would go different ways.
  // KEYS: tile.kernel @voting_on_columns
  // KEYS-SAME: tile.warps = #tile.warps<rows = "m">
  tile.kernel @voting_on_columns grid() attributes {tile.resources = #tile.resources<warps = 4, stages = 1, registers = 200, shared = 0, blocks = 1, keep_left = false>} {
    %v = arith.constant dense<1.0> : tensor<16x64xbf16, #mn>
    %p = arith.constant dense<1.0> : tensor<64x32xbf16, #ne>
    %o = tile.dot %v, %p over ["n"] product bf16 : tensor<16x64xbf16, #mn>, tensor<64x32xbf16, #ne> -> tensor<16x32xf32, #me>
    %good = arith.constant dense<true> : tensor<32xi1, #tile.axes<"e">>
    %all = tile.vote %good : tensor<32xi1, #tile.axes<"e">>
  }
  // Without products: the first axis of the largest tile.
  // CHECK: tile.kernel @sums
  // ROWS-SAME: tile.warps = #tile.warps<rows = "n", split_rows = 2>
  tile.kernel @sums grid() {
    %x = arith.constant dense<1.0> : tensor<32x64xf32, #tile.axes<"n", "m">>
    %s = tile.reduce sum %x over ["m"] : tensor<32x64xf32, #tile.axes<"n", "m">> -> tensor<32xf32, #n>
  }
  // 8 keys alone, as a list of blocks judges them, have no rows: they lie as columns do.
  // CHECK: tile.kernel @few_keys
  // CHECK-SAME: tile.warps = #tile.warps<rows = "">
  tile.kernel @few_keys grid() {
    %x = arith.constant dense<true> : tensor<8xi1, #tile.axes<"n">>
    %any = tile.reduce any %x over ["n"] : tensor<8xi1, #tile.axes<"n">> -> i1
  }
  // CHECK: tile.kernel @scalars
  // CHECK-SAME: tile.warps = #tile.warps<rows = "">
  tile.kernel @scalars grid() {
    %x = tile.load %X[%c0] : tensor<?xf32>, (index) -> f32
    tile.store %x, %Y[%c0] : f32, tensor<?xf32>, (index)
  }
}
