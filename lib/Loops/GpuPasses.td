//===- GpuPasses.td - passes on tile loops for GPUs ------------*- tablegen -*-===//
//
// In run order, a part of Passes.td. A CPU leaves most of them out.
//
//===----------------------------------------------------------------------===//

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
    to be the same. Of several partial ones the body with all of their selects
    serves, such as a mask's before the full blocks and the axis's end behind.

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

def TileMarkHidden : Pass<"tile-mark-hidden"> {
  let summary = "says of which rows a block's mask hides everything";
  let description = [{
    A block that some row of a program needs may be hidden from others: of the
    128 rows of a causal tile half do not see the last 64 keys. What the loop
    carries for them stays as it is, and a warp whose rows are among them can
    leave the block out (warp-skip-hidden). The condition is the one by which
    tile-skip-masked-blocks leaves blocks out, asked of the rows that decide
    together, where the block's ends and the rows' least and largest values
    answer it. What is loaded for columns, such as documents, is compared with
    both, column by column, in partial blocks.

    Where a mask speaks of columns' remainders, such as a neighbourhood's in an
    image, every block may hold columns that rows do not see: tile.sees says which
    they do, of all blocks where numbers prove it, else of those for which the
    ends of the block's parts tell.

    Before:

    ```mlir
    %s = tile.dot %q, %k over ["d"] product bf16 : ...
    %x = arith.select %in, %s, %hidden : ...                     // %in: n <= last
    ```

    After:

    ```mlir
    %last = tile.reduce_group max %lasts : tensor<128xindex, #m> -> index
    %none = arith.cmpi sgt, %n0, %last : index                   // %n0: the block's first index
    tile.hidden %none
    %s = tile.dot %q, %k over ["d"] product bf16 : ...
    %x = arith.select %in, %s, %hidden : ...
    ```
  }];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::arith::ArithDialect"];
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
    The same goes for other comparisons of what rows and columns have. One of
    remainders, such as columns of pixels, |m mod w - n mod w| <= r, has another
    branch: where the rows of a group lie in one row of pixels, and the block
    too, it is one of m - n and scalars, for each diagonal one. What is loaded
    for rows, such as their documents, may be one value in all of a group, which
    it has before the loop: each column compares it once. So does each row where
    another vote finds one value in all of a block's columns.

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
    is no growth), and that none is so far from 0 that its exponents have another
    factor (`tile-fold-exp2`): else the next block takes the classical step at once. What stands on the
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

def TileVoteFarRows : Pass<"tile-vote-far-rows"> {
  let summary = "one factor for the exponents of rows that are near 0";
  let description = [{
    Rows whose reference is far from 0 have another factor (`tile-fold-exp2`),
    and a factor for each row takes registers where one for all takes none. Rows
    far from 0 are rare: a warp votes that it has none, and has one factor then.

    ```mlir
    // before                                         // after
    %far = arith.cmpf ogt, |%r * %c|, 2^31            %far = ..., %near = tile.vote (not %far)
    %f = %far ? a power of two : %c                   %x = scf.if %near {
    %x = math.fma %s, %f, -(%r * %f)                    math.fma %s, %c, -(%r * %c)
                                                      } else { ... as before ... }
    ```
  }];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
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
    blocks (tile-list-blocks), as heads do, run side by side, so that no head's
    long lists are left for the end; many of them in sections of 32.

    Where the loop's start rises too, as of a window, a program that follows
    the next lower rows finds its first keys in the cache: the long programs,
    which start behind the first key, count up, and those before them come last,
    the longest first. As many are long as the last one starts tiles of rows
    behind the first key. Of a window no more than `tile.common_programs` along
    the axis have what they read in the cache at a time. A list whose blocks
    start later and later, as of neighbours in an image, keeps its rows' order.

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

def TileSortLists : Pass<"tile-sort-lists"> {
  let summary = "programs take their lists of blocks from the longest on";
  let description = [{
    What tile-order-programs does for bounds in closed form: where loops run over
    a list of blocks that each coordinate of the grid's last axis has
    (tile-list-blocks), and that hangs on the elements of a tensor, so that some
    lists are much longer than others, a kernel before copies the lists in the
    order of their lengths. A list's rank is how many of its row are longer; the
    program of that rank takes the list, whose coordinate stands in front of it.
    Where lists follow from elements of rows and of keys (packed documents), those
    of neighbours name much the same blocks: they go by the highest bit of their
    length, and from the last row on. Entries begin at one place, so that a
    program asks for the first one with all else. Programs that share a list, as
    heads do, run side by side (`tile.common_bytes`), so that no head's long lists
    are left for the end; many of them in sections of 32.

    ```mlir
    // before                                      // after
    tile.kernel @k grid(%h < %H, %i < %n) {        tile.kernel @k_blocks_sorted grid(%h < %H, %i < %n) {
      %from = tile.load %blocks[%h, %i, 0]           %rank = scf.for %j = %c0 to %n step %c1 ...
      %to = tile.load %blocks[%h, %i, 1]             tile.store %i, %sorted[%h, %rank, 0]
      %m0 = arith.muli %i, %c64                      ...
      scf.for %b = %from to %to step %c1 {         tile.kernel @k grid(%h < %H, %rank < %n) {
        %block = tile.load %blocks[%h, %i, %b]       %i = tile.load %sorted[%h, %rank, 0]
        ...                                          %m0 = arith.muli %i, %c64
                                                     scf.for %b = %c4 to %end step %c1 {
                                                       %block = tile.load %sorted[%h, %rank, %b]
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
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
                                                           } {tile.axis = "i", tile.programs}
                                                         }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileSliceReductions : Pass<"tile-slice-reductions"> {
  let summary = "a reduction of a large tile in slices of an axis";
  let description = [{
    Scores that are no matrix product are computed element by element: of 16
    rows, 16 keys and a head size of 128 each of 32 lanes has 1,024, all written
    out. Such a reduction becomes a loop over slices of its axis, of 64 elements a
    lane or 256 where they are cheap, with what the tile is made of, from the loads
    on. So the code of a kernel does not grow with the head size, and what is loaded
    for a slice takes registers there alone. What is cut must be element by element,
    a broadcast, a load along the axis or its index; where a product gives it, or in
    a branch, the reduction stays. Products themselves (tile.dot) are no reductions
    in this sense.

    Before:

    ```mlir
    %q = tile.load %Q[%m, %d] : ... -> tensor<16x128xf32, #m_d>
    %k = tile.load %K[%n, %d] : ... -> tensor<16x128xf32, #n_d>
    ...
    %t = math.tanh %a : tensor<16x16x128xf32, #m_n_d>              // of both, broadcast and added
    %s = tile.reduce sum %t over ["d"] : tensor<16x16x128xf32, #m_n_d> -> tensor<16x16xf32, #m_n>
    ```

    After:

    ```mlir
    %s = scf.for %d0 = %c0 to %c128 step %c8 iter_args(%sum = %zero) -> (tensor<16x16xf32, #m_n>) {
      %d = tile.index %d0 : tensor<8xindex, #d>
      %q = tile.load %Q[%m, %d] : ... -> tensor<16x8xf32, #m_d>
      %k = tile.load %K[%n, %d] : ... -> tensor<16x8xf32, #n_d>
      ...
      %part = tile.reduce sum %t over ["d"] : tensor<16x16x8xf32, #m_n_d> -> tensor<16x16xf32, #m_n>
      %next = arith.addf %sum, %part : tensor<16x16xf32, #m_n>
      scf.yield %next
    } {tile.slices}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
