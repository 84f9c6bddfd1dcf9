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
