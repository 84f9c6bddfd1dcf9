//===- Passes.td - passes from the warp level to NVVM ---------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

def WarpMarkElements : Pass<"warp-mark-elements", "::mlir::ModuleOp"> {
  let summary = "marks accesses that cannot move several elements at a time";
  let description = [{
    Accesses of several elements ask for contiguity and alignment: of a tensor
    the launch. A workspace has them along its last dimension, whose rows are
    padded; along another one the access goes element by element, and with
    `all` every access does: the form of a kernel for tensors of any strides.

    ```mlir
    warp.copy_async %X[%i, %c0] dims [0, 1] to %b : tensor<?x64xbf16>, ...
    // becomes
    warp.copy_async %X[%i, %c0] dims [0, 1] to %b {by_element} : tensor<?x64xbf16>, ...
    ```
  }];
  let options = [
    Option<"all", "all", "bool", /*default=*/"false", "those of tensors too">
  ];
}

def WarpJoinForms : Pass<"warp-join-forms", "::mlir::ModuleOp"> {
  let summary = "a program's kernels and their forms for any strides in one";
  let description = [{
    The form of program @p for tensors of any strides and alignment is compiled
    apart, with tiles and grids of its own, as @p_by_element. Its kernels come
    to stand behind those of @p that ask something of their tensors; the
    runtime chooses at launch.

    ```mlir
    tile.program @p ... { warp.kernel @p_0 grid(%i < %blocks) warps(8) { ... } }
    tile.program @p_by_element ... { warp.kernel @p_by_element_0 grid(%i < %others) warps(4) { ... } }
    // becomes
    tile.program @p ... {
      warp.kernel @p_0 grid(%i < %blocks) warps(8) attributes {otherwise = "p_by_element_0"} { ... }
      warp.kernel @p_by_element_0 grid(%i < %others) warps(4) { ... }
    }
    ```
  }];
}

