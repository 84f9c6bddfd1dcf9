//===- Passes.td - passes from tiles to warps ------------------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

def TilePartitionWarps : Pass<"tile-partition-warps"> {
  let summary = "which warp of a block has which part of the tiles";
  let description = [{
    The rows, the axis that all products' results share (m of scores and
    output), are spread over the warps of a block: split-Q of FlashAttention-2.
    Each warp has whole rows of scores, so their maximum and sum need no other
    warp. Where the accumulators of a row tile are more than a thread can hold
    (head sizes above 256), the output's columns are spread too, over twice as
    many warps, each pair of which has the same scores.

    `split=reduced`, to compare, is split-K of FlashAttention-1: each warp has
    some of the keys of all rows; maxima, sums and products meet in shared
    memory. More than four warps share out the rows too, unless a vote (tile.vote)
    decides which way the warps go: there are barriers on either.

    The number of warps is that of `tile.resources` if the kernel has it, else 4,
    and less where the tile is too small.

    Before:

    ```mlir
    tile.kernel @causal_0 grid(%b < %B, %h < %H, %i < %blocks) {
      ...                      // tile.dot ... -> tensor<64x64xf32, #m_n>, tensor<64x64xf32, #m_e>
    }
    ```

    After:

    ```mlir
    tile.kernel @causal_0 grid(%b < %B, %h < %H, %i < %blocks)
        attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>} {
      ...
    }
    ```
  }];
  let options = [
    Option<"split", "split", "::attentile::WarpSplit", /*default=*/"::attentile::WarpSplit::Rows",
           "what is spread over warps",
           [{::llvm::cl::values(
             clEnumValN(::attentile::WarpSplit::Rows, "rows", "the rows: split-Q, as FlashAttention-2"),
             clEnumValN(::attentile::WarpSplit::Reduced, "reduced", "the reduced axis: split-K, as FlashAttention-1"))}]>,
    Option<"warps", "warps", "int64_t", /*default=*/"0", "Warps of a block; 0: as the tile sizes were chosen for">
  ];
  let dependentDialects = ["::attentile::tile::TileDialect"];
}

