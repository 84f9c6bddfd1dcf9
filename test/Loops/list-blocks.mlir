// RUN: attentile-opt %s --tile-list-blocks --canonicalize --cse --split-input-file \
// RUN:   --remarks-filter=tile-list-blocks --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: attentile-opt %s --tile-list-blocks=blocks-at-once=8 --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PARTS

// Row maxima of masked scores. test/unit/SkipMaskedBlocksTest.cpp compares the
// blocks of a list with brute force.

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// One list for all heads. Minima and maxima of the rows' values are taken once,
// those of the columns in each block; only where these do not tell is the first
// row and the last asked, and only then each element. Full blocks evaluate no
// mask. Blocks of loaded values are visited from the last to the first.
// CHECK-LABEL: tile.program @documents
// CHECK: %blocks = attn.workspace "blocks" shape {{.*}} : tensor<?x?x?xi32>
// CHECK: tile.kernel @documents_0_blocks grid(%b < %B, %i < %{{.*}}) attributes {tile.block_list} {
// CHECK: %[[BLOCKS:.*]] = arith.divui
// CHECK: %[[LAST:.*]] = arith.addi %[[BLOCKS]], %c-1
// CHECK: %[[LEAST:.*]] = tile.reduce min
// CHECK: %[[MOST:.*]] = tile.reduce max
// CHECK: %[[ENDS:.*]]:2 = scf.for %[[VISIT:.*]] = %c0 to %[[BLOCKS]] step
// CHECK: %[[BLOCK:.*]] = arith.subi %[[LAST]], %[[VISIT]]
// CHECK: tile.reduce min
// CHECK: tile.reduce max
// CHECK: scf.if
// CHECK: else
// CHECK: tile.load %doc[%b, %{{.*}}] : tensor<?x?xi32>, (index, index) -> i32
// CHECK: tile.reduce any %{{.*}} over ["n"]
// CHECK: tile.reduce all %{{.*}} over ["n"]
// CHECK: tile.load %doc[%b, %{{.*}}] : tensor<?x?xi32>, (index, index) -> i32
// CHECK: tile.reduce any %{{.*}} over ["n"]
// CHECK: tile.reduce all %{{.*}} over ["n"]
// CHECK: scf.if
// CHECK: else
// CHECK: tile.reduce any %{{.*}} over ["m", "n"]
// CHECK: tile.reduce all %{{.*}} over ["m", "n"]
// CHECK: tile.store %[[BLOCK]], %blocks[%b, %i, %{{.*}}]
// CHECK: {tile.axis = "n", tile.to_list}
// CHECK: tile.store %[[ENDS]]#0, %blocks[%b, %i, %c0]
// CHECK: tile.store %[[ENDS]]#1, %blocks[%b, %i, %c1]
// CHECK-NOT: tile.load %X
// CHECK: tile.kernel @documents_0 grid(%b < %B, %h < %H, %i < %{{.*}}) {
// CHECK: %[[FIRST:.*]] = tile.load %blocks[%b, %i, %c0]
// CHECK: %[[FROM:.*]] = arith.index_cast %[[FIRST]]
// CHECK: %[[LAST:.*]] = tile.load %blocks[%b, %i, %c1]
// CHECK: %[[TO:.*]] = arith.index_cast %[[LAST]]
// CHECK: scf.for %[[K:.*]] = %[[FROM]] to
// CHECK: tile.load %blocks[%b, %i, %[[K]]]
// CHECK: %[[N0:.*]] = arith.muli
// CHECK: tile.index %[[N0]]
// CHECK-NOT: arith.cmpi eq
// CHECK: tile.blocks = #tile.blocks<full>, tile.from_list
// CHECK: scf.for {{.*}} to %[[TO]]
// CHECK: arith.cmpi eq
// CHECK: tile.blocks = #tile.blocks<partial>, tile.from_list
// REMARK: remark: {{.*}}loop over the blocks that are needed: a grid before lists them for each tile of rows

