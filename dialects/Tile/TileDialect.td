//===- TileDialect.td - the tile dialect and its attributes ----*- tablegen -*-===//
#ifndef ATTENTILE_TILE_DIALECT_TD
#define ATTENTILE_TILE_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

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

    A loop over the tiles of an axis carries the attribute `tile.axis` with
    the axis's name, and `tile.blocks` once it is known whether its blocks
    evaluate a mask.
  }];
  let dependentDialects = ["::attentile::attn::AttnDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let discardableAttrs = (ins "::mlir::StringAttr":$axis, "::attentile::tile::BlockClassAttr":$blocks);
  let hasOperationAttrVerify = 1;
}

def Tile_AxesAttr : AttrDef<Tile_Dialect, "Axes"> {
  let mnemonic = "axes";
  let summary = "the names of a tile's axes";
  let description = [{
    The encoding of a tile's type: one name a dimension, none twice, in the
    canonical order of the kernel: tile axis, loop axis, whole axes.

    ```mlir
    #tile.axes<"m", "n">
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let assemblyFormat = "`<` $names `>`";
  let genVerifyDecl = 1;
}

def Tile_BlockClass : I32EnumAttr<"BlockClass", "what the blocks of a loop evaluate", [
  I32EnumAttrCase<"Partial", 0, "partial">,
  I32EnumAttrCase<"Full", 1, "full">
]> {
  let cppNamespace = "::attentile::tile";
  let genSpecializedAttr = 0;
}

def Tile_BlocksAttr : EnumAttr<Tile_Dialect, Tile_BlockClass, "blocks"> {
  let summary = "the class of a loop's blocks";
  let description = [{
    `full`: every mask condition has its visible value, none is evaluated;
    `partial`: masks are evaluated.
  }];
  let assemblyFormat = "`<` $value `>`";
}

#endif
