// RUN: attentile-opt %s --split-input-file --tile-order-programs | FileCheck %s

// The end of the loop rises with %i, through a minimum and a division: %i counts down.
// CHECK-LABEL: tile.kernel @rises
// CHECK-SAME: %[[I:[a-z0-9]+]] < %[[N:[a-z0-9]+]])
// CHECK: %[[LAST:.*]] = arith.subi %[[N]], %{{.*}} : index
// CHECK: %[[LEFT:.*]] = arith.subi %[[LAST]], %[[I]] : index
// CHECK: %[[R:.*]] = arith.maxsi %[[LEFT]], %c0{{.*}} : index
// CHECK: arith.muli %[[R]],
tile.program @rises sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c64 : index
  tile.kernel @rises grid(%i < %n) {
    %at = arith.muli %i, %c64 : index
    %reach = arith.addi %at, %c64 : index
    %end = arith.minsi %reach, %M : index
    %blocks = arith.divui %end, %c64 : index
    %to = arith.muli %blocks, %c64 : index
    %r = scf.for %n0 = %c0 to %to step %c64 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n"}
  }
}

// -----

// A window: the end is the loop's, or its start where it is empty; both rise. Programs that start behind the first key go up, so
// that each finds its first keys in the cache; as many as the last one's start is tiles away. The others come last, counted down.
// CHECK-LABEL: tile.kernel @window
// CHECK-SAME: %[[I:[a-z0-9]+]] < %[[N:[a-z0-9]+]])
// CHECK-SAME: tile.common_programs = 64
// CHECK: %[[LAST:.*]] = arith.subi %[[N]], %{{.*}} : index
// CHECK: %[[START:.*]] = arith.muli %[[LAST]], %c64
// CHECK: %[[SOME:.*]] = arith.maxsi %[[START]],
// CHECK: %[[FEW:.*]] = arith.divui %[[SOME]],
// CHECK: %[[LONG:.*]] = arith.minsi %[[FEW]], %[[N]]
// CHECK: %[[FIRST:.*]] = arith.subi %[[N]], %[[LONG]]
// CHECK: %[[IS:.*]] = arith.cmpi slt, %[[I]], %[[LONG]]
// CHECK: %[[UP:.*]] = arith.addi %[[I]], %[[FIRST]]
// CHECK: %[[DOWN:.*]] = arith.subi %[[LAST]], %[[I]]
// CHECK: %[[ONE:.*]] = arith.select %[[IS]], %[[UP]], %[[DOWN]]
// CHECK: %[[MOST:.*]] = arith.minsi %[[ONE]], %[[LAST]]
// CHECK: %[[AT:.*]] = arith.maxsi %[[MOST]], %c0
// CHECK: arith.muli %[[AT]], %c64
tile.program @window sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c64 : index
  tile.kernel @window grid(%i < %n) {
    %at = arith.muli %i, %c64 : index
    %end = arith.addi %at, %c64 : index
    %some = arith.cmpi slt, %end, %M : index
    %to = arith.select %some, %end, %at : index
    %r = scf.for %n0 = %at to %to step %c64 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n"}
  }
}

// -----

// It falls: they start in order already. (Nor where nothing is known.)
// CHECK-LABEL: tile.kernel @falls
// CHECK-NOT: arith.subi %{{.*}}, %i
// CHECK: arith.muli %i,
tile.program @falls sizes(%M) ins(%X: f32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c64 : index
  tile.kernel @falls grid(%i < %n) {
    %at = arith.muli %i, %c64 : index
    %to = arith.subi %M, %at : index
    %r = scf.for %n0 = %c0 to %to step %c64 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n"}
  }
}

// -----

// What a head's programs read in common: of each key 8 numbers, for 64 rows.
// CHECK-LABEL: tile.kernel @reads
// CHECK-SAME: tile.common_bytes = 2048 : i64
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#n_d = #tile.axes<"n", "d">
tile.program @reads sizes(%H, %M) ins(%K: f32[H, M, 8]) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
  %n = arith.ceildivsi %M, %c64 : index
  tile.kernel @reads grid(%h < %H, %i < %n) {
    %at = arith.muli %i, %c64 : index
    %to = arith.addi %at, %c64 : index
    %d = tile.index %c0 : tensor<8xindex, #d>
    %r = scf.for %n0 = %c0 to %to step %c16 iter_args(%sum = %zero) -> (tensor<16xf32, #n>) {
      %k = tile.index %n0 : tensor<16xindex, #n>
      %x = tile.load %K[%h, %k, %d] : tensor<?x?x8xf32>, (index, tensor<16xindex, #n>, tensor<8xindex, #d>) -> tensor<16x8xf32, #n_d>
      %t = tile.reduce sum %x over ["d"] : tensor<16x8xf32, #n_d> -> tensor<16xf32, #n>
      %s = arith.addf %sum, %t : tensor<16xf32, #n>
      scf.yield %s : tensor<16xf32, #n>
    } {tile.axis = "n"}
  }
}

