//===- TileOps.td - operations of the tile dialect -------------*- tablegen -*-===//
#ifndef ATTENTILE_TILE_OPS_TD
#define ATTENTILE_TILE_OPS_TD

include "TileDialect.td"
include "Attn/AttnEnums.td"
include "Attn/AttnInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Tile : Type<CPred<"::attentile::tile::isTile($_self)">, "tile (a static tensor with named axes)",
                     "::mlir::RankedTensorType">;
def Tile_ScalarOrTile : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, Index, AnySignlessInteger,
    Tile_Tile]>;
def Tile_Index : AnyTypeOf<[Index, Tile_Tile], "index or a tile of index">;

def Tile_ProgramOp : Tile_Op<"program", [
    IsolatedFromAbove, Symbol, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<Attn_SignatureOpInterface, ["getIndexNames", "getExtents"]>]> {
  let summary = "a list of kernels and the workspace between them";
  let description = [{
    What one kernel of the source became: tile.kernel operations that run in
    order, the workspace that carries values between them, what may be assumed,
    and the scalars' defaults. The head is that of attn.kernel without index
    variables.

    ```mlir
    tile.program @copy sizes(%M) ins(%X: f32[M, 64]) outs(%Y: f32[M, 64]) {
      tile.kernel @copy_0 grid() {
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$in_names, StrArrayAttr:$out_names,
    StrArrayAttr:$size_names, AffineMapArrayAttr:$shapes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_KernelOp : Tile_Op<"kernel", [NoTerminator, SingleBlock, HasParent<"ProgramOp">,
    RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one grid of programs";
  let description = [{
    The body runs once for every point of the grid, in any order and at the same
    time. The region's arguments are the program's coordinates, the last
    varying fastest. Bounds are values of the enclosing program.

    ```mlir
    tile.kernel @causal_0 grid(%b < %B, %h < %H, %i < %blocks) {
      ...
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$ids, Variadic<Index>:$bounds);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "consecutive indices along one axis";
  let description = [{
    Element i is base + i.

    ```mlir
    %m = tile.index %m0 : tensor<128xindex, #tile.axes<"m">>
    ```
  }];
  let arguments = (ins Index:$base);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$base attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [Pure]> {
  let summary = "a tile of a tensor's elements";
  let description = [{
    Each index is a scalar or a tile of index; the result has the union of their
    axes, and its element is the tensor's element at the indices' elements. An
    element with any index outside its dimension is 0. With scalar indices only
    the result is a scalar. What a kernel reads does not change while it runs,
    so a load may be repeated, merged or moved.

    ```mlir
    %q = tile.load %Q[%b, %h, %m, %d] : tensor<?x?x?x64xbf16>, (index, index,
           tensor<64xindex, #tile.axes<"m">>, tensor<64xindex, #tile.axes<"d">>)
           -> tensor<64x64xbf16, #tile.axes<"m", "d">>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<Tile_Index>:$indices);
  let results = (outs Tile_ScalarOrTile:$result);
  let assemblyFormat = [{
    $tensor `[` $indices `]` attr-dict `:` type($tensor) `,` `(` type($indices) `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile into a tensor";
  let description = [{
    The value, f32, index or i1, has the union of the indices' axes (or is a
    scalar) and is rounded to the tensor's element type. Elements with an index
    outside its dimension are not written.

    ```mlir
    tile.store %o, %O[%b, %h, %m, %e] : tensor<64x64xf32, #tile.axes<"m", "e">>, tensor<?x?x?x64xbf16>,
      (index, index, tensor<64xindex, #tile.axes<"m">>, tensor<64xindex, #tile.axes<"e">>)
    ```
  }];
  let arguments = (ins Tile_ScalarOrTile:$value, AnyRankedTensor:$tensor, Variadic<Tile_Index>:$indices);
  let assemblyFormat = [{
    $value `,` $tensor `[` $indices `]` attr-dict `:` type($value) `,` type($tensor) `,` `(` type($indices) `)`
  }];
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a value along the axes it lacks";
  let description = [{
    ```mlir
    %r2 = tile.broadcast %r : tensor<128xf32, #tile.axes<"m">> to tensor<128x64xf32, #tile.axes<"m", "n">>
    ```
  }];
  let arguments = (ins Tile_ScalarOrTile:$operand);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "a sum of products along named axes";
  let description = [{
    The sum over the axes `over`, which both factors have, of lhs times rhs,
    plus `acc` if there is one. The result has every other axis of either
    factor, and is a scalar if there is none. Factors are f32, f16 or bf16
    tiles; the sum is in f32. `product T`: the factors enter in type T, or keep
    more precision.

    For a GPU it is a product of matrices. For a CPU its axes may be any, and it
    is a chain of multiply-adds from `acc` on, the last of `over` innermost.

    ```mlir
    %s = tile.dot %q, %k over ["d"] product bf16 : tensor<64x64xbf16, #tile.axes<"m", "d">>,
           tensor<32x64xbf16, #tile.axes<"n", "d">> -> tensor<64x32xf32, #tile.axes<"m", "n">>
    %o2 = tile.dot %p, %v acc %o1 over ["n"] product bf16 : ...
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Optional<Tile_ScalarOrTile>:$acc, StrArrayAttr:$over,
    TypeAttr:$product);
  let results = (outs Tile_ScalarOrTile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $acc^)? `over` $over `product` $product attr-dict `:` type($lhs) `,` type($rhs)
    (`acc` type($acc)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The result's type where it is a tile.
    ::mlir::RankedTensorType getTileType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "a reduction along named axes of one tile";
  let description = [{
    `ref` is a maximum that may ignore NaN. Without axes left the result is a
    scalar.

    ```mlir
    %t = tile.reduce max %s over ["n"] : tensor<64x32xf32, #tile.axes<"m", "n">> -> tensor<64xf32, #tile.axes<"m">>
    ```
  }];
  let arguments = (ins Attn_ReduceKind:$kind, Tile_Tile:$operand, StrArrayAttr:$over);
  let results = (outs Tile_ScalarOrTile:$result);
  let assemblyFormat = "$kind $operand `over` $over attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "the same tile in another layout";
  let description = [{
    The one operation that moves elements between threads, or between registers
    and shared memory. Types differ in the layout alone.

    ```mlir
    %q = tile.convert_layout %q_shared : tensor<64x64xbf16, #m_d_shared> to tensor<64x64xbf16, #m_d_fragment>
    ```
  }];
  let arguments = (ins Tile_Tile:$operand);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_VoteOp : Tile_Op<"vote", [Pure]> {
  let summary = "whether a condition holds for all rows that decide together";
  let description = [{
    True only if every element of the operand is true that belongs to the group
    of rows which decides together. What a group is stays the target's choice:
    the whole tile on the CPU, the rows of one warp on a GPU. Within a kernel
    groups stay the same rows. Groups may decide differently, so what is computed on either side of an `scf.if` on the result
    must be right for every row for which the decision can fall that way, and
    nothing in it may wait for another group: no products, no loads of tiles
    that are shared.

    ```mlir
    %calm = tile.vote %small : tensor<64xi1, #tile.axes<"m">>
    ```
  }];
  let arguments = (ins AnyTypeOf<[I1, Tile_Tile]>:$operand);
  let results = (outs I1:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReduceGroupOp : Tile_Op<"reduce_group", [Pure]> {
  let summary = "a reduction over the rows that decide together";
  let description = [{
    Of a tile along one axis: the least, or the like, of what the group of rows
    has that decides together (`tile.vote`). Groups may have different results.

    ```mlir
    %last = tile.reduce_group max %ends : tensor<64xindex, #tile.axes<"m">> -> index
    ```
  }];
  let arguments = (ins Attn_ReduceKind:$kind, Tile_Tile:$operand);
  let results = (outs AnyTypeOf<[AnySignlessInteger, Index, AnyFloat]>:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "attn::ReduceKind":$kind, "::mlir::Value":$operand)>];
}

def Tile_HiddenOp : Tile_Op<"hidden", [MemoryEffects<[MemWrite]>]> {
  let summary = "rows for which an iteration changes nothing";
  let description = [{
    Where the condition holds for a group of rows that decides together
    (`tile.vote`), everything that the loop around carries for them may stay as
    it is: what this iteration adds is hidden by a mask. Nobody need make use of
    it.

    ```mlir
    %later = arith.cmpi sgt, %n0, %last : index      // %last: of the group's rows
    tile.hidden %later
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_SeesOp : Tile_Op<"sees", [MemoryEffects<[MemWrite]>]> {
  let summary = "which of a block's columns rows see";
  let description = [{
    Of the loop's block a group of rows that decides together (`tile.vote`) sees
    no columns but `count` from `from` on, a multiple of 16 within the block:
    a mask hides the others from all of the group's rows. Groups of `rows` rows
    of the tile. Where there is a condition, that is known of the blocks alone
    for which it holds. Nobody need make use of it.

    ```mlir
    tile.sees 48 from %from of 32
    tile.sees 48 from %from of 32 if %fits
    ```
  }];
  let arguments = (ins I64Attr:$count, Index:$from, I64Attr:$rows, Optional<I1>:$fits);
  let assemblyFormat = "$count `from` $from `of` $rows (`if` $fits^)? attr-dict";
}

def Tile_EitherOp : Tile_Op<"either", [MemoryEffects<[MemWrite]>]> {
  let summary = "a group of rows takes one of two ways through an iteration";
  let description = [{
    What the loop carries on is chosen by the condition (`arith.select`), the
    same for each group of rows that decides together (`tile.vote`): where it
    holds either choice would be right, else the second. So a group need compute
    only one of them. Nobody need make use of it.

    ```mlir
    tile.either %fits
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "consecutive positions of one axis of a tile";
  let description = [{
    Those from `from` on, a multiple of 16, as an axis of another name and size.
    Groups of rows that decide together (`tile.vote`) may have different ones.

    ```mlir
    %part = tile.slice %k along "n" from %from : tensor<64x128xbf16, #tile.axes<"n", "d">>
              to tensor<48x128xbf16, #tile.axes<"n_seen", "d">>
    ```
  }];
  let arguments = (ins Tile_Tile:$operand, StrAttr:$axis, Index:$from);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$operand `along` $axis `from` $from attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_RefOp : Tile_Op<"ref", [Pure, SameOperandsAndResultType] # ElementwiseMappable.traits> {
  let summary = "a softmax's reference, from a running maximum";
  let description = [{
    The operand, 0 where it is -inf. Marks that of the result's exact value
    nothing but its size may be used.

    ```mlir
    %r = tile.ref %mx : tensor<64xf32, #tile.axes<"m">>
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, Tile_Tile]>:$operand);
  let results = (outs AnyTypeOf<[F32, Tile_Tile]>:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

#endif
