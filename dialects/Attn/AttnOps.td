//===- AttnOps.td - operations of the attn dialect -------------*- tablegen -*-===//
#ifndef ATTENTILE_ATTN_OPS_TD
#define ATTENTILE_ATTN_OPS_TD

include "AttnDialect.td"
include "AttnEnums.td"
include "AttnInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

def Attn_Value : AnyTypeOf<[F32, Index, I1], "f32, index or i1">;

def Attn_KernelOp : Attn_Op<"kernel", [
    IsolatedFromAbove, Symbol, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    Attn_SignatureOpInterface]> {
  let summary = "a kernel in index notation";
  let description = [{
    The whole of a kernel: what it reads, what it defines, over which index
    variables. Sizes that are fixed stand as numbers; the others are arguments.
    An index variable `%m < M` stands for every integer from 0 to M - 1.

    ```mlir
    attn.kernel @scale_rows sizes(%M) indices(%m < M, %d < 64)
        ins(%X: f32[M, 64], %scale: f32) outs(%Y: f32[M, 64]) {
      %x = attn.read %X[%m, %d] : tensor<?x64xf32>
      %y = arith.mulf %x, %scale : f32
      attn.write %y to %Y[%m, %d] : f32, tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$in_names, StrArrayAttr:$out_names,
    StrArrayAttr:$size_names, StrArrayAttr:$index_names, AffineMapArrayAttr:$shapes,
    AffineMapArrayAttr:$extents);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Attn_AssumeOp : Attn_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "what the caller must keep";
  let description = [{
    A constraint from the kernel's `where` clause, on sizes and scalars only. It
    is checked before a kernel runs; inside, it may be relied on. `text` is the
    constraint as the user wrote it.

    ```mlir
    attn.assume %multiple, "H % G == 0"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$text);
  let assemblyFormat = "$condition `,` $text attr-dict";
  let hasVerifier = 1;
}

def Attn_DefaultOp : Attn_Op<"default", [MemoryEffects<[MemWrite]>]> {
  let summary = "a scalar parameter's value when the caller gives none";
  let description = [{
    The value is computed from sizes and scalars only.

    ```mlir
    attn.default %scale = %inv_sqrt_d : f32, f32
    ```
  }];
  let arguments = (ins AnyType:$parameter, Attn_Value:$value);
  let assemblyFormat = "$parameter `=` $value attr-dict `:` type($parameter) `,` type($value)";
  let hasVerifier = 1;
}

def Attn_ReadOp : Attn_Op<"read", [Pure,
    TypesMatchWith<"result is one element of the tensor", "tensor", "result",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "one element of a tensor";
  let description = [{
    The element at the given indices, in the tensor's element type; 0 if an
    index lies outside its dimension.

    ```mlir
    %q = attn.read %Q[%b, %h, %m, %d] : tensor<?x?x?x64xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Attn_WriteOp : Attn_Op<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "defines the elements of an output or workspace";
  let description = [{
    For every value of the index variables, the element at the given indices is
    the value, rounded to the tensor's element type.

    ```mlir
    attn.write %o to %O[%b, %h, %m, %e] : f32, tensor<?x?x?x64xbf16>
    ```
  }];
  let arguments = (ins Attn_Value:$value, AnyRankedTensor:$tensor, Variadic<Index>:$indices);
  let assemblyFormat = "$value `to` $tensor `[` $indices `]` attr-dict `:` type($value) `,` type($tensor)";
  let hasVerifier = 1;
}

def Attn_ReduceOp : Attn_Op<"reduce", [Pure,
    TypesMatchWith<"result has the operand's type", "operand", "result", "$_self">]> {
  let summary = "a reduction that binds index variables";
  let description = [{
    Reduces the operand over every value of `axes`. Over nothing: sum 0, max
    -inf, min inf, any false, all true, ref 0. Sums of floats are in f32; NaN
    goes through. The operand may lack an axis: a sum then multiplies by the
    extent.

    `product T` says that this sum is a matrix product whose two factors, the
    operands of the multiplication that is summed, enter in type T. A target may
    keep more precision.

    ```mlir
    %s = attn.reduce sum %qk over (%d) product bf16 : f32
    %r = attn.reduce ref %s over (%n) : f32
    ```
  }];
  let arguments = (ins Attn_ReduceKind:$kind, Attn_Value:$operand, Variadic<Index>:$axes,
    OptionalAttr<TypeAttr>:$product);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$kind $operand `over` `(` $axes `)` (`product` $product^)? attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Attn_SoftmaxOp : Attn_Op<"softmax", [Pure]> {
  let summary = "softmax over index variables";
  let description = [{
    exp(x - max x) / sum exp(x - max x) over `axes`; 0 where every x is -inf.

    ```mlir
    %p = attn.softmax %s over (%n) : f32
    ```
  }];
  let arguments = (ins F32:$operand, Variadic<Index>:$axes);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand `over` `(` $axes `)` attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Attn_LogSumExpOp : Attn_Op<"logsumexp", [Pure]> {
  let summary = "log of the sum of exponentials over index variables";
  let description = [{
    max x + log(sum exp(x - max x)), natural; -inf where every x is -inf.

    ```mlir
    %l = attn.logsumexp %s over (%n) : f32
    ```
  }];
  let arguments = (ins F32:$operand, Variadic<Index>:$axes);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand `over` `(` $axes `)` attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Attn_MaterializeOp : Attn_Op<"materialize", [Pure,
    TypesMatchWith<"result has the operand's type", "operand", "result", "$_self">]> {
  let summary = "a value that a schedule wants in workspace";
  let description = [{
    The operand itself. A schedule's `materialize s` puts this mark on the `let`
    of that name; attn-form-grids gives it a grid and a workspace of its own.

    ```mlir
    %t = attn.materialize %s, "s" : f32
    ```
  }];
  let arguments = (ins Attn_Value:$operand, StrAttr:$name);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$operand `,` $name attr-dict `:` type($operand)";
}

def Attn_ForOp : Attn_Op<"for", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a loop over the tiles of an axis, as a kernel writes it";
  let description = [{
    Goes through the indices of `axis` from `lower` on and below `upper`, `size`
    of them at a time, the last tile what is left. What it carries has the axes
    of its `attn.next` and of its start, but never `axis`; the results are what
    the last tile left, or the starts if there is none.

    Values are functions of index variables here as elsewhere, whether they
    stand within the loop or before it. The block's first argument stands for
    the indices of one tile: a reduction over it is over that tile, where one
    over the index variable itself would be over the whole axis.

    ```mlir
    %l = attn.for %tile of %n from %c0 to %N by 64 carry(%sum = %zero) : f32 {
      %t = attn.reduce sum %p over(%tile) : f32        // %p: a function of %n
      %next = arith.addf %sum, %t : f32
      attn.next %next : f32
    }
    ```
  }];
  let arguments = (ins Index:$axis, Index:$lower, Index:$upper, I64Attr:$size,
    Variadic<Attn_Value>:$starts);
  let results = (outs Variadic<Attn_Value>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getTileIndex() { return getBody().getArgument(0); }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getCarried() {
      return getBody().getArguments().drop_front();
    }
    ::mlir::OperandRange getNexts() { return getBody().front().getTerminator()->getOperands(); }
    /// Calls `callback` with each operand and each value from before the loop
    /// that its body uses.
    void forEachUsed(::llvm::function_ref<void(::mlir::Value)> callback);
  }];
}

def Attn_NextOp : Attn_Op<"next", [Pure, Terminator, HasParent<"ForOp">]> {
  let summary = "what a loop over tiles carries to its next tile";
  let description = [{
    One value for each that the loop carries.

    ```mlir
    attn.next %m, %l : f32, f32
    ```
  }];
  let arguments = (ins Variadic<Attn_Value>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

class Attn_IntegerOp<string mnemonic> : Attn_Op<mnemonic, [Pure, SameOperandsAndResultType]
    # ElementwiseMappable.traits> {
  let arguments = (ins SignlessIntegerOrIndexLike:$lhs, SignlessIntegerOrIndexLike:$rhs);
  let results = (outs SignlessIntegerOrIndexLike:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Attn_FloorDivOp : Attn_IntegerOp<"floordiv"> {
  let summary = "integer division toward minus infinity, defined everywhere";
  let description = [{
    The quotient rounded toward minus infinity; 0 for a divisor of 0. Works on
    scalars, tiles and vectors. (`arith.floordivsi` is undefined there.)

    ```mlir
    %g = attn.floordiv %h, %group : index
    ```
  }];
}

def Attn_FloorModOp : Attn_IntegerOp<"floormod"> {
  let summary = "remainder of attn.floordiv";
  let description = [{
    lhs - floordiv(lhs, rhs) * rhs for rhs != 0, with the sign of rhs; 0 for a
    divisor of 0.

    ```mlir
    %r = attn.floormod %n, %w : index
    ```
  }];
}

def Attn_IndexLike : AnyTypeOf<[Index, RankedTensorOf<[Index]>, VectorOfNonZeroRankOf<[Index]>],
    "an index, or a tile or vector of them">;
def Attn_WordLike : AnyTypeOf<[I32, RankedTensorOf<[I32]>, VectorOfNonZeroRankOf<[I32]>],
    "i32, or a tile or vector of it">;

def Attn_RandomOp : Attn_Op<"random", [Pure, SameTypeOperands] # ElementwiseMappable.traits> {
  let summary = "14 random bits for a place";
  let description = [{
    A number of two bytes below 128 that depends on the seed and one to four
    indices alone. Of Philox4x32-7 with the seed as key (low word first) and as
    counter the indices, missing ones 0, the last one, j, replaced by
    4 * (j / 32) + (j % 8) / 2 and the one before it, i, by 8 * (i / 16) + i % 8,
    word (j / 8) % 4, of each byte the lower seven bits, turned right by
    8 * (i / 8 % 2) bits: half j % 2. (Salmon, Moraes, Dror, Shaw: Parallel random
    numbers: as easy as 1, 2, 3; SC 2011.) Sixteen elements, those that a lane of
    a matrix fragment holds of rows i and i + 8, are of one call. Works on
    scalars, tiles and vectors. attentile/Philox.h is the same in C++.

    ```mlir
    %number = attn.random %seed at [%b, %h, %m, %n] : index -> i32
    ```
  }];
  let arguments = (ins Attn_IndexLike:$seed, Variadic<Attn_IndexLike>:$indices);
  let results = (outs Attn_WordLike:$result);
  let assemblyFormat = "$seed `at` `[` $indices `]` attr-dict `:` type($seed) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_PhiloxOp : Attn_Op<"philox", [Pure, SameOperandsAndResultType] # ElementwiseMappable.traits> {
  let summary = "four random words for a counter";
  let description = [{
    Philox4x32-7: four words of 32 random bits from a counter of four words and
    a key of two. What attn.random takes its halves from; passes that know which
    elements share a call make it.

    ```mlir
    %w:4 = attn.philox %c0, %c1, %c2, %c3 key %k0, %k1 : i32
    ```
  }];
  let arguments = (ins Attn_WordLike:$c0, Attn_WordLike:$c1, Attn_WordLike:$c2,
    Attn_WordLike:$c3, Attn_WordLike:$k0, Attn_WordLike:$k1);
  let results = (outs Attn_WordLike:$w0, Attn_WordLike:$w1, Attn_WordLike:$w2,
    Attn_WordLike:$w3);
  let assemblyFormat = "$c0 `,` $c1 `,` $c2 `,` $c3 `key` $k0 `,` $k1 attr-dict `:` type($w0)";
}

def Attn_WorkspaceOp : Attn_Op<"workspace", [MemoryEffects<[MemAlloc]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "memory that carries values from one grid to the next";
  let description = [{
    A tensor that the caller provides, written by one grid and read by later
    ones. `shape` gives its extents from the sizes of the enclosing kernel.

    ```mlir
    %r = attn.workspace "r" shape affine_map<()[s0, s1] -> (s0, s1)> : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, AffineMapAttr:$shape);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$name `shape` $shape attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Attn_GridOp : Attn_Op<"grid", [NoTerminator, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "statements that run together, and how their axes are visited";
  let description = [{
    Made by attn-form-grids. `step` axes are visited one by one by different
    programs, `tile` axes in tiles by different programs, `loop` axes in tiles
    by a loop within a program, `walk` axes one by one by a loop around that;
    `whole` axes stand whole in the tile. The grids of a kernel run in order;
    each has its own copy of what it computes.

    ```mlir
    attn.grid step(%b, %h) tile(%m) loop(%n) whole(%d, %e) {
      ...
      attn.write %o to %O[%b, %h, %m, %e] : f32, tensor<?x?x?x64xf32>
    }
    attn.grid step(%b) tile(%m) loop(%x) walk(%y) whole(%d, %e) {   // sum[y, x]
      ...
    ```
  }];
  let arguments = (ins Variadic<Index>:$step, Variadic<Index>:$tile, Variadic<Index>:$loop,
    Variadic<Index>:$walk, Variadic<Index>:$whole);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `step` `(` $step `)` `tile` `(` $tile `)` `loop` `(` $loop `)` (`walk` `(` $walk^ `)`)? `whole` `(` $whole `)` attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The axes that no tile has: those of one index at a time.
    llvm::SmallVector<::mlir::Value> getSingle() {
      llvm::SmallVector<::mlir::Value> axes(getStep());
      llvm::append_range(axes, getWalk());
      return axes;
    }
  }];
}

#endif
