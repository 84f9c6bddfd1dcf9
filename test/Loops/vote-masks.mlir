// RUN: attentile-opt %s --tile-vote-masks --canonicalize --cse --split-input-file | FileCheck %s

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// A window: each bound by a vote on the block's end at its side, the axis's end
// by the block's last index; what is no bound stays a select at once.
// CHECK-LABEL: tile.program @window
// CHECK: scf.for %[[N0:.*]] = %c0 to %last
// CHECK: %[[S:.*]] = tile.load %X
// CHECK: scf.if %{{.*}} -> (tensor<16x8xf32, #m_n>)
// CHECK-NEXT: scf.yield %[[S]]
// CHECK-NEXT: } else {
// CHECK-NOT: arith.cmpi
// CHECK: %[[MARKED:.*]] = arith.select %{{.*}}, %[[S]]
// CHECK: %[[FIRST:.*]] = tile.broadcast %[[N0]] : index to tensor<16xindex, #m>
// CHECK: %[[BEHIND:.*]] = arith.cmpi sgt, %[[FIRST]], %{{.*}} : tensor<16xindex, #m>
// CHECK: %[[ALL:.*]] = tile.vote %[[BEHIND]]
// CHECK: %[[A:.*]] = scf.if %[[ALL]]
// CHECK-NEXT: scf.yield %[[MARKED]]
// CHECK-NEXT: } else {
// CHECK: arith.cmpi sgt
// CHECK-NEXT: arith.select %{{.*}}, %[[MARKED]]
// CHECK: }
// CHECK: %[[END:.*]] = arith.addi %[[N0]], %c7
// CHECK: %[[ENDS:.*]] = tile.broadcast %[[END]] : index to tensor<16xindex, #m>
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle, %[[ENDS]], %{{.*}} : tensor<16xindex, #m>
// CHECK: %[[ALL2:.*]] = tile.vote %[[BEFORE]]
// CHECK: %[[B:.*]] = scf.if %[[ALL2]]
// CHECK-NEXT: scf.yield %[[A]]
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[END]], %N
// CHECK-NOT: tile.vote
// CHECK: %[[C:.*]] = scf.if %[[IN]]
// CHECK-NEXT: scf.yield %[[B]]
// CHECK: arith.select %{{.*}}, %[[B]]
// CHECK: scf.yield %[[C]]
tile.program @window sizes(%M, %N) ins(%X: f32[M, N], %w: index, %from: index, %last: index) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  tile.kernel @window_0 grid(%i < %M) {
    %m = tile.index %i : tensor<16xindex, #m>
    %hidden = arith.constant dense<0xFF800000> : tensor<16x8xf32, #mn>
    %none = arith.constant dense<0xFF800000> : tensor<16xf32, #m>
    %size = tile.broadcast %w : index to tensor<16xindex, #m>
    %start = arith.subi %m, %size : tensor<16xindex, #m>
    %end = tile.broadcast %N : index to tensor<8xindex, #n>
    %odd = arith.cmpi ne, %m, %size : tensor<16xindex, #m>
    %seen = tile.broadcast %odd : tensor<16xi1, #m> to tensor<16x8xi1, #mn>
    %r = scf.for %n0 = %c0 to %last step %c8 iter_args(%a = %none) -> (tensor<16xf32, #m>) {
      %full = arith.cmpi sge, %n0, %from : index
      %n = tile.index %n0 : tensor<8xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<8xindex, #n>) -> tensor<16x8xf32, #mn>
      %x = scf.if %full -> (tensor<16x8xf32, #mn>) {
        scf.yield %s : tensor<16x8xf32, #mn>
      } else {
        %ns = tile.broadcast %n : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
        %starts = tile.broadcast %start : tensor<16xindex, #m> to tensor<16x8xindex, #mn>
        %ends = tile.broadcast %m : tensor<16xindex, #m> to tensor<16x8xindex, #mn>
        %behind = arith.cmpi sgt, %ns, %starts : tensor<16x8xindex, #mn>
        %before = arith.cmpi sge, %ends, %ns : tensor<16x8xindex, #mn>
        %both = arith.andi %behind, %before : tensor<16x8xi1, #mn>
        %all = arith.andi %both, %seen : tensor<16x8xi1, #mn>
        %y = arith.select %all, %s, %hidden : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
        %in = arith.cmpi slt, %n, %end : tensor<8xindex, #n>
        %ins = tile.broadcast %in : tensor<8xi1, #n> to tensor<16x8xi1, #mn>
        %z = arith.select %ins, %y, %hidden : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
        scf.yield %z : tensor<16x8xf32, #mn>
      }
      %t = tile.reduce max %x over ["n"] : tensor<16x8xf32, #mn> -> tensor<16xf32, #m>
      %b = arith.maxnumf %a, %t : tensor<16xf32, #m>
      scf.yield %b : tensor<16xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
    tile.store %r, %Y[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// The axis's end alone is what the branch around it asks; the negation of a
// bound is one, with the sides changed.
// CHECK-LABEL: tile.program @end
// CHECK: } else {
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK-NOT: scf.if
// CHECK: %[[HIDDEN:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<16xindex, #m>
// CHECK: %[[ALL:.*]] = tile.vote %[[HIDDEN]]
// CHECK: scf.if %[[ALL]]
// CHECK: %[[AFTER:.*]] = arith.cmpi sgt
// CHECK: arith.select %[[AFTER]], %cst{{.*}}, %{{.*}}
tile.program @end sizes(%M, %N) ins(%X: f32[M, N], %to: index) outs(%Y: f32[M], %Z: f32[M]) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  tile.kernel @end_0 grid(%i < %M) {
    %m = tile.index %i : tensor<16xindex, #m>
    %hidden = arith.constant dense<0xFF800000> : tensor<16x8xf32, #mn>
    %none = arith.constant dense<0xFF800000> : tensor<16xf32, #m>
    %end = tile.broadcast %N : index to tensor<8xindex, #n>
    %r:2 = scf.for %n0 = %c0 to %N step %c8 iter_args(%a = %none, %b = %none) -> (tensor<16xf32, #m>, tensor<16xf32, #m>) {
      %full = arith.cmpi slt, %n0, %to : index
      %n = tile.index %n0 : tensor<8xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<8xindex, #n>) -> tensor<16x8xf32, #mn>
      %x = scf.if %full -> (tensor<16x8xf32, #mn>) {
        scf.yield %s : tensor<16x8xf32, #mn>
      } else {
        %in = arith.cmpi slt, %n, %end : tensor<8xindex, #n>
        %ins = tile.broadcast %in : tensor<8xi1, #n> to tensor<16x8xi1, #mn>
        %z = arith.select %ins, %s, %hidden : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
        scf.yield %z : tensor<16x8xf32, #mn>
      }
      %y = scf.if %full -> (tensor<16x8xf32, #mn>) {
        scf.yield %s : tensor<16x8xf32, #mn>
      } else {
        %ns = tile.broadcast %n : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
        %ends = tile.broadcast %m : tensor<16xindex, #m> to tensor<16x8xindex, #mn>
        %after = arith.cmpi sgt, %ns, %ends : tensor<16x8xindex, #mn>
        %z = arith.select %after, %hidden, %s : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
        scf.yield %z : tensor<16x8xf32, #mn>
      }
      %t = tile.reduce max %x over ["n"] : tensor<16x8xf32, #mn> -> tensor<16xf32, #m>
      %u = tile.reduce max %y over ["n"] : tensor<16x8xf32, #mn> -> tensor<16xf32, #m>
      %c = arith.maxnumf %a, %t : tensor<16xf32, #m>
      %d = arith.maxnumf %b, %u : tensor<16xf32, #m>
      scf.yield %c, %d : tensor<16xf32, #m>, tensor<16xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
    tile.store %r#0, %Y[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
    tile.store %r#1, %Z[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Seen through a negation: each bound by the comparison that then holds, what is no bound by one that must fail.
// CHECK-LABEL: tile.program @negated
// CHECK: scf.for %[[N0:.*]] = %c0 to %last
// CHECK: %[[S:.*]] = tile.load %X
// CHECK: } else {
// CHECK: %[[MARKED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[S]]
// CHECK: %[[FIRST:.*]] = tile.broadcast %[[N0]] : index to tensor<16xindex, #m>
// CHECK: %[[BEHIND:.*]] = arith.cmpi sgt, %[[FIRST]], %{{.*}} : tensor<16xindex, #m>
// CHECK: tile.vote %[[BEHIND]]
// CHECK: scf.yield %[[MARKED]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<16xindex, #m>
// CHECK: tile.vote %[[BEFORE]]
tile.program @negated sizes(%M, %N) ins(%X: f32[M, N], %w: index, %from: index, %last: index) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  tile.kernel @negated_0 grid(%i < %M) {
    %m = tile.index %i : tensor<16xindex, #m>
    %true = arith.constant dense<true> : tensor<16x8xi1, #mn>
    %hidden = arith.constant dense<0xFF800000> : tensor<16x8xf32, #mn>
    %none = arith.constant dense<0xFF800000> : tensor<16xf32, #m>
    %size = tile.broadcast %w : index to tensor<16xindex, #m>
    %start = arith.subi %m, %size : tensor<16xindex, #m>
    %odd = arith.cmpi eq, %m, %size : tensor<16xindex, #m>
    %unseen = tile.broadcast %odd : tensor<16xi1, #m> to tensor<16x8xi1, #mn>
    %r = scf.for %n0 = %c0 to %last step %c8 iter_args(%a = %none) -> (tensor<16xf32, #m>) {
      %full = arith.cmpi sge, %n0, %from : index
      %n = tile.index %n0 : tensor<8xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<8xindex, #n>) -> tensor<16x8xf32, #mn>
      %x = scf.if %full -> (tensor<16x8xf32, #mn>) {
        scf.yield %s : tensor<16x8xf32, #mn>
      } else {
        %ns = tile.broadcast %n : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
        %starts = tile.broadcast %start : tensor<16xindex, #m> to tensor<16x8xindex, #mn>
        %ends = tile.broadcast %m : tensor<16xindex, #m> to tensor<16x8xindex, #mn>
        %ahead = arith.cmpi sle, %ns, %starts : tensor<16x8xindex, #mn>
        %past = arith.cmpi slt, %ends, %ns : tensor<16x8xindex, #mn>
        %either = arith.ori %ahead, %past : tensor<16x8xi1, #mn>
        %any = arith.ori %either, %unseen : tensor<16x8xi1, #mn>
        %seen = arith.xori %any, %true : tensor<16x8xi1, #mn>
        %y = arith.select %seen, %s, %hidden : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
        scf.yield %y : tensor<16x8xf32, #mn>
      }
      %t = tile.reduce max %x over ["n"] : tensor<16x8xf32, #mn> -> tensor<16xf32, #m>
      %b = arith.maxnumf %a, %t : tensor<16xf32, #m>
      scf.yield %b : tensor<16xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
    tile.store %r, %Y[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
}
