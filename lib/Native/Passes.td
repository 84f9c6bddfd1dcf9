//===- Passes.td - passes from tile loops to native code ------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

def TileToHost : Pass<"tile-to-host", "::mlir::ModuleOp"> {
  let summary = "adds the functions that a caller asks before it runs kernels";
  let description = [{
    From what a tile.program holds besides kernels it makes functions of the
    array of argument slots (attentile/Native/ArgSlots.h): `NAME_check` (0, or
    1 + the index of the first assumption that does not hold),
    `NAME_default_SCALAR` for every default (an f32 or i64), `NAME_workspace_K`, the elements of
    the K-th workspace, and `KERNEL_cells`, the programs of a kernel's grid.
    Runs before tile-to-loops, and leaves the program as it is.

    ```mlir
    attn.default %scale = %inv : f32, f32
    // adds
    func.func @causal_default_scale(%args: !llvm.ptr) -> f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect"];
}

def AttnExpandIntegerDivision : Pass<"attn-expand-integer-division"> {
  let summary = "lowers total integer division to arith";
  let description = [{
    Replaces `attn.floordiv` and `attn.floormod`, on scalars and vectors, by
    operations that the machine has: division truncates there, and division by
    0 and of the least integer by -1 trap. A constant divisor needs no guard,
    a power of two no division.

    ```mlir
    %q = attn.floordiv %a, %c8 : index
    // becomes
    %q = arith.shrsi %a, %c3 : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnExpandRandom : Pass<"attn-expand-random"> {
  let summary = "lowers random bits to arith";
  let description = [{
    Replaces `attn.philox`, on scalars and vectors, by its seven rounds of
    multiplications, and an `attn.random` that no other shares a call with by a
    call and the choice of its half.

    ```mlir
    %w:4 = attn.philox %c0, %c1, %c2, %c3 key %k0, %k1 : i32
    // becomes, seven times
    %low, %high = arith.mului_extended %c0, %m0 : i32
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::attentile::attn::AttnDialect"];
}

def TileToLoops : Pass<"tile-to-loops", "::mlir::ModuleOp"> {
  let summary = "lowers tile kernels to functions with loops and vectors";
  let description = [{
    Makes of each `tile.kernel` a function that runs a range of its grid's
    cells (attentile/Native/ArgSlots.h has the arguments). Tiles become buffers
    in one block of scratch; nothing is allocated.

    The axis that the grid tiles (m, the rows) runs along vectors and is stored
    innermost: the scores are computed transposed, S^T[n, m], so that maxima and
    sums over n are vertical, K and V are read by broadcast where they lie, and
    the only tile that is transposed is the loop-invariant Q. Products are
    register-blocked; chains of element-wise operations and reductions become
    one nest. What the next iteration loads, and the next program, is asked for
    (`llvm.intr.prefetch`) while products run, a share in each register block.

    ```mlir
    %s = tile.dot %q, %k over ["d"] product f32 : ...
    %mx = tile.reduce max %s over ["n"] : ...
    // becomes
    scf.for %m = %c0 to %c4 step %c1 {                // stripes of two vectors
      scf.for %n = %c0 to %c64 step %c4 {
        %s:8 = scf.for %d = %c0 to %c64 step %c1 iter_args(...) {
          ... vector.fma %k0, %q0, %acc0 : vector<8xf32> ...
        }
        ... vector.store %s#0, %S[%m, %n, %c0] : memref<4x64x16xf32>, vector<8xf32> ...
      }
    }
    scf.for %m = %c0 to %c4 step %c1 {
      %mx:2 = scf.for %n = %c0 to %c64 step %c4 iter_args(...) { ... }
    }
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256", "Width of a vector register: 128, 256 or 512">,
    Option<"countBlocks", "count-blocks", "bool", "false", "Count the blocks that loops visit">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::attentile::attn::AttnDialect"];
}

def NativeExpandMath : Pass<"native-expand-math", "::mlir::ModuleOp"> {
  let summary = "expands mathematics to arithmetic";
  let description = [{
    Left alone, `math.exp2` of a vector becomes a call of exp2f for every lane.
    This pass writes exp2, exp, log2, log, tanh (within 2 units of the last
    place), sin, cos (within 2^-23 absolute) and powf on f32 scalars and vectors
    out as arithmetic. Results below 2^-126 become 0, so that no subnormal
    reaches a product. sin and cos of more than 8192 call the library, in a
    function of their own.

    ```mlir
    %p = math.exp2 %x : vector<8xf32>
    // becomes
    %t = arith.addf %x, %c12582912 : vector<8xf32>   // rounds; the power of two in its last bits
    %r = arith.subf %t, %c12582912 : vector<8xf32>
    %f = arith.subf %x, %r : vector<8xf32>
    ...                                              // 2^f by six math.fma
    ```
  }];
  let options = [
    Option<"hasFma", "fma", "bool", "true", "the machine has fused multiply-add">,
    Option<"hasRounding", "rounding", "bool", "true", "the machine rounds to whole numbers">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def NativeExpandNarrowFloats : Pass<"native-expand-narrow-floats"> {
  let summary = "expands conversions of 16-bit floats to integer arithmetic";
  let description = [{
    Conversions from f32 to bf16, and between f16 and f32 where the machine has
    no instruction for them, would be library calls, one a lane. They round to
    nearest even and keep NaN.

    ```mlir
    %y = arith.truncf %x : vector<8xf32> to vector<8xbf16>
    // becomes
    %bits = arith.bitcast %x : vector<8xf32> to vector<8xi32>
    ...                                              // rounds the lower half away
    %y = arith.bitcast %half : vector<8xi16> to vector<8xbf16>
    ```
  }];
  let options = [
    Option<"hasF16", "f16", "bool", "true", "the machine converts f16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NativeFloatsToBits : Pass<"native-floats-to-bits"> {
  let summary = "makes narrow floats integers of as many bits";
  let description = [{
    LLVM calls a function for a bf16 that one block has and another needs, where
    the machine has no instructions for it. All that is done with such floats is
    to move and to extend them; integers do as well.

    ```mlir
    ^inside(%x: bf16):
      %y = llvm.fpext %x : bf16 to f32
    // becomes
    ^inside(%x: i16):
      %wide = llvm.zext %x : i16 to i32
      %high = llvm.shl %wide, %c16 : i32
      %y = llvm.bitcast %high : i32 to f32
    ```
  }];
  let options = [
    Option<"hasF16", "f16", "bool", "true", "the machine converts f16">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}
