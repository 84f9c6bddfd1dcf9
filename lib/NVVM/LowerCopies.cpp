//===- LowerCopies.cpp - asynchronous copies, their groups, barriers ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a window are dealt to the block's threads: with C chunks of 16
// bytes a row, thread t copies chunk t mod C of the rows t / C, t / C + threads
// / C, ... So a thread's column never changes and its rows are a constant
// apart. Where each warp copies its own rows, the same with its 32 lanes.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "attentile/AssumedBounds.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile::nvvm {

namespace {
/// The part of a buffer's dimension that a tensor has: from `first` to before
/// `end`, counted from the window's start, i32. Null where all is inside.
struct Inside {
  Value first, count;
  /// Whether `position` (i32) is in it, or null.
  Value has(const Emitter &e, Value position) const {
    return count ? e.less(e.sub(position, first), count) : Value();
  }
};
} // namespace

static Value clamp(const Emitter &e, Value x, int64_t size) {
  Value low = arith::MaxSIOp::create(e.b, e.loc, x, e.index(0));
  return arith::MinSIOp::create(e.b, e.loc, low, e.index(size));
}

/// Whether an index is a position on the axis of a loop around it, or little
/// behind one: at least 0 and known to fit 32 bits (warp-narrow-indices bounds
/// these loops).
static bool isPosition(Value index) {
  auto strip = [&] {
    while (auto cast = index.getDefiningOp<arith::IndexCastOp>())
      index = cast.getIn();
  };
  strip();
  // Where it goes there and back.
  if (auto either = index.getDefiningOp<arith::SelectOp>())
    return isPosition(either.getTrueValue()) &&
           isPosition(either.getFalseValue());
  // A block of a list: its number within bounds, times its size.
  if (auto start = index.getDefiningOp<arith::MulIOp>()) {
    APInt size, most, least;
    index = start.getLhs();
    strip();
    auto above = index.getDefiningOp<arith::MinSIOp>();
    if (!above || !matchPattern(start.getRhs(), m_ConstantInt(&size)) ||
        !matchPattern(above.getRhs(), m_ConstantInt(&most)))
      return false;
    index = above.getLhs();
    strip();
    auto below = index.getDefiningOp<arith::MaxSIOp>();
    return below && matchPattern(below.getRhs(), m_ConstantInt(&least)) &&
           least.isZero() && size.isStrictlyPositive() &&
           most.isStrictlyPositive() &&
           most.getSExtValue() <= kLargestPosition / size.getSExtValue();
  }
  // Where it descends: the last one less what the index has come.
  SmallVector<Value, 2> outside;
  if (auto difference = index.getDefiningOp<arith::SubIOp>()) {
    outside.push_back(difference.getLhs());
    index = difference.getRhs();
    strip();
    if (auto atLeast = index.getDefiningOp<arith::MaxSIOp>()) {
      outside.push_back(atLeast.getRhs());
      index = atLeast.getLhs();
      strip();
    }
    if (auto done = index.getDefiningOp<arith::SubIOp>()) {
      outside.push_back(done.getRhs());
      index = done.getLhs();
      strip();
    }
  }
  APInt distance;
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (sum && matchPattern(sum.getRhs(), m_ConstantInt(&distance)) &&
      distance.sge(0) && distance.sle(1 << 15)) {
    index = sum.getLhs();
    strip();
  }
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && argument == loop.getInductionVar() &&
         loop->hasAttr("tile.axis") &&
         (outside.empty() || loop->hasAttr("tile.descending") ||
          loop->hasAttr("tile.alternating")) &&
         llvm::all_of(outside, [&](Value value) {
           return loop.isDefinedOutsideOfLoop(value);
         });
}

/// Compares once a copy in 64 bits, so that each row needs 32 only.
static Inside insideWindow(const Emitter &e, const TensorAccess &tensor,
                           warp::CopyAsyncOp op, unsigned bufferDim) {
  int64_t dim = op.getDims()[bufferDim];
  if (op.getInBounds() && (*op.getInBounds())[dim])
    return {};
  int64_t size = op.getBuffer().getType().getShape()[bufferDim];
  Value start = op.getIndices()[dim];
  Value first = clamp(e, e.sub(e.index(0), start), size);
  Value end = clamp(e, e.sub(tensor.sizes[dim], start), size);
  Value count =
      arith::MaxSIOp::create(e.b, e.loc, e.sub(end, first), e.index(0));
  return {e.to32(first), e.to32(count)};
}

