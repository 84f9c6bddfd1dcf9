// RUN: attentile-opt %s --tile-vote-masks --canonicalize --cse --split-input-file | FileCheck %s

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">

// Rows of pixels, 7 apart at most: from the least and the largest of a group's
// rows, before the loop, and of the block's two ends. What is loaded for each
// column is compared with both, column by column; then the group votes.
// CHECK-LABEL: tile.program @pixels
// CHECK-DAG: %[[LEAST:.*]] = tile.reduce_group min %[[Y:.*]] : tensor<16xindex, #m> -> index
// CHECK-DAG: %[[MOST:.*]] = tile.reduce_group max %[[Y]] : tensor<16xindex, #m> -> index
// CHECK: scf.for %[[N0:.*]] = %c0 to %last
// CHECK: scf.if %{{.*}} -> (tensor<16x8xf32, #m_n>)
// CHECK: } else {
// CHECK: %[[END:.*]] = arith.addi %[[N0]], %c7
// CHECK: %[[TOP:.*]] = attn.floordiv %[[N0]], %width
// CHECK: %[[BOTTOM:.*]] = attn.floordiv %[[END]], %width
// CHECK: arith.subi %[[LEAST]], %[[BOTTOM]]
// CHECK: arith.subi %[[MOST]], %[[TOP]]
// CHECK: %[[FAR:.*]] = arith.maxsi
// CHECK: %[[SURE:.*]] = arith.cmpi sle, %[[FAR]], %radius : index
// CHECK: %[[DOC:.*]] = arith.index_cast %{{.*}} : tensor<8xi32, #n>
// CHECK-DAG: %[[LEASTS:.*]] = tile.broadcast %[[LEAST]] : index to tensor<8xindex, #n>
// CHECK-DAG: %[[IS:.*]] = arith.cmpi eq, %[[DOC]], %[[LEASTS]]
// CHECK-DAG: %[[MOSTS:.*]] = tile.broadcast %[[MOST]] : index to tensor<8xindex, #n>
// CHECK-DAG: %[[ARE:.*]] = arith.cmpi eq, %[[DOC]], %[[MOSTS]]
// CHECK: %[[SAME:.*]] = arith.andi %[[IS]], %[[ARE]]
// CHECK: %[[VOTE:.*]] = tile.vote %[[SAME]] : tensor<8xi1, #n>
// CHECK: %[[NEAR:.*]] = scf.if %[[SURE]] -> (tensor<16x8xf32, #m_n>) {
// CHECK-NEXT: scf.yield %[[S:.*]] :
// CHECK-NEXT: } else {
// CHECK: attn.floordiv %{{.*}} : tensor<8xindex, #n>
// CHECK: math.absi
// CHECK: arith.cmpi sle
// CHECK: arith.select %{{.*}}, %[[S]]
// CHECK: scf.if %[[VOTE]] -> (tensor<16x8xf32, #m_n>) {
// CHECK-NEXT: scf.yield %[[NEAR]]
// CHECK-NEXT: } else {
// CHECK: arith.cmpi eq
// CHECK: arith.select %{{.*}}, %[[NEAR]]
tile.program @pixels sizes(%M, %N) ins(%X: f32[M, N], %doc: i32[N], %width: index, %radius: index, %from: index, %last: index) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %wide = arith.cmpi sge, %width, %c1 : index
  attn.assume %wide, "width >= 1"
  tile.kernel @pixels_0 grid(%i < %M) {
    %m = tile.index %i : tensor<16xindex, #m>
    %widths = tile.broadcast %width : index to tensor<16xindex, #m>
    %y = attn.floordiv %m, %widths : tensor<16xindex, #m>
    %hidden = arith.constant dense<0xFF800000> : tensor<16x8xf32, #mn>
    %none = arith.constant dense<0xFF800000> : tensor<16xf32, #m>
    %r = scf.for %n0 = %c0 to %last step %c8 iter_args(%a = %none) -> (tensor<16xf32, #m>) {
      %full = arith.cmpi sge, %n0, %from : index
      %n = tile.index %n0 : tensor<8xindex, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<16xindex, #m>, tensor<8xindex, #n>) -> tensor<16x8xf32, #mn>
      %x = scf.if %full -> (tensor<16x8xf32, #mn>) {
        scf.yield %s : tensor<16x8xf32, #mn>
      } else {
        %columns = tile.broadcast %width : index to tensor<8xindex, #n>
        %yn = attn.floordiv %n, %columns : tensor<8xindex, #n>
        %yns = tile.broadcast %yn : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
        %ys = tile.broadcast %y : tensor<16xindex, #m> to tensor<16x8xindex, #mn>
        %apart = arith.subi %ys, %yns : tensor<16x8xindex, #mn>
        %distance = math.absi %apart : tensor<16x8xindex, #mn>
        %radii = tile.broadcast %radius : index to tensor<16x8xindex, #mn>
        %near = arith.cmpi sle, %distance, %radii : tensor<16x8xindex, #mn>
        %raw = tile.load %doc[%n] : tensor<?xi32>, (tensor<8xindex, #n>) -> tensor<8xi32, #n>
        %d = arith.index_cast %raw : tensor<8xi32, #n> to tensor<8xindex, #n>
        %ds = tile.broadcast %d : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
        %same = arith.cmpi eq, %ds, %ys : tensor<16x8xindex, #mn>
        %both = arith.andi %near, %same : tensor<16x8xi1, #mn>
        %z = arith.select %both, %s, %hidden : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
        scf.yield %z : tensor<16x8xf32, #mn>
      }
      %t = tile.reduce max %x over ["n"] : tensor<16x8xf32, #mn> -> tensor<16xf32, #m>
      %b = arith.maxnumf %a, %t : tensor<16xf32, #m>
      scf.yield %b : tensor<16xf32, #m>
    } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
    tile.store %r, %Y[%m] : tensor<16xf32, #m>, tensor<?xf32>, (tensor<16xindex, #m>)
  }
}
