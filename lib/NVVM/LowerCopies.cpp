//===- LowerCopies.cpp - asynchronous copies, their groups, barriers ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy goes by 16 bytes if the tensor permits, which the block finds at its
// start, else by elements: a branch that is the same for all threads.
//
// The rows of a window are dealt to the block's threads: with C chunks of 16
// bytes a row, thread t copies chunk t mod C of the rows t / C, t / C + threads
// / C, ... So a thread's column never changes and its rows are a constant
// apart.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

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

/// A value that LLVM knows nothing of from here on, in a loop. What is computed
/// from it for each of a copy's rows is then computed where it is used; else
/// each sum, and of a copy that is the same in every iteration each address and
/// size too, would be moved out of the loop and keep a register.
static Value hide(const Emitter &e, Operation *op, Value value) {
  if (!value || !op->getParentOfType<scf::ForOp>())
    return value;
  if (value.getType().isIndex()) {
    Type i64 = e.b.getI64Type();
    value = arith::IndexCastOp::create(e.b, e.loc, i64, value);
    return arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(),
                                      hide(e, op, value));
  }
  bool isWide = !value.getType().isInteger(32);
  return e
      .ptx(isWide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
           isWide ? "=l,l" : "=r,r", value.getType(), value,
           /*sideEffects=*/true)
      .front();
}

namespace {
/// What both forms of a copy start from.
struct Window {
  Window(KernelLowering &k, const Emitter &e, warp::CopyAsyncOp op);

  warp::CopyAsyncOp op;
  const TensorAccess &tensor;
  warp::BufferType buffer;
  Type element;
  int64_t rows, columns; ///< one row of a buffer of one dimension
  bool hasRows;
  Value rowStride, columnStride;
  Value start; ///< the first element's address; it may lie outside
  Value base;  ///< of the buffer
  Inside rowsInside, columnsInside;
  Value elsewhere; ///< whether the other dimensions' indices are inside

  /// Indices of the buffer.
  SmallVector<Value> place(Value row, Value column) const {
    return hasRows ? SmallVector<Value>{row, column}
                   : SmallVector<Value>{column};
  }
};
} // namespace

Window::Window(KernelLowering &k, const Emitter &e, warp::CopyAsyncOp op)
    : op(op), tensor(k.tensors.find(op.getTensor())->second),
      buffer(op.getBuffer().getType()), element(buffer.getElementType()),
      rows(buffer.getRank() == 2 ? buffer.getShape()[0] : 1),
      columns(buffer.getShape().back()), hasRows(buffer.getRank() == 2),
      rowStride(tensor.strides[op.getDims().front()]),
      columnStride(tensor.strides[op.getDims().back()]),
      start(globalAddress(e, tensor, op.getIndices())),
      base(k.buffers.lookup(op.getBuffer())),
      columnsInside(insideWindow(e, tensor, op, hasRows)),
      elsewhere(insideElsewhere(e, tensor, op)) {
  if (hasRows)
    rowsInside = insideWindow(e, tensor, op, 0);
}

static void emitChunks(KernelLowering &k, const Emitter &e,
                       const Window &window) {
  warp::CopyAsyncOp op = window.op;
  int64_t bytes = warp::getElementBytes(window.element), chunk = 16 / bytes;
  tile::SharedLayout layout = warp::getSharedLayout(window.buffer);
  int64_t chunks = window.columns / chunk, threads = k.threads();
  // A thread keeps its column; where a row has more chunks than the block has
  // threads, it has several.
  int64_t rowsAtOnce = std::max<int64_t>(threads / chunks, 1);
  int64_t active = chunks <= threads ? rowsAtOnce * chunks : threads;
  Value myRow = e.div(k.threadId, e.i32(chunks));
  Value myChunk = e.rem(k.threadId, e.i32(chunks));
  if (chunks > threads) {
    myRow = e.i32(0);
    myChunk = k.threadId;
  }
  Value isActive;
  if (active < threads)
    isActive = e.less(k.threadId, e.i32(active));
  Inside rowsInside = window.rowsInside, columnsInside = window.columnsInside;
  rowsInside.count = hide(e, op, rowsInside.count);

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
          arith::MaxSIOp::create(e.b, e.loc, e.sub(end, column), e.i32(0));
      left = arith::MinSIOp::create(e.b, e.loc, left, e.i32(chunk));
      // A window starts at a multiple of a chunk, so a chunk whose start is
      // outside to the left is outside as a whole.
      Value starts = columnsInside.has(e, column);
      columnBytes = e.select(starts, e.mul(left, e.i32(bytes)), e.i32(0));
    }
    Value source =
        e.at(window.start, e.mul(e.toIndex(column), window.columnStride),
             window.element);
    if (window.hasRows)
      source = e.at(source, e.mul(e.toIndex(myRow), window.rowStride),
                    window.element);
    source = hide(e, op, source);
    // Rows that are a multiple of the swizzle's period apart differ by a
    // constant.
    bool isRegular =
        window.hasRows && rowsAtOnce % (layout.rows * layout.period) == 0;
    Value myPlace;
    if (isRegular)
      myPlace = hide(e, op,
                     sharedAddress(e, window.base, window.buffer,
                                   ValueRange{myRow, column}));
    Value rowStep =
        window.hasRows ? e.mul(window.rowStride, e.index(rowsAtOnce)) : Value();
    for (int64_t first = 0; first < window.rows; first += rowsAtOnce) {
      Value row = first ? e.add(myRow, e.i32(first)) : myRow;
      Value predicate = columnExists;
      if (first + rowsAtOnce > window.rows)
        predicate = both(e, predicate, e.less(row, e.i32(window.rows)));
      Value read = both(e, window.elsewhere, rowsInside.has(e, row));
      Value size = columnBytes;
      if (read)
        size = e.select(read, columnBytes ? columnBytes : e.i32(16), e.i32(0));
      Value target = isRegular
                         ? e.add(myPlace, e.i32(first * layout.pitch * bytes))
                         : sharedAddress(e, window.base, window.buffer,
                                         window.place(row, column));
      emitCopy(e, target, source, size, predicate);
      if (window.hasRows)
        source = e.at(source, rowStep, window.element);
    }
  }
}

