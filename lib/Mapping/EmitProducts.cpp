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
// Split over k: where the warps that share a row have different keys, each has
// a part of the sum for all columns, and the parts meet in shared memory.
//
//===----------------------------------------------------------------------===//

#include "WarpEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace attentile {

namespace {

/// A factor in shared memory: which of the buffer's dimensions is k.
struct SharedFactor {
  Value buffer;
  bool reducedIsLast; // k is the contiguous dimension

  Type element() const {
    return cast<warp::BufferType>(buffer.getType()).getElementType();
  }
};

} // namespace

class ProductEmitter {
public:
  ProductEmitter(WarpEmitter &emitter, tile::DotOp dot)
      : emitter(emitter), dot(dot), builder(emitter.builder), loc(emitter.loc) {
  }

  LogicalResult emit();

private:
  LogicalResult prepare();
  LogicalResult prepareLeft(Value left);
  void emitSteps(int64_t rowBlock, int64_t rowBlocks, Value columnPart,
                 SmallVector<Value> &blocks);
  Value emitSplit(ArrayRef<tile::Digit> over);
  Value assemble(ArrayRef<Value> blocks, ArrayRef<int64_t> firsts);

  SmallVector<int64_t> orderSteps();
  Value leftStep(int64_t rowBlock, int64_t step);
  SmallVector<Value> rightStep(Value columnPart, int64_t block, int64_t step);
  Value readElements(const SharedFactor &factor, Value row, int64_t rowOffset,
                     bool isLeft, int64_t step);
  /// A factor; of f32 its two parts, and the high one with 0 for infinities:
  /// beside a part that is 0 these would make NaN of an infinite product.
  struct Operand {
    Value high, low, finite;
  };
  Operand split(Value value);
  Value multiply(const Operand &a, const Operand &b, Value c);

  int64_t firstRegister(int64_t rowBlock, int64_t block) {
    int64_t position[2];
    position[rowAxis] = 16 * rowBlock;
    position[1 - rowAxis] = 8 * block;
    return result.placeOf(position).reg;
  }

  WarpEmitter &emitter;
  tile::DotOp dot;
  OpBuilder &builder;
  Location loc;

  Type product;
  bool isF32;
  int64_t depth;    // k of one instruction
  int64_t steps;    // in this warp
  bool pairedOrder; // f32: k as a fragment has it
  tile::Layout result;
  unsigned rowAxis;
  int64_t rowBlocks, columnBlocks; // of this warp
  // A.
  Value left;
  tile::Layout leftLayout; // if in registers
  unsigned leftRowAxis;
  SharedFactor leftShared; // else
  Value rowPart;           // this warp's first row
  // B.
  SharedFactor right;
  Value reducedPart; // this warp's first k
};

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
  Value k = emitter.sum(isLeft ? Value() : reducedPart, t);
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
/// reads both, else of one.
SmallVector<Value> ProductEmitter::rightStep(Value columnPart, int64_t block,
                                             int64_t step) {
  // In f32 a matrix has k in the natural order and k must be contiguous.
  bool byMatrix = right.element() == product &&
                  (!isF32 || (right.reducedIsLast && !pairedOrder));
  if (!byMatrix)
    return {readElements(right, columnPart, 8 * block, /*isLeft=*/false, step)};
  bool transpose = !right.reducedIsLast;
  // Side by side, columns must start at a multiple of 16.
  bool aligned =
      !transpose || (block % 2 == 0 && (!columnPart || columnBlocks % 2 == 0));
  int64_t count = block + 1 < columnBlocks && aligned ? 2 : 1;
  int64_t elements = isF32 ? 2 : 4;
  Value column = emitter.offset(columnPart, 8 * block);
  Value reduced = emitter.offset(reducedPart, depth * step);
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

/// Adds the products of `rowBlocks` row blocks from `rowBlock` on with the
/// columns that start at `columnPart` to `blocks`.
void ProductEmitter::emitSteps(int64_t rowBlock, int64_t rowBlocks,
                               Value columnPart, SmallVector<Value> &blocks) {
  for (int64_t step : orderSteps()) {
    SmallVector<Operand> a;
    for (int64_t row = 0; row < rowBlocks; ++row)
      a.push_back(split(leftStep(rowBlock + row, step)));
    for (int64_t block = 0; block < columnBlocks;)
      for (Value part : rightStep(columnPart, block, step)) {
        Operand b = split(part);
        for (int64_t row = 0; row < rowBlocks; ++row) {
          Value &c = blocks[row * columnBlocks + block];
          c = multiply(a[row], b, c);
        }
        ++block;
      }
  }
}

/// The result's registers from those of its 16 x 8 blocks.
Value ProductEmitter::assemble(ArrayRef<Value> blocks,
                               ArrayRef<int64_t> firsts) {
  auto type = VectorType::get({result.registers()}, builder.getF32Type());
  Value vector = arith::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, Attribute(builder.getF32FloatAttr(0))));
  for (auto [block, first] : llvm::zip_equal(blocks, firsts))
    vector = vector::InsertStridedSliceOp::create(builder, loc, block, vector,
                                                  ArrayRef<int64_t>{first},
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
  Value acc = dot.getAcc() ? emitter.get(dot.getAcc()) : Value();
  if (!over.empty()) {
    Value total = emitSplit(over);
    if (acc)
      total = arith::AddFOp::create(builder, loc, acc, total);
    emitter.set(dot, total);
    return success();
  }
  auto blockType = VectorType::get({4}, builder.getF32Type());
  Value zero;
  SmallVector<Value> blocks;
  SmallVector<int64_t> firsts;
  for (int64_t row = 0; row < rowBlocks; ++row)
    for (int64_t block = 0; block < columnBlocks; ++block) {
      int64_t first = firstRegister(row, block);
      firsts.push_back(first);
      if (!acc && !zero)
        zero = arith::ConstantOp::create(
            builder, loc, blockType,
            DenseElementsAttr::get(blockType,
                                   Attribute(builder.getF32FloatAttr(0))));
      blocks.push_back(
          acc ? emitter.gather(acc, {first, first + 1, first + 2, first + 3})
              : zero);
    }
  emitSteps(0, rowBlocks,
            emitter.threadPart(result, 1 - rowAxis, ThreadUnits::Warp), blocks);
  emitter.set(dot, assemble(blocks, firsts));
  return success();
}

