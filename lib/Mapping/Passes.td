//===- Passes.td - passes from tiles to warps ------------------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

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
  let dependentDialects = ["::attentile::warp::WarpDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
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
    from values that were combined over the same lanes.
  }];
  let dependentDialects = ["::attentile::warp::WarpDialect", "::mlir::arith::ArithDialect"];
}

def WarpPipelineCopies : Pass<"warp-pipeline-copies"> {
  let summary = "copies run ahead of their use and overlap computation";
  let description = [{
    A copy in a loop whose address depends on the loop's index alone is
    requested before its iteration needs it. With one buffer for each copy (the
    default) it is requested again as soon as all threads have read the buffer:
    of K and V, V of this tile before Q K^T and K of the next one before the
    softmax, as FlashAttention-2 does. `stages=N` keeps N buffers for each and
    requests N - 1 iterations ahead. Loops that follow each other and read the
    same windows (full and partial blocks) hand over: the last iteration of one
    requests the first copy of the next.

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
    Option<"stages", "stages", "int64_t", /*default=*/"1", "Buffers for each copy">
  ];
  let dependentDialects = ["::attentile::warp::WarpDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}
