//===- GpuModel.cpp - what a grid's tiles take of a GPU -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuTileSizes.h"
#include "Products.h"
#include "attentile/Philox.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

/// What a thread needs beside tiles, and more of it where each factor is the
/// sum of two.
static constexpr int64_t kOtherRegisters = 32, kSplitRegisters = 24;
/// Likewise, where there are two tiles of scores, both split for one product.
static constexpr int64_t kRegistersOfSecondSplit = 72;
/// Statistics of 16 rows: maximum, sum, their factor and a shifted maximum, of
/// two rows a lane.
static constexpr int64_t kRegistersPerRowBlock = 8;
/// What lanes load of diagonals, a few windows of 32 elements, and the numbers
/// of the lanes that they take theirs from.
static constexpr int64_t kRegistersPerDiagonals = 10;
/// What a score's own computation takes beside its tile: the addresses of what
/// is loaded for each score, and what a tanh and a division by a size need (a
/// tanh less than this, but with 64 keys it is slower than with 48). A row's
/// bounds are made where they are voted on.
static constexpr int64_t kRegistersPerLoad = 18, kRegistersPerTanh = 12,
                         kRegistersPerQuotient = 8,
                         kRegistersPerNarrowQuotient = 2, kRegistersPerExp = 4;
/// Where sums, scores and exponentials are at most so many, all of a warp's
/// rows decide at once (tile-to-warp). Above, as with 128 columns and 48 keys,
/// ptxas was not seen to take these.
static constexpr int64_t kMostAtOnce = 216;
/// Words of random calls on their way to elements, for each kRandomSpan
/// columns: calls are made for 16 rows when these are rounded.
static constexpr int64_t kRegistersPerRandom = 8;
/// Packets of 8-bit numbers that are converted between two barriers: integers
/// take two operations each, floats some ten.
static constexpr int64_t kRegistersOfBytes = 68, kRegistersOfFloat8 = 72;
/// What a piece of a factor is computed from, in place of the scores that it
/// makes (tile-to-warp), and where each of its tiles starts.
static constexpr int64_t kRegistersOfPiece = 48, kRegistersPerPiece = 2;
/// Accumulators of a thread above which their columns go over two warps, and
/// the same where each factor is the sum of two; see tile-partition-warps.
static constexpr int64_t kMostAccumulators = 128, kMostSplit = 64;
static constexpr int64_t kMostWarps = 32; // of a block of threads

GpuModel::GpuModel(attn::GridOp grid, attn::AxesAnalysis &axes)
    : grid(grid), axes(axes), steps(axes.setOf(grid.getSingle())),
      loops(axes.setOf(grid.getLoop())) {
  for (OperandRange group : {grid.getTile(), grid.getLoop(), grid.getWhole()})
    order.append(group.begin(), group.end());
  rowAxis = order.empty() ? Value() : order.front();

  SmallVector<std::pair<attn::ReduceOp, Product>> products;
  grid.getBody().walk([&](attn::ReduceOp reduction) {
    if (auto product = matchProduct(reduction, axes, steps))
      products.emplace_back(reduction, *product);
  });
  for (auto &[reduction, product] : products)
    addProduct(reduction, product.lhs, product.rhs);
  grid.getBody().walk([&](attn::ReduceOp reduction) {
    if (!matchProduct(reduction, axes, steps))
      addSum(reduction);
  });

  auto add = [&](Value value, attn::Axes own) {
    own.reset(steps);
    if (own.count() < 2 || !known.insert(value).second)
      return false;
    others.push_back({own, bytesOf(value.getType()), 1});
    return true;
  };
  grid.getBody().walk([&](Operation *op) {
    addOperand(*op);
    if (auto read = dyn_cast<attn::ReadOp>(op); read && isByDiagonals(read))
      ++diagonals;
    else if (isa<attn::RandomOp>(op))
      ++randoms;
    else if (read && !addTableRead(read)) {
      Value result = read.getResult();
      bool isNew = add(result, axes.of(result));
      if (isNew && isWindowOfScores(read))
        factors.push_back(
            {others.back().axes, bytesOf(result.getType()), true, true});
      else
        loads += isNew;
    }
    auto reduction = dyn_cast<attn::ReduceOp>(op);
    if (!reduction || matchProduct(reduction, axes, steps))
      return;
    hasStatistics = true;
    attn::Axes own = axes.of(reduction.getOperand());
    own |= axes.setOf(reduction.getAxes());
    own.reset(steps);
    // What is reduced of scores takes their place.
    if (llvm::none_of(scores,
                      [&](const Held &held) { return held.axes == own; }))
      add(reduction.getOperand(), own);
    add(reduction, axes.of(reduction));
  });
  addCarried();
}

