//===- AttnDialect.td - the attn dialect ---------------------*- tablegen -*-===//
#ifndef ATTENTILE_ATTN_DIALECT_TD
#define ATTENTILE_ATTN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attentile::attn";
  let summary = "index notation: scalars over index variables";
  let description = [{
    A value of this level is a builtin scalar (f32, index or i1) that stands for
    a function of the index variables it depends on. `attn.read` reads a tensor
    at given indices, `arith` and `math` are pointwise, `attn.reduce` binds an
    index variable, `attn.write` defines an output. There is no loop, no memory
    and no order: the same text is what a paper writes.

    Nothing is broadcast and no value has a shape, so folding, common terms and
    index arithmetic are MLIR's own, and a mask is a formula by itself. A
    value's axes are found by one analysis (attentile/AxesAnalysis.h).
  }];
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
