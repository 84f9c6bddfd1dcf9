// RUN: attentile-opt %s --tile-sink-columns | FileCheck %s

#m = #tile.axes<"m">
#n = #tile.axes<"n">

// What one side of a branch on a vote alone needs is loaded there; what both
// need, or the branch is on something else, or that stands in none, stays.
// CHECK-LABEL: tile.program @p
// CHECK: tile.load %top
// CHECK: scf.if
// CHECK: } else {
// CHECK-NOT: tile.load %doc
// CHECK: tile.load %both
// CHECK: %[[VOTE:.*]] = tile.vote
// CHECK: scf.if %[[VOTE]]
// CHECK-NEXT: arith.index_cast
// CHECK: } else {
// CHECK-NEXT: %[[DOC:.*]] = tile.load %doc
// CHECK-NEXT: arith.index_cast %[[DOC]]
// CHECK: tile.load %other
// CHECK: scf.if %full
tile.program @p sizes(%N) ins(%doc: i32[N], %both: i32[N], %other: i32[N], %top: i32[N], %full: i1, %c: i1) outs(%Y: index[N]) {
  tile.kernel @k grid(%i < %N) {
    %n = tile.index %i : tensor<8xindex, #n>
    %t = tile.load %top[%n] : tensor<?xi32>, (tensor<8xindex, #n>) -> tensor<8xi32, #n>
    %r = scf.if %full -> (tensor<8xindex, #n>) {
      scf.yield %n : tensor<8xindex, #n>
    } else {
      %raw = tile.load %doc[%n] : tensor<?xi32>, (tensor<8xindex, #n>) -> tensor<8xi32, #n>
      %d = arith.index_cast %raw : tensor<8xi32, #n> to tensor<8xindex, #n>
      %two = tile.load %both[%n] : tensor<?xi32>, (tensor<8xindex, #n>) -> tensor<8xi32, #n>
      %v = tile.vote %c : i1
      %x = scf.if %v -> (tensor<8xindex, #n>) {
        %b = arith.index_cast %two : tensor<8xi32, #n> to tensor<8xindex, #n>
        scf.yield %b : tensor<8xindex, #n>
      } else {
        %b = arith.index_cast %two : tensor<8xi32, #n> to tensor<8xindex, #n>
        %u = arith.index_cast %t : tensor<8xi32, #n> to tensor<8xindex, #n>
        %s = arith.addi %d, %b : tensor<8xindex, #n>
        %z = arith.addi %s, %u : tensor<8xindex, #n>
        scf.yield %z : tensor<8xindex, #n>
      }
      %o = tile.load %other[%n] : tensor<?xi32>, (tensor<8xindex, #n>) -> tensor<8xi32, #n>
      %y = scf.if %full -> (tensor<8xindex, #n>) {
        scf.yield %x : tensor<8xindex, #n>
      } else {
        %w = arith.index_cast %o : tensor<8xi32, #n> to tensor<8xindex, #n>
        scf.yield %w : tensor<8xindex, #n>
      }
      scf.yield %y : tensor<8xindex, #n>
    }
    tile.store %r, %Y[%n] : tensor<8xindex, #n>, tensor<?xindex>, (tensor<8xindex, #n>)
  }
}
