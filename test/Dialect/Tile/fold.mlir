// RUN: attentile-opt %s --canonicalize | FileCheck %s

#m = #tile.axes<"m">
#mn = #tile.axes<"m", "n">
#mne = #tile.axes<"m", "n", "e">

// CHECK-LABEL: func.func @constant
// CHECK-NEXT: %[[SPLAT:.*]] = arith.constant dense<1.000000e+00> : tensor<8x4xf32, #m_n>
// CHECK-NEXT: return %[[SPLAT]]
func.func @constant() -> tensor<8x4xf32, #mn> {
  %one = arith.constant 1.0 : f32
  %0 = tile.broadcast %one : f32 to tensor<8x4xf32, #mn>
  return %0 : tensor<8x4xf32, #mn>
}

// CHECK-LABEL: func.func @same
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @same(%x: tensor<8xf32, #m>) -> tensor<8xf32, #m> {
  %0 = tile.broadcast %x : tensor<8xf32, #m> to tensor<8xf32, #m>
  return %0 : tensor<8xf32, #m>
}

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[WHOLE:.*]] = tile.broadcast %{{.*}} : tensor<8xf32, #m> to tensor<8x4x2xf32, #m_n_e>
// CHECK-NEXT: return %[[WHOLE]]
func.func @chain(%x: tensor<8xf32, #m>) -> tensor<8x4x2xf32, #mne> {
  %0 = tile.broadcast %x : tensor<8xf32, #m> to tensor<8x4xf32, #mn>
  %1 = tile.broadcast %0 : tensor<8x4xf32, #mn> to tensor<8x4x2xf32, #mne>
  return %1 : tensor<8x4x2xf32, #mne>
}

// What is the same for all rows needs no vote.
// CHECK-LABEL: func.func @votes
// CHECK-SAME: %[[ONE:.*]]: i1
// CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT: return %[[ONE]], %[[TRUE]]
func.func @votes(%one: i1) -> (i1, i1) {
  %all = arith.constant dense<true> : tensor<8xi1, #m>
  %0 = tile.vote %one : i1
  %1 = tile.vote %all : tensor<8xi1, #m>
  return %0, %1 : i1, i1
}
