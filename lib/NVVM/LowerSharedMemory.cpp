//===- LowerSharedMemory.cpp - buffers and each thread's accesses ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile::nvvm {

Value sharedAddress(const Emitter &e, Value base, warp::BufferType type,
                    ValueRange indices) {
  int64_t bytes = warp::getElementBytes(type.getElementType());
  Value column = e.mul(indices.back(), e.i32(bytes));
  if (type.getRank() == 1)
    return e.add(base, column);
  tile::SharedLayout layout = warp::getSharedLayout(type);
  Value row = indices.front();
  if (layout.period > 1) {
    // The chunks of a row are permuted: xor with bits of the row.
    Value pattern =
        e.bitAnd(e.div(row, e.i32(layout.rows)), e.i32(layout.period - 1));
    column = e.bitXor(column, e.mul(pattern, e.i32(layout.chunk * bytes)));
  }
  Value start = e.add(base, e.mul(row, e.i32(layout.pitch * bytes)));
  return e.add(start, column);
}

Value keepInLoop(KernelLowering &k, const Emitter &e, Operation *op,
                 const AddressKey &key, Value address) {
  if (!op->getParentOfType<scf::ForOp>())
    return address;
  Value &known = k.loopAddresses[{op->getBlock(), key}];
  if (!known)
    known = hide(e, address);
  return known;
}

/// Takes a constant that is a multiple of `unit` off an index, in elements.
static int64_t takeConstant(const Emitter &e, Value &index, int64_t unit) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant))) {
    int64_t value = constant.getSExtValue(), rest = value % unit;
    index = e.i32(rest);
    return value - rest;
  }
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&constant)) ||
      constant.getSExtValue() % unit)
    return 0;
  index = sum.getLhs();
  return constant.getSExtValue();
}

/// The address that a thread loads from or stores to. Constants stand last,
/// where they become part of the instruction.
template <typename Op>
static Value accessAddress(KernelLowering &k, const Emitter &e, Op access,
                           SmallVector<Value> indices) {
  warp::BufferType type = access.getBuffer().getType();
  int64_t bytes = warp::getElementBytes(type.getElementType());
  int64_t constant = 0;
  if (type.getRank() == 2) {
    tile::SharedLayout layout = warp::getSharedLayout(type);
    constant = layout.pitch *
               takeConstant(e, indices.front(), layout.rows * layout.period);
    if (layout.period == 1)
      constant += takeConstant(e, indices.back(), 1);
  }
  Value base = k.buffers.lookup(access.getBuffer());
  AddressKey key = {access.getBuffer().getAsOpaquePointer(),
                    indices.front().getAsOpaquePointer(),
                    indices.back().getAsOpaquePointer()};
  Value start =
      keepInLoop(k, e, access, key, sharedAddress(e, base, type, indices));
  return e.add(start, e.i32(constant * bytes));
}

static Value sharedPointer(const Emitter &e, Value address) {
  return LLVM::IntToPtrOp::create(
      e.b, e.loc, LLVM::LLVMPointerType::get(e.b.getContext(), 3), address);
}

static SmallVector<Value> in32(const Emitter &e, ValueRange indices) {
  SmallVector<Value> result;
  for (Value index : indices)
    result.push_back(e.to32(index));
  return result;
}

Value sharedByte(const Emitter &e, int64_t offset) {
  auto pointer = LLVM::AddressOfOp::create(
      e.b, e.loc, LLVM::LLVMPointerType::get(e.b.getContext(), 3),
      kSharedSymbol);
  Value base = LLVM::PtrToIntOp::create(e.b, e.loc, e.b.getI32Type(), pointer);
  return e.add(base, e.i32(offset));
}

void lowerSharedMemory(KernelLowering &k, Operation *op) {
  OpBuilder b(op);
  Emitter e(b, op->getLoc());
  if (auto alloc = dyn_cast<warp::AllocOp>(op)) {
    k.buffers[alloc.getResult()] = sharedByte(e, *alloc.getOffset());
    return;
  }
  if (auto stage = dyn_cast<warp::StageOp>(op)) {
    int64_t bytes = warp::getStageBytes(stage.getBuffer().getType());
    k.buffers[stage.getResult()] =
        e.add(k.buffers.lookup(stage.getBuffer()),
              e.mul(e.to32(stage.getIndex()), e.i32(bytes)));
    return;
  }
  if (auto load = dyn_cast<warp::LoadSharedOp>(op)) {
    Value address = accessAddress(k, e, load, in32(e, load.getIndices()));
    SmallVector<Type> types = wordTypes(load.getType());
    Type whole =
        types.size() == 1
            ? types.front()
            : Type(VectorType::get({int64_t(types.size())}, types.front()));
    int64_t bytes = types.size() * types.front().getIntOrFloatBitWidth() / 8;
    Value loaded = LLVM::LoadOp::create(b, op->getLoc(), whole,
                                        sharedPointer(e, address), bytes);
    SmallVector<Value> words = {loaded};
    if (types.size() > 1) {
      words.clear();
      for (size_t i = 0; i < types.size(); ++i)
        words.push_back(vector::ExtractOp::create(b, op->getLoc(), loaded, i));
    }
    Value result =
        joinRegisters(b, op->getLoc(), load.getType(),
                      fromWords(b, op->getLoc(), load.getType(), words));
    load.getResult().replaceAllUsesWith(result);
    op->erase();
    return;
  }
  auto store = cast<warp::StoreSharedOp>(op);
  Value address = accessAddress(k, e, store, in32(e, store.getIndices()));
  SmallVector<Value> words =
      toWords(b, op->getLoc(), store.getValue().getType(),
              splitRegisters(b, op->getLoc(), store.getValue()));
  storeWords(e, sharedPointer(e, address), words, store.getPredicate());
  op->erase();
}

} // namespace attentile::nvvm