/// Whether the indices of the other dimensions are inside, or null.
static Value insideElsewhere(const Emitter &e, const TensorAccess &tensor,
                             warp::CopyAsyncOp op) {
  Value result;
  for (int64_t dim = 0; dim < tensor.type.getRank(); ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      result = both(
          e, result,
          insideDim(e, tensor, dim, op.getIndices()[dim], op.getInBounds()));
  return result;
}

/// One cp.async of 16 bytes, of which `bytes` (null: all) are read, the rest
/// filled with 0; only where `predicate` (null: everywhere).
static void emitCopy(const Emitter &e, Value shared, Value global, Value bytes,
                     Value predicate) {
  if (!predicate) {
    Value pointer = LLVM::IntToPtrOp::create(
        e.b, e.loc, LLVM::LLVMPointerType::get(e.b.getContext(), 3), shared);
    NVVM::CpAsyncOp::create(e.b, e.loc, pointer, global, 16,
                            NVVM::LoadCacheModifierKind::CG, bytes);
    return;
  }
  if (bytes)
    e.ptx("@$3 cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,b", {},
          {shared, global, bytes, predicate}, /*sideEffects=*/true);
  else
    e.ptx("@$2 cp.async.cg.shared.global [$0], [$1], 16;", "r,l,b", {},
          {shared, global, predicate}, /*sideEffects=*/true);
}

Value hide(const Emitter &e, Value value) {
  if (!value)
    return value;
  bool isWide = isa<LLVM::LLVMPointerType>(value.getType());
  return e
      .ptx(isWide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
           isWide ? "=l,l" : "=r,r", value.getType(), value,
           /*sideEffects=*/true)
      .front();
}

/// A dimension's extent in 32 bits. Sizes fit; what is computed from them is
/// held below 2^31, which no position reaches.
static Value extentIn32(const Emitter &e, const TensorAccess &tensor,
                        warp::CopyAsyncOp op, int64_t dim) {
  Value size = tensor.sizes[dim];
  auto argument = dyn_cast<BlockArgument>(op.getTensor());
  auto program =
      argument ? dyn_cast<tile::ProgramOp>(argument.getOwner()->getParentOp())
               : tile::ProgramOp();
  bool isSize =
      program &&
      isa<AffineSymbolExpr>(
          attn::SignatureOpInterface(program).getShape(argument).getResult(
              dim));
  return e.to32(
      isSize ? size
             : arith::MinSIOp::create(e.b, e.loc, size, e.index(INT32_MAX)));
}

/// How many rows the tensor has from row `mine` on of a window that starts at a
/// position, i32; none where that is not positive.
static Value rowsLeft(const Emitter &e, const TensorAccess &tensor,
                      warp::CopyAsyncOp op, Value mine, Value elsewhere) {
  int64_t dim = op.getDims()[0];
  Value left =
      e.sub(extentIn32(e, tensor, op, dim), e.to32(op.getIndices()[dim]));
  if (elsewhere)
    left = e.select(elsewhere, left, e.i32(0));
  // Hidden: or LLVM carries one count for each copy from turn to turn.
  return e.sub(hide(e, left), hide(e, mine));
}

/// The thread's number as the loop around `op` reads it.
static Value threadOf(KernelLowering &k, Operation *op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  if (!loop)
    return k.threadId;
  Value &known = k.loopThreads[loop];
  if (!known) {
    OpBuilder b(loop);
    known = Emitter(b, op->getLoc())
                .ptx("mov.u32 $0, %tid.x;", "=r", b.getI32Type(), {},
                     /*sideEffects=*/true)
                .front();
  }
  return known;
}

/// Where a copy's window starts. If that is the same in each iteration, it is
/// hidden, for one address would be kept beside that of the loop's own copy.
static SmallVector<Value> windowStart(const Emitter &e, warp::CopyAsyncOp op) {
  SmallVector<Value> result(op.getIndices());
  auto loop = op->getParentOfType<scf::ForOp>();
  if (!loop || op.getBuffer().getType().getRank() != 2)
    return result;
  Value &row = result[op.getDims()[0]];
  if (llvm::all_of(op.getIndices(),
                   [&](Value x) { return loop.isDefinedOutsideOfLoop(x); }))
    row = arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(),
                                     hide(e, e.to32(row)));
  return result;
}

