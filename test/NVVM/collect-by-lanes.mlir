// RUN: attentile-opt %s --warp-collect-by-lanes --split-input-file | FileCheck %s

// A lane a block: its count is what came before and the lanes below that add.
// CHECK-LABEL: warp.kernel @collect
// CHECK: %[[BELOW:.*]] = arith.subi
// CHECK: scf.for %[[STEP:.*]] = %c0 to %N step %c32{{.*}} iter_args(%[[FIRST:.*]] = %c0, %[[LAST:.*]] = %c0)
// CHECK: %[[BLOCK:.*]] = arith.addi %[[STEP]], %{{.*}} : index
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[BLOCK]], %N
// CHECK: warp.load %classes[%[[BLOCK]]]
// CHECK: %[[ADDS:.*]] = arith.andi %{{.*}}, %[[THERE]]
// CHECK: %[[LANES:.*]] = warp.ballot %[[ADDS]] : i32
// CHECK: %[[LOWER:.*]] = arith.andi %[[LANES]], %[[BELOW]]
// CHECK: math.ctpop %[[LOWER]]
// CHECK: arith.addi %[[FIRST]]
// CHECK: math.ctpop %[[LANES]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]]
// CHECK: warp.ballot
// CHECK: arith.addi %[[LAST]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[LAST]]
// CHECK: warp.store %{{.*}}, %list[%{{.*}}] if %[[THERE]]
// CHECK: scf.yield %[[NEXT]], %[[AFTER]]
tile.program @p sizes(%N) ins(%classes: i32[N]) outs(%list: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %one = arith.constant 1 : i32
  warp.kernel @collect grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %is_first = arith.cmpi eq, %lane, %c0 : index
    %ends:2 = scf.for %n = %c0 to %N step %c1 iter_args(%first = %c0, %last = %c0) -> (index, index) {
      %class = warp.load %classes[%n] : tensor<?xi32> -> i32
      %is_full = arith.cmpi sgt, %class, %one : i32
      %is_partial = arith.cmpi eq, %class, %one : i32
      %before = arith.addi %first, %m1 : index
      %after = arith.addi %last, %c1 : index
      %next_first = arith.select %is_full, %before, %first : index
      %next_last = arith.select %is_partial, %after, %last : index
      %place = arith.select %is_full, %before, %last : index
      %number = arith.index_cast %n : index to i32
      warp.store %number, %list[%place] if %is_first : i32, tensor<?xi32>
      scf.yield %next_first, %next_last : index, index
    } {tile.axis = "n", tile.to_list}
  }
}

// -----

// Nothing is handed on: a lane an entry, without a vote.
// CHECK-LABEL: warp.kernel @copy
// CHECK: scf.for %[[STEP:.*]] = %c0 to %N step %c32
// CHECK: %[[ENTRY:.*]] = arith.addi %[[STEP]], %{{.*}} : index
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[ENTRY]], %N
// CHECK: warp.load %x[%[[ENTRY]]]
// CHECK-NOT: warp.ballot
// CHECK: warp.store %{{.*}}, %y[%[[ENTRY]]] if %[[THERE]]
// CHECK-NEXT: }
tile.program @p sizes(%N) ins(%x: i32[N]) outs(%y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  warp.kernel @copy grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %is_first = arith.cmpi eq, %lane, %c0 : index
    scf.for %n = %c0 to %N step %c1 {
      %z = warp.load %x[%n] : tensor<?xi32> -> i32
      warp.store %z, %y[%n] if %is_first : i32, tensor<?xi32>
    } {tile.axis = "n", tile.to_list}
  }
}

// -----

// A count that decides whether it grows, two warps, lanes that vote on one
// block, a store of every lane: as they are.
// CHECK-LABEL: tile.program
// CHECK-NOT: warp.ballot
// CHECK-NOT: step %c32
tile.program @p sizes(%N) ins(%x: i32[N]) outs(%y: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %one = arith.constant 1 : i32
  warp.kernel @own grid(%i < %N) warps(1) {
    %end = scf.for %n = %c0 to %N step %c1 iter_args(%last = %c0) -> (index) {
      %more = arith.cmpi slt, %last, %c9 : index
      %after = arith.addi %last, %c1 : index
      %next = arith.select %more, %after, %last : index
      scf.yield %next : index
    } {tile.axis = "n", tile.to_list}
    %word = arith.index_cast %end : index to i32
    warp.store %word, %y[%i] : i32, tensor<?xi32>
  }
  warp.kernel @two_warps grid(%i < %N) warps(2) {
    %end = scf.for %n = %c0 to %N step %c1 iter_args(%last = %c0) -> (index) {
      %class = warp.load %x[%n] : tensor<?xi32> -> i32
      %adds = arith.cmpi eq, %class, %one : i32
      %after = arith.addi %last, %c1 : index
      %next = arith.select %adds, %after, %last : index
      scf.yield %next : index
    } {tile.axis = "n", tile.to_list}
    %word = arith.index_cast %end : index to i32
    warp.store %word, %y[%i] : i32, tensor<?xi32>
  }
  warp.kernel @judge grid(%i < %N) warps(1) {
    %lane = warp.lane_id : index
    %is_first = arith.cmpi eq, %lane, %c0 : index
    scf.for %n = %c0 to %N step %c1 {
      %z = warp.load %x[%lane] : tensor<?xi32> -> i32
      %same = arith.cmpi eq, %z, %one : i32
      %all = warp.vote_all %same
      %class = arith.extui %all : i1 to i32
      warp.store %class, %y[%n] if %is_first : i32, tensor<?xi32>
    } {tile.axis = "n", tile.to_list}
  }
  warp.kernel @every_lane grid(%i < %N) warps(1) {
    scf.for %n = %c0 to %N step %c1 {
      %z = warp.load %x[%n] : tensor<?xi32> -> i32
      warp.store %z, %y[%n] : i32, tensor<?xi32>
    } {tile.axis = "n", tile.to_list}
  }
}
