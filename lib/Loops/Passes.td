//===- Passes.td - passes from the formula to tile loops -------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

def AttnLowerSoftmax : Pass<"attn-lower-softmax"> {
  let summary = "softmax and logsumexp to ref, exp, sum and a row part";
  let description = [{
    Both become the same three steps: a reference near the row's maximum, the
    weights against it, and their sum. What depends on the row alone, 1 / sum
    with a select for rows that see nothing, stays apart from the weights, so
    that later it moves behind the loop. A softmax and a logsumexp of one value
    over the same axes share their statistics.

    Before:

    ```mlir
    %p = attn.softmax %s over(%n) : f32
    %l = attn.logsumexp %s over(%n) : f32
    ```

    After:

    ```mlir
    %r = attn.reduce ref %s over(%n) : f32
    %x = arith.subf %s, %r : f32
    %w = math.exp %x : f32
    %t = attn.reduce sum %w over(%n) : f32
    %unseen = arith.cmpf oeq, %t, %zero : f32
    %i = arith.divf %one, %t : f32
    %f = arith.select %unseen, %zero, %i : f32
    %p = arith.mulf %w, %f : f32
    %log = math.log %t : f32
    %l = arith.addf %r, %log : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnFormGrids : Pass<"attn-form-grids"> {
  let summary = "which axes are grid, tile and loop, and which statements run together";
  let description = [{
    Each statement's axes get a role. *Whole* in the tile are axes summed inside
    a score (d) and output axes that no score has (e). Other reduced axes are
    *loops* (n). Of the output's axes that only one factor of a score's product
    has, the last is the *tile* axis (m); the others (batch, head) are *steps*
    of the grid. A product outside any loop over keys is tiled along both of its
    sides. A row statistic without a product tiles the last axis of its rows; a
    statement without reductions the last two. An output axis that no reduction
    needs becomes a loop around the write, and so does one that the statement
    also reduces over (`P[m, n] = softmax[n](s)`).

    Statements of the same step, tile and loop axes share a grid. A reduction
    over a loop that stands under a loop over one of its own axes goes through
    workspace, written by a grid that runs before: in `A[n] =
    sum[m](softmax[n](s))` the row's maximum and sum. So does a value that the
    schedule marks (`attn.materialize`): with `materialize s, p` an attention
    formula becomes standard attention.

    A loop over tiles that the kernel writes (`attn.for`) counts as a reduction
    over its axis. The axes that its bounds depend on are steps: a program has
    one loop.

    Before (after attn-lower-softmax; abridged):

    ```mlir
    %s = attn.reduce sum %qk over(%d) product f32 : f32
    %p = ...                                                // softmax of %s over %n
    %o = attn.reduce sum %pv over(%n) product f32 : f32
    attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
    %a = attn.reduce sum %p over(%m) : f32
    attn.write %a to %A[%n] : f32, tensor<?xf32>
    ```

    After:

    ```mlir
    %ref = attn.workspace "ref" shape affine_map<()[s0, s1] -> (s0)> : tensor<?xf32>
    %sum = attn.workspace "sum" shape affine_map<()[s0, s1] -> (s0)> : tensor<?xf32>
    attn.grid step() tile(%m) loop(%n) whole(%d, %e) {
      ...
      attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
      attn.write %r to %ref[%m] : f32, tensor<?xf32>
      attn.write %t to %sum[%m] : f32, tensor<?xf32>
    }
    attn.grid step() tile(%n) loop(%m) whole(%d) {
      ...
      %r = attn.read %ref[%m] : tensor<?xf32>
      %t = attn.read %sum[%m] : tensor<?xf32>
      ...
      attn.write %a to %A[%n] : f32, tensor<?xf32>
    }
    ```
  }];
}

def AttnToTile : Pass<"attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "grids of formulas to loops over tiles";
  let description = [{
    A kernel becomes a tile.program, each grid a tile.kernel. Step axes become
    program ids, tile axes tiles of indices from a program id on, whole axes
    tiles of their extent. A reduction over a loop axis becomes a loop over its
    tiles; nested ones take a loop for each depth, independent ones of one depth
    share it. Sums that are matrix products become tile.dot, into the carried
    value where the summed axis is a loop. Where an extent is not known to be a
    multiple of the tile, each reduction selects its neutral element past the
    end, on its own operand; scores are not touched. A loop over tiles that the
    kernel writes becomes one loop, with its own tile size and bounds, and is
    joined with no other; a product over the tile adds to what is carried.

    Tile sizes are the target's. For a GPU they come from a table, or are the
    nearest to it that fit registers and shared memory; whole axes are padded to
    multiples of 16, and `tile.resources` on each kernel says what the tiles
    take.

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
    Option<"splitReduced", "split-reduced", "bool", /*default=*/"false", "GPU: tiles for warps that share out the loop's axis, tile-partition-warps{split=reduced}">,
    Option<"smallTiles", "small-tiles", "bool", /*default=*/"false", "GPU: tiles for little code, whatever sizes are asked for">
  ];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::scf::SCFDialect"];
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
    ((s - mu) * p), take the next loop, and a remark names the operation.

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
             clEnumValN(::attentile::Normalize::EachStep, "each-step", "at every tile, as FlashAttention-1"))}]>
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

    Programs of a GPU wait for each block that they judge; with `blocks-at-once`
    programs judge so many each and a third kernel puts what they found in
    order.

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
           "Blocks that a program judges; 0: all of its rows' blocks, and writes the list.">];
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

def TilePeelTails : Pass<"tile-peel-tails"> {
  let summary = "full blocks without the axis's bound";
  let description = [{
    A full block evaluates no mask, but still whether each index lies within
    the axis, which matters in the last block only. The loop over full blocks
    now ends with the last that lies within; there the comparison is true, and
    `tile.inside` says so to what reads tensors along the axis. What is left,
    at most one block, goes to the loop over partial blocks that follows, or to
    a copy of the loop if none does; to none if the extent is known to be a
    multiple of the tile. So blocks and their order stay; a last block that is
    not whole counts as partial.

    Before:

    ```mlir
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      %in = arith.cmpi slt, %n, %bound : tensor<64xindex, #n>     // %bound: %N everywhere
      %x = arith.select %in, %s, %hidden : ...
      ...                                                         // maximum of %x and %mx
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    ```

    After:

    ```mlir
    %whole = ...                                                  // 64 * (%N / 64)
    %r0 = scf.for %n0 = %c0 to %whole step %c64 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      ...                                                         // maximum of %s and %mx
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>, tile.inside = affine_map<()[s0, s1] -> (s1)>}
    %r = scf.for %n0 = %whole to %N step %c64 iter_args(%mx = %r0) -> (tensor<128xf32, #m>) {
      ...                                                         // as before
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileJoinLoops : Pass<"tile-join-loops"> {
  let summary = "one loop over full and partial blocks";
  let description = [{
    Chained loops over full and partial blocks become one over all of them, in
    which the masks and the axis's end are evaluated behind a branch on the
    block's index: one body to assign registers for, and copies that run on.
    The bodies are compared, nothing is matched: a select of the partial one may
    be one of its operands in the full one, or another select, and the rest has
    to be the same.

    Before:

    ```mlir
    %r0 = scf.for %n0 = %c0 to %whole step %c64 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      ...                                                         // maximum of %s and %mx
    } {tile.axis = "n", tile.blocks = #tile.blocks<full>}
    %r = scf.for %n0 = %whole to %N step %c64 iter_args(%mx = %r0) -> (tensor<128xf32, #m>) {
      %in = arith.cmpi slt, %n, %bound : tensor<64xindex, #n>     // %bound: %N everywhere
      %x = arith.select %in, %s, %hidden : ...
      ...                                                         // maximum of %x and %mx
    } {tile.axis = "n", tile.blocks = #tile.blocks<partial>}
    ```

    After:

    ```mlir
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%mx = %ninf) -> (tensor<128xf32, #m>) {
      %full = arith.cmpi slt, %n0, %whole : index
      %x = scf.if %full -> (tensor<128x64xf32, #m_n>) {
        scf.yield %s
      } else {
        %in = arith.cmpi slt, %n, %bound : tensor<64xindex, #n>
        %x = arith.select %in, %s, %hidden : ...
        scf.yield %x
      }
      ...                                                         // maximum of %x and %mx
    } {tile.axis = "n", tile.blocks = #tile.blocks<mixed>}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileVoteMasks : Pass<"tile-vote-masks"> {
  let summary = "a mask's bounds only for rows that they cut";
  let description = [{
    A block that a mask cuts anywhere evaluates all of the mask for all of its
    rows: of a sliding window's, those at its start and those at its end both
    compare twice and select twice an element. Behind the branch that full
    blocks take, each comparison of the loop's index with a limit becomes a
    select behind a branch of its own, on a vote of the rows that decide
    together: whether the whole block lies on the visible side of their limits.

    Before:

    ```mlir
    %first = arith.cmpi sgt, %ns, %starts : tensor<128x64xindex, #m_n>
    %last = arith.cmpi sle, %ns, %ends : tensor<128x64xindex, #m_n>
    %in = arith.andi %first, %last : tensor<128x64xi1, #m_n>
    %x = arith.select %in, %s, %hidden : ...
    ```

    After:

    ```mlir
    %a = arith.cmpi sgt, %n0s, %start : tensor<128xindex, #m>     // %n0s: the block's first index
    %b = tile.vote %a : tensor<128xi1, #m>
    %y = scf.if %b -> (tensor<128x64xf32, #m_n>) {
      scf.yield %s : tensor<128x64xf32, #m_n>
    } else {
      %first = arith.cmpi sgt, %ns, %starts : tensor<128x64xindex, #m_n>
      %z = arith.select %first, %s, %hidden : ...
      scf.yield %z : tensor<128x64xf32, #m_n>
    }
    ...                                                           // the same for %last, of %y
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileMergeBounds : Pass<"tile-merge-bounds"> {
  let summary = "one comparison where a mask had several";
  let description = [{
    A partial block tests each element against the axis's end and against the
    mask, and selects twice. Two upper bounds of one index are one, the smaller,
    as are two lower ones; where one of them is the same for a whole row, so is
    the minimum, and it leaves the loop.

    Before:

    ```mlir
    %a = arith.cmpi slt, %n, %ends : tensor<64xindex, #n>         // %ends: %N everywhere
    %b = arith.cmpi sle, %ns, %lasts : tensor<128x64xindex, #m_n> // of tiles along n and m
    %x = arith.select %b, %s, %hidden : ...
    %y = arith.select %as, %x, %hidden : ...
    ```

    After:

    ```mlir
    %end = arith.minsi %last, %N-1 : tensor<128xindex, #m>
    %b = arith.cmpi sle, %ns, %end : tensor<128x64xindex, #m_n>
    %y = arith.select %b, %s, %hidden : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileGuardSoftmax : Pass<"tile-guard-softmax"> {
  let summary = "stale references under a guard";
  let description = [{
    A softmax needs a reference for its exponentials, not the exact maximum: any
    that is not too far below. The loop over full blocks keeps the one it has.
    Exponentials are positive, so the row sum of a block, needed anyway, bounds
    them: one vote, *no row's sum exceeds 2^threshold*, decides between going on
    and the classical step, which finds the maximum in the scores. In the common
    case there is no maximum and nothing is rescaled.

    ```mlir
    // before                                  // after, carrying %calm, false at first
    %mx1 = max(%mx, %s)                        %p, %t, %ok = scf.if %calm {
    %p = math.exp2 (%s - tile.ref %mx1)          math.exp2 (%s - tile.ref %mx), its row sum,
    %a = math.exp2 (%mx - tile.ref %mx1)         tile.vote (%t <= 2^15)
    %l1 = %l * %a + sum %p                     } else { poison, poison, false }
    %acc1 = tile.dot %p, %v acc (%acc * %a)    %mx1, %l1, %p1, %acc0, %calm1 = scf.if %ok {
                                                 %mx, %l + %t, %p, %acc, true
                                               } else {
                                                 ... as before ...           // %acc * %a
                                                 tile.vote (%mx1 > -inf and %a >= 2^-15)
                                               }
                                               %acc1 = tile.dot %p1, %v acc %acc0
    ```

    %calm says that every row has a reference, so hidden rows never vote, and
    that maxima do not grow faster than the vote lets pass (a row's first maximum
    is no growth): else the next block takes the classical step at once. What stands on the
    two sides is element by element or a reduction along the loop's axis, never
    a product or load: rows, or groups of them, may decide for themselves
    (tile.vote). Right for every reference that is only that and whose
    exponential is summed as it is; a remark says what is in the way elsewhere.
    Where k exponentials are multiplied, the threshold's k-th power must stay
    below the limit of the type that the product is rounded to.
  }];
  let options = [
    Option<"threshold", "threshold", "unsigned", /*default=*/"15",
           "log2 of what a row's sum over a block may reach; lower where the type or power asks for it">
  ];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect"];
}

def TileStartSumsAtBias : Pass<"tile-start-sums-at-bias"> {
  let summary = "a bias linear in the position, added by the product";
  let description = [{
    slope * (n - l), of keys n and a row's position l, costs an operation a
    score, and so does the distance. The part of a key within its tile is the
    same for all rows and tiles, and a product's sum may start there; what is
    left is a row's, and goes with its reference. Where scores are products of
    16 bits, and no logarithm of a sum is stored.

    Before:

    ```mlir
    %s = tile.dot %q, %k over ["d"] product bf16 : ...
    %x = arith.mulf %scales, %s : tensor<128x64xf32, #m_n>
    %b = arith.mulf %slopes, %distance : tensor<128x64xf32, #m_n>
    %y = arith.addf %x, %b : tensor<128x64xf32, #m_n>
    %e = math.fma %y, %c, %refs : tensor<128x64xf32, #m_n>     // %refs: %ref, of rows
    ```

    After:

    ```mlir
    %r = arith.mulf %slope_m, %distance_m : tensor<128xf32, #m> // of the tile's middle
    %t = tile.dot %q, %k acc %start over ["d"] product bf16 : ... // %start: slope / scale * j
    %rc = arith.mulf %r, %c_m : tensor<128xf32, #m>
    %moved = arith.addf %rc, %ref : tensor<128xf32, #m>
    %e = math.fma %t, %cs, %moveds : tensor<128x64xf32, #m_n>  // %cs: c * scale
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileDescendBlocks : Pass<"tile-descend-blocks"> {
  let summary = "a reduction's blocks from the last to the first";
  let description = [{
    The order in which a reduction takes its blocks is free. From the last to
    the first, the greatest scores of ALiBi come at the loop's start, after
    which references stay. The pass marks loops in which a float is made of the
    position, with `all` every loop; tile-to-warp counts their index from the
    end.

    ```mlir
    // before                                      // after
    %r = scf.for %n0 = %c0 to %end step %c64 ...   %r = scf.for %n0 = %c0 to %end step %c64 ...
      {tile.axis = "n", tile.blocks = ...}           {tile.axis = "n", tile.blocks = ..., tile.descending}
    ```
  }];
  let options = [
    Option<"all", "all", "bool", /*default=*/"false", "every loop over a reduction's blocks">
  ];
}

def TileOrderPrograms : Pass<"tile-order-programs"> {
  let summary = "the longest programs of a grid start first";
  let description = [{
    A GPU starts programs in the order of their numbers. Under a causal mask
    those of the last rows run longest: started last, they would run on alone
    when all others have ended. Where a loop's end rises along the grid's last
    axis, that axis is counted from its end. `tile.common_bytes` says what each
    program along it adds to what their loops read: warp-to-nvvm then numbers
    the programs in sections of as many other coordinates as have that in the L2
    cache together, the longest of a section first. Programs that share a list of
    blocks (tile-list-blocks), as heads do, are one section: they run side by
    side, so that no head's long lists are left for the end.

    ```mlir
    // before                                     // after
    tile.kernel @k grid(%h < %H, %i < %n) {       tile.kernel @k grid(%h < %H, %i < %n) {
      %m0 = arith.muli %i, %c64 : index             %r = max((%n - 1) - %i, 0)
      ...                                           %m0 = arith.muli %r, %c64 : index
      scf.for %n0 = %c0 to %end step %c64 ...       ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileSequencePrograms : Pass<"tile-sequence-programs"> {
  let summary = "one program for a batch and head instead of one for each of its tiles";
  let description = [{
    The programs along a grid's last axis become a loop in one program: how
    FlashAttention-1 divides the work, fewer and longer programs that load what
    they share once. A reduction in it goes over its blocks there and back: what
    it read last is what the cache still has. Only on request
    (`--programs=head`).

    ```mlir
    // before                                            // after
    tile.kernel @k grid(%b < %B, %h < %H, %i < %n) {     tile.kernel @k grid(%b < %B, %h < %H) {
      scf.for %n0 ... {tile.axis = "n"}                    scf.for %i = %c0 to %n step %c1 {
    }                                                        scf.for %n0 ... {tile.axis = "n", tile.alternating}
                                                           } {tile.axis = "i"}
                                                         }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileVerify : Pass<"tile-verify"> {
  let summary = "checks what must hold of the tile level";
  let description = [{
    Ends each stage of the tile level, always on: no operation of index
    notation is left but those that the level keeps (assume, default,
    workspace, total integer division), and every loop over tiles names its
    axis.
  }];
}