// -----

// A window: programs side by side read a part of the keys, which count half.
// CHECK-LABEL: tile.kernel @part
// CHECK-SAME: tile.common_bytes = 1024 : i64
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#n_d = #tile.axes<"n", "d">
tile.program @part sizes(%H, %M) ins(%K: f32[H, M, 8]) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #n>
  %n = arith.ceildivsi %M, %c64 : index
  tile.kernel @part grid(%h < %H, %i < %n) {
    %at = arith.muli %i, %c64 : index
    %to = arith.addi %at, %c64 : index
    %d = tile.index %c0 : tensor<8xindex, #d>
    %r = scf.for %n0 = %at to %to step %c16 iter_args(%sum = %zero) -> (tensor<16xf32, #n>) {
      %k = tile.index %n0 : tensor<16xindex, #n>
      %x = tile.load %K[%h, %k, %d] : tensor<?x?x8xf32>, (index, tensor<16xindex, #n>, tensor<8xindex, #d>) -> tensor<16x8xf32, #n_d>
      %t = tile.reduce sum %x over ["d"] : tensor<16x8xf32, #n_d> -> tensor<16xf32, #n>
      %s = arith.addf %sum, %t : tensor<16xf32, #n>
      scf.yield %s : tensor<16xf32, #n>
    } {tile.axis = "n"}
  }
}

// -----

// Heads share the list of a tile of rows: all are one section, so that they run side by side.
// CHECK-LABEL: tile.kernel @shares
// CHECK-SAME: tile.common_bytes = 1 : i64
// CHECK: arith.subi %{{.*}}, %i
// Each head has its own: one head after the other.
// CHECK-LABEL: tile.kernel @owns
// CHECK-NOT: tile.common_bytes
// CHECK-NOT: arith.subi
tile.program @lists sizes(%H, %M) ins(%X: f32[H, M]) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.ceildivsi %M, %c1 : index
  %rows = attn.workspace "blocks" shape affine_map<()[H, M] -> (H, M)> : tensor<?x?xi32>
  tile.kernel @shares grid(%h < %H, %i < %n) {
    %first = tile.load %rows[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n", tile.from_list}
  }
  tile.kernel @owns grid(%h < %H, %i < %n) {
    %first = tile.load %rows[%h, %i] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n", tile.from_list}
  }
}

// -----

// A list whose blocks lie in a window, as of neighbours in an image: they start later and later, for any width that is assumed
// to be positive. Programs stay in their order, each behind the one that has read its first keys.
// CHECK-LABEL: tile.kernel @neighbours
// CHECK-SAME: tile.common_bytes = 1 : i64
// CHECK-NOT: arith.subi
// A width of which nothing is known may be negative.
// CHECK-LABEL: tile.kernel @unknown
// CHECK: arith.subi %{{.*}}, %i
tile.program @moving sizes(%H, %M) ins(%X: f32[H, M], %width: index, %other: index) outs(%Y: f32[H, M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpi sge, %width, %c1 : index
  attn.assume %positive, "width >= 1"
  %n = arith.ceildivsi %M, %c1 : index
  %rows = attn.workspace "blocks" shape affine_map<()[H, M] -> (M, M)> : tensor<?x?xi32>
  %others = attn.workspace "others" shape affine_map<()[H, M] -> (M, M)> : tensor<?x?xi32>
  tile.kernel @writes grid(%i < %n) attributes {tile.block_list} {
    %at = arith.muli %i, %c64 : index
    %line = attn.floordiv %at, %width : index
    %from = arith.muli %line, %width : index
    scf.for %b = %from to %n step %c1 {
      tile.store %b, %rows[%i, %b] : index, tensor<?x?xi32>, (index, index)
    } {tile.axis = "n", tile.to_list}
  }
  tile.kernel @writes_others grid(%i < %n) attributes {tile.block_list} {
    %at = arith.muli %i, %c64 : index
    %line = attn.floordiv %at, %other : index
    scf.for %b = %line to %n step %c1 {
      tile.store %b, %others[%i, %b] : index, tensor<?x?xi32>, (index, index)
    } {tile.axis = "n", tile.to_list}
  }
  tile.kernel @neighbours grid(%h < %H, %i < %n) {
    %first = tile.load %rows[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n", tile.from_list}
  }
  tile.kernel @unknown grid(%h < %H, %i < %n) {
    %first = tile.load %others[%i, %c0] : tensor<?x?xi32>, (index, index) -> i32
    %from = arith.index_cast %first : i32 to index
    %r = scf.for %place = %from to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      scf.yield %sum : f32
    } {tile.axis = "n", tile.from_list}
  }
}
