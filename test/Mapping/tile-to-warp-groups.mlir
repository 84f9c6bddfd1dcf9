// RUN: attentile-opt %s --tile-partition-warps --tile-assign-layouts --tile-to-warp --canonicalize --cse | FileCheck %s

#m = #tile.axes<"m">

// The rows of a warp: in the thread, then over the lanes that hold others. Of
// the rows' own indices the first and the last are known.
// CHECK-LABEL: warp.kernel @groups
// CHECK: %[[WARP:.*]] = arith.muli %{{.*}}, %c16 : index
// CHECK: %[[START:.*]] = arith.muli %i, %c64 : index
// CHECK: %[[FIRST:.*]] = arith.addi %[[START]], %[[WARP]] : index
// CHECK: %[[LAST:.*]] = arith.addi %[[FIRST]], %c15 : index
// CHECK: %[[OWN:.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: %[[A:.*]] = warp.shuffle_xor %[[OWN]], 4 : index
// CHECK: %[[B:.*]] = arith.minsi %[[OWN]], %[[A]]
// CHECK: warp.shuffle_xor %[[B]], 8 : index
// CHECK: warp.shuffle_xor %{{.*}}, 16 : index
tile.program @p sizes(%M) ins(%doc: i32[M]) outs(%Y: f32[M]) {
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %M, %c64 : index
  tile.kernel @groups grid(%i < %blocks) attributes {tile.resources = #tile.resources<warps = 4, stages = 1, registers = 64, shared = 0, blocks = 1, keep_left = false>} {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %raw = tile.load %doc[%m] : tensor<?xi32>, (tensor<64xindex, #m>) -> tensor<64xi32, #m>
    %d = arith.index_cast %raw : tensor<64xi32, #m> to tensor<64xindex, #m>
    %first = tile.reduce_group min %m : tensor<64xindex, #m> -> index
    %last = tile.reduce_group max %m : tensor<64xindex, #m> -> index
    %least = tile.reduce_group min %d : tensor<64xindex, #m> -> index
    %a = arith.addi %first, %last : index
    %b = arith.addi %a, %least : index
    %b32 = arith.index_cast %b : index to i32
    %f = arith.sitofp %b32 : i32 to f32
    %fs = tile.broadcast %f : f32 to tensor<64xf32, #m>
    tile.store %fs, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
}
