// RUN: attentile-opt %s --warp-sink-random --split-input-file | FileCheck %s

// A call and the masks of its words go into both branches that use them; what
// one branch does not use, not there.
// CHECK-LABEL: warp.kernel @branches
// CHECK-NOT: attn.philox
// CHECK: scf.if
// CHECK: %[[W:.*]], %{{.*}}, %{{.*}}, %{{.*}} = attn.philox
// CHECK-NEXT: %[[M:.*]] = arith.andi %[[W]]
// CHECK-NEXT: warp.store %[[M]]
// CHECK: } else {
// CHECK: %{{.*}}, %[[V:.*]], %{{.*}}, %{{.*}} = attn.philox
// CHECK-NEXT: %[[N:.*]] = arith.andi %[[V]]
// CHECK-NEXT: warp.store %[[N]]
tile.program @p sizes(%N) ins(%X: i32[N], %seed: i32) outs(%Y: i32[N]) {
  %mask = arith.constant 0x7f7f7f7f : i32
  %zero = arith.constant 0 : i32
  warp.kernel @branches grid(%i < %N) warps(1) {
    %x = warp.load %X[%i] : tensor<?xi32> -> i32
    %fast = arith.cmpi slt, %x, %zero : i32
    %w:4 = attn.philox %x, %zero, %zero, %zero key %seed, %zero : i32
    %a = arith.andi %w#0, %mask : i32
    %b = arith.andi %w#1, %mask : i32
    scf.if %fast {
      warp.store %a, %Y[%i] : i32, tensor<?xi32>
    } else {
      warp.store %b, %Y[%i] : i32, tensor<?xi32>
    }
  }
}

// -----

// The block around uses a word itself.
// CHECK-LABEL: warp.kernel @around
// CHECK: attn.philox
// CHECK: scf.if
// CHECK-NOT: attn.philox
tile.program @p sizes(%N) ins(%X: i32[N], %seed: i32) outs(%Y: i32[N]) {
  %zero = arith.constant 0 : i32
  warp.kernel @around grid(%i < %N) warps(1) {
    %x = warp.load %X[%i] : tensor<?xi32> -> i32
    %w:4 = attn.philox %x, %zero, %zero, %zero key %seed, %zero : i32
    %fast = arith.cmpi slt, %w#0, %zero : i32
    scf.if %fast {
      warp.store %w#1, %Y[%i] : i32, tensor<?xi32>
    }
  }
}