static void lowerChunks(KernelLowering &k, warp::CopyAsyncOp op) {
  OpBuilder b(op);
  Emitter e(b, op.getLoc());
  const TensorAccess &tensor = k.tensors.find(op.getTensor())->second;
  warp::BufferType buffer = op.getBuffer().getType();
  Type element = memoryType(buffer.getElementType());
  int64_t bytes = warp::getElementBytes(element), chunk = 16 / bytes;
  bool hasRows = buffer.getRank() == 2;
  tile::SharedLayout layout = warp::getSharedLayout(buffer);
  int64_t rows = hasRows ? buffer.getShape()[0] : 1;
  int64_t chunks = buffer.getShape().back() / chunk;
  int64_t threads = k.threads();
  // A thread keeps its column; where a row has more chunks than the block has
  // threads, it has several.
  int64_t rowsAtOnce = std::max<int64_t>(threads / chunks, 1);
  int64_t active = chunks <= threads ? rowsAtOnce * chunks : threads;
  Value thread = threadOf(k, op);
  Value myRow = e.div(thread, e.i32(chunks));
  Value myChunk = e.rem(thread, e.i32(chunks));
  if (chunks > threads) {
    myRow = e.i32(0);
    myChunk = thread;
  }
  if (op.getOwnRows()) {
    rows = rows * 32 / threads;
    rowsAtOnce = 32 / chunks;
    myRow = e.add(e.mul(e.div(thread, e.i32(32)), e.i32(rows)),
                  e.div(e.rem(thread, e.i32(32)), e.i32(chunks)));
  }
  Value isActive;
  if (active < threads)
    isActive = e.less(thread, e.i32(active));

  int64_t lastDim = op.getDims().back();
  int64_t rowDim = hasRows ? op.getDims()[0] : -1;
  Inside rowsInside, columnsInside = insideWindow(e, tensor, op, hasRows);
  Value elsewhere = insideElsewhere(e, tensor, op), left;
  if (hasRows && isPosition(op.getIndices()[rowDim]) &&
      !(op.getInBounds() && (*op.getInBounds())[rowDim])) {
    left = rowsLeft(e, tensor, op, myRow, elsewhere);
    elsewhere = {};
  } else if (hasRows) {
    rowsInside = insideWindow(e, tensor, op, 0);
    rowsInside.count = hide(e, rowsInside.count);
  }
  // The window's first element; it may lie outside, and is then not read.
  Value window = globalAddress(e, tensor, windowStart(e, op));
  Value base = k.buffers.lookup(op.getBuffer());

  for (int64_t step = 0; step * threads < chunks; ++step) {
    Value column = e.mul(step ? e.add(myChunk, e.i32(step * threads)) : myChunk,
                         e.i32(chunk));
    Value columnExists = isActive;
    if ((step + 1) * threads > chunks && chunks > threads)
      columnExists = e.less(column, e.i32(chunks * chunk));
    // How many of the chunk's bytes the tensor has.
    Value columnBytes;
    if (columnsInside.count) {
      Value end = e.add(columnsInside.first, columnsInside.count);
      Value left =
          arith::MaxSIOp::create(b, op.getLoc(), e.sub(end, column), e.i32(0));
      left = arith::MinSIOp::create(b, op.getLoc(), left, e.i32(chunk));
      // A window starts at a multiple of a chunk, so a chunk whose start is
      // outside to the left is outside as a whole.
      Value starts = columnsInside.has(e, column);
      columnBytes = e.select(starts, e.mul(left, e.i32(bytes)), e.i32(0));
    }
    Value source = e.at(
        window, e.mul(e.toIndex(column), tensor.strides[lastDim]), element);
    if (hasRows)
      source = e.at(source, e.mul(e.toIndex(myRow), tensor.strides[rowDim]),
                    element);
    source = hide(e, source);
    // Rows that are a multiple of the swizzle's period apart differ by a
    // constant: one address for each of the first ones.
    int64_t period = layout.rows * layout.period;
    llvm::SmallDenseMap<int64_t, Value> places;
    auto placeOf = [&](int64_t first) {
      auto [place, isNew] = places.try_emplace(first % period);
      if (isNew) {
        SmallVector<Value> indices = {column};
        if (hasRows)
          indices.insert(indices.begin(), e.add(myRow, e.i32(first % period)));
        place->second =
            e.add(base, hide(e, sharedAddress(e, e.i32(0), buffer, indices)));
      }
      int64_t behind = first / period * period;
      return e.add(place->second, e.i32(behind * layout.pitch * bytes));
    };
    Value countedRow = rowsInside.count ? hide(e, myRow) : myRow;
    Value rowStep =
        hasRows ? e.mul(tensor.strides[rowDim], e.index(rowsAtOnce)) : Value();
    for (int64_t first = 0; first < rows; first += rowsAtOnce) {
      Value row = first ? e.add(myRow, e.i32(first)) : myRow;
      Value predicate = columnExists;
      if (first + rowsAtOnce > rows)
        predicate = both(e, predicate, e.less(row, e.i32(rows)));
      Value counted = first ? e.add(countedRow, e.i32(first)) : countedRow;
      Value read = both(e, elsewhere, rowsInside.has(e, counted));
      if (left)
        read = arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::sgt,
                                     left, e.i32(first));
      Value size = columnBytes;
      if (read)
        size = e.select(read, columnBytes ? columnBytes : e.i32(16), e.i32(0));
      Value target = placeOf(first);
      emitCopy(e, target, source, size, predicate);
      if (hasRows)
        source = e.at(source, rowStep, element);
    }
  }
  op.erase();
}

