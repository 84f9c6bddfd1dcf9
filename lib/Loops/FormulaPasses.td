//===- FormulaPasses.td - passes on formulas -------------------*- tablegen -*-===//
//
// In run order, a part of Passes.td: what is done before there are tiles.
//
//===----------------------------------------------------------------------===//

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

def AttnComparePositions : Pass<"attn-compare-positions"> {
  let summary = "positions compared, not the distance that is used beside it";
  let description = [{
    `where(dist >= 0, exp(-g * dist), 0)` with `dist = m - n`, as in retention,
    needs the tile of distances on both sides of the branch around the mask, two
    registers for each element. Positions of rows and columns are few.

    Before:

    ```mlir
    %dist = arith.subi %m, %n : index
    %seen = arith.cmpi sge, %dist, %c0 : index
    ```

    After:

    ```mlir
    %dist = arith.subi %m, %n : index
    %seen = arith.cmpi sge, %m, %n : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnMergeSums : Pass<"attn-merge-sums"> {
  let summary = "a sum of sums of products as one";
  let description = [{
    `sum[h](sum[e](o[h, m, e] * W[h, e, f]))`, as a projection of all heads is
    often written, is one sum over both axes: so it is a product of matrices
    whose accumulators stay where they are, and what is inside is no score,
    whose axes would have to stand whole. Each factor has each of the axes. In a
    kernel with such a product sums of `x * y` that are none are merged, too: a
    row's own product is an element of it and is to be added up in one order.

    Before:

    ```mlir
    %s = attn.reduce sum %p over(%e) product bf16 : f32
    %t = attn.reduce sum %s over(%h) : f32
    ```

    After:

    ```mlir
    %t = attn.reduce sum %p over(%h, %e) product bf16 : f32
    ```
  }];
}

def AttnGatherProducts : Pass<"attn-gather-products"> {
  let summary = "products gathered for pairs, not rows of a table";
  let description = [{
    In relative positions, `sum[d](Q[m, d] * R[clamp(n - m + L, 0, 2 * L), d])`,
    each pair of rows and keys has a row of a table of its own, and nothing is a
    product of matrices. The product with all rows of the table is one: it goes
    to workspace, and a pair reads an element of it. Of a factor that is a sum,
    `Q * (K + R[..])`, each term is a product. The keys of the pairs are summed
    with values that rows share, as V[n, e]; what rows gather each for
    themselves, keys and values of a window, by numbers or pages, is left as it
    is.

    Before:

    ```mlir
    %r = attn.read %R[%i, %d] : tensor<?x64xf32>           // %i: of %m and %n
    %p = arith.mulf %q, %r : f32
    %s = attn.reduce sum %p over(%d) product f32 : f32
    ```

    After:

    ```mlir
    %r = attn.read %R[%row, %d] : tensor<?x64xf32>         // %row: a new index
    %p = arith.mulf %q, %r : f32
    %a = attn.reduce sum %p over(%d) product f32 : f32
    %w = attn.workspace "products" shape affine_map<()[s0, s1, s2] -> (s0, s2)> : tensor<?x?xf32>
    attn.write %a to %w[%m, %row] : f32, tensor<?x?xf32>
    %s = attn.read %w[%m, %i] : tensor<?x?xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnUnrollSums : Pass<"attn-unroll-sums"> {
  let summary = "a score over several axes as products over one";
  let description = [{
    The axes of a score stand whole in a tile, but a product of matrices sums
    over one. A score `sum[g, d](Q[m, g, d] * K[n, g, d])` of known sizes is a
    product over the axis along which elements lie together, else the longest,
    for each index of the others, sixteen at most. Of more, or of factors that
    go through memory, it is a sum of sums: a grid of its own, all scores in
    memory. Up to 24 terms that are no product of matrices, as the distance of
    two points, are added one by one: tiles have a multiple of 16 of them. More
    of them over several axes, as of a Mahalanobis distance, go through
    workspace (with `multiply-adds` from 257 on). With `multiply-adds` a score
    is the same sum of sums in each of these ways, one for each axis, and so are
    other sums of `x * y` over axes of a score's extents, as a row's own.

    Before:

    ```mlir
    %q = attn.read %Q[%m, %g, %d] : tensor<?x2x32xf32>     // %g < 2
    %p = arith.mulf %q, %k : f32
    %s = attn.reduce sum %p over(%g, %d) product f32 : f32
    ```

    After:

    ```mlir
    %q = attn.read %Q[%m, %c0, %d] : tensor<?x2x32xf32>
    %p = arith.mulf %q, %k : f32
    %s0 = attn.reduce sum %p over(%d) product f32 : f32
    ...
    %s = arith.addf %s0, %s1 : f32
    ```
  }];
  let options = [
    Option<"multiplyAdds", "multiply-adds", "bool", /*default=*/"false", "CPU: products are added by multiply-adds, as attn-to-tile does">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnUnrollColumns : Pass<"attn-unroll-columns"> {
  let summary = "outputs of several column axes as products over one";
  let description = [{
    Columns of an output that only its values have stand whole in a tile. Where
    they are several short axes, as the points of `V[n, p, x]`, a sum over keys
    is no product of matrices, and each axis is padded. The output is written
    once for each index of all but the longest of them, sixteen at most: as many
    products of the same weights.

    Before:

    ```mlir
    %v = attn.read %V[%n, %p, %x] : tensor<?x4x2xf32>      // %p < 4, %x < 2
    %t = arith.mulf %w, %v : f32
    %o = attn.reduce sum %t over(%n) product f32 : f32
    attn.write %o to %O[%m, %p, %x] : f32, tensor<?x4x2xf32>
    ```

    After:

    ```mlir
    %v0 = attn.read %V[%n, %p, %c0] : tensor<?x4x2xf32>
    %t0 = arith.mulf %w, %v0 : f32
    %o0 = attn.reduce sum %t0 over(%n) product f32 : f32
    attn.write %o0 to %O[%m, %p, %c0] : f32, tensor<?x4x2xf32>
    ...
    ```
  }];
  let options = [
    Option<"multiplyAdds", "multiply-adds", "bool", /*default=*/"false", "CPU: products are added by multiply-adds, as attn-to-tile does">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnMaterializeFactors : Pass<"attn-materialize-factors"> {
  let summary = "factors that are costly for each element, computed once";
  let description = [{
    A factor of a product that takes a sine, a cosine or a power for each
    element, as the keys of rotary embedding do, is marked with
    `attn.materialize`, as a schedule would: a grid of its own computes it once,
    where each program would compute what it sees again for each tile of rows.
    So are queries, which each program computes once, in registers that the
    loop needs, and an attention's output that a product sums over, as where it
    is projected: that goes to memory in any case, and unmarked may take all
    scores with it. Not marked are factors that are read again for a few indices
    only, are costly and have a reduction in them, or are made of no tensor with
    their axes (a row of a table for each pair).

    Before:

    ```mlir
    %k = attn.read %K[%n, %d] : tensor<?x64xf32>
    %z = math.cos %angle : f32
    %f = arith.mulf %k, %z : f32
    %p = arith.mulf %q, %f : f32
    %s = attn.reduce sum %p over(%d) product f32 : f32
    ```

    After:

    ```mlir
    %k = attn.read %K[%n, %d] : tensor<?x64xf32>
    %z = math.cos %angle : f32
    %f = arith.mulf %k, %z : f32
    %g = attn.materialize %f, "factor" : f32
    %p = arith.mulf %q, %g : f32
    %s = attn.reduce sum %p over(%d) product f32 : f32
    ```
  }];
}

def AttnFormGrids : Pass<"attn-form-grids"> {
  let summary = "which axes are grid, tile and loop, and which statements run together";
  let description = [{
    Each statement's axes get a role. *Whole* in the tile are axes summed inside
    a score (d) and the last output axis that no score has (e), with others of
    these where all are a few. Other reduced axes are *loops* (n). Of the output's
    axes that only one factor of a score's product has, the one whose rows share
    most of what the loop reads is the *tile* axis (m), the last of several; the
    others (batch, head) are *steps* of the grid. A product outside any loop over keys is tiled along both of its
    sides. Rows whose scores are no product are tiled along the axis that has most
    of what the loop reads in common, if any has (keys that each row finds for
    itself, by a page's number, are not); a statement without reductions along
    the last two. An output axis that no reduction needs becomes a loop around the
    write, and so does one that the statement also reduces over (`P[m, n] =
    softmax[n](s)`); where there are several the reductions go through workspace.

    Statements of the same step, tile and loop axes share a grid. A reduction
    over a loop that stands under a loop over one of its own axes goes through
    workspace, written by a grid that runs before: in `A[n] =
    sum[m](softmax[n](s))` the row's maximum and sum. So does a value that the
    schedule marks (`attn.materialize`), and nothing in it stands in what reads it:
    with `materialize s, p` an attention formula becomes standard attention. And
    so does, of a statement with loops over several axes, a sum of products whose
    rows are other ones than the tile's (`sum[u](...K[y, u]...) +
    sum[v](...K[v, x]...)`), what is the same for all rows of the tile (a weight
    of a head, `max[k](w[h, k])`), or a sum weighted by a softmax, which is one
    loop only by itself. Last, a sum of more than eight terms that a tensor has
    for each pair of rows and keys, and that programs of different steps would
    read again: a bias projected from pairs, `sum[c](Z[m, n, c] * W[c, h])`.
    What it gives has one axis at most that the tensor lacks.

    Of several axes that one reduction loops over (`sum[y, x]`) one is visited
    in tiles: one along which elements of a product's factor lie together, else
    the longest as far as sizes are known, else one that another reduction has
    alone, else the last. The others are visited one index at a
    time by loops around that one, so that products remain products of matrices. Axes that tile sizes are asked for come in tiles.
    A loop over what both sides of every score have, the heads of `A[m, n] = sum[h](softmax[n](s))`, goes by one index too: both sides
    are tiled.

    Where the terms of a sum have rows, keys and columns at once, as in the variance `sum[n](p * (v[n, e] - mean[m, e]) ** 2)`, a tile of
    all columns is one of three axes. With `tile-terms`, for a GPU, whose tiles are in registers, columns come in tiles; scores are computed
    again for each.

    What is written to a workspace before (`attn-gather-products`) is a statement like others, and runs before what reads it.

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
  let options = [
    ListOption<"tileSizes", "tile-sizes", "std::string",
               "As attn-to-tile's: axes that come in tiles, m=128,n=64">,
    Option<"tileTerms", "tile-terms", "bool", /*default=*/"false",
           "Columns come in tiles where terms of a sum have rows, keys and "
           "columns: for a GPU, which holds tiles in registers">,
    Option<"wideFactors", "wide-factors", "bool", /*default=*/"false",
           "What goes through memory for products alone is f32 there, not of "
           "the products' type: for a CPU, whose products are of f32">
  ];
}
