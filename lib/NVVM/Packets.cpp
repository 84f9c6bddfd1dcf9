//===- Packets.cpp - whether elements can be moved together ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of 16 bytes, and loads and stores of several elements, ask something
// of a tensor's address and strides. A kernel finds out at its start, once a
// tensor, and has both forms: the slow one is a branch that is the same for all
// threads, and keeps no register where the fast one is taken.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;

namespace attentile::nvvm {

void keepRolled(Operation *loop) {
  MLIRContext *context = loop->getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
      {});
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(
                                       context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}));
}

Value KernelLowering::takesPackets(Value tensor, int64_t dim, int64_t bytes) {
  const TensorAccess &access = tensors.find(tensor)->second;
  int64_t rank = access.type.getRank();
  int64_t count = bytes / warp::getElementBytes(access.type.getElementType());
  if (!isa<BlockArgument>(tensor)) {
    // A workspace has no gaps and begins at a multiple of 256 bytes.
    AffineMap shape = getShapeOf(tensor);
    if (dim == rank - 1 &&
        (rank == 1 || shape.getResult(dim).isMultipleOf(count)))
      return {};
  }
  Value &flag = packets[{tensor.getAsOpaquePointer(), dim, bytes}];
  if (flag)
    return flag;
  OpBuilder b(threadId.getDefiningOp());
  Emitter e(b, threadId.getLoc());
  Value address = arith::IndexCastOp::create(
      b, e.loc, b.getIndexType(),
      LLVM::PtrToIntOp::create(b, e.loc, b.getI64Type(), access.pointer));
  Value size = e.index(bytes / count), odd = address;
  for (int64_t other = 0; other < rank; ++other)
    if (other != dim)
      odd = arith::OrIOp::create(b, e.loc, odd,
                                 e.mul(access.strides[other], size));
  auto equal = [&](Value x, int64_t y) -> Value {
    return arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::eq, x,
                                 e.index(y));
  };
  flag = e.bitAnd(equal(e.bitAnd(odd, e.index(bytes - 1)), 0),
                  equal(access.strides[dim], 1));
  flag = LLVM::ExpectOp::create(b, e.loc, flag, e.truth(true));
  return flag;
}

} // namespace attentile::nvvm