/// What a loop over tiles carries is a sum of products, which is counted, or
/// held beside them.
void GpuModel::addCarried() {
  SmallVector<Held> sums = accumulators;
  for (auto loop : grid.getBody().getOps<attn::ForOp>())
    for (Value carried : loop.getCarried()) {
      attn::Axes own = axes.of(carried);
      own.reset(steps);
      auto sum = llvm::find_if(
          sums, [&](const Held &held) { return held.axes == own; });
      if (sum != sums.end())
        sums.erase(sum);
      else if (own.count() >= 2)
        others.push_back({own, bytesOf(carried.getType()), 1});
    }
}

/// Softmaxes over `over` that a factor is computed from, at least one.
int64_t GpuModel::countSoftmaxes(Value factor, const attn::Axes &over) {
  llvm::SetVector<Operation *> slice;
  int64_t count = 0;
  auto visit = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      slice.insert(op);
  };
  visit(factor);
  for (size_t i = 0; i < slice.size(); ++i) {
    auto reduction = dyn_cast<attn::ReduceOp>(slice[i]);
    if (reduction && reduction.getKind() == attn::ReduceKind::Ref &&
        axes.setOf(reduction.getAxes()) == over)
      ++count;
    for (Value operand : slice[i]->getOperands())
      visit(operand);
  }
  return std::max<int64_t>(count, 1);
}

/// The read of 8-bit numbers that a factor is the conversion of, or null.
static attn::ReadOp readOfBytes(Value factor) {
  Operation *op = factor.getDefiningOp();
  if (!isa_and_nonnull<arith::SIToFPOp, arith::ExtFOp>(op))
    return {};
  auto read = op->getOperand(0).getDefiningOp<attn::ReadOp>();
  return read && bytesOf(read.getType()) == 1 ? read : attn::ReadOp();
}

/// The reads of two axes that a factor is computed from, element by element and
/// for it alone: a piece of each at a time. None where it is not.
SmallVector<attn::ReadOp> GpuModel::readsOfComputed(Value factor) {
  auto countOwn = [&](Value value) {
    attn::Axes own = axes.of(value);
    return own.reset(steps).count();
  };
  llvm::SetVector<Operation *> slice;
  if (Operation *op = factor.getDefiningOp())
    slice.insert(op);
  SmallVector<attn::ReadOp> reads;
  for (size_t i = 0; i < slice.size(); ++i) {
    Operation *op = slice[i];
    auto read = dyn_cast<attn::ReadOp>(op);
    if ((!read && !OpTrait::hasElementwiseMappableTraits(op)) ||
        (i != 0 && llvm::any_of(op->getUsers(), [&](Operation *user) {
           return !slice.contains(user);
         })))
      return {};
    if (read) {
      reads.push_back(read);
      continue;
    }
    for (Value operand : op->getOperands())
      if (Operation *next = operand.getDefiningOp();
          next && countOwn(operand) > 1)
        slice.insert(next);
  }
  return reads;
}

