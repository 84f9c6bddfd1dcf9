//===- LowerMatrices.cpp - ldmatrix and mma -------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The address of a lane's row is split in three, so that a tile's many loads
// share what depends on the lane: a part of the lane (with the swizzle of its
// row), xored with bits of the column, plus a multiple of 8 rows.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;

namespace attentile::nvvm {

namespace {
/// What of an ldmatrix depends on the lane: lanes 0 to 7 give the rows of the
/// first matrix, 8 to 15 of the second, and so on.
struct LanePlace {
  Value row;
  Value chunk; ///< which of two chunks of 8 elements
};
} // namespace

static LanePlace lanePlace(KernelLowering &k, const Emitter &e,
                           warp::LdmatrixOp op) {
  bool byRows = op.getOrder() == warp::MatrixOrder::Rows;
  int64_t num = op.getNum();
  // Bits 3 and 4 of the lane's number choose the matrix.
  Value seven = e.i32(7), one = e.i32(1);
  Value inMatrix = e.bitAnd(k.laneId, seven);
  Value firstBit = e.bitAnd(e.div(k.laneId, e.i32(8)), one);
  Value secondBit = e.bitAnd(e.div(k.laneId, e.i32(16)), one);
  Value below = byRows ? firstBit : secondBit;
  Value beside = byRows ? secondBit : firstBit;
  if (num == 1 || (num == 2 && !byRows))
    below = e.i32(0);
  if (num == 1 || (num == 2 && byRows))
    beside = e.i32(0);
  return {e.add(inMatrix, e.mul(below, e.i32(8))), beside};
}

/// The bytes that this place adds to an address, for buffers whose permutation
/// repeats within 8 rows. Found at the kernel's start and taken through a
/// shuffle, whose result ptxas keeps: the sum itself, a dozen cheap
/// instructions, it computes anew in each round of a loop, behind a barrier,
/// where all wait for the address.
static Value laneBytes(KernelLowering &k, warp::LdmatrixOp op,
                       tile::SharedLayout layout, int64_t bytes) {
  Value &known = k.laneBytes[{layout.pitch * bytes, layout.rows, layout.period,
                              int64_t(op.getNum()), int64_t(op.getOrder())}];
  if (known)
    return known;
  OpBuilder start(op.getContext());
  start.setInsertionPointAfterValue(k.laneId);
  Emitter e(start, k.laneId.getLoc());
  LanePlace lane = lanePlace(k, e, op);
  Value pattern =
      e.bitAnd(e.div(lane.row, e.i32(layout.rows)), e.i32(layout.period - 1));
  Value sum = e.add(e.mul(lane.row, e.i32(layout.pitch * bytes)),
                    e.mul(e.bitXor(lane.chunk, pattern), e.i32(16)));
  return known = NVVM::ShflOp::create(start, e.loc, sum.getType(), e.i32(-1),
                                      sum, k.laneId, e.i32(31),
                                      NVVM::ShflKind::idx, UnitAttr());
}

static Value ldmatrixAddress(KernelLowering &k, const Emitter &e,
                             warp::LdmatrixOp op) {
  warp::BufferType type = op.getBuffer().getType();
  int64_t bytes = warp::getElementBytes(type.getElementType());
  tile::SharedLayout layout = warp::getSharedLayout(type);
  Value row = e.to32(op.getRow()), column = e.to32(op.getCol());
  Value base = k.buffers.lookup(op.getBuffer());
  if (8 % (layout.rows * layout.period) != 0) {
    // A permutation of more than 8 rows: the general form.
    LanePlace lane = lanePlace(k, e, op);
    Value laneColumn = e.mul(lane.chunk, e.i32(layout.chunk));
    return sharedAddress(e, base, type,
                         {e.add(row, lane.row), e.add(column, laneColumn)});
  }
  auto form = reinterpret_cast<const void *>(
      int64_t(op.getNum() * 2 + int64_t(op.getOrder())));
  Value start =
      keepInLoop(k, e, op, {op.getBuffer().getAsOpaquePointer(), form, nullptr},
                 e.add(base, laneBytes(k, op, layout, bytes)));
  Value columnBytes = e.mul(column, e.i32(bytes));
  Value low = e.bitAnd(columnBytes, e.i32((layout.period - 1) * 16));
  Value high = e.sub(columnBytes, low);
  // Buffers start at multiples of 128 bytes: the xor stays within the lane's
  // part.
  start = e.bitXor(start, low);
  start = e.add(start, e.mul(row, e.i32(layout.pitch * bytes)));
  return e.add(start, high);
}

static void lowerLdmatrix(KernelLowering &k, warp::LdmatrixOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Emitter e(b, loc);
  MLIRContext *context = b.getContext();
  Value pointer =
      LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(context, 3),
                               ldmatrixAddress(k, e, op));
  int64_t num = op.getNum();
  Type i32 = b.getI32Type();
  Type type = num == 1 ? i32
                       : Type(LLVM::LLVMStructType::getLiteral(
                             context, SmallVector<Type>(num, i32)));
  Value loaded = NVVM::LdMatrixOp::create(
      b, loc, type, pointer, uint32_t(num),
      op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
      NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> registers;
  for (auto [i, reg] : llvm::enumerate(registerTypes(op.getType()))) {
    Value word =
        num == 1 ? loaded : LLVM::ExtractValueOp::create(b, loc, loaded, i);
    registers.push_back(LLVM::BitcastOp::create(b, loc, reg, word));
  }
  op.getResult().replaceAllUsesWith(
      joinRegisters(b, loc, op.getType(), registers));
  op.erase();
}

static void lowerMma(warp::MmaOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type element = cast<VectorType>(op.getA().getType()).getElementType();
  Type i32 = b.getI32Type();
  auto factor = [&](Value value) {
    SmallVector<Value> registers = splitRegisters(b, loc, value);
    if (!element.isF16()) // the others are bits to the operation
      for (Value &reg : registers)
        reg = LLVM::BitcastOp::create(b, loc, i32, reg);
    return registers;
  };
  SmallVector<Value> a = factor(op.getA()), bb = factor(op.getB());
  SmallVector<Value> c = splitRegisters(b, loc, op.getC());
  auto result = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  std::array<int64_t, 3> shape = {16, 8, element.isF32() ? 8 : 16};
  NVVM::MMATypes kind = element.isF32()    ? NVVM::MMATypes::tf32
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::f16;
  std::array<NVVM::MMATypes, 2> types = {kind, kind};
  std::array<NVVM::MMALayout, 2> layouts = {NVVM::MMALayout::row,
                                            NVVM::MMALayout::col};
  auto made = NVVM::MmaOp::create(b, loc, result, a, bb, c, shape, std::nullopt,
                                  std::nullopt, types, layouts);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < 4; ++i)
    registers.push_back(LLVM::ExtractValueOp::create(b, loc, made, i));
  op.getResult().replaceAllUsesWith(
      joinRegisters(b, loc, op.getType(), registers));
  op.erase();
}

/// Rounds to tf32; the rest is exact, and rounded too. Of an infinity the rest
/// is 0, not the NaN that the difference is.
static void lowerSplit(warp::SplitTf32Op op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Emitter e(b, loc);
  auto round = [&](Value x) -> Value {
    Value bits =
        e.ptx("cvt.rna.tf32.f32 $0, $1;", "=r,f", b.getI32Type(), x).front();
    return LLVM::BitcastOp::create(b, loc, b.getF32Type(), bits);
  };
  Value x = op.getOperand();
  Value high = round(x);
  Value low = round(arith::SubFOp::create(b, loc, x, high));
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value exact =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, high);
  op.getHigh().replaceAllUsesWith(high);
  op.getLow().replaceAllUsesWith(e.select(exact, zero, low));
  op.erase();
}

void lowerMatrices(KernelLowering &k, Operation *op) {
  if (auto load = dyn_cast<warp::LdmatrixOp>(op))
    lowerLdmatrix(k, load);
  else if (auto mma = dyn_cast<warp::MmaOp>(op))
    lowerMma(mma);
  else
    lowerSplit(cast<warp::SplitTf32Op>(op));
}

} // namespace attentile::nvvm
