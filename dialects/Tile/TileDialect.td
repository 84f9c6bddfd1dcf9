//===- TileDialect.td - the tile dialect and its attributes ----*- tablegen -*-===//
#ifndef ATTENTILE_TILE_DIALECT_TD
#define ATTENTILE_TILE_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::attentile::tile";
  let summary = "static tiles, loops over tiles, and how they move";
  let description = [{
    A tile is a builtin tensor of static shape whose encoding names its axes:
    `tensor<128x64xf32, #tile.axes<"m", "n">>`. `arith` and `math` work on
    tiles of one type, loops are `scf.for`; this dialect adds what MLIR has
    not: loading and storing tiles, repeating one along an axis, products and
    reductions along named axes.

    A tile's encoding may also say where its elements are: in the registers of
    the block's threads (#tile.fragment) or in shared memory (#tile.shared).
    tile-assign-layouts gives every tile one; from there on
    `tile.convert_layout` alone moves data between layouts. `Layout.h` explains
    the algebra.

    A loop over the tiles of an axis carries the attribute `tile.axis` with
    the axis's name, and `tile.blocks` once it is known whether its blocks
    evaluate a mask. `tile.inside`, a map from the program's sizes to one
    extent, promises that every block lies below that extent: what is read at
    the loop's indices along a dimension of this extent is in the tensor.
    `tile.descending` asks for the blocks from the last to the first, where any
    order is right, and `tile.alternating` for that in every other iteration of
    the loop around it, if there still is one: tile-to-warp follows them, the CPU
    does not. A loop with `tile.in_order` reads what it carries, so that its
    blocks may be left out, but come in no other order. A loop with
    `tile.programs` runs what would be programs of their own, whose tiles were
    chosen for one of them at a time. The index of
    a loop with `tile.from_list` counts entries of a list in workspace, the
    numbers of the blocks that it computes; one with `tile.to_list` writes such a
    list and computes none. One with `tile.slices` goes over slices of an axis that
    stands whole in tiles around it. A branch with `tile.shortcut` may always take its
    second side: where its condition holds the first has the same values with less
    work. A kernel whose work is spread over the warps of a
    block carries `tile.warps`, and `tile.resources` where a target's limits chose
    its tiles.
  }];
  let dependentDialects = ["::attentile::attn::AttnDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let discardableAttrs = (ins "::mlir::StringAttr":$axis, "::attentile::tile::BlockClassAttr":$blocks,
    "::mlir::AffineMapAttr":$inside,
    "::attentile::tile::WarpsAttr":$warps, "::attentile::tile::ResourcesAttr":$resources);
  let hasOperationAttrVerify = 1;
}