void GpuModel::addFactor(Value factor, bool isLeft, int64_t bytes) {
  attn::Axes own = axes.of(factor);
  // A loop that goes index by index is one all the same: its copies are asked
  // for an iteration ahead.
  bool isWalked = loops.none() && own.anyCommon(axes.setOf(grid.getWalk()));
  own.reset(steps);
  attn::Axes looped = own;
  looped &= loops;
  auto read = factor.getDefiningOp<attn::ReadOp>();
  bool isLoaded = read && bytesOf(factor.getType()) == bytes;
  if (!known.insert(factor).second)
    return;
  // Bytes wait beside the factor that they are converted to.
  attn::ReadOp bytesRead = readOfBytes(factor);
  if (bytesRead) {
    known.insert(bytesRead);
    if (looped.any())
      bytesRegisters =
          std::max(bytesRegisters, isa<FloatType>(bytesRead.getType())
                                       ? kRegistersOfFloat8
                                       : kRegistersOfBytes);
    factors.push_back({own, 1, looped.any()});
  }
  // What is computed before the loop waits where what is loaded would.
  SmallVector<attn::ReadOp> reads;
  if (!isLoaded && !bytesRead && (!isLeft || looped.none()))
    reads = readsOfComputed(factor);
  known.insert_range(reads);
  if (!reads.empty() && looped.any())
    piecesRead += reads.size();
  bool isShared = isLoaded || bytesRead || !isLeft || !reads.empty();
  if (isShared)
    factors.push_back({own, bytes, (looped.any() || isWalked) && isLoaded,
                       /*isForScores=*/false,
                       /*takesTurns=*/!isLeft && loops.none() && !isWalked});
  if (isShared && isLeft && looped.none())
    lefts.push_back({own, bytes, 1});
  // Scores, rounded for the next product; f32 ones take the scores' place.
  if (!isShared && bytes < 4)
    rounded.push_back({own, bytes, 1});
  // Read as they are, wider than the product's: a tile that is read, too.
  if (!isShared && read)
    known.erase(factor);
}

void GpuModel::addProduct(attn::ReduceOp reduction, Value lhs, Value rhs) {
  int64_t bytes = bytesOf(*reduction.getProduct());
  productBytes = std::max(productBytes, bytes);
  leastBytes = std::min(leastBytes, bytes);
  attn::Axes row = axes.setOf(rowAxis);
  attn::Axes ofLhs = axes.of(lhs);
  ofLhs &= row;
  if (ofLhs.none())
    std::swap(lhs, rhs);
  addFactor(lhs, /*isLeft=*/true, bytes);
  addFactor(rhs, /*isLeft=*/false, bytes);

  attn::Axes result = axes.of(reduction);
  hasOtherRows |= !result.anyCommon(row);
  result.reset(steps);
  attn::Axes over = axes.setOf(reduction.getAxes());
  attn::Axes looped = over;
  looped &= loops;
  if (looped.any())
    accumulators.push_back({result, 4, countSoftmaxes(lhs, over)});
  else
    scores.push_back({result, 4, 1});
}

bool GpuModel::canMeetAtMbarriers() const {
  int64_t copied = llvm::count_if(
      factors, [](const Shared &factor) { return factor.isLooped; });
  return copied <= 2 && loads == 0 && diagonals == 0 && columnLoads == 0 &&
         bytesRegisters == 0 && piecesRead == 0;
}

