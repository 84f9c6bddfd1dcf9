// RUN: attentile-opt %s | attentile-opt | FileCheck %s

// CHECK-DAG: #[[SCORES:.*]] = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2, 4 warp 1], [2 reg 1, 4 lane 1, 8 reg 4]>>
// CHECK-DAG: #[[ROWS:.*]] = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 1, 4 warp 1]>>
// CHECK-DAG: #[[KEYS:.*]] = #tile.axes<"n", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
// CHECK-DAG: #[[ODD:.*]] = #tile.axes<"n", "e", in = #tile.shared<pitch = 88, chunk = 8>>
// CHECK-DAG: #[[PAIRS:.*]] = #tile.axes<"n", "e", in = #tile.shared<pitch = 32, chunk = 8, rows = 2, period = 4>>
#mn = #tile.axes<"m", "n", in = #tile.fragment<[8 lane 4, 2 reg 2, 4 warp 1], [2 reg 1, 4 lane 1, 8 reg 4]>>
#m = #tile.axes<"m", in = #tile.fragment<[8 lane 4, 2 reg 2, 4 warp 1]>>
#n = #tile.axes<"n", in = #tile.fragment<[2 reg 1, 4 lane 1, 8 reg 2]>>
#d = #tile.axes<"d">
#nd = #tile.axes<"n", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
#odd = #tile.axes<"n", "e", in = #tile.shared<pitch = 88, chunk = 8>>
#pairs = #tile.axes<"n", "e", in = #tile.shared<pitch = 32, chunk = 8, rows = 2, period = 4>>

// A reduction drops the axis's digits; what is broadcast lies as a slice.
// CHECK-LABEL: func.func @slices
func.func @slices(%s: tensor<64x64xf32, #mn>) -> tensor<64x64xf32, #mn> {
  // CHECK: tile.reduce max %{{.*}} : tensor<64x64xf32, #[[SCORES]]> -> tensor<64xf32, #[[ROWS]]>
  %t = tile.reduce max %s over ["n"] : tensor<64x64xf32, #mn> -> tensor<64xf32, #m>
  %b = tile.broadcast %t : tensor<64xf32, #m> to tensor<64x64xf32, #mn>
  %x = arith.subf %s, %b : tensor<64x64xf32, #mn>
  return %x : tensor<64x64xf32, #mn>
}

// CHECK-LABEL: func.func @loads
func.func @loads(%T: tensor<?x?xbf16>, %m: tensor<64xindex, #m>, %n: tensor<64xindex, #n>, %d: tensor<64xindex, #d>) {
  // CHECK: -> tensor<64x64xbf16, #[[SCORES]]>
  %bias = tile.load %T[%m, %n] : tensor<?x?xbf16>, (tensor<64xindex, #m>, tensor<64xindex, #n>) -> tensor<64x64xbf16, #mn>
  // CHECK: -> tensor<64x64xbf16, #[[KEYS]]>
  %k = tile.load %T[%n, %d] : tensor<?x?xbf16>, (tensor<64xindex, #n>, tensor<64xindex, #d>) -> tensor<64x64xbf16, #nd>
  return
}

// CHECK-LABEL: func.func @shared
func.func @shared(%a: tensor<64x80xf16, #odd>, %b: tensor<64x32xf16, #pairs>) {
  // CHECK: %{{.*}}: tensor<64x80xf16, #[[ODD]]>, %{{.*}}: tensor<64x32xf16, #[[PAIRS]]>
  return
}

// CHECK-LABEL: func.func @convert
func.func @convert(%s: tensor<64x64xbf16, #mn>) -> tensor<64x64xbf16, #mn> {
  // CHECK: tile.convert_layout %{{.*}} : tensor<64x64xbf16, #[[SCORES]]> to tensor<64x64xbf16, #
  %0 = tile.convert_layout %s : tensor<64x64xbf16, #mn> to tensor<64x64xbf16, #tile.axes<"m", "n", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>>
  %1 = tile.convert_layout %0 : tensor<64x64xbf16, #tile.axes<"m", "n", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>> to tensor<64x64xbf16, #mn>
  return %1 : tensor<64x64xbf16, #mn>
}

// CHECK-LABEL: tile.program @warps
tile.program @warps sizes() ins() outs() {
  // CHECK: tile.kernel @rows grid() attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>}
  tile.kernel @rows grid() attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>} {
  }
  // CHECK: tile.kernel @keys grid() attributes {tile.warps = #tile.warps<rows = "m", split_columns = 4, split_reduced = 4>}
  tile.kernel @keys grid() attributes {tile.warps = #tile.warps<rows = "m", split_columns = 4, split_reduced = 4>} {
  }
}