def Tile_AxesAttr : AttrDef<Tile_Dialect, "Axes", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding, ["verifyEncoding"]>]> {
  let mnemonic = "axes";
  let summary = "the names of a tile's axes, and where its elements are";
  let description = [{
    The encoding of a tile's type: one name a dimension, none twice, in the
    canonical order of the kernel: tile axis, loop axis, whole axes. From
    tile-assign-layouts on, a layout: #tile.fragment or #tile.shared, whose
    sizes are the tile's.

    ```mlir
    #tile.axes<"m", "n">
    #tile.axes<"n", "d", in = #tile.shared<pitch = 64, chunk = 8, period = 8>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, OptionalParameter<"::mlir::Attribute">:$layout);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::mlir::StringAttr>":$names), [{
    return $_get($_ctxt, names, ::mlir::Attribute());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_LayoutParameter : AttrParameter<"::attentile::tile::Layout", "the digits of each axis">;

def Tile_FragmentAttr : AttrDef<Tile_Dialect, "Fragment"> {
  let mnemonic = "fragment";
  let summary = "a tile in the registers of a block's threads";
  let description = [{
    The digits of each axis, least significant first: how many values, and what
    each is worth: registers of a thread, lanes of a warp, warps of the block.
    Lanes and warps that no digit names hold copies. Kept in normal form, so
    that equal layouts are equal attributes.

    ```mlir
    #tile.fragment<[8 lane 4, 2 reg 2, 4 warp 1], [2 reg 1, 4 lane 1, 8 reg 4]>  // 64 x 64 of mma.m16n8, 4 warps
    #tile.fragment<[8 lane 4, 2 reg 1, 4 warp 1]>                                // its row maximum
    ```
  }];
  let parameters = (ins Tile_LayoutParameter:$layout);
  let hasCustomAssemblyFormat = 1;
}

def Tile_SharedAttr : AttrDef<Tile_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a tile of two axes in shared memory";
  let description = [{
    A row starts `pitch` elements after the one before; chunk c of row r, of
    `chunk` elements (16 bytes), is in the place of chunk
    c ^ (r / `rows` % `period`).

    ```mlir
    #tile.shared<pitch = 64, chunk = 8, period = 8>           // 64 x bf16: 128 bytes a row
    #tile.shared<pitch = 32, chunk = 8, rows = 2, period = 4>   // 32 x bf16: two rows fill the banks
    #tile.shared<pitch = 88, chunk = 8>                     // 80 x bf16: 11 chunks, an odd number
    ```
  }];
  let parameters = (ins "int64_t":$pitch, "int64_t":$chunk, DefaultValuedParameter<"int64_t", "1">:$rows,
    DefaultValuedParameter<"int64_t", "1">:$period);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    static SharedAttr get(::mlir::MLIRContext *context, const ::attentile::tile::SharedLayout &layout);
    ::attentile::tile::SharedLayout getLayout() const;
  }];
}

def Tile_WarpsAttr : AttrDef<Tile_Dialect, "Warps"> {
  let mnemonic = "warps";
  let summary = "how a kernel's work is spread over the warps of a block";
  let description = [{
    The axis `rows` is spread over `split_rows` warps. For each of them there
    are `split_columns` warps over the other axis of what the kernel
    accumulates (a head's e), each of which has all the scores of its rows; or,
    with `split_reduced` equal to it, over the reduced axis of the scores (the
    keys) too: each warp has scores of its own and all columns' partial sums
    meet in shared memory. All three are 1 unless given.

    ```mlir
    #tile.warps<rows = "m", split_rows = 4>                          // split-Q
    #tile.warps<rows = "m", split_columns = 4, split_reduced = 4>    // split-K
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$rows, DefaultValuedParameter<"int64_t", "1">:$split_rows,
    DefaultValuedParameter<"int64_t", "1">:$split_columns, DefaultValuedParameter<"int64_t", "1">:$split_reduced);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// How many warps a block has.
    int64_t getCount() const { return getSplitRows() * getSplitColumns(); }
  }];
  let genVerifyDecl = 1;
}

def Tile_ResourcesAttr : AttrDef<Tile_Dialect, "Resources"> {
  let mnemonic = "resources";
  let summary = "what a kernel's tiles take of a GPU";
  let description = [{
    Written with the tile sizes, by the model that chose them: the warps of a
    block; how many buffers there are for each factor that a loop reads (0: all
    share one in turn, so that no copy may be requested ahead); the
    registers a thread needs and the bytes of shared memory of a block, as
    predicted; how many blocks then share a multiprocessor; and whether a left
    factor that a loop does not change stays in registers or is read from shared
    memory again at each step.

    ```mlir
    #tile.resources<warps = 4, stages = 1, registers = 168, shared = 49152, blocks = 3, keep_left = true>
    ```
  }];
  let parameters = (ins "int64_t":$warps, "int64_t":$stages, "int64_t":$registers, "int64_t":$shared,
    "int64_t":$blocks, "bool":$keep_left);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_BlockClass : I32EnumAttr<"BlockClass", "what the blocks of a loop evaluate", [
  I32EnumAttrCase<"Partial", 0, "partial">,
  I32EnumAttrCase<"Full", 1, "full">,
  I32EnumAttrCase<"Mixed", 2, "mixed">
]> {
  let cppNamespace = "::attentile::tile";
  let genSpecializedAttr = 0;
}

def Tile_BlocksAttr : EnumAttr<Tile_Dialect, Tile_BlockClass, "blocks"> {
  let summary = "the class of a loop's blocks";
  let description = [{
    `full`: every mask condition has its visible value, none is evaluated;
    `partial`: masks are evaluated, or, once tails are peeled off, the axis's
    bound alone; `mixed`: blocks of both classes, partial ones evaluate these
    behind a branch.
  }];
  let assemblyFormat = "`<` $value `>`";
}

#endif