void keepRolled(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
      {});
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(
                                       context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}));
}

/// The same by loads and stores of elements: consecutive threads take
/// consecutive columns.
static void lowerElements(KernelLowering &k, warp::CopyAsyncOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Emitter outer(b, loc);
  const TensorAccess &tensor = k.tensors.find(op.getTensor())->second;
  warp::BufferType buffer = op.getBuffer().getType();
  Type element = buffer.getElementType();
  int64_t columns = buffer.getShape().back(), elements = 1;
  for (int64_t size : buffer.getShape())
    elements *= size;
  Value elsewhere = insideElsewhere(outer, tensor, op);
  Value window = globalAddress(outer, tensor, op.getIndices());
  Value base = k.buffers.lookup(op.getBuffer());
  bool hasRows = buffer.getRank() == 2;
  SmallVector<Inside> inside;
  for (unsigned dim = 0; dim < buffer.getRank(); ++dim)
    inside.push_back(insideWindow(outer, tensor, op, dim));
  constexpr int64_t kAtOnce = 4; // loads in flight
  int64_t each = kAtOnce * k.threads();
  auto loop = scf::ForOp::create(b, loc, outer.index(0), outer.index(elements),
                                 outer.index(each));
  keepRolled(loop);
  b.setInsertionPointToStart(loop.getBody());
  Emitter e(b, loc);
  Value start = e.add(e.to32(loop.getInductionVar()), k.threadId);
  SmallVector<Type> words = wordTypes(element);
  SmallVector<SmallVector<Value>> loaded;
  SmallVector<std::pair<Value, Value>> targets;
  for (int64_t i = 0; i < kAtOnce; ++i) {
    Value number = e.add(start, e.i32(i * k.threads()));
    SmallVector<Value> place = {e.rem(number, e.i32(columns))};
    if (hasRows)
      place.insert(place.begin(), e.div(number, e.i32(columns)));
    Value exists;
    if (elements % each != 0)
      exists = e.less(number, e.i32(elements));
    Value read = both(e, exists, elsewhere), source = window;
    for (auto [dim, position] : llvm::enumerate(place)) {
      read = both(e, read, inside[dim].has(e, position));
      source = e.at(
          source, e.mul(e.toIndex(position), tensor.strides[op.getDims()[dim]]),
          memoryType(element));
    }
    loaded.push_back(loadWords(k, e, source, words, read));
    targets.push_back({sharedAddress(e, base, buffer, place), exists});
  }
  for (auto [values, target] : llvm::zip_equal(loaded, targets)) {
    Value pointer = LLVM::IntToPtrOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3), target.first);
    storeWords(e, pointer, values, target.second);
  }
  op.erase();
}

void lowerCopies(KernelLowering &k, Operation *op) {
  if (auto copy = dyn_cast<warp::CopyAsyncOp>(op))
    return copy.getByElement() ? lowerElements(k, copy) : lowerChunks(k, copy);
  OpBuilder b(op);
  if (isa<warp::CommitGroupOp>(op))
    NVVM::CpAsyncCommitGroupOp::create(b, op->getLoc());
  else if (auto wait = dyn_cast<warp::WaitGroupOp>(op))
    NVVM::CpAsyncWaitGroupOp::create(b, op->getLoc(),
                                     uint32_t(wait.getPending()));
  else if (isa<warp::SyncOp>(op))
    NVVM::SyncWarpOp::create(b, op->getLoc(), Emitter(b, op->getLoc()).i32(-1));
  else
    NVVM::Barrier0Op::create(b, op->getLoc());
  op->erase();
}

} // namespace attentile::nvvm
