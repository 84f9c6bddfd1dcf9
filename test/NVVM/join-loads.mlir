// RUN: attentile-opt %s --warp-join-loads --cse --split-input-file | FileCheck %s

// The head of a list is one load, its first entry is asked for with it, in the
// branch that needs it too.
// CHECK-LABEL: warp.kernel @head
// CHECK: %[[HEAD:.*]] = warp.load %{{.*}}[%i, %c0] {in_bounds = array<i1: true, false>} : tensor<?x?xi32> -> vector<4xi32>
// CHECK-NEXT: %[[WORDS:.*]]:4 = builtin.unrealized_conversion_cast %[[HEAD]]
// CHECK-NEXT: %[[ENTRY:.*]] = warp.load %{{.*}}[%i, %c5] {in_bounds = array<i1: true, false>} : tensor<?x?xi32> -> i32
// CHECK-NEXT: warp.store %[[WORDS]]#1
// CHECK-NEXT: warp.store %[[WORDS]]#2
// CHECK: scf.if
// CHECK-NEXT: warp.store %[[ENTRY]]
// CHECK-NEXT: }
// CHECK-NEXT: warp.store %[[ENTRY]]
// CHECK-NOT: warp.load
tile.program @p sizes(%M, %N) ins() outs(%O: i32[N]) {
  %w = attn.workspace "w" shape affine_map<()[s0, s1] -> (s0, s1)> : tensor<?x?xi32>
  warp.kernel @head grid(%i < %M) warps(1) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %a = warp.load %w[%i, %c1] {in_bounds = array<i1: true, false>} : tensor<?x?xi32> -> i32
    warp.store %a, %O[%c1] : i32, tensor<?xi32>
    %b = warp.load %w[%i, %c2] {in_bounds = array<i1: true, false>} : tensor<?x?xi32> -> i32
    warp.store %b, %O[%c2] : i32, tensor<?xi32>
    %some = arith.cmpi slt, %a, %b : i32
    scf.if %some {
      %c = warp.load %w[%i, %c5] {in_bounds = array<i1: true, false>} : tensor<?x?xi32> -> i32
      warp.store %c, %O[%i] : i32, tensor<?xi32>
    }
    %d = warp.load %w[%i, %c5] {in_bounds = array<i1: true, false>} : tensor<?x?xi32> -> i32
    warp.store %d, %O[%c5] : i32, tensor<?xi32>
  }
}

// -----

// One of a row has nothing to join; rows of a caller's tensor may start at any
// address, 16-bit elements are kept in pairs.
// CHECK-LABEL: warp.kernel @others
// CHECK-NOT: vector<4x
// CHECK-COUNT-6: warp.load
tile.program @p sizes(%M, %N) ins(%X: i32[M, N]) outs(%O: i32[N], %P: f16[N]) {
  %w = attn.workspace "w" shape affine_map<()[s0, s1] -> (s0, s1)> : tensor<?x?xi32>
  %v = attn.workspace "v" shape affine_map<()[s0, s1] -> (s0, s1)> : tensor<?x?xf16>
  warp.kernel @others grid(%i < %M) warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = warp.load %w[%i, %c0] : tensor<?x?xi32> -> i32
    %b = warp.load %w[%c0, %c1] : tensor<?x?xi32> -> i32
    %c = warp.load %X[%i, %c0] : tensor<?x?xi32> -> i32
    %d = warp.load %X[%i, %c1] : tensor<?x?xi32> -> i32
    %e = warp.load %v[%i, %c0] : tensor<?x?xf16> -> f16
    %f = warp.load %v[%i, %c1] : tensor<?x?xf16> -> f16
    %s = arith.addi %a, %b : i32
    %t = arith.addi %c, %d : i32
    %g = arith.addf %e, %f : f16
    warp.store %s, %O[%i] : i32, tensor<?xi32>
    warp.store %t, %O[%c0] : i32, tensor<?xi32>
    warp.store %g, %P[%i] : f16, tensor<?xf16>
  }
}
