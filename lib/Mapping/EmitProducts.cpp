//===- EmitProducts.cpp - tile-to-warp: products by matrix instructions ---===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// result[row, column] += sum over k of a[row, k] * b[k, column]
//
// A is a fragment (scores, or queries kept in registers) or is read from shared
// memory each time; B is always in shared memory. Steps along k are the outer
// loop and column blocks the inner one, and B is read just before its use: what
// is live is the accumulator, one step of A, and 16 columns of B.
//
// 16-bit factors go by ldmatrix, transposed where k is the row of the shared
// tile. f32 is the sum of two tf32 numbers, and a product three instructions.
// In one 8-wide step of those, a fragment that a product left has columns 2 t
// and 2 t + 1 where the instruction has k = t and t + 4 (t = lane % 4): k is
// then taken in that order, of B too.
//
// Where the warps that share a row have different keys, each has a part of the
// sum for all columns: EmitSplitProducts.cpp.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace attentile {

/// Whether the axis is that of an accumulator's rows: 8 rows in groups of 4
/// lanes.
static bool isRowAxis(const tile::Layout &layout, unsigned axis) {
  ArrayRef<tile::Digit> digits = layout.digits(axis);
  return !digits.empty() &&
         digits.front() == tile::Digit{8, tile::Unit::Lane, 4};
}

bool isAccumulator(const tile::Layout &layout, unsigned rowAxis) {
  if (layout.rank() != 2 || !isRowAxis(layout, rowAxis) ||
      isRowAxis(layout, 1 - rowAxis))
    return false;
  int64_t rows = layout.size(rowAxis, tile::Unit::Register);
  int64_t columns = layout.size(1 - rowAxis, tile::Unit::Register);
  if (rows % 2 || columns % 2 ||
      layout.size(1 - rowAxis, tile::Unit::Lane) != 4)
    return false;
  for (int64_t row = 0; row < rows / 2; ++row)
    for (int64_t column = 0; column < columns / 2; ++column) {
      int64_t position[2];
      position[rowAxis] = 16 * row;
      position[1 - rowAxis] = 8 * column;
      tile::Place first = layout.placeOf(position);
      if (first.lane || first.warp)
        return false;
      for (int64_t i = 1; i < 4; ++i) {
        int64_t next[2];
        next[rowAxis] = position[rowAxis] + 8 * (i / 2);
        next[1 - rowAxis] = position[1 - rowAxis] + i % 2;
        tile::Place place = layout.placeOf(next);
        if (place.reg != first.reg + i || place.lane || place.warp)
          return false;
      }
    }
  return true;
}

