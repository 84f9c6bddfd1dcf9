// RUN: attentile-opt %s --warp-spread-random --split-input-file | FileCheck %s

// Two calls for the second two of four matrix instructions: one before each,
// with what they need.
// CHECK-LABEL: warp.kernel @spread
// CHECK: scf.for
// CHECK-NEXT: warp.mma
// CHECK-NEXT: warp.mma
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: attn.philox
// CHECK-NEXT: warp.mma
// CHECK-NEXT: arith.addi
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: attn.philox
// CHECK-NEXT: warp.mma
// CHECK-NOT: attn.philox
// CHECK: warp.store
tile.program @p sizes(%N) ins(%seed: i32) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  warp.kernel @spread grid(%i < %N) warps(1) {
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %b = arith.constant dense<1.0> : vector<4xbf16>
    %c = arith.constant dense<0.0> : vector<4xf32>
    scf.for %n0 = %c0 to %N step %c64 {
      %d = warp.mma %a, %b, %c : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %e = warp.mma %a, %b, %d : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %f = warp.mma %a, %b, %e : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %g = warp.mma %a, %b, %f : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %first = arith.index_cast %n0 : index to i32
      %w:4 = attn.philox %first, %seed, %seed, %seed key %seed, %seed : i32
      %next = arith.addi %n0, %c64 : index
      %second = arith.index_cast %next : index to i32
      %x:4 = attn.philox %second, %seed, %seed, %seed key %seed, %seed : i32
      %sum = arith.addi %w#0, %x#3 : i32
      warp.store %sum, %Y[%n0] : i32, tensor<?xi32>
    }
  }
}

// -----

// A counter that was loaded stays behind the load.
// CHECK-LABEL: warp.kernel @loaded
// CHECK: warp.mma
// CHECK: warp.load
// CHECK: attn.philox
tile.program @p sizes(%N) ins(%seed: i32, %X: i32[N]) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  warp.kernel @loaded grid(%i < %N) warps(1) {
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %b = arith.constant dense<1.0> : vector<4xbf16>
    %c = arith.constant dense<0.0> : vector<4xf32>
    scf.for %n0 = %c0 to %N step %c64 {
      %d = warp.mma %a, %b, %c : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %first = warp.load %X[%n0] : tensor<?xi32> -> i32
      %w:4 = attn.philox %first, %seed, %seed, %seed key %seed, %seed : i32
      warp.store %w#1, %Y[%n0] : i32, tensor<?xi32>
    }
  }
}
