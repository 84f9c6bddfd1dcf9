// RUN: attentile-opt %s --warp-share-random --cse --split-input-file | FileCheck %s

// Columns 2 c, 2 c + 1 and those 8, 16 and 24 behind them: one call.
// CHECK-LABEL: warp.kernel @one_call
// CHECK: scf.for %[[N0:.*]] = %c0
// CHECK: %[[SPAN:.*]] = arith.divui %[[N0]], %c32 : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[SPAN]], %c4
// CHECK: %[[PAIR:.*]] = arith.divui %{{.*}}, %c2 : index
// CHECK: %[[CALL:.*]] = arith.addi %[[FIRST]], %[[PAIR]] : index
// CHECK: %[[COUNTER:.*]] = arith.index_cast %[[CALL]] : index to i32
// CHECK: %[[W0:.*]], %{{.*}}, %{{.*}}, %[[W3:.*]] = attn.philox %{{.*}}, %[[COUNTER]]
// CHECK-NOT: attn.random
// CHECK-NOT: attn.philox
// CHECK: arith.andi %[[W0]], %{{.*}} : i32
// CHECK: arith.shrui %[[W0]], %{{.*}} : i32
// CHECK: arith.shrui %[[W3]], %{{.*}} : i32
tile.program @p sizes(%N) ins(%seed: index) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c25 = arith.constant 25 : index
  %c64 = arith.constant 64 : index
  warp.kernel @one_call grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %quad = arith.remui %lane, %c4 : index
    %column = arith.muli %quad, %c2 : index
    scf.for %n0 = %c0 to %N step %c64 {
      %a = arith.addi %n0, %column : index
      %b = arith.addi %a, %c1 : index
      %c = arith.addi %a, %c25 : index
      %x = attn.random %seed at [%i, %a] : index -> i32
      %y = attn.random %seed at [%i, %b] : index -> i32
      %z = attn.random %seed at [%i, %c] : index -> i32
      warp.store %x, %Y[%a] : i32, tensor<?xi32>
      warp.store %y, %Y[%b] : i32, tensor<?xi32>
      warp.store %z, %Y[%c] : i32, tensor<?xi32>
    }
  }
}

// -----

// Tiles of 16 columns may start in the middle of 32: which words, their start
// decides. Another row or another pair of columns is another call.
// CHECK-LABEL: warp.kernel @middle
// CHECK-COUNT-3: attn.philox
// CHECK: arith.select %{{.*}} : i32
// CHECK-NOT: attn.philox
// CHECK-NOT: attn.random
tile.program @p sizes(%N) ins(%seed: index) outs(%Y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  warp.kernel @middle grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %quad = arith.remui %lane, %c4 : index
    %column = arith.muli %quad, %c2 : index
    %j = arith.addi %i, %c8 : index
    scf.for %n0 = %c0 to %N step %c16 {
      %a = arith.addi %n0, %column : index
      %b = arith.addi %a, %c8 : index
      %c = arith.addi %a, %c16 : index
      %x = attn.random %seed at [%i, %a] : index -> i32
      %y = attn.random %seed at [%i, %b] : index -> i32
      %z = attn.random %seed at [%j, %a] : index -> i32
      %w = attn.random %seed at [%i, %c] : index -> i32
      warp.store %x, %Y[%a] : i32, tensor<?xi32>
      warp.store %y, %Y[%b] : i32, tensor<?xi32>
      warp.store %z, %Y[%a] : i32, tensor<?xi32>
      warp.store %w, %Y[%c] : i32, tensor<?xi32>
    }
  }
}

// -----

// A column that starts anywhere: each element by itself.
// CHECK-LABEL: warp.kernel @anywhere
// CHECK-NOT: attn.philox
// CHECK-COUNT-2: attn.random
tile.program @p sizes(%N) ins(%seed: index) outs(%Y: i32[N]) {
  %c1 = arith.constant 1 : index
  warp.kernel @anywhere grid(%i < %N) warps(1) {
    %a = arith.addi %i, %c1 : index
    %x = attn.random %seed at [%i] : index -> i32
    %y = attn.random %seed at [%a] : index -> i32
    warp.store %x, %Y[%i] : i32, tensor<?xi32>
    warp.store %y, %Y[%a] : i32, tensor<?xi32>
  }
}
