//===- WarpDialect.td - the warp dialect, its types and enums --*- tablegen -*-===//
#ifndef ATTENTILE_WARP_DIALECT_TD
#define ATTENTILE_WARP_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::attentile::warp";
  let summary = "what the threads of one block do";
  let description = [{
    The body of a `warp.kernel` is what every thread of a block runs. A value is
    one thread's: a scalar, or a *fragment*, `vector<RxT>`, the thread's R
    registers of a distributed tile, in the order of the tile's layout.
    Elementwise work is `arith` and `math` on these vectors, registers are moved
    by `vector` operations, loops and branches are `scf` and are uniform: all
    threads of a block take the same way. This dialect adds what only a GPU has:
    shared buffers and the asynchronous copies into them, matrix instructions,
    exchange between threads. A loop with `warp.rolled` stays a loop in the
    machine's code.
  }];
  let dependentDialects = ["::attentile::tile::TileDialect", "::mlir::vector::VectorDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let discardableAttrs = (ins "::mlir::UnitAttr":$rolled);
}

def Warp_BufferType : TypeDef<Warp_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a tile in shared memory";
  let description = [{
    A tile of the given shape in shared memory. The layout, `#tile.shared<...>`,
    says where each element lies; the last dimension is the contiguous one. With
    `stages`, that many copies of the tile one behind the other, of which
    `warp.stage` takes one; only a buffer without stages can be read or written.

    ```mlir
    !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>>
    !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>, stages = 2>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
    "::mlir::Attribute":$layout, DefaultValuedParameter<"int64_t", "0">:$stages);
  let assemblyFormat = [{
    `<` custom<BufferShape>($shape, $elementType) `,` $layout (`,` `stages` `=` $stages^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The type of one stage.
    BufferType withoutStages() const {
      return get(getContext(), getShape(), getElementType(), getLayout(), 0);
    }
    int64_t getRank() const { return getShape().size(); }
  }];
}

def Warp_MbarrierType : TypeDef<Warp_Dialect, "Mbarrier"> {
  let mnemonic = "mbarrier";
  let summary = "a barrier in shared memory, at which arriving is one thing and waiting another";
  let description = [{
    It counts arrivals; with the last one a phase is complete and the next one
    begins. Phases are numbered from 0.

    ```mlir
    !warp.mbarrier
    ```
  }];
}

def Warp_MatrixOrder : I32EnumAttr<"MatrixOrder", "which matrices ldmatrix reads one after the other", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Columns", 1, "columns">
]> {
  let cppNamespace = "::attentile::warp";
  let genSpecializedAttr = 0;
}

def Warp_MatrixOrderAttr : EnumAttr<Warp_Dialect, Warp_MatrixOrder, "order"> {
  let summary = "the order of ldmatrix's matrices in the buffer";
  let description = [{
    `rows`: the second matrix lies below the first (8 rows on), the third and
    fourth to the right of the first two. `columns`: the second lies to the
    right of the first (16 bytes on), the third and fourth below.
  }];
  let assemblyFormat = "$value";
}

#endif
