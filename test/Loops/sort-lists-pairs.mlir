// RUN: attentile-opt %s --tile-sort-lists | FileCheck %s

// A table of blocks says nothing of neighbours: its lists go by their length alone, equal ones from the first tile on.
// CHECK-LABEL: tile.program @of_pairs
// CHECK: tile.kernel @of_pairs_blocks_sorted grid(%[[I:.*]] < %[[N:.*]])
// CHECK: %[[LENGTH:.*]] = arith.subi
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to
// CHECK: %[[OTHER:.*]] = arith.subi
// CHECK: %[[BEHIND:.*]] = arith.cmpi sle, %[[I]], %[[J]]
// CHECK: %[[MORE:.*]] = arith.extui %[[BEHIND]]
// CHECK: %[[LEAST:.*]] = arith.addi %[[LENGTH]], %[[MORE]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle, %[[LEAST]], %[[OTHER]]
// CHECK: arith.select %[[BEFORE]], %{{.*}}, %{{.*}} : index
tile.program @of_pairs sizes(%H, %M) ins(%table: i32[M, M]) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c64 : index
  %classes = attn.workspace "classes" shape affine_map<()[H, M] -> (M, M)> : tensor<?x?xi32>
  %blocks = attn.workspace "blocks" shape affine_map<()[H, M] -> (M, M * 2 + 2)> : tensor<?x?xi32>
  tile.kernel @classes grid(%i < %n, %part < %n) {
    %row = arith.minsi %i, %M : index
    %d = tile.load %table[%row, %part] : tensor<?x?xi32>, (index, index) -> i32
    tile.store %d, %classes[%i, %part] : i32, tensor<?x?xi32>, (index, index)
  }
  tile.kernel @list grid(%i < %n) {
    %d = tile.load %classes[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    tile.store %d, %blocks[%i, %c0] : i32, tensor<?x?xi32>, (index, index)
  }
  tile.kernel @of_pairs grid(%h < %H, %i < %n) {
    %first = tile.load %blocks[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      %entry = tile.load %blocks[%i, %place] : tensor<?x?xi32>, (index, index) -> i32
      %x = arith.sitofp %entry : i32 to f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {tile.axis = "n", tile.from_list}
  }
  // What reads no entry stays as it is.
  // CHECK: tile.kernel @of_no_entry grid
  // CHECK-NEXT: tile.load %blocks
  tile.kernel @of_no_entry grid(%h < %H, %i < %n) {
    %first = tile.load %blocks[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n", tile.from_list}
  }
}
