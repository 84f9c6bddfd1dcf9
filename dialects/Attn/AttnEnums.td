//===- AttnEnums.td - choices of the attn dialect --------------*- tablegen -*-===//
#ifndef ATTENTILE_ATTN_ENUMS_TD
#define ATTENTILE_ATTN_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Attn_ReduceKind : I32EnumAttr<"ReduceKind", "what a reduction computes", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Any", 3, "any">,
  I32EnumAttrCase<"All", 4, "all">,
  I32EnumAttrCase<"Ref", 5, "ref">
]> {
  let cppNamespace = "::attentile::attn";
  let description = [{
    `ref` is the maximum, 0 where that is -inf, of which only this much may be
    used: that it is finite and not far from the maximum. The guarded softmax
    keeps a stale one.
  }];
}

#endif
