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
// Of a row that starts anywhere it is not known whether words are turned.
// CHECK: %[[M0:.*]] = arith.andi %[[W0]], %c2139062143
// CHECK: %[[M3:.*]] = arith.andi %[[W3]], %c2139062143
// CHECK: %[[T0:.*]] = arith.select %{{.*}}, %{{.*}}, %[[M0]] : i32
// CHECK: %[[T3:.*]] = arith.select %{{.*}}, %{{.*}}, %[[M3]] : i32
// CHECK: arith.andi %[[T0]], %{{.*}} : i32
// CHECK: arith.shrui %[[T0]], %{{.*}} : i32
// CHECK: arith.shrui %[[T3]], %{{.*}} : i32
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

// -----

// Rows r and r + 8 of a fragment: one call, the second row's words turned. Row
// r + 16 is another's.
// CHECK-LABEL: warp.kernel @two_rows
// CHECK: attn.philox
// CHECK: %[[W0:.*]] = arith.andi %{{.*}}, %c2139062143
// CHECK: attn.philox
// CHECK-NOT: attn.philox
// CHECK: arith.andi %[[W0]], %c65535_i32
// CHECK: %[[DOWN:.*]] = arith.shrui %[[W0]], %c8_i32
// CHECK: %[[UP:.*]] = arith.shli %[[W0]], %c24_i32
// CHECK: %[[TURNED:.*]] = arith.ori %[[DOWN]], %[[UP]]
// CHECK: arith.andi %[[TURNED]], %c65535_i32
// CHECK-NOT: arith.select
tile.program @p sizes(%N) ins(%seed: index) outs(%Y: i32[N]) {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  warp.kernel @two_rows grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %m0 = arith.muli %i, %c64 : index
    %own = arith.divui %lane, %c4 : index
    %quad = arith.remui %lane, %c4 : index
    %n = arith.muli %quad, %c2 : index
    %a = arith.addi %m0, %own : index
    %b = arith.addi %a, %c8 : index
    %c = arith.addi %a, %c16 : index
    %x = attn.random %seed at [%a, %n] : index -> i32
    %y = attn.random %seed at [%b, %n] : index -> i32
    %z = attn.random %seed at [%c, %n] : index -> i32
    warp.store %x, %Y[%a] : i32, tensor<?xi32>
    warp.store %y, %Y[%b] : i32, tensor<?xi32>
    warp.store %z, %Y[%c] : i32, tensor<?xi32>
  }
}
