// RUN: attentile-opt %s --warp-to-nvvm | FileCheck %s
// RUN: attentile-opt %s --nvvm-lower-to-llvm | FileCheck %s --check-prefix=LLVM

// A loop over pieces stays one, and what a thread addresses in it by its own
// positions is computed there: from hidden ones, or LLVM would do it before.
tile.program @p sizes(%M) ins(%X: f32[M, 64]) outs(%Y: f32[M, 64]) {
  // CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
  // CHECK: #[[ROLLED:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>
  // CHECK-LABEL: llvm.func @k
  // CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c2_i32
  // CHECK: scf.for
  // CHECK-NEXT: %[[HIDDEN:.*]] = llvm.inline_asm has_side_effects {{.*}} "mov.b32 $0, $1;", "=r,r" %[[COLUMN]]
  // CHECK-NEXT: %[[INDEX:.*]] = arith.index_castui %[[HIDDEN]]
  // A packet asks for a last stride of 1: no parameter.
  // CHECK: %[[BYTES:.*]] = arith.muli %c1{{.*}}, %c4
  // CHECK-NEXT: arith.muli %[[INDEX]], %[[BYTES]]
  // CHECK: } {loop_annotation = #[[ROLLED]]}
  // LLVM: llvm.br {{.*}} {loop_annotation
  warp.kernel @k grid(%i < %M) warps(1) attributes {shared_bytes = 0 : i64} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %lane = warp.lane_id : index
    %narrow = arith.index_castui %lane : index to i32
    %two = arith.constant 2 : i32
    %column = arith.muli %narrow, %two : i32
    %wide = arith.index_castui %column : i32 to index
    scf.for %row = %c0 to %c16 step %c2 {
      %x = warp.load %X[%row, %wide] : tensor<?x64xf32> -> vector<2xf32>
      warp.store %x, %Y[%row, %wide] : vector<2xf32>, tensor<?x64xf32>
    } {warp.rolled}
  }
}
