// RUN: attentile-opt %s --warp-unroll-collections --split-input-file | FileCheck %s

// Sixteen classes are asked for before the first count needs one; what is left
// goes block by block.
// CHECK-LABEL: warp.kernel @collect
// CHECK: %[[WHOLE:.*]]:2 = scf.for %{{.*}} = %c0 to %[[MOST:.*]] step %{{.*}} iter_args
// CHECK-COUNT-16: warp.load %classes
// CHECK-NOT: warp.load
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[MOST]] to %{{.*}} step %c1{{.*}} iter_args(%{{.*}} = %[[WHOLE]]#0, %{{.*}} = %[[WHOLE]]#1)
// CHECK: warp.load %classes
// CHECK-NOT: warp.load
tile.program @p sizes(%N) ins(%classes: i32[N]) outs(%list: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  warp.kernel @collect grid(%i < %N) warps(1) {
    %ends:2 = scf.for %n = %c0 to %N step %c1 iter_args(%first = %c0, %last = %c0) -> (index, index) {
      %x = warp.load %classes[%n] : tensor<?xi32> -> i32
      %class = arith.index_cast %x : i32 to index
      %before = arith.subi %first, %class : index
      %after = arith.addi %last, %class : index
      %number = arith.index_cast %n : index to i32
      warp.store %number, %list[%after] : i32, tensor<?xi32>
      scf.yield %before, %after : index, index
    } {tile.axis = "n", tile.to_list}
  }
}

// -----

// A loop that judges blocks hands nothing on, another is no list's.
// CHECK-LABEL: warp.kernel @judge
// CHECK-COUNT-2: warp.load
// CHECK-NOT: warp.load
tile.program @p sizes(%N) ins(%x: i32[N]) outs(%classes: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  warp.kernel @judge grid(%i < %N) warps(1) {
    scf.for %n = %c0 to %N step %c1 {
      %y = warp.load %x[%n] : tensor<?xi32> -> i32
      warp.store %y, %classes[%n] : i32, tensor<?xi32>
    } {tile.axis = "n", tile.to_list}
    %sum = scf.for %n = %c0 to %N step %c1 iter_args(%s = %zero) -> (i32) {
      %y = warp.load %x[%n] : tensor<?xi32> -> i32
      %t = arith.addi %s, %y : i32
      scf.yield %t : i32
    } {tile.axis = "n"}
    warp.store %sum, %classes[%i] : i32, tensor<?xi32>
  }
}
