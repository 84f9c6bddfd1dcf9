//===- Passes.td - passes from the formula to tile loops -------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

include "FormulaPasses.td"

def AttnToTile : Pass<"attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "grids of formulas to loops over tiles";
  let description = [{
    A kernel becomes a tile.program, each grid a tile.kernel. Step axes become
    program ids, tile axes tiles of indices from a program id on, whole axes
    tiles of their extent. A reduction over a loop axis becomes a loop over its
    tiles; nested ones take a loop for each depth, independent ones of one depth
    share it. Sums that are matrix products become tile.dot, into the carried
    value where the summed axis is a loop; with `multiply-adds` all of x * y do
    that sum an axis of both, so that a formula gives the same bits wherever it
    stands. Where an extent is not known to be a
    multiple of the tile, each reduction selects its neutral element past the
    end, on its own operand; scores are not touched. A loop over tiles that the
    kernel writes becomes one loop, with its own tile size and bounds, and is
    joined with no other; a product over the tile adds to what is carried.

    Tile sizes are the target's. For a GPU they come from a table, or are the
    nearest to it that fit registers and shared memory; whole axes are padded to
    multiples of 16, and `tile.resources` on each kernel says what the tiles
    take. Where tiles need four times the registers that there are, and half of
    that at most without one of their axes, each of its indices is a program,
    if no loop reads tiles that they share.

    Before:

    ```mlir
    attn.grid step() tile(%m) loop(%n) whole() {
      %x = attn.read %X[%m, %n] : tensor<?x?xf32>
      %s = attn.reduce sum %x over(%n) : f32
      attn.write %s to %Y[%m] : f32, tensor<?xf32>
    }
    ```

    After:

    ```mlir
    tile.kernel @row_sums_0 grid(%i < %blocks) {
      %m0 = arith.muli %i, %c64 : index
      %m = tile.index %m0 : tensor<64xindex, #m>
      %zero = arith.constant dense<0.0> : tensor<64xf32, #m>
      %s = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %zero) -> (tensor<64xf32, #m>) {
        %n = tile.index %n0 : tensor<64xindex, #n>
        %x = tile.load %X[%m, %n] : tensor<?x?xf32>, (tensor<64xindex, #m>, tensor<64xindex, #n>) -> tensor<64x64xf32, #m_n>
        ...                                                       // %in: %n < %N, over m and n
        %y = arith.select %in, %x, %none : tensor<64x64xi1, #m_n>, tensor<64x64xf32, #m_n>
        %t = tile.reduce sum %y over ["n"] : tensor<64x64xf32, #m_n> -> tensor<64xf32, #m>
        %next = arith.addf %acc, %t : tensor<64xf32, #m>
        scf.yield %next : tensor<64xf32, #m>
      } {tile.axis = "n"}
      tile.store %s, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
    }
    ```
  }];
  let options = [
    ListOption<"tileSizes", "tile-sizes", "std::string",
               "Sizes of tile and loop axes, over those of the kernel's attn.tile_sizes: m=128,n=64">,
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"", "cpu, sm_80, sm_86, sm_89 or sm_90">,
    Option<"multiplyAdds", "multiply-adds", "bool", /*default=*/"false", "CPU: every sum of products is a tile.dot, whatever its axes">,
    Option<"splitReduced", "split-reduced", "bool", /*default=*/"false", "GPU: tiles for warps that share out the loop's axis, tile-partition-warps{split=reduced}">,
    Option<"smallTiles", "small-tiles", "bool", /*default=*/"false", "GPU: tiles for little code, whatever sizes are asked for">,
    Option<"sharedBytes", "shared-bytes", "int64_t", /*default=*/"0", "GPU: shared memory that tiles may take; 0 for all that a block of threads has">
  ];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def TileFuseOnlineSoftmax : Pass<"tile-fuse-online-softmax"> {
  let summary = "computes all reductions over an axis in as few loops as their formulas allow";
  let description = [{
    A softmax times V is three loops over n: the row maximum r, the sum l of
    exp(s - r), and the sum of exp(s - r) / l * v. Here they become one: the
    maximum runs along, sums are relative to it and rescaled when it moves, and
    1 / l is applied after the loop.

    ```mlir
    // before                                     // after
    %r = scf.for ... (%mx)  { max }               %f:3 = scf.for ... (%mx, %l, %acc) {
    %l = scf.for ... (%sum) { exp(s - r) }          %mx1 = max(%mx, s)
    %o = scf.for ... (%acc) { exp(s - r) / l * v }  %p = exp(s - ref(%mx1))
                                                    %a = exp(%mx - ref(%mx1))
                                                    yield %mx1, %l * %a + sum(p), tile.dot %p, %v acc (%acc * %a)
                                                  }
                                                  %o = %f#2 / %f#1
    ```

    Nothing is matched: each summand is brought to terms c * exp(lc) *
    prod exp(kappa * a(n)) * g(n) in which c and lc stand for the row. Each
    (a, g) is an accumulator, each a has a running maximum. Statistics whose
    formula has no such form (a threshold on p), or whose terms would cancel
    ((s - mu) * p), take the next loop, and a remark names the operation. So do,
    where products round their factors, p - 0.5, and in f16 weights that a sum of
    the same loop divides, unless they are a softmax's. In f16 half of a large
    constant in c stays with g.

    A loop that the kernel writes itself may carry such reductions as they run.
    It is read the other way: a carried sum is one if its factor is what its
    terms get when the maximum moves. Then it is made anew with the others; a
    kernel with any other loop stays as it is, and a remark says why.
  }];
  let options = [
    Option<"normalize", "normalize", "::attentile::Normalize", /*default=*/"::attentile::Normalize::Late",
           "when accumulators are divided by a softmax's row sum",
           [{::llvm::cl::values(
             clEnumValN(::attentile::Normalize::Late, "late", "after the loop, as FlashAttention-2"),
             clEnumValN(::attentile::Normalize::EachStep, "each-step", "at every tile, as FlashAttention-1"))}]>,
    Option<"wideFactors", "wide-factors", "bool", /*default=*/"false",
           "Products take factors of f32, whatever their type: for a CPU">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TileListBlocks : Pass<"tile-list-blocks"> {
  let summary = "lists of the blocks that masks leave";
  let description = [{
    For masks whose needed indices are not one or two intervals in closed form:
    documents packed one behind the other, neighbourhoods of an image, tables of
    blocks, remainders. A kernel that runs before asks for each tile of rows and
    each block of the loop's axis what the mask's formula is there: by interval
    arithmetic on the block's bounds and on minima and maxima of what is loaded
    for its rows and columns, and, where that leaves it open, element by
    element. It writes the numbers of the needed blocks to workspace, those
    where no mask hides anything apart from the others, once for all heads if
    the mask is theirs in common. The loop runs over this list. A full block of
    a list lies within the axis.

    Programs of a GPU wait for each block that they judge. With `blocks-at-once`
    a kernel does the interval arithmetic for 32 blocks side by side, as tiles
    with an axis of blocks, and writes the classes of blocks; one more, of
    programs with so many blocks each, asks the elements of those that this left
    open, if any can be; the last puts each row's in order.

    Before:

    ```mlir
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      ...                                                       // %s: scores; %a, %b: doc[m], doc[n]
      %seen = arith.cmpi eq, %a, %b : tensor<128x64xindex, #m_n>
      %x = arith.select %seen, %s, %hidden : tensor<128x64xi1, #m_n>, tensor<128x64xf32, #m_n>
      ...                                                       // maximum of %x and %mx
    } {tile.axis = "n"}
    ```

    After:

    ```mlir
    %list = attn.workspace "blocks" shape affine_map<()[s0, s1] -> (s0, s1 ceildiv 128, ...)> : tensor<?x?x?xi32>
    tile.kernel @documents_0_blocks grid(%b < %B, %i < %tiles) {
      ...                                                       // %least, %most: of doc[b, m] in the tile's rows
      %ends:2 = scf.for %block = %c0 to %blocks step %c1 iter_args(%from = %middle, %to = %middle) -> (index, index) {
        ...                                                     // %place: where the block belongs, or -1
        tile.store %block, %list[%b, %i, %place] : index, tensor<?x?x?xi32>, (index, index, index)
        ...
      } {tile.axis = "n", tile.to_list}
      ...                                                       // both ends, in front
    }
    ...
    %r0 = scf.for %k = %from to %middle step %c1 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      %entry = tile.load %list[%b, %i, %k] : tensor<?x?x?xi32>, (index, index, index) -> i32
      ...                                                       // %n0: 64 * %entry; maximum of %s and %mx
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>, tile.from_list}
    %r = scf.for %k = %middle to %to step %c1 iter_args(%mx = %r0) -> (tensor<128xf32, #m>) {
      ...                                                       // as before, from %entry
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>, tile.from_list}
    ```
  }];
  let options = [
    Option<"blocksAtOnce", "blocks-at-once", "unsigned", "0",
           "Blocks whose elements a program asks; 0: it judges all of its rows' blocks, and writes the list.">];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TileSkipMaskedBlocks : Pass<"tile-skip-masked-blocks"> {
  let summary = "loop bounds from the masks' formulas";
  let description = [{
    Knows no mask. From what every reduction of a loop receives it derives a
    formula for the elements that some reduction needs, and one for the
    elements where no mask hides anything; from these, by interval arithmetic
    over the row tile, two sets of indices; and from their bounds, in blocks,
    up to three loops: blocks with masked elements, blocks without, where no
    mask is evaluated, and again blocks with. Blocks that nothing needs are not
    visited. Two separate intervals (a few leading keys and a window) are two
    such chains, more their hull. What has no closed form and no list
    (tile-list-blocks) is computed everywhere, with the mask; remarks say so.
    Of a reduction over several axes the loops around, over single indices, go
    from the first to the last index at which anything may be needed.

    Before:

    ```mlir
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      ...                                                       // %s: scores
      %seen = arith.cmpi sle, %n, %m : tensor<128x64xindex, #m_n>
      %x = arith.select %seen, %s, %hidden : tensor<128x64xi1, #m_n>, tensor<128x64xf32, #m_n>
      ...                                                       // maximum of %x and %mx
    } {tile.axis = "n"}
    ```

    After:

    ```mlir
    %full_end = ...                                             // 64 * blocks that every row sees
    %end = ...                                                  // 64 * blocks that some row sees
    %r0 = scf.for %n0 = %c0 to %full_end step %c64 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      ...                                                       // maximum of %s and %mx
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %r = scf.for %n0 = %full_end to %end step %c64 iter_args(%mx = %r0) -> (tensor<128xf32, #m>) {
      ...                                                       // as before
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    ```
  }];
  let options = [
    Option<"keepMasks", "keep-masks", "bool", /*default=*/"false",
           "evaluate masks in every block, in one loop">
  ];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TileFoldExp2 : Pass<"tile-fold-exp2"> {
  let summary = "a softmax's exponentials in base 2, with the scale folded in";
  let description = [{
    With c = scale * log2 e, exp(scale * s - r) is exp2(s * c - r'): one
    multiply-add and one exp2. The running maximum is then of the unscaled
    scores, which is right where the factor is known to be positive: a literal,
    a parameter under `where scale > 0`, and what follows from these. Otherwise
    c is log2 e, and the maximum is of the scaled scores.

    A product beyond 2^31 (2^28 where a weight is rounded to f16) is off by so
    much that what equals the maximum would have a weight of 0 or infinity. In
    rows whose reference is that far from 0, %c is a power of two up to it, whose
    products are exact; scores there lie so far apart that weights are 0 and 1.
    Scores that are at most 1 (a soft cap's) have a smaller %c instead.

    ```mlir
    // before                                       // after
    %s1 = arith.mulf %s, %scale                     %mx1 = max(%mx, %s)
    %mx1 = max(%mx, %s1)                            %rc = arith.mulf (tile.ref %mx1), %c
    %p = math.exp (%s1 - tile.ref %mx1)             %p = math.exp2 (math.fma %s, %c, -%rc)
    %a = math.exp (%mx - tile.ref %mx1)             %a = math.exp2 (%mx * %c - %rc)
    ...                                             ...
    %l = (tile.ref %mx2) + log %sum                 %l = (tile.ref %mx2 * %c) * ln 2 + log %sum
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TileFoldScales : Pass<"tile-fold-scales"> {
  let summary = "constants folded into exponentials, which become powers of 2";
  let description = [{
    What `tile-fold-exp2` does for a softmax, for exponentials that no softmax
    holds: exp(scale * s + shift) is exp2(fma(s, scale * log2 e, shift * log2 e))
    where the scale is a constant and the shift a constant or a scalar, as in
    sigmoid attention. A quotient by a constant becomes a product. Each change
    stays within what the formula's bound grants (lib/Loops/FoldScales.cpp says
    why); an exponential of what no operation rounded is left alone.

    ```mlir
    // before                                       // after
    %x = arith.divf %s, %cst_11.31                  %f = math.fma %s, %c1, %b1
    %y = arith.addf %x, %b                          // c1 = -log2 e / 11.31, b1 = -b * log2 e
    %z = math.exp (arith.negf %y)                   %z = math.exp2 %f
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

include "GpuPasses.td"

def TileVerify : Pass<"tile-verify"> {
  let summary = "checks what must hold of the tile level";
  let description = [{
    Ends each stage of the tile level, always on: no operation of index
    notation is left but those that the level keeps (assume, default,
    workspace, total integer division), and every loop over tiles names its
    axis.
  }];
}
