//===- AttnInterfaces.td - the head of a kernel ---------------*- tablegen -*-===//
#ifndef ATTENTILE_ATTN_INTERFACES_TD
#define ATTENTILE_ATTN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_SignatureOpInterface : OpInterface<"SignatureOpInterface"> {
  let cppNamespace = "::attentile::attn";
  let description = [{
    An operation with a kernel's head: named inputs, outputs, sizes and, at the
    attn level, index variables. All are arguments of its one block, in this
    order. Each input and output has a shape: an affine map from the sizes to
    its extents (empty for a scalar); each index variable has an extent.
    A floordiv or mod by a size that is 0 gives 0 in these maps.
  }];
  let methods = [
    InterfaceMethod<"Names of the inputs.", "::mlir::ArrayAttr", "getInNames">,
    InterfaceMethod<"Names of the outputs.", "::mlir::ArrayAttr", "getOutNames">,
    InterfaceMethod<"Names of the run-time sizes.", "::mlir::ArrayAttr", "getSizeNames">,
    InterfaceMethod<"Names of the index variables.", "::mlir::ArrayAttr", "getIndexNames">,
    InterfaceMethod<"Shapes of the inputs, then of the outputs.", "::mlir::ArrayAttr", "getShapes">,
    InterfaceMethod<"Extents of the index variables.", "::mlir::ArrayAttr", "getExtents">
  ];
  let extraSharedClassDeclaration = [{
    ::mlir::Block &getHeadBlock() { return $_op->getRegion(0).front(); }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getInArgs() {
      return getHeadBlock().getArguments().take_front($_op.getInNames().size());
    }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getOutArgs() {
      return getHeadBlock().getArguments().slice($_op.getInNames().size(), $_op.getOutNames().size());
    }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getSizeArgs() {
      return getHeadBlock().getArguments().slice(
          $_op.getInNames().size() + $_op.getOutNames().size(), $_op.getSizeNames().size());
    }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getIndexArgs() {
      return getHeadBlock().getArguments().take_back($_op.getIndexNames().size());
    }
    /// The name in the source of any argument of the head.
    ::llvm::StringRef nameOf(::mlir::BlockArgument argument) {
      return ::attentile::attn::nameOfArgument($_op, argument);
    }
    /// The argument of that name, or null.
    ::mlir::BlockArgument findArg(::llvm::StringRef name) {
      return ::attentile::attn::findArgument($_op, name);
    }
    /// The shape of an input or output, ()[sizes] -> (extents); empty for a scalar.
    ::mlir::AffineMap getShape(::mlir::BlockArgument argument) {
      return ::llvm::cast<::mlir::AffineMapAttr>($_op.getShapes()[argument.getArgNumber()]).getValue();
    }
    /// The extent of an index variable, ()[sizes] -> (extent).
    ::mlir::AffineMap getExtent(::mlir::BlockArgument index) {
      return ::llvm::cast<::mlir::AffineMapAttr>(
          $_op.getExtents()[index.getArgNumber() - getIndexArgs().front().getArgNumber()]).getValue();
    }
  }];
}

#endif
