// RUN: attentile-opt %s --warp-take-either --split-input-file | FileCheck %s

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// Each side computes what it chooses, and does what others wait for where they wait for it.
// CHECK-LABEL: warp.kernel @chooses
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[SLOT:.*]] = %c0)
// CHECK: warp.wait_phase %{{.*}}#0, %[[SLOT]]
// CHECK-NOT: warp.either
// CHECK: %[[NEXT:.*]]:2 = scf.if %{{.*}} -> (vector<4xf32>, index) {
// CHECK: %[[B:.*]] = warp.ldmatrix
// CHECK-COUNT-1: warp.mma %{{.*}}, %[[B]], %[[ACC]]
// CHECK-NOT: warp.mma
// CHECK: warp.arrive %{{.*}}#1
// CHECK: %[[LATER:.*]] = arith.subi %c1, %[[SLOT]]
// CHECK: warp.wait_phase %{{.*}}#1, %[[LATER]]
// CHECK: warp.copy_async %K
// CHECK: warp.arrive_copies %{{.*}}#0
// CHECK: scf.yield %{{.*}}, %[[LATER]]
// CHECK: } else {
// CHECK: %[[B:.*]] = warp.ldmatrix
// CHECK: %[[S:.*]] = warp.mma %{{.*}}, %[[B]], %[[ACC]]
// CHECK: warp.mma %{{.*}}, %[[B]], %[[S]]
// CHECK-NOT: warp.mma
// CHECK: warp.arrive %{{.*}}#1
// CHECK: warp.wait_phase
// CHECK: warp.copy_async %K
// CHECK: warp.arrive_copies %{{.*}}#0
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[NEXT]]#0, %[[NEXT]]#1
tile.program @p sizes(%N) ins(%K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @chooses grid() warps(1) {
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
      %few = arith.cmpi sgt, %n, %c32 : index
      warp.either %few
      %b = warp.ldmatrix %now[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %t = warp.mma %a, %b, %s : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
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
      %u = arith.select %few, %s, %t : vector<4xf32>
      scf.yield %u, %later : vector<4xf32>, index
    }
    %x = vector.extract %r#0[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// A barrier is met by all: the second choice, which is always right.
// CHECK-LABEL: warp.kernel @meets
// CHECK: scf.for
// CHECK-NOT: warp.either
// CHECK-NOT: scf.if
// CHECK: %[[S:.*]] = warp.mma
// CHECK: %[[T:.*]] = warp.mma %{{.*}}, %{{.*}}, %[[S]]
// CHECK: warp.barrier
// CHECK-NEXT: scf.yield %[[T]]
tile.program @p sizes(%N) ins(%K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @meets grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %k = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> (vector<4xf32>) {
      %few = arith.cmpi sgt, %n, %c32 : index
      warp.either %few
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %t = warp.mma %a, %b, %s : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %u = arith.select %few, %s, %t : vector<4xf32>
      warp.barrier
      scf.yield %u : vector<4xf32>
    }
    %x = vector.extract %r[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// What is written must be written: the second choice.
// CHECK-LABEL: warp.kernel @writes
// CHECK: scf.for
// CHECK-NOT: warp.either
// CHECK-NOT: scf.if
// CHECK: %[[S:.*]] = warp.mma
// CHECK: %[[T:.*]] = warp.mma %{{.*}}, %{{.*}}, %[[S]]
// CHECK: warp.store
// CHECK: scf.yield %[[T]]
tile.program @p sizes(%N) ins(%K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @writes grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %k = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> (vector<4xf32>) {
      %few = arith.cmpi sgt, %n, %c32 : index
      warp.either %few
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %t = warp.mma %a, %b, %s : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %x = vector.extract %t[0] : f32 from vector<4xf32>
      warp.store %x, %O[%c0] : f32, tensor<16xf32>
      %u = arith.select %few, %s, %t : vector<4xf32>
      scf.yield %u : vector<4xf32>
    }
    %x = vector.extract %r[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}
