// RUN: attentile-opt %s --warp-pipeline-copies="stages=2 mbarriers" --canonicalize --warp-allocate-shared --split-input-file | FileCheck %s
// RUN: attentile-opt %s --warp-pipeline-copies="stages=2 mbarriers" --canonicalize --warp-allocate-shared --warp-to-nvvm --split-input-file | FileCheck %s --check-prefix=NVVM

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// A thread waits for copies to arrive, and before it requests others for warps that have read what they overwrite: of keys those
// two blocks before, of values too. The number of the buffers is the parity.
// CHECK-LABEL: warp.kernel @two_0
// CHECK: %[[BARS:.*]]:3 = warp.mbarriers [32, 1, 1] {offset = 2048 : i64}
// CHECK: warp.copy_async %K
// CHECK: warp.copy_async %V
// CHECK: warp.arrive_copies %[[BARS]]#0
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %[[SLOT:.*]] = %c0)
// CHECK: warp.wait_phase %[[BARS]]#0, %[[SLOT]]
// CHECK-NOT: warp.barrier
// CHECK: %[[LATER:.*]] = arith.subi %c1, %[[SLOT]]
// CHECK: warp.wait_phase %[[BARS]]#1, %[[LATER]]
// CHECK-NEXT: scf.if %[[SOME:.*]] {
// CHECK: warp.copy_async %K
// CHECK: warp.ldmatrix
// CHECK-NEXT: warp.arrive %[[BARS]]#1
// CHECK: warp.mma
// CHECK: warp.mma
// CHECK-NEXT: warp.wait_phase %[[BARS]]#2, %[[LATER]]
// CHECK-NEXT: scf.if %[[SOME]]
// CHECK: warp.copy_async %V
// CHECK-NEXT: }
// CHECK-NEXT: warp.arrive_copies %[[BARS]]#0
// CHECK: warp.ldmatrix
// CHECK-NEXT: warp.arrive %[[BARS]]#2
// CHECK: scf.yield

// Made by the first thread before all; one lane arrives for a warp.
// NVVM: llvm.inline_asm has_side_effects {{.*}}"@$0 mbarrier.init.shared.b64 [$1], $2;"
// NVVM: nvvm.barrier0
// NVVM: "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];"
// NVVM: scf.for
// NVVM: mbarrier.try_wait.parity.shared.b64 P
// NVVM: nvvm.bar.warp.sync
// NVVM: @$0 mbarrier.arrive.shared.b64
tile.program @two sizes(%N) ins(%Q: bf16[16, 16], %K: bf16[N, 16], %V: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @two_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<4xf32> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s0 = warp.mma %a, %b, %zero : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %s = warp.mma %a, %b, %s0 : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %p = math.exp2 %s : vector<4xf32>
      warp.barrier
      warp.copy_async %V[%n, %c0] dims [0, 1] to %v : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %c = warp.ldmatrix %v[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %o = warp.mma %a, %c, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %sum = arith.addf %o, %p : vector<4xf32>
      scf.yield %sum : vector<4xf32>
    }
    %x = vector.extract %r[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// What a mask's branch loads it loads when it needs it: as without. What every iteration loads waits for registers behind the
// product: all copies are asked for before it, at one barrier.
// CHECK-LABEL: warp.kernel @branch_0
// CHECK: warp.mbarriers
// CHECK: scf.for
// CHECK-NOT: warp.barrier
// CHECK: scf.yield %{{.*}} : vector<4xf32>, index
// CHECK-LABEL: warp.kernel @always_0
// CHECK-NOT: warp.mbarriers
// CHECK: scf.for
// CHECK: warp.barrier
tile.program @branch sizes(%N) ins(%X: f32[N], %K: bf16[N, 16], %V: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @branch_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<4xf32> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %zero : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %full = arith.cmpi slt, %n, %c16 : index
      %p = scf.if %full -> (vector<4xf32>) {
        scf.yield %s : vector<4xf32>
      } else {
        %e = warp.load %X[%n] : tensor<?xf32> -> f32
        %es = vector.broadcast %e : f32 to vector<4xf32>
        %q = arith.addf %s, %es : vector<4xf32>
        scf.yield %q : vector<4xf32>
      }
      warp.barrier
      warp.copy_async %V[%n, %c0] dims [0, 1] to %v : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %c = warp.ldmatrix %v[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %o = warp.mma %a, %c, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %sum = arith.addf %o, %p : vector<4xf32>
      scf.yield %sum : vector<4xf32>
    }
    %x = vector.extract %r[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}
tile.program @always sizes(%N) ins(%X: f32[N], %K: bf16[N, 16], %V: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @always_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<4xf32> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %zero : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %e = warp.load %X[%n] : tensor<?xf32> -> f32
      %es = vector.broadcast %e : f32 to vector<4xf32>
      %p = arith.addf %s, %es : vector<4xf32>
      warp.barrier
      warp.copy_async %V[%n, %c0] dims [0, 1] to %v : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %c = warp.ldmatrix %v[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %o = warp.mma %a, %c, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %sum = arith.addf %o, %p : vector<4xf32>
      scf.yield %sum : vector<4xf32>
    }
    %x = vector.extract %r[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// Threads store what they copy element by element: that it is there only a barrier says, which stays before the loop.
// CHECK-LABEL: warp.kernel @elements_0
// CHECK: warp.copy_async %W{{.*}} {by_element}
// CHECK: warp.arrive_copies
// CHECK: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK: scf.for
// CHECK: warp.wait_phase
// CHECK-NOT: warp.barrier
// CHECK: scf.yield
tile.program @elements sizes(%N) ins(%W: bf16[16, 16], %K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @elements_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %w = warp.alloc : !buffer
    %k = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    warp.copy_async %W[%c0, %c0] dims [1, 0] to %w {by_element} : tensor<16x16xbf16>, !buffer
    warp.commit_group
    warp.wait_group 0
    warp.barrier
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<4xf32> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %acc : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %c = warp.ldmatrix %w[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %o = warp.mma %a, %c, %s : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      scf.yield %o : vector<4xf32>
    }
    %x = vector.extract %r[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}
