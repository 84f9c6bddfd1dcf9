//===- LoweringPasses.td - from warp kernels to LLVM -----------*- tablegen -*-===//
//
// In run order, a part of Passes.td: behind those on registers.
//
//===----------------------------------------------------------------------===//

def WarpToNVVM : Pass<"warp-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "lowers warp kernels to functions for NVPTX";
  let description = [{
    Each `warp.kernel` becomes an `llvm.func` that NVPTX compiles as a kernel;
    operations of the warp dialect become those of nvvm and llvm, or inline PTX
    where there is none: accesses under a predicate, and rounding to tf32.

    ```mlir
    %d = warp.mma %a, %b, %c : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
    // becomes
    %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3] {...}
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def NVVMEnterLoops : Pass<"nvvm-enter-loops"> {
  let summary = "what a loop starts from, where it starts";
  let description = [{
    Of a loop over blocks that may not run, ptxas sets the accumulators to zero
    twice: before the branch around the loop, for what is behind it, and after.
    With a place of its own on the way around, once.

    ```mlir
    %o:64 = scf.for %n = %first to %end step %tile iter_args(...)
    // becomes
    %runs = arith.cmpi slt, %first, %end
    %o:64 = scf.if %runs {
      scf.for %n = %first to %end step %tile iter_args(...)
    } else {
      llvm.inline_asm has_side_effects "//", ""
      scf.yield %zero, ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def NVVMExpandMath : Pass<"nvvm-expand-math"> {
  let summary = "mathematics that the GPU has no accurate instruction for";
  let description = [{
    exp, log, log2, tanh, pow, sin and cos in f32 become arithmetic within 2
    units of the last place. exp2 stays: `ex2.approx` is as accurate. bf16
    becomes f32 by a shift, for which the conversion's unit is slow.

    ```mlir
    %y = math.tanh %x : f32
    // becomes
    %u = arith.mulf %x, %cst : f32
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def NVVMThreadBranches : Pass<"nvvm-thread-branches"> {
  let summary = "goes straight to a side that is known to be taken";
  let description = [{
    Where the guard has speculated nothing, its decision is known. Going to the
    classical step at once, the loop keeps no registers for probabilities that
    are not there.

    ```mlir
    cf.br ^decide(%poison, %false : f32, i1)
    ^decide(%p: f32, %ok: i1):
      cf.cond_br %ok, ^fast, ^slow
    // becomes
    cf.br ^slow
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect"];
}

def NVVMConvertToLLVM : Pass<"nvvm-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "the rest to the LLVM dialect, in one conversion";
  let description = [{
    Arithmetic, mathematics, branches, poison and elements of vectors.

    ```mlir
    %low = vector.extract %pair[0] : bf16 from vector<2xbf16>
    // becomes
    %0 = llvm.mlir.constant(0 : i64) : i64
    %low = llvm.extractelement %pair[%0 : i64] : vector<2xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}
