// RUN: attentile-opt %s --warp-skip-hidden --split-input-file | FileCheck %s

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// What others wait for stands on both sides, with what it is made of; what the
// loop carries stays, but the buffers' number goes on.
// CHECK-LABEL: warp.kernel @skips
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[SLOT:.*]] = %c0)
// CHECK: warp.wait_phase %{{.*}}#0, %[[SLOT]]
// CHECK-NOT: warp.hidden
// CHECK: %[[NEXT:.*]]:2 = scf.if %{{.*}} -> (vector<4xf32>, index) {
// CHECK-NOT: warp.ldmatrix
// CHECK: warp.arrive %{{.*}}#1
// CHECK: %[[LATER:.*]] = arith.subi %c1, %[[SLOT]]
// CHECK: warp.wait_phase %{{.*}}#1, %[[LATER]]
// CHECK: scf.if
// CHECK: warp.stage %{{.*}}[%[[LATER]]]
// CHECK: warp.copy_async %K
// CHECK: warp.arrive_copies %{{.*}}#0
// CHECK-NOT: warp.mma
// CHECK: scf.yield %[[ACC]], %[[LATER]]
// CHECK: } else {
// CHECK: warp.ldmatrix
// CHECK: warp.mma
// CHECK: warp.arrive %{{.*}}#1
// CHECK: warp.copy_async %K
// CHECK: scf.yield
// CHECK: }
// CHECK: scf.yield %[[NEXT]]#0, %[[NEXT]]#1
tile.program @p sizes(%N) ins(%K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @skips grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %k = warp.alloc : !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>, stages = 2>
    %there, %read = warp.mbarriers [32, 1] : !warp.mbarrier, !warp.mbarrier
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r:2 = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero, %slot = %c0) -> (vector<4xf32>, index) {
      %now = warp.stage %k[%slot] : !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>, stages = 2>
      warp.wait_phase %there, %slot
      %none = arith.cmpi sgt, %n, %c32 : index
      warp.hidden %none
      %b = warp.ldmatrix %now[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      warp.arrive %read
      %later = arith.subi %c1, %slot : index
      warp.wait_phase %read, %later
      %next = arith.addi %n, %c16 : index
      %more = arith.cmpi slt, %next, %N : index
      scf.if %more {
        %then = warp.stage %k[%later] : !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>, stages = 2>
        warp.copy_async %K[%next, %c0] dims [0, 1] to %then : tensor<?x16xbf16>, !buffer
      }
      warp.arrive_copies %there
      scf.yield %s, %later : vector<4xf32>, index
    }
    %x = vector.extract %r#0[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// A barrier behind it is met by all; before it, an iteration may end at once.
// CHECK-LABEL: warp.kernel @meets
// CHECK-NOT: warp.hidden
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: warp.barrier
// CHECK: scf.if %{{.*}} -> (vector<4xf32>) {
// CHECK-NEXT: scf.yield %{{.*}} : vector<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: warp.ldmatrix
// CHECK-NOT: warp.hidden
tile.program @p sizes(%N) ins(%K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @meets grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %k = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> (vector<4xf32>) {
      %none = arith.cmpi sgt, %n, %c32 : index
      warp.hidden %none
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      scf.yield %s : vector<4xf32>
    }
    %t = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %r) -> (vector<4xf32>) {
      warp.barrier
      %none = arith.cmpi sgt, %n, %c32 : index
      warp.hidden %none
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      scf.yield %s : vector<4xf32>
    }
    %x = vector.extract %t[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}