def WarpUnrollFragments : Pass<"warp-unroll-fragments", "::mlir::ModuleOp"> {
  let summary = "makes registers of fragments";
  let description = [{
    A fragment `vector<RxT>` becomes R scalars, of f16 and bf16 R / 2 vectors of
    two, through loops and branches too; register moves disappear. Memory
    accesses and matrix instructions keep their vectors behind casts.

    ```mlir
    %b = arith.mulf %a, %a : vector<2xf32>
    // becomes
    %b0 = arith.mulf %a0, %a0 : f32
    %b1 = arith.mulf %a1, %a1 : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def WarpShareRandom : Pass<"warp-share-random", "::mlir::ModuleOp"> {
  let summary = "elements that are halves of one call share it";
  let description = [{
    Random numbers come from Philox, which gives sixteen a call. Those of a
    lane's eight elements in 32 columns of a row, and of the row eight below, are
    of one call (`attn.random`), which this pass makes. A tile that starts in the middle of
    32 columns chooses among the words by where it starts.

    ```mlir
    %j = arith.addi %n0, %lane : index       // %n0: a multiple of 32; %lane = 2 (lane mod 4)
    %k = arith.addi %j, %c9 : index
    %x = attn.random %seed at [%m, %j] : index -> i32
    %y = attn.random %seed at [%m, %k] : index -> i32
    // becomes
    %w:4 = attn.philox %m1, %call, %zero, %zero key %low, %high : i32    // %call = 4 (n0 / 32) + lane / 2
    %x = arith.andi %w#0, %c65535 : i32
    %y = arith.shrui %w#1, %c16 : i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::attentile::attn::AttnDialect"];
}

def WarpShareOffsets : Pass<"warp-share-offsets", "::mlir::ModuleOp"> {
  let summary = "indices as a base and a constant";
  let description = [{
    Each element of a fragment computes its own n - m, though all differ by
    constants, and those on one diagonal not even by that. Sums that a score
    converts or clamps, or whose absolute value a mask asks for, become a base,
    the same for all elements, and a constant;
    a conversion is that of the base and an addition.

    ```mlir
    %n1 = arith.addi %n, %c9 : index
    %m1 = arith.addi %m, %c8 : index
    %d = arith.subi %n1, %m1 : index
    %i = arith.index_cast %d : index to i64
    %f = arith.sitofp %i : i64 to f32
    // becomes
    %b = arith.subi %n, %m : index                  // once a tile
    %j = arith.index_cast %b : index to i64
    %g = arith.sitofp %j : i64 to f32
    %f = arith.addf %g, %one : f32                  // once a diagonal
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpFoldVotes : Pass<"warp-fold-votes", "::mlir::ModuleOp"> {
  let summary = "votes that one lane can answer";
  let description = [{
    Whether all rows of a warp's block see all keys is a vote on comparisons that
    grow or fall with the lane's number: the lane where they are least likely to
    hold has the answer for all, from values that all lanes have in common. Of
    comparisons that differ by a constant the strongest remains.

    ```mlir
    %r = arith.divui %lane, %c4 : index
    %m = arith.addi %m0, %r : index
    %m8 = arith.addi %m, %c8 : index
    %a = arith.cmpi sle, %n, %m : index
    %b = arith.cmpi sle, %n, %m8 : index
    %c = arith.andi %a, %b : i1
    %all = warp.vote_all %c
    // becomes
    %all = arith.cmpi sle, %n, %m0 : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpShareComparisons : Pass<"warp-share-comparisons", "::mlir::ModuleOp"> {
  let summary = "one comparison for a diagonal";
  let description = [{
    Each element of a fragment compares its own n with its row's limit, though
    n - m of all elements differ by constants. The difference becomes a base,
    the same for all, that is compared with constants; elements on one diagonal
    share the comparison. What the loop does not change of the base is clamped
    to 32 bits before it, which changes no answer: the loop's index is at least
    0 and below 2^31 - 2^15, and the constants are small.

    ```mlir
    %n8 = arith.addi %n, %c8 : index
    %m8 = arith.addi %m, %c8 : index
    %a = arith.cmpi sle, %n, %m : index
    %b = arith.cmpi sle, %n8, %m8 : index
    // becomes
    %l = arith.maxsi %before_m, %least : index      // before the loop that counts %n0
    %h = arith.minsi %l, %most : index
    %d = arith.addi %h, %n0 : index
    %a = arith.cmpi sle, %d, %c0 : index            // %b too
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpShareLoads : Pass<"warp-share-loads", "::mlir::ModuleOp"> {
  let summary = "lanes load distinct elements and exchange them";
  let description = [{
    Scores of one diagonal have the same bias, and lie in different lanes. Where
    the loads of a loop are at one function of sums that differ by constants,
    and the lanes' parts lie close together, each lane loads one element of a
    window of 32, and what a load got comes from its lane by a shuffle.

    ```mlir
    %d = arith.addi %base, %part : index     // %part = 2 (lane mod 4) - lane / 4
    %e = arith.addi %d, %c8 : index
    %x = warp.load %T[%d] : tensor<?xf32> -> f32
    %y = warp.load %T[%e] : tensor<?xf32> -> f32
    // becomes
    %mine = arith.addi %base, %lane : index
    %first = arith.addi %mine, %c-7 : index
    %z = warp.load %T[%first] : tensor<?xf32> -> f32
    %from = arith.addi %part, %c7 : index
    %x = warp.shuffle_from %z, %from : f32
    %after = arith.addi %from, %c8 : index
    %y = warp.shuffle_from %z, %after : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpJoinLoads : Pass<"warp-join-loads", "::mlir::ModuleOp"> {
  let summary = "what a program reads of one row, at once";
  let description = [{
    A program that follows a list of blocks loads its length and its first entry
    from one row, each where it needs it. All are asked for where the first is,
    and those in one packet of 16 bytes by one load: rows of a workspace start
    at a multiple of that.

    ```mlir
    %i = warp.load %list[%row, %c0] : tensor<?x?xi32> -> i32
    ...
    %n = warp.load %list[%row, %c2] : tensor<?x?xi32> -> i32
    // becomes
    %head = warp.load %list[%row, %c0] : tensor<?x?xi32> -> vector<4xi32>
    %r:4 = builtin.unrealized_conversion_cast %head : vector<4xi32> to i32, i32, i32, i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpHoistLoads : Pass<"warp-hoist-loads", "::mlir::ModuleOp"> {
  let summary = "a tile's loads before its products";
  let description = [{
    What a loop's body loads into registers, up to 32 of them, is asked for at
    its start, so that it comes while the body waits for copies and multiplies.

    ```mlir
    scf.for ... {
      warp.wait_group 0
      %s = warp.mma ...
      %i = arith.addi %n, %c8 : index
      %x = warp.load %bias[%i] : tensor<?xbf16> -> bf16
    // becomes
    scf.for ... {
      %i = arith.addi %n, %c8 : index
      %x = warp.load %bias[%i] : tensor<?xbf16> -> bf16
      warp.wait_group 0
      %s = warp.mma ...
    ```
  }];
}

def WarpSinkRandom : Pass<"warp-sink-random", "::mlir::ModuleOp"> {
  let summary = "calls of the random generator in the branches that use them";
  let description = [{
    A call takes fourteen wide multiplications one behind the other. Made where
    its words are used, in the guard's fast step and in its slow one, they run
    between the exponentials.

    ```mlir
    %w:4 = attn.philox ...
    scf.if %fast {
      ... uses %w#0
    }
    // becomes
    scf.if %fast {
      %w:4 = attn.philox ...
      ... uses %w#0
    }
    ```
  }];
}

def WarpStepQuotients : Pass<"warp-step-quotients", "::mlir::ModuleOp"> {
  let summary = "the next quotient from the one before";
  let description = [{
    A mask over the pixels of an image divides the position of each column that
    a lane has by the image's width, a dozen instructions each. The positions
    differ by constants, so that one is divided, and the others' quotients and
    remainders follow: the remainder grows by that of the distance, less the
    divisor where it reaches that.

    ```mlir
    %n8 = arith.addi %n, %c8 : i32
    %x = arith.remui %n, %width : i32
    %x8 = arith.remui %n8, %width : i32
    ...                                            // %n + 16, + 24
    // becomes
    %t = arith.remui %c8, %width : i32             // once
    %x = arith.remui %n, %width : i32
    %whole = arith.addi %x, %t : i32
    %less = arith.subi %whole, %width : i32
    %x8 = arith.minui %whole, %less : i32          // of numbers without a sign
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpShareReciprocals : Pass<"warp-share-reciprocals", "::mlir::ModuleOp"> {
  let summary = "a loop's divisor is inverted before it";
  let description = [{
    Of a neighbourhood each block of keys is divided by the image's width, to
    tell what its rows and columns of pixels are. A division takes some twenty
    instructions, most of them for the divisor's reciprocal, which is the same in
    each iteration: it is found once.

    ```mlir
    %q = arith.divui %x, %w : i32                   // %w outside of the loop
    // becomes
    %z = ...                                        // 2^32 / %w, once
    %low, %q0 = arith.mului_extended %x, %z : i32
    %r0 = %x - %q0 * %w
    ...                                             // one more, if %r0 is not below %w
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpFoldDistances : Pass<"warp-fold-distances", "::mlir::ModuleOp"> {
  let summary = "|x - y| <= r as one comparison";
  let description = [{
    Of a neighbourhood each score takes a difference, its absolute value and a
    comparison. x - y + r is from 0 to 2 r where |x - y| is at most r, so that one
    comparison without a sign does, and x + r is the row's. Of a base and a
    constant, a diagonal's, the base and r are added once a block.

    ```mlir
    %d = arith.subi %x, %y overflow<nsw> : i32      // %x outside of the loop
    %a = math.absi %d : i32
    %near = arith.cmpi sle, %a, %r : i32
    // becomes
    %xr = arith.addi %x, %r : i32                   // once a row
    %place = arith.subi %xr, %y : i32
    %near = arith.cmpi ult, %place, %end : i32      // 2 r + 1, or 0 where r is below 0
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpCollectByLanes : Pass<"warp-collect-by-lanes", "::mlir::ModuleOp"> {
  let summary = "32 blocks of a list at once";
  let description = [{
    The kernel that puts a row's needed blocks into a list goes from block to
    block; each adds to a count, or to none, and takes its place by it. By lanes,
    a warp loads 32 classes and votes on who adds: a lane's count is the one
    before, and how many lanes below it add. Likewise a list is ranked and copied.

    ```mlir
    %end = scf.for %block = %from to %to step %c1 iter_args(%last = %middle) -> (index) {
      %class = warp.load %classes[%b, %i, %block] : tensor<?x?x?xi32> -> i32
      %adds = arith.cmpi sge, %class, %c1_i32 : i32
      %after = arith.addi %last, %c1 : index
      %next = arith.select %adds, %after, %last : index
      warp.store ... %blocks[%b, %i, %last] if %first_lane
      scf.yield %next : index
    } {tile.to_list}
    // becomes
    %end = scf.for %step = %from to %to step %c32 iter_args(%last = %middle) -> (index) {
      %block = arith.addi %step, %lane : index
      ...
      %lanes = warp.ballot %adds_there : i32
      %own = arith.addi %last, %ones_below : index      // of %lanes and (1 << lane) - 1
      warp.store ... %blocks[%b, %i, %own] if %there
      %next = arith.addi %last, %ones : index           // of %lanes
      scf.yield %next : index
    } {tile.to_list}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect"];
}

def WarpSkipHidden : Pass<"warp-skip-hidden", "::mlir::ModuleOp"> {
  let summary = "warps leave out blocks that are hidden from them";
  let description = [{
    Where a mask hides all of a block from a warp's rows (`warp.hidden`) the
    warp requests its part of the copies, arrives where others wait for it, and
    goes on with what it carries: no products, no exponentials. It so gains on
    the others, or lets another block of threads have the tensor cores. Where
    there are barriers behind the marker it would wait at them; there it is
    dropped.

    ```mlir
    warp.hidden %none
    ...                              // the first product
    warp.arrive %read_keys
    warp.wait_phase %read_values, %slot
    ...                              // requests; softmax, the second product
    warp.arrive %read_values
    scf.yield %sum
    // becomes
    %next = scf.if %none {
      warp.arrive %read_keys
      warp.wait_phase %read_values, %slot
      ...                            // requests
      warp.arrive %read_values
      scf.yield %carried
    } else {
      ...                            // as before
      scf.yield %sum
    }
    scf.yield %next
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def WarpTakeEither : Pass<"warp-take-either", "::mlir::ModuleOp"> {
  let summary = "a warp computes one of two ways through an iteration";
  let description = [{
    Where what a loop carries on is chosen by a condition that is the same in all
    lanes (`warp.either`) a warp computes what it chooses: all behind the marker
    that this is made of, and what other warps wait for. Where a warp would wait
    for others at barriers, or writes to memory, the second choice alone is left,
    which is always right.

    ```mlir
    warp.either %fits
    ...                              // both products of 48 keys, and of 64
    %next = arith.select %fits, %sum_of_48, %sum_of_64
    scf.yield %next
    // becomes
    %next = scf.if %fits {
      ...                            // products of 48 keys
      scf.yield %sum_of_48
    } else {
      ...                            // products of 64 keys
      scf.yield %sum_of_64
    }
    scf.yield %next
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def WarpNarrowIndices : Pass<"warp-narrow-indices", "::mlir::ModuleOp"> {
  let summary = "computes indices in 32 bits where they fit";
  let description = [{
    Sizes and numbers of blocks are below 2^31, so integer range analysis proves
    most positions to fit. Addresses stay in 64 bits.

    ```mlir
    %m = arith.addi %m0, %row : index
    %visible = arith.cmpi sle, %n, %m : index
    // becomes
    %m = arith.addi %m0_32, %row_32 overflow<nsw> : i32
    %visible = arith.cmpi sle, %n_32, %m : i32
    ```
  }];
}

def WarpMaskPairs : Pass<"warp-mask-pairs", "::mlir::ModuleOp"> {
  let summary = "two values dropped by one mask";
  let description = [{
    Two values that are kept where the halves of a random word reach a threshold,
    and then rounded to 16 bits, are rounded first and masked together: halves
    have 15 bits, so that a sum of words tells of both at once, by its sign and
    by bit 15, which `prmt` spreads over the halves. Four instructions for six.

    ```mlir
    %low = arith.andi %word, %c65535 : i32
    %high = arith.shrui %word, %c16 : i32
    %keeps_p = arith.cmpi sge, %low, %least : i32
    %keeps_q = arith.cmpi sge, %high, %least : i32
    %p1 = arith.select %keeps_p, %p, %zero : f32
    %q1 = arith.select %keeps_q, %q, %zero : f32
    %two = vector.from_elements %p1, %q1 : vector<2xf32>
    %rounded = arith.truncf %two : vector<2xf32> to vector<2xbf16>
    // becomes
    %two = vector.from_elements %p, %q : vector<2xf32>
    %rounded = arith.truncf %two : vector<2xf32> to vector<2xbf16>
    %sum = arith.addi %word, %offsets : i32          // 2^15 - least in both halves
    %mask = nvvm.prmt <default> %selector, %sum, %sum : i32
    %both = arith.andi %bits, %mask : i32            // of %rounded
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

include "LoweringPasses.td"