LogicalResult ProductEmitter::prepare() {
  product = dot.getProduct();
  isF32 = product.isF32();
  depth = isF32 ? 8 : 16;
  auto fragment = tile::getFragment(dot.getType());
  ArrayRef<StringAttr> axes = tile::getAxes(dot.getType());
  if (!fragment || dot.getOver().size() != 1 || axes.size() != 2)
    return dot.emitError("expected a product of two axes in registers, over "
                         "one, got ")
           << dot.getType();
  result = fragment.getLayout();
  rowAxis = isRowAxis(result, 0) ? 0 : 1;
  if (!isAccumulator(result, rowAxis))
    return dot.emitError("expected a result as matrix instructions leave it, "
                         "got ")
           << dot.getType();
  rowBlocks = result.size(rowAxis, tile::Unit::Register) / 2;
  columnBlocks = result.size(1 - rowAxis, tile::Unit::Register) / 2;
  rowPart = emitter.threadPart(result, rowAxis, ThreadUnits::Warp);

  // The factor with the rows' axis is A.
  Value a = dot.getLhs(), b = dot.getRhs();
  if (!tile::getAxisPosition(a.getType(), axes[rowAxis]))
    std::swap(a, b);
  auto over = cast<StringAttr>(dot.getOver()[0]);
  auto checkFactor = [&](Value factor, StringAttr axis) -> LogicalResult {
    if (tile::getAxes(factor.getType()).size() != 2 ||
        !tile::getAxisPosition(factor.getType(), axis) ||
        !tile::getAxisPosition(factor.getType(), over))
      return dot.emitError("expected a factor with the axes ")
             << axis << " and " << over << ", got " << factor.getType();
    return success();
  };
  if (failed(checkFactor(a, axes[rowAxis])) ||
      failed(checkFactor(b, axes[1 - rowAxis])))
    return failure();
  assert(tile::getShared(b.getType()) && "checked by tile-verify-layouts");
  right = {emitter.get(b), *tile::getAxisPosition(b.getType(), over) == 1};
  if (auto slice = b.getDefiningOp<tile::SliceOp>()) {
    unsigned along = *tile::getAxisPosition(slice.getOperand().getType(),
                                            slice.getAxisAttr());
    bool isReduced = tile::getAxes(b.getType())[along] == over;
    (isReduced ? reducedFrom : columnFrom) = emitter.get(slice.getFrom());
  }

  unsigned leftReduced = *tile::getAxisPosition(a.getType(), over);
  leftRowAxis = 1 - leftReduced;
  int64_t size = cast<RankedTensorType>(a.getType()).getDimSize(leftReduced);
  left = emitter.get(a);
  if (auto leftFragment = tile::getFragment(a.getType())) {
    leftLayout = leftFragment.getLayout();
    assert(isAccumulator(leftLayout, leftRowAxis) &&
           "checked by tile-verify-layouts");
    size /= leftLayout.size(leftReduced, tile::Unit::Warp);
    reducedPart =
        emitter.threadPart(leftLayout, leftReduced, ThreadUnits::Warp);
    pairedOrder = true;
  } else {
    leftShared = {left, leftReduced == 1};
    pairedOrder = false;
  }
  if (size % depth)
    return dot.emitError("expected a multiple of ")
           << depth << " along " << over << " in each warp, got " << size;
  steps = size / depth;
  return success();
}

/// One instruction's A for a row block.
Value ProductEmitter::leftStep(int64_t rowBlock, int64_t step) {
  if (leftShared.buffer) {
    bool byMatrix =
        leftShared.element() == product && (leftShared.reducedIsLast || !isF32);
    if (!byMatrix)
      return readElements(leftShared, rowPart, 16 * rowBlock, /*isLeft=*/true,
                          step);
    Value row = emitter.offset(rowPart, 16 * rowBlock);
    Value reduced = emitter.constant(depth * step);
    bool transpose = !leftShared.reducedIsLast;
    return warp::LdmatrixOp::create(
        builder, loc, VectorType::get({isF32 ? 4 : 8}, product),
        leftShared.buffer, transpose ? reduced : row, transpose ? row : reduced,
        4, transpose ? warp::MatrixOrder::Columns : warp::MatrixOrder::Rows,
        transpose);
  }
  SmallVector<int64_t> registers;
  for (int64_t half = 0; half < (isF32 ? 1 : 2); ++half)
    for (int64_t i = 0; i < 4; ++i) {
      // f32: [g, t] [g+8, t] [g, t+4] [g+8, t+4], where t and t + 4 stand for
      // columns 2 t and 2 t + 1; 16 bits: pairs of columns, then rows.
      int64_t row = isF32 ? i % 2 : i / 2, column = isF32 ? i / 2 : i % 2;
      int64_t position[2];
      position[leftRowAxis] = 16 * rowBlock + 8 * row;
      position[1 - leftRowAxis] = depth * step + 8 * half + column;
      registers.push_back(leftLayout.placeOf(position).reg);
    }
  return emitter.convertFloat(emitter.gather(left, registers), product);
}

