// RUN: attentile-opt %s --split-input-file --tile-sort-lists | FileCheck %s

// Heads share the list of a tile of rows: its rank is how many of the tiles have a list whose highest bit is above its own, or
// the same and lie behind it. There the list is copied to; the program of that rank reads it, from one place on.
// CHECK: #[[SHAPE:.*]] = affine_map<()[s0, s1] -> (s1 ceildiv 64, s1 ceildiv 32 + 4)>
// CHECK: %[[SORTED:.*]] = attn.workspace "blocks_sorted" shape #[[SHAPE]] : tensor<?x?xi32>
// CHECK: tile.kernel @shares_blocks_sorted grid(%[[I:.*]] < %[[N:.*]]) attributes {tile.block_list, tile.sorted_list}
// CHECK: %[[FROM:.*]] = tile.load %blocks[%[[I]], %c0
// CHECK: %[[TO:.*]] = tile.load %blocks[%[[I]], %c1
// CHECK: %[[LENGTH:.*]] = arith.subi %[[TO]], %[[FROM]]
// CHECK: %[[RANK:.*]] = scf.for %[[J:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[COUNT:.*]] = %{{.*}})
// CHECK: %[[OTHER:.*]] = arith.subi
// CHECK: %[[NOTOTHER:.*]] = arith.xori %[[OTHER]], %c-1
// CHECK: %[[MORE:.*]] = arith.andi %[[LENGTH]], %[[NOTOTHER]]
// CHECK: %[[ASLONG:.*]] = arith.cmpi sle, %[[MORE]], %[[OTHER]]
// CHECK: %[[NOTOWN:.*]] = arith.xori %[[LENGTH]], %c-1
// CHECK: %[[LESS:.*]] = arith.andi %[[OTHER]], %[[NOTOWN]]
// CHECK: %[[LONGER:.*]] = arith.cmpi sgt, %[[LESS]], %[[LENGTH]]
// CHECK: %[[BEHIND:.*]] = arith.cmpi slt, %[[I]], %[[J]]
// CHECK: %[[BEFORE:.*]] = arith.select %[[BEHIND]], %[[ASLONG]], %[[LONGER]]
// CHECK: arith.select %[[BEFORE]], %{{.*}}, %[[COUNT]]
// CHECK: tile.axis = "i", tile.to_list
// CHECK: tile.store %[[I]], %[[SORTED]][%[[RANK]], %c0
// CHECK: tile.store %[[FROM]], %[[SORTED]][%[[RANK]], %c1
// CHECK: tile.store %[[TO]], %[[SORTED]][%[[RANK]], %c2
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[FROM]]
// CHECK: %[[LAST:.*]] = arith.index_cast %[[TO]]
// CHECK: %[[SHIFT:.*]] = arith.subi %c4{{.*}}, %[[FIRST]]
// CHECK: scf.for %[[PLACE:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK: %[[ENTRY:.*]] = tile.load %blocks[%[[I]], %[[PLACE]]]
// CHECK: %[[COPY:.*]] = arith.addi %[[PLACE]], %[[SHIFT]]
// CHECK: tile.store %[[ENTRY]], %[[SORTED]][%[[RANK]], %[[COPY]]]
// CHECK: tile.axis = "n", tile.to_list
// CHECK: tile.kernel @shares grid(%h < %H, %[[R:.*]] < %{{.*}}) attributes {tile.common_bytes = 1 : i64}
// CHECK: tile.load %[[SORTED]][%[[R]], %c0
// CHECK: %[[TILE:.*]] = arith.maxsi
// CHECK: tile.load %[[SORTED]][%[[R]], %c1
// CHECK: %[[BEGIN:.*]] = arith.index_cast
// CHECK: tile.load %[[SORTED]][%[[R]], %c2
// CHECK: %[[END:.*]] = arith.index_cast
// CHECK: %[[MOVED:.*]] = arith.subi %[[BEGIN]], %c4
// CHECK: arith.muli %[[TILE]], %c64
// CHECK: %[[NEWEND:.*]] = arith.subi %[[END]], %[[MOVED]]
// CHECK: %[[MIDDLE:.*]] = arith.subi %c100{{.*}}, %[[MOVED]]
// CHECK: scf.for %[[P:.*]] = %c4{{.*}} to %[[NEWEND]]
// CHECK: arith.addi %[[P]], %[[MOVED]]
// CHECK: tile.load %[[SORTED]][%[[R]], %[[P]]]
// CHECK: arith.cmpi slt, %[[P]], %[[MIDDLE]]
#n = #tile.axes<"n">
tile.program @shares sizes(%H, %M) ins(%X: f32[H, M], %doc: i32[M]) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %c100 = arith.constant 100 : index
  %most = arith.constant 1000000 : index
  %zero = arith.constant dense<0.0> : tensor<32xf32, #n>
  %n = arith.ceildivsi %M, %c64 : index
  %blocks = attn.workspace "blocks" shape affine_map<()[H, M] -> (M ceildiv 64, (M ceildiv 32) * 2 + 2)> : tensor<?x?xi32>
  tile.kernel @list grid(%i < %n) {
    %d = tile.load %doc[%i] : tensor<?xi32>, (index) -> i32
    tile.store %d, %blocks[%i, %c0] : i32, tensor<?x?xi32>, (index, index)
  }
  tile.kernel @shares grid(%h < %H, %i < %n) {
    %first = tile.load %blocks[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %last = tile.load %blocks[%i, %c1] : tensor<?x?xi32>, (index, index) -> i32
    %to = arith.index_cast %last : i32 to index
    %m0 = arith.muli %i, %c64 : index
    %r = scf.for %place = %from to %to step %c1 iter_args(%sum = %zero) -> (tensor<32xf32, #n>) {
      %entry = tile.load %blocks[%i, %place] : tensor<?x?xi32>, (index, index) -> i32
      %number = arith.index_cast %entry : i32 to index
      %above = arith.maxsi %number, %c0 : index
      %block = arith.minsi %above, %most : index
      %start = arith.muli %block, %c32 : index
      %index = tile.index %start : tensor<32xindex, #n>
      // What asks for the place itself, and whether it is before the middle.
      %twice = arith.addi %place, %place : index
      %odd = tile.index %twice : tensor<32xindex, #n>
      %isfull = arith.cmpi slt, %place, %c100 : index
      %pick = arith.select %isfull, %index, %odd : tensor<32xindex, #n>
      %x = tile.load %X[%h, %pick] : tensor<?x?xf32>, (index, tensor<32xindex, #n>) -> tensor<32xf32, #n>
      %next = arith.addf %sum, %x : tensor<32xf32, #n>
      scf.yield %next : tensor<32xf32, #n>
    } {tile.axis = "n", tile.from_list}
    %at = tile.index %m0 : tensor<32xindex, #n>
    tile.store %r, %Y[%h, %at] : tensor<32xf32, #n>, tensor<?x?xf32>, (index, tensor<32xindex, #n>)
  }
}

// -----

// Heads have a list, tiles of rows have not: they run as they are. So do those whose lists hang on indices alone.
// CHECK-LABEL: tile.program @of_heads
// CHECK-LABEL: tile.kernel @of_heads grid
// CHECK-NOT: tile.common_bytes
// CHECK-LABEL: tile.kernel @of_indices grid
// CHECK-NOT: tile.common_bytes
tile.program @of_heads sizes(%H, %M) ins(%X: f32[H, M], %doc: i32[M]) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c1 : index
  %blocks = attn.workspace "blocks" shape affine_map<()[H, M] -> (H, M)> : tensor<?x?xi32>
  tile.kernel @list_heads grid(%h < %H) {
    %d = tile.load %doc[%h] : tensor<?xi32>, (index) -> i32
    tile.store %d, %blocks[%h, %c0] : i32, tensor<?x?xi32>, (index, index)
  }
  tile.kernel @of_heads grid(%h < %H, %i < %n) {
    %first = tile.load %blocks[%h, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n", tile.from_list}
  }
  %others = attn.workspace "others" shape affine_map<()[H, M] -> (M, M)> : tensor<?x?xi32>
  tile.kernel @list_indices grid(%i < %n) {
    tile.store %i, %others[%i, %c0] : index, tensor<?x?xi32>, (index, index)
  }
  tile.kernel @of_indices grid(%h < %H, %i < %n) {
    %first = tile.load %others[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n", tile.from_list}
  }
}

// -----

// One of heads has a list of its own for each tile: the heads go in sections (64 rows of 4 bytes).
// CHECK-LABEL: tile.program @own
// CHECK: tile.kernel @own_blocks_sorted grid(%h < %H, %i <
// CHECK: tile.kernel @own grid({{.*}}) attributes {tile.common_bytes = 256 : i64}
#n = #tile.axes<"n">
tile.program @own sizes(%H, %M) ins(%X: f32[H, M], %doc: i32[M]) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %most = arith.constant 1000000 : index
  %zero = arith.constant dense<0.0> : tensor<32xf32, #n>
  %n = arith.ceildivsi %M, %c64 : index
  %blocks = attn.workspace "blocks" shape affine_map<()[H, M] -> (H, M ceildiv 64, (M ceildiv 32) * 2 + 2)> : tensor<?x?x?xi32>
  %classes = attn.workspace "classes" shape affine_map<()[H, M] -> (M ceildiv 64)> : tensor<?xi32>
  tile.kernel @classify grid(%i < %n) {
    %d = tile.load %doc[%i] : tensor<?xi32>, (index) -> i32
    tile.store %d, %classes[%i] : i32, tensor<?xi32>, (index)
  }
  tile.kernel @list grid(%h < %H, %i < %n) {
    %d = tile.load %classes[%i] : tensor<?xi32>, (index) -> i32
    tile.store %d, %blocks[%h, %i, %c0] : i32, tensor<?x?x?xi32>, (index, index, index)
  }
  tile.kernel @own grid(%h < %H, %i < %n) {
    %first = tile.load %blocks[%h, %i, %c0] : tensor<?x?x?xi32>, (index, index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %last = tile.load %blocks[%h, %i, %c1] : tensor<?x?x?xi32>, (index, index, index) -> i32
    %to = arith.index_cast %last : i32 to index
    %m0 = arith.muli %i, %c64 : index
    %r = scf.for %place = %from to %to step %c1 iter_args(%sum = %zero) -> (tensor<32xf32, #n>) {
      %entry = tile.load %blocks[%h, %i, %place] : tensor<?x?x?xi32>, (index, index, index) -> i32
      %number = arith.index_cast %entry : i32 to index
      %above = arith.maxsi %number, %c0 : index
      %block = arith.minsi %above, %most : index
      %start = arith.muli %block, %c32 : index
      %index = tile.index %start : tensor<32xindex, #n>
      %x = tile.load %X[%h, %index] : tensor<?x?xf32>, (index, tensor<32xindex, #n>) -> tensor<32xf32, #n>
      %next = arith.addf %sum, %x : tensor<32xf32, #n>
      scf.yield %next : tensor<32xf32, #n>
    } {tile.axis = "n", tile.from_list}
    %at = tile.index %m0 : tensor<32xindex, #n>
    tile.store %r, %Y[%h, %at] : tensor<32xf32, #n>, tensor<?x?xf32>, (index, tensor<32xindex, #n>)
  }
}