/// f32 numbers that warps leave each other for a row block, to have two.
static constexpr int64_t kMostOfATurn = 8192;

/// The result where each warp has keys of its own. For each row block a warp
/// computes its part for the columns of all warps that it shares the row with,
/// one after the other, and leaves them in shared memory; then each warp adds
/// what all have left for its columns.
Value ProductEmitter::emitSplit(ArrayRef<tile::Digit> over) {
  auto blockType = VectorType::get({4}, builder.getF32Type());
  Value zero = arith::ConstantOp::create(
      builder, loc, blockType,
      DenseElementsAttr::get(blockType, Attribute(builder.getF32FloatAttr(0))));
  // Owners differ in the digits of the result's columns.
  int64_t owners = result.size(1 - rowAxis, tile::Unit::Warp);
  int64_t ownColumns = 8 * columnBlocks;
  Value own = emitter.threadPart(result, 1 - rowAxis, ThreadUnits::Warp);
  if (own)
    own =
        arith::DivUIOp::create(builder, loc, own, emitter.constant(ownColumns));
  constexpr int64_t lanes = tile::Layout::kLanes;
  int64_t portion = 4 * columnBlocks * lanes; // of one owner, one row block
  // Two, by turns, where there is room: what one row block left is read while
  // the next is written.
  int64_t turn = owners * portion;
  int64_t turns = rowBlocks > 1 && emitter.warps * turn <= kMostOfATurn ? 2 : 1;
  Value buffer = emitter.makeWarpRows(turns * turn, builder.getF32Type());
  WarpEmitter::Peers peers = emitter.peersOf(over);
  // A lane's four registers of a block side by side: 16 bytes at a time.
  Value first =
      arith::MulIOp::create(builder, loc, emitter.lane, emitter.constant(4));
  Value start = first;
  if (own)
    start = emitter.sum(
        arith::MulIOp::create(builder, loc, own, emitter.constant(portion)),
        start);
  SmallVector<Value> totals;
  SmallVector<int64_t> firsts;
  for (int64_t row = 0; row < rowBlocks; ++row) {
    int64_t at = row % turns * turn;
    if (row == 0 ? emitter.isInLoop() : turns == 1)
      warp::BarrierOp::create(builder, loc); // the buffer has been read
    for (int64_t owner = 0; owner < owners; ++owner) {
      SmallVector<Value> blocks(columnBlocks, zero);
      emitSteps(row, 1, emitter.constant(owner * ownColumns), blocks);
      for (auto [i, block] : llvm::enumerate(blocks))
        warp::StoreSharedOp::create(
            builder, loc, block, buffer,
            ValueRange{emitter.warp,
                       emitter.offset(first, at + owner * portion +
                                                 int64_t(i) * 4 * lanes)},
            Value());
    }
    warp::BarrierOp::create(builder, loc); // all have written
    for (int64_t block = 0; block < columnBlocks; ++block) {
      Value sum;
      for (int64_t peer : peers.offsets) {
        Value part = warp::LoadSharedOp::create(
            builder, loc, blockType, buffer,
            ValueRange{emitter.offset(peers.base, peer),
                       emitter.offset(start, at + block * 4 * lanes)});
        sum =
            sum ? Value(arith::AddFOp::create(builder, loc, sum, part)) : part;
      }
      totals.push_back(sum);
      firsts.push_back(firstRegister(row, block));
    }
  }
  return assemble(totals, firsts);
}

LogicalResult WarpEmitter::emitDot(tile::DotOp dot) {
  return ProductEmitter(*this, dot).emit();
}

} // namespace attentile
