// RUN: attentile-opt %s --warp-to-nvvm | FileCheck %s

// What the kernel before may still write is no constant.
// CHECK-LABEL: llvm.func @early_0
// CHECK: nvvm.griddepcontrol wait
// CHECK: @$2 ld.global.b32 $0, [$1];
// CHECK-LABEL: llvm.func @late_0
// CHECK: @$2 ld.global.nc.b32 $0, [$1];
tile.program @early sizes(%M) ins(%X: f32[M]) outs(%O: f32[M]) {
  warp.kernel @early_0 grid(%i < %M) warps(1) {
    %lane = warp.lane_id : index
    nvvm.griddepcontrol wait
    %x = warp.load %X[%lane] : tensor<?xf32> -> f32
    warp.store %x, %O[%lane] : f32, tensor<?xf32>
  }
}
tile.program @late sizes(%M) ins(%X: f32[M]) outs(%O: f32[M]) {
  warp.kernel @late_0 grid(%i < %M) warps(1) {
    %lane = warp.lane_id : index
    %x = warp.load %X[%lane] : tensor<?xf32> -> f32
    warp.store %x, %O[%lane] : f32, tensor<?xf32>
  }
}