/// The same by loads and stores of elements, in a loop that asks for little:
/// few instructions, and no register outside of it. A thread takes a few
/// elements that lie side by side in the buffer.
static void emitElements(KernelLowering &k, const Emitter &outer,
                         const Window &window) {
  OpBuilder &b = outer.b;
  OpBuilder::InsertionGuard guard(b);
  Location loc = outer.loc;
  int64_t bytes = warp::getElementBytes(window.element);
  // So many loads are in flight. Within 16 bytes no swizzle moves them apart.
  int64_t each = std::gcd(window.columns, std::min<int64_t>(4, 16 / bytes));
  int64_t groups = window.columns / each; // of a row
  int64_t all = groups * window.rows;
  Value thread = hide(outer, window.op, k.threadId);
  Value columnStride = hide(outer, window.op, window.columnStride);
  Value rowStride = hide(outer, window.op, window.rowStride);
  auto loop = scf::ForOp::create(b, loc, outer.i32(0), outer.i32(all),
                                 outer.i32(k.threads()));
  keepRolled(loop);
  b.setInsertionPointToStart(loop.getBody());
  Emitter e(b, loc);
  Value number = e.add(loop.getInductionVar(), thread);
  Value exists;
  if (all % k.threads() != 0)
    exists = e.less(number, e.i32(all));
  Value row = e.div(number, e.i32(groups));
  Value column = e.mul(e.rem(number, e.i32(groups)), e.i32(each));
  Value read = both(e, exists, window.elsewhere);
  Value source = e.at(window.start, e.mul(e.toIndex(column), columnStride),
                      memoryType(window.element));
  if (window.hasRows) {
    source = e.at(source, e.mul(e.toIndex(row), rowStride),
                  memoryType(window.element));
    read = both(e, read, window.rowsInside.has(e, row));
  }
  SmallVector<Type> words = wordTypes(window.element);
  SmallVector<SmallVector<Value>> loaded;
  for (int64_t i = 0; i < each; ++i) {
    Value inside = window.columnsInside.has(e, e.add(column, e.i32(i)));
    loaded.push_back(loadWords(e, source, words, both(e, read, inside)));
    source = e.at(source, columnStride, memoryType(window.element));
  }
  Value target =
      sharedAddress(e, window.base, window.buffer, window.place(row, column));
  for (auto [i, values] : llvm::enumerate(loaded)) {
    Value pointer = LLVM::IntToPtrOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3),
        e.add(target, e.i32(i * bytes)));
    storeWords(e, pointer, values, exists);
  }
}

/// 16 bytes at a time where the tensor permits, which a block decides at once.
static void lowerCopy(KernelLowering &k, warp::CopyAsyncOp op) {
  OpBuilder b(op);
  Emitter e(b, op.getLoc());
  Window window(k, e, op);
  Value fits = op.getByElement()
                   ? Value()
                   : k.takesPackets(op.getTensor(), op.getDims().back(), 16);
  if (op.getByElement()) {
    emitElements(k, e, window);
  } else if (!fits) {
    emitChunks(k, e, window);
  } else {
    auto branch = scf::IfOp::create(b, e.loc, fits, /*withElseRegion=*/true);
    b.setInsertionPoint(branch.thenYield());
    emitChunks(k, e, window);
    b.setInsertionPoint(branch.elseYield());
    emitElements(k, e, window);
  }
  op.erase();
}

void lowerCopies(KernelLowering &k, Operation *op) {
  if (auto copy = dyn_cast<warp::CopyAsyncOp>(op))
    return lowerCopy(k, copy);
  OpBuilder b(op);
  if (isa<warp::CommitGroupOp>(op))
    NVVM::CpAsyncCommitGroupOp::create(b, op->getLoc());
  else if (auto wait = dyn_cast<warp::WaitGroupOp>(op))
    NVVM::CpAsyncWaitGroupOp::create(b, op->getLoc(),
                                     uint32_t(wait.getPending()));
  else
    NVVM::Barrier0Op::create(b, op->getLoc());
  op->erase();
}

} // namespace attentile::nvvm