/// One instruction's operand by element loads, for layouts and types that
/// ldmatrix does not read.
Value ProductEmitter::readElements(const SharedFactor &factor, Value part,
                                   int64_t first, bool isLeft, int64_t step) {
  // In a step, this thread's k: t and t + 4, or 2 t and 2 t + 1 (and both + 8).
  tile::Digit quad{4, tile::Unit::Lane, 1}, group{8, tile::Unit::Lane, 4};
  Value t = emitter.threadPart(quad, ThreadUnits::Lane);
  Value g = emitter.threadPart(group, ThreadUnits::Lane);
  bool pairs = !isF32 || pairedOrder;
  if (pairs)
    t = arith::MulIOp::create(builder, loc, t, emitter.constant(2));
  Value k =
      emitter.sum(isLeft ? Value() : emitter.sum(reducedPart, reducedFrom), t);
  SmallVector<Value> values;
  auto read = [&](int64_t row, int64_t offset) {
    Value other = emitter.offset(emitter.sum(part, g), first + row);
    Value reduced = emitter.offset(k, depth * step + offset);
    SmallVector<Value, 2> indices{other, reduced};
    if (!factor.reducedIsLast)
      std::swap(indices[0], indices[1]);
    values.push_back(warp::LoadSharedOp::create(builder, loc, factor.element(),
                                                factor.buffer, indices));
  };
  int64_t next = pairs ? 1 : 4;
  if (isF32 && isLeft) {
    for (int64_t i = 0; i < 4; ++i)
      read(8 * (i % 2), i / 2 * next);
  } else {
    for (int64_t half = 0; half < (isF32 ? 1 : 2); ++half)
      for (int64_t row = 0; row < (isLeft ? 2 : 1); ++row)
        for (int64_t i = 0; i < 2; ++i)
          read(8 * row, 8 * half + i * next);
  }
  return emitter.convertFloat(emitter.fromElements(values), product);
}

/// B of one step for the column blocks from `block` on: of two if one ldmatrix
/// reads both and they end before `end`, else of one.
SmallVector<Value> ProductEmitter::rightStep(Value columnPart, int64_t block,
                                             int64_t end, int64_t step) {
  // In f32 a matrix has k in the natural order and k must be contiguous.
  bool byMatrix = right.element() == product &&
                  (!isF32 || (right.reducedIsLast && !pairedOrder));
  columnPart = emitter.sum(columnPart, columnFrom);
  if (!byMatrix)
    return {readElements(right, columnPart, 8 * block, /*isLeft=*/false, step)};
  bool transpose = !right.reducedIsLast;
  // Side by side, columns must start at a multiple of 16.
  bool aligned =
      !transpose || (block % 2 == 0 && (!columnPart || columnBlocks % 2 == 0));
  int64_t count = block + 1 < end && aligned ? 2 : 1;
  int64_t elements = isF32 ? 2 : 4;
  Value column = emitter.offset(columnPart, 8 * block);
  Value reduced =
      emitter.offset(emitter.sum(reducedPart, reducedFrom), depth * step);
  Value both = warp::LdmatrixOp::create(
      builder, loc, VectorType::get({count * elements}, product), right.buffer,
      transpose ? reduced : column, transpose ? column : reduced, 2 * count,
      transpose ? warp::MatrixOrder::Rows : warp::MatrixOrder::Columns,
      transpose);
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(emitter.gather(
        both, llvm::to_vector(llvm::seq(i * elements, (i + 1) * elements))));
  return values;
}

ProductEmitter::Operand ProductEmitter::split(Value value) {
  if (!isF32)
    return {value, {}, {}};
  auto op = warp::SplitTf32Op::create(builder, loc, value.getType(),
                                      value.getType(), value);
  auto constant = [&](double x) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(cast<ShapedType>(value.getType()), float(x)));
  };
  Value isInfinite = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OEQ,
      math::AbsFOp::create(builder, loc, op.getHigh()), constant(HUGE_VAL));
  Value finite = arith::SelectOp::create(builder, loc, isInfinite, constant(0),
                                         op.getHigh());
  return {op.getHigh(), op.getLow(), finite};
}

Value ProductEmitter::multiply(const Operand &a, const Operand &b, Value c) {
  if (isF32) { // the small products first
    c = warp::MmaOp::create(builder, loc, a.low, b.finite, c);
    c = warp::MmaOp::create(builder, loc, a.finite, b.low, c);
  }
  return warp::MmaOp::create(builder, loc, a.high, b.high, c);
}