GpuUse GpuModel::use(const llvm::DenseMap<Value, int64_t> &sizes,
                     int64_t rowWarps, bool keepLeft, int64_t stages) const {
  GpuUse result;
  result.rowWarps = rowWarps;
  int64_t lanes = tile::Layout::kLanes;
  auto count = [&](ArrayRef<Held> tiles) {
    int64_t registers = 0;
    for (const Held &held : tiles) {
      int64_t elements = 1;
      bool hasRows = false;
      for (BlockArgument axis : axes.indicesOf(held.axes)) {
        elements *= sizes.lookup(axis);
        hasRows |= axis == rowAxis;
      }
      // A tile without the rows is spread over 16 rows of each warp alike.
      registers += llvm::divideCeil(held.times * elements * held.bytes,
                                    4 * lanes * (hasRows ? rowWarps : 1));
    }
    return registers;
  };
  int64_t carried = count(accumulators);
  auto canDivide = [&](int64_t warps) {
    return llvm::all_of(accumulators, [&](const Held &held) {
      return llvm::all_of(axes.indicesOf(held.axes), [&](BlockArgument axis) {
        return axis == rowAxis || sizes.lookup(axis) % (8 * warps) == 0;
      });
    });
  };
  int64_t most = productBytes == 4 ? kMostSplit : kMostAccumulators;
  while (carried / result.columnWarps > most &&
         2 * result.columnWarps * rowWarps <= kMostWarps &&
         canDivide(2 * result.columnWarps))
    result.columnWarps *= 2;
  int64_t rowBlocks =
      rowAxis ? llvm::divideCeil(sizes.lookup(rowAxis), 16 * rowWarps) : 0;
  int64_t scored = count(scores);
  int64_t rows = hasStatistics ? kRegistersPerRowBlock * rowBlocks : 0;
  // Both blocks' scores and exponentials, and the sums that stay.
  bool atOnce = rowBlocks > 1 &&
                carried / result.columnWarps + 2 * scored + rows <= kMostAtOnce;
  int64_t elementLoads = loads, ofTables = 0;
  for (const TableRead &table : tables)
    if (llvm::any_of(table.blocks, [&](auto block) {
          return block.second % sizes.lookup(block.first) != 0;
        })) {
      ++elementLoads;
      ofTables += count(table.elements);
    }
  auto countColumns = [&](ArrayRef<Held> values) {
    int64_t registers = 0; // a lane has two of every eight columns
    for (const Held &held : values)
      for (BlockArgument axis : axes.indicesOf(held.axes))
        registers += held.times * sizes.lookup(axis) / 4;
    return registers;
  };
  int64_t spans = 1;
  for (BlockArgument axis : axes.indicesOf(loops))
    spans = std::max<int64_t>(
        spans, llvm::divideCeil(sizes.lookup(axis), kRandomSpan));
  // What scores are computed from has been when their softmax is, where rows
  // below leave room. That rounds 16 rows; the next take the place of scores.
  int64_t forScores = countColumns(scoreValues) +
                      kRegistersPerDiagonals * diagonals +
                      kRegistersPerRandom * randoms * spans;
  int64_t ofMasks = countColumns(maskValues);
  int64_t ofScores =
      atOnce ? scored : count(rounded) / std::max<int64_t>(rowBlocks, 1);
  result.registers =
      carried / result.columnWarps +
      std::max(scored + (rowBlocks > 1
                             ? std::max({forScores, ofScores, ofMasks})
                             : forScores + ofScores + ofMasks),
               piecesRead > 0 ? kRegistersOfPiece : 0) +
      kRegistersPerPiece * piecesRead + count(others) + ofTables +
      countColumns(columnValues) + (keepLeft ? count(lefts) : 0) + rows +
      kOtherRegisters + bytesRegisters +
      rowBlocks * (2 * rowValues + kRegistersPerLoad * elementLoads) +
      (tanhs > 0 ? kRegistersPerTanh : 0) +
      (exponentials > 0 ? kRegistersPerExp : 0) +
      kRegistersPerQuotient * quotients +
      kRegistersPerNarrowQuotient * narrowQuotients +
      (productBytes == 4 ? kSplitRegisters : 0) +
      (productBytes == 4 && scores.size() > 1 ? kRegistersOfSecondSplit : 0);

  llvm::SmallDenseSet<std::pair<int64_t, int64_t>> inTurn; // shapes
  int64_t largestTurn = 0;
  for (const Shared &factor : factors) {
    SmallVector<int64_t> shape;
    for (Value axis : order)
      if (factor.axes.test(axes.numberOf(axis)))
        shape.push_back(sizes.lookup(axis));
    int64_t pitch = factor.layout(shape.back()).pitch;
    int64_t bytes = shape.front() * pitch * factor.bytes;
    if (factor.takesTurns)
      largestTurn = std::max(largestTurn, bytes);
    else if (!factor.isLooped)
      result.shared += bytes;
    else if (stages != 0)
      result.shared += bytes * stages;
    else if (inTurn.insert({shape.front(), shape.back()}).second)
      result.shared += bytes;
  }
  result.shared += largestTurn;
  return result;
}

} // namespace attentile
