// RUN: attentile-opt %s --warp-hoist-loads --split-input-file | FileCheck %s

// The bias is asked for before the body waits and multiplies; what is loaded
// by an index that was loaded stays behind it.
// CHECK-LABEL: warp.kernel @bias
// CHECK: scf.for
// CHECK-NEXT: %[[N:.*]] = arith.addi
// CHECK-NEXT: %[[BIAS:.*]] = warp.load %X[%[[N]]]
// CHECK-NEXT: %[[PLACE:.*]] = warp.load %P[%[[N]]]
// CHECK-NEXT: warp.wait_group 0
// CHECK: warp.mma
// CHECK: warp.load %X
tile.program @p sizes(%N) ins(%X: f32[N], %P: i64[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  warp.kernel @bias grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %a = arith.constant dense<1.0> : vector<8xbf16>
    %b = arith.constant dense<1.0> : vector<4xbf16>
    %c = arith.constant dense<0.0> : vector<4xf32>
    scf.for %n0 = %c0 to %N step %c64 {
      warp.wait_group 0
      warp.barrier
      %d = warp.mma %a, %b, %c : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
      %s = vector.extract %d[0] : f32 from vector<4xf32>
      %n = arith.addi %n0, %lane : index
      %x = warp.load %X[%n] : tensor<?xf32> -> f32
      %p = warp.load %P[%n] : tensor<?xi64> -> i64
      %place = arith.index_cast %p : i64 to index
      %z = warp.load %X[%place] : tensor<?xf32> -> f32
      %t = arith.addf %s, %x : f32
      %u = arith.addf %t, %z : f32
      warp.store %u, %Y[%n] : f32, tensor<?xf32>
    }
  }
}

// -----

// A body without a product has nothing to hide them behind.
// CHECK-LABEL: warp.kernel @plain
// CHECK: warp.barrier
// CHECK: warp.load
tile.program @p sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  warp.kernel @plain grid(%i < %N) warps(1) {
    scf.for %n0 = %c0 to %N step %c64 {
      warp.barrier
      %x = warp.load %X[%n0] : tensor<?xf32> -> f32
      warp.store %x, %Y[%n0] : f32, tensor<?xf32>
    }
  }
}
