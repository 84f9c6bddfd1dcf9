// Copies at a loop's position: what is left of the tensor from a thread's first
// row on is compared with each row's distance, in 32 bits. Elsewhere the window
// may start anywhere.
// RUN: attentile-opt %s --warp-narrow-indices --warp-to-nvvm | FileCheck %s

#layout = #tile.shared<pitch = 64, chunk = 8, period = 8>
!half = !warp.buffer<64x64xbf16, #layout>

// CHECK-LABEL: llvm.func @positions_0(
tile.program @positions sizes(%N) ins(%K: bf16[N, 64], %from: index) outs(%O: bf16[N, 64]) {
  %c1 = arith.constant 1 : index
  warp.kernel @positions_0 grid(%i < %c1) warps(4) attributes {shared_bytes = 8192 : i64} {
    %rows = warp.alloc {offset = 0} : !half
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %back = arith.cmpi slt, %from, %c64 : index
    // Anywhere: a count between two ends.
    // CHECK: arith.maxsi
    // CHECK: arith.minsi
    // CHECK-COUNT-4: arith.cmpi ult, %{{.*}} : i32
    warp.copy_async %K[%from, %c0] dims [0, 1] to %rows {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !half
    // CHECK: scf.for
    scf.for %n0 = %c0 to %N step %c64 {
      // CHECK-NOT: arith.maxsi
      // CHECK: %[[LEFT:.*]] = arith.subi %{{.*}} : i32
      // CHECK: arith.cmpi sgt, %{{.*}}, %c0
      // CHECK: arith.cmpi sgt, %{{.*}}, %c16
      // CHECK: arith.cmpi sgt, %{{.*}}, %c32
      // CHECK: arith.cmpi sgt, %{{.*}}, %c48
      warp.copy_async %K[%n0, %c0] dims [0, 1] to %rows {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !half
      // The next one, too.
      // CHECK-NOT: arith.maxsi
      // CHECK-COUNT-4: arith.cmpi sgt
      %next = arith.addi %n0, %c64 : index
      warp.copy_async %K[%next, %c0] dims [0, 1] to %rows {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !half
      warp.commit_group
      warp.wait_group 0
      warp.barrier
    } {tile.axis = "n"}
    // From the last block on.
    // CHECK: scf.for
    // CHECK-NOT: arith.maxsi
    // CHECK-COUNT-4: arith.cmpi sgt
    scf.for %n0 = %c0 to %N step %c64 {
      %at = arith.subi %from, %n0 : index
      warp.copy_async %K[%at, %c0] dims [0, 1] to %rows {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !half
      warp.commit_group
      warp.wait_group 0
      warp.barrier
    } {tile.axis = "n", tile.descending}
    // There and back.
    // CHECK: scf.for
    // CHECK-NOT: arith.maxsi
    // CHECK-COUNT-4: arith.cmpi sgt
    scf.for %n0 = %c0 to %N step %c64 {
      %end = arith.subi %from, %n0 : index
      %at = arith.select %back, %end, %n0 : index
      warp.copy_async %K[%at, %c0] dims [0, 1] to %rows {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !half
      warp.commit_group
      warp.wait_group 0
      warp.barrier
    } {tile.axis = "n", tile.alternating}
    // Without that promise it may start anywhere.
    // CHECK: scf.for
    // CHECK-COUNT-4: arith.cmpi ult, %{{.*}} : i32
    scf.for %n0 = %c0 to %N step %c64 {
      %at = arith.subi %from, %n0 : index
      warp.copy_async %K[%at, %c0] dims [0, 1] to %rows {in_bounds = array<i1: false, true>} : tensor<?x64xbf16>, !half
      warp.commit_group
      warp.wait_group 0
      warp.barrier
    } {tile.axis = "n"}
  }
}
