// RUN: attentile-opt %s --tile-to-host | FileCheck %s

// Slots: Q 0-6, K 7-13, O 14-20, scale 21, window 22, M 23, N 24, W 25, 26.
// CHECK-LABEL: func.func @banded_check(
// CHECK-SAME: %[[ARGS:.*]]: !llvm.ptr) -> i64
// CHECK: %[[WINDOW_AT:.*]] = llvm.getelementptr %[[ARGS]][22]
// CHECK: %[[WINDOW:.*]] = llvm.load %[[WINDOW_AT]] : !llvm.ptr -> i32
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[WINDOW]]
// CHECK: %[[SECOND:.*]] = arith.cmpi sge, %[[WIDE]]
// CHECK: %[[AFTER:.*]] = arith.select %[[SECOND]], %c0_i64, %c2_i64
// CHECK: %[[FIRST:.*]] = arith.cmpf ogt
// CHECK: %[[CODE:.*]] = arith.select %[[FIRST]], %[[AFTER]], %c1_i64
// CHECK: return %[[CODE]]

// CHECK-LABEL: func.func @banded_default_scale(
// CHECK-SAME: -> f32
// CHECK-LABEL: func.func @banded_default_window(
// CHECK-SAME: -> i64
// CHECK: llvm.getelementptr %{{.*}}[24]

// A division by a size that is 0 gives 0, so it stays attn.floordiv here.
// CHECK-LABEL: func.func @banded_workspace_0(
// CHECK: attn.floordiv
// CHECK: arith.muli

// CHECK-LABEL: func.func @banded_0_cells(
// CHECK: arith.ceildivsi
// CHECK: arith.maxsi
// CHECK-LABEL: tile.program @banded
tile.program @banded sizes(%M, %N) ins(%Q: f32[M, 4, 64], %K: f32[N, 4, 64], %scale: f32, %window: i32)
    outs(%O: f32[M, 4, 64]) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %default = arith.constant 0.125 : f32
  %positive = arith.cmpf ogt, %scale, %zero : f32
  attn.assume %positive, "scale > 0"
  %w = arith.index_cast %window : i32 to index
  %wide = arith.cmpi sge, %w, %c1 : index
  attn.assume %wide, "window >= 1"
  attn.default %scale = %default : f32, f32
  attn.default %window = %N : i32, index
  %r = attn.workspace "r" shape affine_map<()[s0, s1] -> (s0 floordiv s1, s1)> : tensor<?x?xf32>
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @banded_0 grid(%i < %blocks) {
  }
}
