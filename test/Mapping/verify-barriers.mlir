// RUN: attentile-opt %s --warp-verify-barriers --split-input-file --verify-diagnostics

// All warps decide alike where what they decide on is not made of their number: a size, what each lane loads of columns. One warp
// waits for itself.
tile.program @alike sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  warp.kernel @alike_0 grid(%i < %c1) warps(4) {
    %lane = warp.lane_id : index
    %zero = arith.constant 0.0 : f32
    %some = arith.cmpi sgt, %N, %c0 : index
    scf.if %some {
      warp.barrier
    }
    %x = warp.load %X[%lane] : tensor<?xf32> -> f32
    %positive = arith.cmpf ogt, %x, %zero : f32
    %all = warp.vote_all %positive
    scf.if %all {
      warp.barrier
    }
  }
  warp.kernel @alike_1 grid(%i < %c1) warps(1) {
    %warp = warp.warp_id : index
    %first = arith.cmpi eq, %warp, %c0 : index
    scf.if %first {
      warp.barrier
    }
  }
}

// -----

// A vote on a warp's rows, carried by a loop.
tile.program @votes sizes(%N) ins(%X: f32[N]) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  warp.kernel @votes_0 grid(%i < %c1) warps(4) {
    %warp = warp.warp_id : index
    %zero = arith.constant 0.0 : f32
    %false = arith.constant false
    %r = scf.for %n = %c0 to %N step %c1 iter_args(%calm = %false) -> (i1) {
      // expected-error @below {{expected barriers that all warps reach, got one in a branch that each of them takes for itself}}
      scf.if %calm {
        warp.barrier
      }
      %x = warp.load %X[%warp] : tensor<?xf32> -> f32
      %positive = arith.cmpf ogt, %x, %zero : f32
      %all = warp.vote_all %positive
      scf.yield %all : i1
    }
  }
}
