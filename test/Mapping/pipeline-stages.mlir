// RUN: attentile-opt %s --warp-pipeline-copies=stages=2 --canonicalize --split-input-file | FileCheck %s

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// Values are asked for behind the product that comes before they are read, in
// the same group as the keys.
// CHECK-LABEL: warp.kernel @two_0
// CHECK: scf.for
// CHECK: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK: %[[SOME:.*]] = arith.cmpi slt
// CHECK: scf.if %[[SOME]]
// CHECK: warp.copy_async %K
// CHECK-NOT: warp.commit_group
// CHECK: warp.mma
// CHECK: warp.mma
// CHECK-NEXT: scf.if %[[SOME]]
// CHECK: warp.copy_async %V
// CHECK-NEXT: }
// CHECK-NEXT: warp.commit_group
// CHECK: math.exp2
// CHECK-NOT: warp.commit_group
// CHECK: scf.yield
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

// The entry of a list is a load that takes no registers of the products'.
// CHECK-LABEL: warp.kernel @listed_0
// CHECK: scf.for
// CHECK: scf.if %[[SOME:.*]] {
// CHECK: warp.copy_async %K
// CHECK: warp.mma
// CHECK-NEXT: scf.if %[[SOME]]
// CHECK: warp.copy_async %V
// CHECK: tile.from_list
tile.program @listed sizes(%N) ins(%K: bf16[N, 16], %V: bf16[N, 16]) outs(%O: f32[16]) {
  %list = attn.workspace "blocks" shape affine_map<()[s0] -> (s0)> : tensor<?xi32>
  warp.kernel @listed_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %i = %c0 to %N step %c1 iter_args(%acc = %zero) -> vector<4xf32> {
      %entry = warp.load %list[%i] : tensor<?xi32> -> i32
      %block = arith.index_cast %entry : i32 to index
      %n = arith.muli %block, %c16 : index
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %zero : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
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
    } {tile.axis = "n", tile.from_list}
    %x = vector.extract %r[0] : f32 from vector<4xf32>
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// A loop that loads a bias too asks for all copies at once.
// CHECK-LABEL: warp.kernel @bias_0
// CHECK: scf.for
// CHECK: warp.copy_async %K
// CHECK-NOT: scf.if
// CHECK: warp.copy_async %V
// CHECK: warp.mma
tile.program @bias sizes(%N) ins(%K: bf16[N, 16], %V: bf16[N, 16], %B: f32[N]) outs(%O: f32[16]) {
  warp.kernel @bias_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<4xf32> {
      %bias = warp.load %B[%n] : tensor<?xf32> -> f32
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 2 : !buffer -> vector<4xbf16>
      %s = warp.mma %a, %b, %zero : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %biased = vector.broadcast %bias : f32 to vector<4xf32>
      %p = arith.addf %s, %biased : vector<4xf32>
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