// On a GPU the classes of 32 blocks at once follow from minima and maxima, where
// they do; the elements of the others are asked, eight blocks a program; then one
// program for each row of the list counts along it. No row or key is read there.
// PARTS-LABEL: tile.program @documents
// PARTS: %[[SIDES:.*]] = arith.ceildivsi %S, %c512
// PARTS: %blocks_classes = attn.workspace "blocks_classes" shape
// PARTS: tile.kernel @documents_0_blocks_classes grid(%b < %B, %i < %{{.*}}, %part < %[[SIDES]]) attributes {tile.block_list} {
// PARTS: %[[FIRST:.*]] = arith.muli %part, %c32
// PARTS: %[[BLOCKS:.*]] = tile.index %[[FIRST]] : tensor<32xindex, #block>
// PARTS: tile.load %doc[%b, %{{.*}}] : tensor<?x?xi32>, (index, tensor<32x16xindex, #block_n>)
// PARTS: tile.reduce max %{{.*}} over ["n"] : tensor<32x16xindex, #block_n>
// PARTS: tile.reduce min %{{.*}} over ["n"] : tensor<32x16xindex, #block_n>
// PARTS: arith.select {{.*}} : tensor<32xi1, #block>, tensor<32xindex, #block>
// PARTS-NOT: scf.
// PARTS: tile.store %{{.*}}, %blocks_classes[%b, %i, %[[BLOCKS]]] : tensor<32xindex, #block>
// PARTS: %[[PARTS:.*]] = arith.ceildivsi %S, %c128
// PARTS: %blocks_asked = attn.workspace "blocks_asked" shape
// PARTS: tile.kernel @documents_0_blocks_asked grid(%b < %B, %i < %{{.*}}, %part < %[[PARTS]]) attributes {tile.block_list} {
// PARTS: %[[FIRST:.*]] = arith.muli %part, %c8
// PARTS: scf.for %[[BLOCK:.*]] = %[[FIRST]] to
// PARTS-NEXT: tile.load %blocks_classes[%b, %i, %[[BLOCK]]]
// PARTS: arith.cmpi sge, %{{.*}}, %c3
// PARTS: scf.if
// PARTS: tile.reduce any %{{.*}} over ["n"]
// PARTS-NOT: tile.reduce any %{{.*}} over ["n"]
// PARTS: tile.reduce any %{{.*}} over ["m", "n"]
// PARTS: tile.store %{{.*}}, %blocks_asked[%b, %i, %[[BLOCK]]]
// PARTS: tile.to_list
// PARTS: %blocks = attn.workspace "blocks" shape
// PARTS: tile.kernel @documents_0_blocks grid(%b < %B, %i < %{{.*}}) attributes {tile.block_list} {
// PARTS-NOT: %doc
// PARTS: scf.for %[[VISIT:.*]] = %c0 to
// PARTS-NEXT: %[[BLOCK:.*]] = arith.subi %{{.*}}, %[[VISIT]]
// PARTS-NEXT: tile.load %blocks_asked[%b, %i, %[[BLOCK]]]
// PARTS-NOT: %doc
// PARTS: tile.store %[[BLOCK]], %blocks[%b, %i, %{{.*}}]
// PARTS: tile.to_list
// PARTS-NOT: %doc
// PARTS: tile.kernel @documents_0 grid(
tile.program @documents sizes(%B, %H, %S) ins(%X: f32[B, H, S, S], %doc: i32[B, S]) outs(%Y: f32[B, H, S]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivsi %S, %c32 : index
  tile.kernel @documents_0 grid(%b < %B, %h < %H, %i < %tiles) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %doc_m = tile.load %doc[%b, %m] : tensor<?x?xi32>, (index, tensor<32xindex, #m>) -> tensor<32xi32, #m>
    %of_row = arith.index_cast %doc_m : tensor<32xi32, #m> to tensor<32xindex, #m>
    %rows = tile.broadcast %of_row : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %S : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %S step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%b, %h, %m, %n] : tensor<?x?x?x?xf32>, (index, index, tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %doc_n = tile.load %doc[%b, %n] : tensor<?x?xi32>, (index, tensor<16xindex, #n>) -> tensor<16xi32, #n>
      %of_column = arith.index_cast %doc_n : tensor<16xi32, #n> to tensor<16xindex, #n>
      %columns = tile.broadcast %of_column : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %same = arith.cmpi eq, %rows, %columns : tensor<32x16xindex, #mn>
      %x = arith.select %same, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %next : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%b, %h, %m] : tensor<32xf32, #m>, tensor<?x?x?xf32>, (index, index, tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// A condition that no block's indices cross is read once a block; nothing is left
// to ask.
// PARTS-LABEL: tile.program @table
// PARTS: tile.kernel @table_0_blocks_classes
// PARTS: tile.load %allowed[%{{.*}}, %{{.*}}] : tensor<?x?xi1>, (index, tensor<32xindex, #block>) -> tensor<32xi1, #block>
// PARTS-NOT: blocks_asked
// PARTS: tile.kernel @table_0 grid
// CHECK-LABEL: tile.program @table
// CHECK: tile.kernel @table_0_blocks
// CHECK: scf.for
// CHECK: tile.load %allowed[%{{.*}}, %{{.*}}] : tensor<?x?xi1>, (index, index) -> i1
// CHECK-NOT: tile.reduce
// CHECK: tile.to_list
// A block that is listed has the condition, so that no loop evaluates it.
// CHECK: tile.kernel @table_0 grid
// CHECK-NOT: %allowed
// CHECK: tile.blocks = #tile.blocks<full>, tile.from_list
// CHECK-NOT: %allowed
// CHECK: tile.blocks = #tile.blocks<partial>, tile.from_list
tile.program @table sizes(%S, %T) ins(%X: f32[S, S], %allowed: i1[T, T]) outs(%Y: f32[S]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivsi %S, %c32 : index
  tile.kernel @table_0 grid(%i < %tiles) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %by_m = arith.constant dense<64> : tensor<32xindex, #m>
    %by_n = arith.constant dense<64> : tensor<16xindex, #n>
    %row = attn.floordiv %m, %by_m : tensor<32xindex, #m>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %S : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %S step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %column = attn.floordiv %n, %by_n : tensor<16xindex, #n>
      %seen = tile.load %allowed[%row, %column] : tensor<?x?xi1>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xi1, #mn>
      %x = arith.select %seen, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %next : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Bounds in closed form need no list.
// PARTS-LABEL: tile.program @causal
// PARTS-NOT: attn.workspace
// CHECK-LABEL: tile.program @causal
// CHECK-NOT: attn.workspace
// CHECK: scf.for
// CHECK-NOT: tile.from_list
tile.program @causal sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivsi %M, %c32 : index
  tile.kernel @causal_0 grid(%i < %tiles) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %mm = tile.broadcast %m : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %seen = arith.cmpi sle, %nn, %mm : tensor<32x16xindex, #mn>
      %x = arith.select %seen, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %next : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// PARTS-LABEL: tile.program @extent
// Of an extent that is no expression of the sizes no workspace can be made.
// CHECK-LABEL: tile.program @extent
// CHECK-NOT: tile.from_list
// REMARK: remark: {{.*}}no list of the blocks that are needed: the loop stands in another or visits single indices, or an extent is no expression of the sizes
tile.program @extent sizes(%M, %N) ins(%X: f32[M, N], %most: i64) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivsi %M, %c32 : index
  %limit = arith.index_cast %most : i64 to index
  %L = arith.minsi %N, %limit : index
  tile.kernel @extent_0 grid(%i < %tiles) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %three = arith.constant dense<3> : tensor<16xindex, #n>
    %zero = arith.constant dense<0> : tensor<16xindex, #n>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %L : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %L step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %rest = attn.floormod %n, %three : tensor<16xindex, #n>
      %seen_n = arith.cmpi eq, %rest, %zero : tensor<16xindex, #n>
      %seen = tile.broadcast %seen_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %x = arith.select %seen, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %next : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Those of indices alone from the first to the last, in the order of programs.
// PARTS-LABEL: tile.program @remainders
// PARTS: tile.kernel @remainders_0_blocks grid
// PARTS: scf.for %[[BLOCK:.*]] = %c0 to
// PARTS-NEXT: tile.load %blocks_{{.*}}[%[[BLOCK]]]
// CHECK-LABEL: tile.program @remainders
// CHECK: tile.kernel @remainders_0_blocks
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to
// CHECK: tile.store %[[BLOCK]], %blocks[
tile.program @remainders sizes(%M, %N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivsi %M, %c32 : index
  tile.kernel @remainders_0 grid(%i < %tiles) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %period = arith.constant dense<48> : tensor<16xindex, #n>
    %zero = arith.constant dense<0> : tensor<16xindex, #n>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %rest = attn.floormod %n, %period : tensor<16xindex, #n>
      %seen_n = arith.cmpi eq, %rest, %zero : tensor<16xindex, #n>
      %seen = tile.broadcast %seen_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %x = arith.select %seen, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %next : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// What a loop before leaves, floats or integers, is not known to the kernel
// that lists blocks: it holds nothing of that loop, and what that would hide is
// listed.
// CHECK-LABEL: tile.program @after
// CHECK: tile.kernel @after_0_blocks grid(%i < %{{.*}}) attributes {tile.block_list} {
// CHECK-NOT: tile.load %X
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: tile.to_list
// CHECK-NOT: scf.for
// CHECK: tile.kernel @after_0 grid
// CHECK: tile.axis = "n"}
// CHECK: tile.blocks = #tile.blocks<partial>, tile.from_list
tile.program @after sizes(%B, %S) ins(%X: f32[B, S, S], %doc: i32[S]) outs(%Y: f32[B, S]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivsi %S, %c32 : index
  tile.kernel @after_0 grid(%b < %B, %i < %tiles) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %doc_m = tile.load %doc[%m] : tensor<?xi32>, (tensor<32xindex, #m>) -> tensor<32xi32, #m>
    %of_row = arith.index_cast %doc_m : tensor<32xi32, #m> to tensor<32xindex, #m>
    %rows = tile.broadcast %of_row : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %none = arith.constant dense<0> : tensor<32xindex, #m>
    %least = arith.constant dense<0.0> : tensor<32xf32, #m>
    %end = tile.broadcast %S : index to tensor<16xindex, #n>
    %before:2 = scf.for %n0 = %c0 to %S step %c16 iter_args(%a = %start, %b0 = %none) -> (tensor<32xf32, #m>, tensor<32xindex, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%b, %m, %n] : tensor<?x?x?xf32>, (index, tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      %count = arith.addi %b0, %of_row : tensor<32xindex, #m>
      scf.yield %next, %count : tensor<32xf32, #m>, tensor<32xindex, #m>
    } {tile.axis = "n"}
    %positive_m = arith.cmpf ogt, %before#0, %least : tensor<32xf32, #m>
    %positive = tile.broadcast %positive_m : tensor<32xi1, #m> to tensor<32x16xi1, #mn>
    %last = tile.broadcast %before#1 : tensor<32xindex, #m> to tensor<32x16xindex, #mn>
    %r = scf.for %n0 = %c0 to %S step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%b, %m, %n] : tensor<?x?x?xf32>, (index, tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %doc_n = tile.load %doc[%n] : tensor<?xi32>, (tensor<16xindex, #n>) -> tensor<16xi32, #n>
      %of_column = arith.index_cast %doc_n : tensor<16xi32, #n> to tensor<16xindex, #n>
      %columns = tile.broadcast %of_column : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %same = arith.cmpi eq, %rows, %columns : tensor<32x16xindex, #mn>
      %nn = tile.broadcast %n : tensor<16xindex, #n> to tensor<32x16xindex, #mn>
      %below = arith.cmpi sle, %nn, %last : tensor<32x16xindex, #mn>
      %x0 = arith.select %same, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %x1 = arith.select %below, %x0, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %x = arith.select %positive, %x1, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %next : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%b, %m] : tensor<32xf32, #m>, tensor<?x?xf32>, (index, tensor<32xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Where bounds alone show that nothing is needed (m <= -1) there is no list.
// CHECK-LABEL: tile.program @nothing
// CHECK-NOT: attn.workspace
// CHECK-NOT: tile.from_list
// PARTS-LABEL: tile.program @nothing
// PARTS-NOT: attn.workspace
tile.program @nothing sizes(%M, %N) ins(%X: f32[M, N], %k: i1[M, N], %doc: i32[M]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %tiles = arith.ceildivsi %M, %c32 : index
  tile.kernel @nothing_0 grid(%i < %tiles) {
    %m0 = arith.muli %i, %c32 : index
    %m = tile.index %m0 : tensor<32xindex, #m>
    %least = arith.constant dense<-1> : tensor<32xindex, #m>
    %seen_m = arith.cmpi sle, %m, %least : tensor<32xindex, #m>
    %row = tile.broadcast %seen_m : tensor<32xi1, #m> to tensor<32x16xi1, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<32x16xf32, #mn>
    %start = arith.constant dense<0xFF800000> : tensor<32xf32, #m>
    %end = tile.broadcast %N : index to tensor<16xindex, #n>
    %r = scf.for %n0 = %c0 to %N step %c16 iter_args(%a = %start) -> (tensor<32xf32, #m>) {
      %n = tile.index %n0 : tensor<16xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xf32, #mn>
      %seen = tile.load %k[%m, %n] : tensor<?x?xi1>, (tensor<32xindex, #m>, tensor<16xindex, #n>) -> tensor<32x16xi1, #mn>
      %w = arith.select %seen, %s, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %x = arith.select %row, %w, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %in_n = arith.cmpi slt, %n, %end : tensor<16xindex, #n>
      %in = tile.broadcast %in_n : tensor<16xi1, #n> to tensor<32x16xi1, #mn>
      %y = arith.select %in, %x, %ninf : tensor<32x16xi1, #mn>, tensor<32x16xf32, #mn>
      %t = tile.reduce max %y over ["n"] : tensor<32x16xf32, #mn> -> tensor<32xf32, #m>
      %next = arith.maximumf %a, %t : tensor<32xf32, #m>
      scf.yield %next : tensor<32xf32, #m>
    } {tile.axis = "n"}
    tile.store %r, %Y[%m] : tensor<32xf32, #m>, tensor<?xf32>, (tensor<32xindex, #m>)
  }
}