def TileNarrowColumns : Pass<"tile-narrow-columns"> {
  let summary = "computes only the columns of a block that rows see";
  let description = [{
    Where each warp's rows see no more than some columns of any block, which
    tile.sees says (tile-mark-hidden), scores are made of these, from a column
    that differs between warps. Keys and values are loaded whole, as all warps
    share them. Where that is known of some blocks only, both are computed, and
    chosen from: warp-take-either makes two ways through the iteration of them. The
    narrow way has no branches around other masks, but is for blocks that take the
    short side of these (`tile.shortcut`).

    ```mlir
    tile.sees 48 from %from of 32
    %s = tile.dot %q, %k over ["d"] .. -> tensor<128x64xf32, #m_n>
    // becomes
    %seen = tile.slice %k along "n" from %from : tensor<64x128xbf16, #n_d> to tensor<48x128xbf16, #n_seen_d>
    %s = tile.dot %q, %seen over ["d"] .. -> tensor<128x48xf32, #m_n_seen>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::ub::UBDialect",
    "::attentile::tile::TileDialect"];
}

def TileAssignLayouts : Pass<"tile-assign-layouts"> {
  let summary = "where the elements of every tile are";
  let description = [{
    Every tile gets a layout (Tile/Layout.h). Anchors are the products: a tile
    over the rows and another axis lies as matrix instructions accumulate it,
    spread over the warps as `tile.warps` says; what has fewer axes lies as a
    slice of that, so element-wise work, reductions and broadcasts meet where
    they are. A right factor is in shared memory; one that is loaded is copied
    there at once, others are stored. A left factor is a fragment: computed
    scores already are one. One that is loaded goes through shared memory; where
    a loop does not change it and registers allow, once before the loop, else
    matrix instructions read it from there at each step. So does one that is
    computed of tiles before the loop, as rotated queries are. What such a
    factor is computed of, if nothing else needs it, lies in packets of eight
    elements a lane, as memory is read best.

    `tile.convert_layout` stands where a value is needed in another layout than
    its own. Constants, indices, broadcasts, loads of a single axis and what is
    computed of these are made anew instead. A computed factor of a 16-bit
    product is rounded in its fragment. What is asked of loaded columns lies in
    the lanes side by side and is converted once it is a truth: two loads for
    64 columns, not sixteen, and tile-to-warp exchanges bits of ballots.

    Before:

    ```mlir
    %q = tile.load %Q[%b, %h, %m, %d] : ... -> tensor<64x64xbf16, #m_d>
    scf.for ... {
      %k = tile.load %K[%b, %h, %n, %d] : ... -> tensor<64x64xbf16, #n_d>
      %s = tile.dot %q, %k over ["d"] product bf16 : ... -> tensor<64x64xf32, #m_n>
      ...
      %o1 = tile.dot %p, %v acc %o over ["n"] product bf16 : tensor<64x64xf32, #m_n>, ...
    }
    ```

    After:

    ```mlir
    %q0 = tile.load %Q[%b, %h, %m, %d] : ... -> tensor<64x64xbf16, #m_d_shared>
    %q = tile.convert_layout %q0 : tensor<64x64xbf16, #m_d_shared> to tensor<64x64xbf16, #m_d_fragment>
    scf.for ... {
      %k = tile.load %K[%b, %h, %n, %d] : ... -> tensor<64x64xbf16, #n_d_shared>
      %s = tile.dot %q, %k over ["d"] product bf16 : ... -> tensor<64x64xf32, #m_n_fragment>
      ...
      %p16 = arith.truncf %p : tensor<64x64xf32, #m_n_fragment> to tensor<64x64xbf16, #m_n_fragment>
      %o1 = tile.dot %p16, %v acc %o over ["n"] product bf16 : tensor<64x64xbf16, #m_n_fragment>, ...
    }
    ```
  }];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::ub::UBDialect"];
}

def TileVerifyLayouts : Pass<"tile-verify-layouts"> {
  let summary = "checks what must hold of tiles with layouts";
  let description = [{
    Ends the stage, always on: every kernel says how its warps share the work,
    every tile has a layout within those warps, and products' factors are where
    matrix instructions read them: the left one in registers as they take it, or
    in shared memory, the right one in shared memory.
  }];
}

def TileSpreadStores : Pass<"tile-spread-stores"> {
  let summary = "rows that several lanes hold, a lane each";
  let description = [{
    What a reduction leaves of a row is in all four lanes of a quad, each with
    as many rows as the quad has. Computed on from there, say to a logsumexp,
    and stored, each lane would take a logarithm of every row, and one of the
    four would store them all. So the rows of such a store are dealt to the
    lanes, after whatever else needs them, by a `tile.convert_layout` that
    leaves every element in its thread.

    Before:

    ```mlir
    %lse = math.log %l : tensor<128xf32, #rows>     // [8 lane 4, 4 reg 1, 4 warp 1]
    tile.store %lse, %L[%b, %h, %m] : ...
    ```

    After:

    ```mlir
    %mine = tile.convert_layout %l : tensor<128xf32, #rows> to tensor<128xf32, #row>  // [8 lane 4, 4 lane 1, 4 warp 1]
    %lse = math.log %mine : tensor<128xf32, #row>
    tile.store %lse, %L[%b, %h, %m] : ...
    ```
  }];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileNarrowBranches : Pass<"tile-narrow-branches"> {
  let summary = "rounds in a branch what is rounded behind it";
  let description = [{
    The guard hands the probabilities from either of its sides to the product,
    which rounds them. Rounded on both sides, they take half the registers
    while the branches join.

    ```mlir
    // before                                    // after
    %p = scf.if %fast -> (tensor<..xf32>) {      %q = scf.if %fast -> (tensor<..xbf16>) {
      scf.yield %p0                                %q0 = arith.truncf %p0
    } else { ... }                                 scf.yield %q0
    %q = arith.truncf %p                         } else { ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::ub::UBDialect"];
}

def TileSinkColumns : Pass<"tile-sink-columns"> {
  let summary = "columns are loaded where pairs need them";
  let description = [{
    A mask that asks what columns load, such as equal documents, first lets each
    lane compare a part of them with what a warp's rows have, and votes. Only
    where that does not tell are the columns needed by pairs, sixteen in a
    thread: they are loaded there.

    ```mlir
    // before                                        // after
    %c = tile.load %doc[%n] : .. #n                  %v = tile.vote ..
    %v = tile.vote ..         // of other loads      %x = scf.if %v -> (..) {
    %x = scf.if %v -> (..) {                           scf.yield %s
      scf.yield %s                                   } else {
    } else {                                           %c = tile.load %doc[%n] : .. #n
      ...                     // %c                    ...
    }                                                }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def TileToWarp : Pass<"tile-to-warp"> {
  let summary = "tiles to what each thread does";
  let description = [{
    A `tile.kernel` becomes a `warp.kernel`: the same grid, with the body that
    every thread of a block runs. A tile in a fragment layout becomes the vector
    of this thread's registers, one in a shared layout a buffer. Elementwise
    work and loops carry over. Products become `warp.ldmatrix` and `warp.mma`
    (f32: three products of tf32 parts), reductions a tree in the thread, then
    shuffles over the lanes and shared memory over the warps that hold what is
    reduced. A load into shared memory becomes an asynchronous copy that is
    waited for at once: right by itself; `warp-pipeline-copies` moves it ahead.
    Branches on votes are emitted once for each block of 16 rows that a warp
    holds, one block after the other. A factor that is computed element by
    element goes to shared memory some rows at a time, in a loop with
    `warp.rolled`, so that a thread holds a piece of each tile that it is made
    of. Indices that follow each other, `(d + 64) % 128` too, are one index and
    constants, and are compared with a multiple of their number once.

    Before:

    ```mlir
    %s = tile.load %X[%m] : tensor<?xf32>, (tensor<64xindex, #m>) -> tensor<64xf32, #m>
    %t = tile.reduce sum %s over ["m"] : tensor<64xf32, #m> -> f32
    ```

    After, with `#m` in the layout `[8 lane 4, 2 reg 1, 4 warp 1]`:

    ```mlir
    %lane = warp.lane_id : index
    ...
    %0 = warp.load %X[%i0] : tensor<?xf32> -> f32
    %1 = warp.load %X[%i1] : tensor<?xf32> -> f32
    %2 = arith.addf %0, %1 : f32
    %3 = vector.from_elements %2 : vector<1xf32>
    %4 = warp.shuffle_xor %3, 4 : vector<1xf32>
    ...                                       // lanes 8 and 16, then the warps
    ```
  }];
  let options = [
    Option<"registersAtOnce", "registers-at-once", "int64_t", "264",
           "Registers of a thread for what a decision of all of a warp's rows reads and "
           "speculates; where it takes more, one block of 16 rows decides after the other">,
  ];
  let dependentDialects = ["::attentile::warp::WarpDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"];
}

def WarpDeferSums : Pass<"warp-defer-sums"> {
  let summary = "lanes keep parts of a running sum and meet after the loop";
  let description = [{
    A softmax's row sum is rescaled in each iteration and the tile's sum is
    added, for which the four lanes that share a row exchange what they have.
    As the factor is the same in all of them, each may keep its own part:

    ```mlir
    // before                                     // after
    %l1 = scf.for ... iter_args(%l = %zero) {     %l1 = scf.for ... iter_args(%l = %zero) {
      %t1 = %t + warp.shuffle_xor %t, 1             %x = arith.mulf %l, %a
      %t2 = %t1 + warp.shuffle_xor %t1, 2           %y = arith.addf %x, %t
      %x = arith.mulf %l, %a                        scf.yield %y
      %y = arith.addf %x, %t2                     }
      scf.yield %y                                %t1 = %l1 + warp.shuffle_xor %l1, 1
    }                                             %t2 = %t1 + warp.shuffle_xor %t1, 2
    ```

    That the factor is the same in the lanes is shown, not assumed: it follows
    from values that were combined over the same lanes. What the loop starts
    with, if the lanes have it in common (what a loop around it carries), is
    shared out among them before and put together after.
  }];
  let dependentDialects = ["::attentile::warp::WarpDialect", "::mlir::arith::ArithDialect"];
}

def WarpBranchTanh : Pass<"warp-branch-tanh"> {
  let summary = "tanh of small operands by a short polynomial";
  let description = [{
    An accurate tanh takes an exponential and a division. A soft cap's operands
    are mostly small: where all that a warp has of 32 registers are below 0.35, a
    polynomial of five operations takes its place, a factor or a divisor that is
    the same everywhere in its coefficients. What tells are the signs of
    y * y - c. Of 64 registers and more a polynomial of four comes first, for
    operands below 0.189, computed while the vote is on its way.

    ```mlir
    %q = arith.divf %y, %caps : vector<32xf32>           // %caps: one value
    %t = math.tanh %q : vector<32xf32>
    // becomes
    %w = math.fma %y, %y, %c : vector<32xf32>            // %c below 0
    %small = ...                                         // the bits of all %w, and'ed, have a sign
    %all = warp.vote_all %small
    %t = scf.if %all -> (vector<32xf32>) {
      ...                                                // y * Q(w)
    } else {
      ... math.tanh ...
    }
    ```
  }];
  let dependentDialects = ["::attentile::warp::WarpDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def WarpPipelineCopies : Pass<"warp-pipeline-copies"> {
  let summary = "copies run ahead of their use and overlap computation";
  let description = [{
    A copy in a loop whose address depends on the loop's index alone is
    requested before its iteration needs it. With one buffer for each copy it is
    requested again as soon as all threads have read the buffer: of K and V, V
    of this tile before Q K^T and K of the next one before the softmax, as
    FlashAttention-2 does. With N buffers for each (`stages`, or what the sizes
    were chosen for) a loop requests N - 1 iterations ahead and threads meet once
    an iteration; V is asked for behind Q K^T, where a bias does not take the
    registers. There, with two buffers and `mbarriers`, they do not meet at all:
    a loop waits for copies that have arrived, and before it requests others for
    warps that have read what these overwrite, so that a warp which evaluates a
    mask holds nobody up. Loops that follow each other and read the same windows (full
    and partial blocks) have one buffer and hand over: the last iteration of one
    requests the first copy of the next. What is read in the loop alone, as
    queries are, is waited for there. The loop of a program that goes over a
    head's tiles (`tile.programs`) has its own copies where they stand.

    Before:

    ```mlir
    scf.for %n = %lo to %hi step %c64 {
      warp.barrier
      warp.copy_async %K[%b, %h, %n, %c0] dims [2, 3] to %k
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      ...                          // reads %k
      ...                          // the same for %v
    }
    ```

    After:

    ```mlir
    scf.if %some { warp.copy_async %K[%b, %h, %lo, %c0] dims [2, 3] to %k }
    warp.commit_group
    scf.for %n = %lo to %hi step %c64 {
      warp.wait_group 0
      warp.barrier
      warp.copy_async %V[%b, %h, %n, %c0] dims [2, 3] to %v
      warp.commit_group
      ...                          // reads %k
      warp.wait_group 0
      warp.barrier
      scf.if %more { warp.copy_async %K[%b, %h, %next, %c0] dims [2, 3] to %k }
      warp.commit_group
      ...                          // reads %v
    }
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", /*default=*/"0", "Buffers for each copy; 0: as tile.resources says">,
    Option<"mbarriers", "mbarriers", "bool", /*default=*/"false", "Loops with two buffers wait for what they need, not for all threads (sm_90)">
  ];
  let dependentDialects = ["::attentile::warp::WarpDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def WarpAllocateShared : Pass<"warp-allocate-shared"> {
  let summary = "where each buffer lies in shared memory";
  let description = [{
    Every `warp.alloc` gets an offset, a multiple of 128, and the kernel the
    number of bytes that all take. Buffers that are not needed at the same time
    share room: that of the queries, once they are in registers, is the first
    tile of values'. More than `limit` bytes are an error.

    Before:

    ```mlir
    %q = warp.alloc : !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
    ```

    After:

    ```mlir
    %q = warp.alloc {offset = 8192 : i64} : !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
    ```
  }];
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"232448", "Bytes of shared memory a block may have on the target">
  ];
  let dependentDialects = ["::attentile::warp::WarpDialect"];
}

def WarpNarrowBarriers : Pass<"warp-narrow-barriers"> {
  let summary = "a warp that touches its own rows alone waits for itself";
  let description = [{
    A `warp.barrier` in the kernel's block becomes a `warp.sync` where of any
    room that is touched on both sides of it, and written on one, each warp
    touches its own rows alone: outputs lie in the room of the queries, and a
    warp writes the rows that it has read. Copies to such rows are dealt by
    warps (`own_rows`), as without any keys nobody has waited for others'.

    Before:

    ```mlir
    warp.wait_group 0
    warp.barrier
    warp.store_shared %x, %out[%row, %col] : vector<2xbf16>, !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
    warp.barrier
    ```

    After:

    ```mlir
    warp.wait_group 0
    warp.sync
    warp.store_shared %x, %out[%row, %col] : vector<2xbf16>, !warp.buffer<64x64xbf16, #tile.shared<pitch = 64, chunk = 8, period = 8>>
    warp.sync
    ```
  }];
  let dependentDialects = ["::attentile::warp::WarpDialect"];
}

def WarpVerifyBarriers : Pass<"warp-verify-barriers"> {
  let summary = "checks that all warps reach every barrier";
  let description = [{
    Ends the stage: a `warp.barrier` of several warps stands in no branch whose
    condition is made of the warp's number, as a vote of its rows is. A GPU would
    wait there for ever, or go on too early. Not with `--split=k`, where warps
    share rows and exchange what they vote on.
  }];
}

def WarpDependentLaunch : Pass<"warp-dependent-launch"> {
  let summary = "a kernel starts while the one before it ends";
  let description = [{
    On sm_90 a kernel may be launched as a programmatic dependent of the one
    before it in its stream: its programs take the places that become free there
    and compute what needs no memory, as where their tile lies. Where the kernel
    first accesses memory it waits until all before it has ended. For all
    kernels of a program, and for the first of one behind what the user
    launched before. Where that access stores a number which follows from indices
    alone, as the classes of blocks do, the wait stands behind a test of the
    number: ptxas would move it before the arithmetic.

    Before:

    ```mlir
    warp.kernel @causal_0 grid(%b < %B, %h < %H, %i < %blocks) warps(4) {
      %m = arith.muli %i, %c128 : index
      warp.copy_async %Q[%b, %h, %m, %c0] dims [2, 3] to %q
      ...
    ```

    After:

    ```mlir
    warp.kernel @causal_0 grid(%b < %B, %h < %H, %i < %blocks) warps(4) {
      nvvm.griddepcontrol launch_dependents
      %m = arith.muli %i, %c128 : index
      nvvm.griddepcontrol wait
      warp.copy_async %Q[%b, %h, %m, %c0] dims [2, 3] to %q
      ...
    ```
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