/// Steps along k, which lie in a row of both factors: those first whose chunks
/// are permuted alike, for they differ by a constant and share an address.
SmallVector<int64_t> ProductEmitter::orderSteps() {
  int64_t apart = steps;
  if (leftShared.buffer && leftShared.reducedIsLast && right.reducedIsLast) {
    tile::SharedLayout layout =
        warp::getSharedLayout(cast<warp::BufferType>(right.buffer.getType()));
    apart = std::max<int64_t>(layout.period * layout.chunk / depth, 1);
  }
  SmallVector<int64_t> result;
  for (int64_t first = 0; first < std::min(apart, steps); ++first)
    for (int64_t step = first; step < steps; step += apart)
      result.push_back(step);
  return result;
}

/// Adds to `blocks` the products of a part, row by row, where the columns start
/// at `columnPart`.
void ProductEmitter::emitSteps(const Part &part, Value columnPart,
                               SmallVector<Value> &blocks) {
  int64_t end = part.column + part.columns;
  for (int64_t step : orderSteps()) {
    SmallVector<Operand> a;
    for (int64_t row = 0; row < part.rows; ++row)
      a.push_back(split(leftStep(part.row + row, step)));
    for (int64_t block = part.column; block < end;)
      for (Value column : rightStep(columnPart, block, end, step)) {
        Operand b = split(column);
        for (int64_t row = 0; row < part.rows; ++row) {
          Value &c = blocks[row * part.columns + block - part.column];
          c = multiply(a[row], b, c);
        }
        ++block;
      }
  }
}

Value ProductEmitter::zeroBlock() {
  auto type = VectorType::get({4}, builder.getF32Type());
  return arith::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, Attribute(builder.getF32FloatAttr(0))));
}

/// What the products of this warp's 16 x 8 blocks are added to.
SmallVector<Value> ProductEmitter::startBlocks() {
  if (!dot.getAcc())
    return SmallVector<Value>(rowBlocks * columnBlocks, zeroBlock());
  Value acc = emitter.get(dot.getAcc());
  SmallVector<Value> blocks;
  for (int64_t row = 0; row < rowBlocks; ++row)
    for (int64_t block = 0; block < columnBlocks; ++block) {
      int64_t first = firstRegister(row, block);
      blocks.push_back(
          emitter.gather(acc, {first, first + 1, first + 2, first + 3}));
    }
  return blocks;
}

/// The result's registers from those of its 16 x 8 blocks.
Value ProductEmitter::assemble(ArrayRef<Value> blocks) {
  auto type = VectorType::get({result.registers()}, builder.getF32Type());
  Value vector = arith::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, Attribute(builder.getF32FloatAttr(0))));
  for (auto [i, block] : llvm::enumerate(blocks))
    vector = vector::InsertStridedSliceOp::create(
        builder, loc, block, vector,
        ArrayRef<int64_t>{
            firstRegister(i / columnBlocks, int64_t(i) % columnBlocks)},
        ArrayRef<int64_t>{1});
  return vector;
}

LogicalResult ProductEmitter::emit() {
  if (failed(prepare()))
    return failure();
  SmallVector<tile::Digit> over;
  if (!leftShared.buffer)
    for (const tile::Digit &digit : leftLayout.digits(1 - leftRowAxis))
      if (digit.unit == tile::Unit::Warp)
        over.push_back(digit);
  SmallVector<Value> blocks = startBlocks();
  if (over.empty())
    emitSteps({0, rowBlocks, 0, columnBlocks},
              emitter.threadPart(result, 1 - rowAxis, ThreadUnits::Warp),
              blocks);
  else if (failed(emitSplit(over, blocks)))
    return failure();
  emitter.set(dot, assemble(blocks));
  return success();
}

LogicalResult WarpEmitter::emitDot(tile::DotOp dot) {
  return ProductEmitter(*this, dot).emit();
}

} // namespace attentile
