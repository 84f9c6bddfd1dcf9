//===- RowPositions.cpp - positions seen from their axis's end ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attentile {
namespace {

/// A sum of values times 1 or -1, in the order in which they were met, and a
/// constant.
struct Sum {
  llvm::SmallMapVector<Value, int64_t, 8> terms;
  int64_t constant = 0;

  bool collect(Value value, int64_t sign);
};

/// Sums of more are none of positions.
constexpr size_t kMostTerms = 8;

bool Sum::collect(Value value, int64_t sign) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return collect(op->getOperand(0), sign) &&
           collect(op->getOperand(1), isa<arith::SubIOp>(op) ? -sign : sign);
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number))) {
    constant += sign * number.getSExtValue();
    return true;
  }
  terms[value] += sign;
  return terms.size() <= kMostTerms;
}

/// A tile's first row: a coordinate of the grid times the tile's rows.
struct FirstRow {
  Value extent; // of its axis
  int64_t rows;
};

/// bound - 1, of a coordinate of the grid.
Value matchLast(Value value, warp::KernelOp kernel) {
  Operation *last = value.getDefiningOp();
  bool isLess = last && last->getNumOperands() == 2 &&
                ((isa<arith::SubIOp>(last) &&
                  getConstantIntValue(last->getOperand(1)) == 1) ||
                 (isa<arith::AddIOp>(last) &&
                  getConstantIntValue(last->getOperand(1)) == -1));
  return isLess && llvm::is_contained(kernel.getBounds(), last->getOperand(0))
             ? last->getOperand(0)
             : Value();
}

/// The bound of a coordinate that counts from the grid's start or from its end,
/// or is another program's (tile-order-programs).
Value matchCoordinate(Value value, warp::KernelOp kernel) {
  if (auto positive = value.getDefiningOp<arith::MaxSIOp>();
      positive && getConstantIntValue(positive.getRhs()) == 0)
    value = positive.getLhs();
  if (auto held = value.getDefiningOp<arith::MinSIOp>())
    return matchLast(held.getRhs(), kernel);
  auto reversed = value.getDefiningOp<arith::SubIOp>();
  auto id = dyn_cast<BlockArgument>(reversed ? reversed.getRhs() : value);
  if (!id || id.getOwner() != &kernel.getBody().front())
    return {};
  Value bound = kernel.getBounds()[id.getArgNumber()];
  return !reversed || matchLast(reversed.getLhs(), kernel) == bound ? bound
                                                                    : Value();
}

std::optional<FirstRow> matchFirstRow(Value value, warp::KernelOp kernel) {
  auto product = value.getDefiningOp<arith::MulIOp>();
  auto rows = product ? getConstantIntValue(product.getRhs()) : std::nullopt;
  Value bound = rows ? matchCoordinate(product.getLhs(), kernel) : Value();
  auto count =
      bound ? bound.getDefiningOp<arith::CeilDivSIOp>() : arith::CeilDivSIOp();
  if (!count || getConstantIntValue(count.getRhs()) != rows)
    return std::nullopt;
  return FirstRow{count.getLhs(), *rows};
}

/// first - extent, held to what it is at most: the range analysis sees it.
Value emitBehindEnd(OpBuilder &b, Location loc, Value first, FirstRow row) {
  Value behind = arith::SubIOp::create(b, loc, first, row.extent);
  Value most = arith::ConstantIndexOp::create(b, loc, row.rows - 1);
  return arith::MinSIOp::create(b, loc, behind, most);
}

/// The end of a tile's rows, min(x, extent).
struct LastRow {
  Value extent, end;
};

std::optional<LastRow> matchLastRow(Value value, const Sum &sum) {
  if (auto least = value.getDefiningOp<arith::MinSIOp>())
    for (unsigned i : {0, 1})
      if (sum.terms.lookup(least->getOperand(i)) == -1)
        return LastRow{least->getOperand(i), least->getOperand(1 - i)};
  return std::nullopt;
}

void anchor(Operation *op, warp::KernelOp kernel);

/// min(x, extent) - extent = min(x - extent, 0).
Value emitBeforeEnd(OpBuilder &b, Location loc, LastRow row,
                    warp::KernelOp kernel) {
  Value behind = arith::SubIOp::create(b, loc, row.end, row.extent);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  auto least = arith::MinSIOp::create(b, loc, behind, zero);
  anchor(behind.getDefiningOp(), kernel);
  return least;
}

void anchor(Operation *op, warp::KernelOp kernel) {
  Sum sum;
  if (!op->getResult(0).getType().isIndex() ||
      !sum.collect(op->getResult(0), 1))
    return;
  for (auto [first, sign] : sum.terms) {
    if (sign != 1)
      continue;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value extent, result;
    if (std::optional<LastRow> last = matchLastRow(first, sum)) {
      extent = last->extent;
      result = emitBeforeEnd(b, loc, *last, kernel);
    } else if (std::optional<FirstRow> row = matchFirstRow(first, kernel);
               row && sum.terms.lookup(row->extent) == -1) {
      extent = row->extent;
      result = emitBehindEnd(b, loc, first, *row);
    } else {
      continue;
    }
    for (auto [value, times] : sum.terms) {
      if (value == first || value == extent || times == 0)
        continue;
      Value term = value;
      if (std::abs(times) != 1)
        term = arith::MulIOp::create(
            b, loc, value,
            arith::ConstantIndexOp::create(b, loc, std::abs(times)));
      result = times > 0
                   ? arith::AddIOp::create(b, loc, result, term).getResult()
                   : arith::SubIOp::create(b, loc, result, term).getResult();
    }
    if (sum.constant != 0)
      result = arith::AddIOp::create(
          b, loc, result, arith::ConstantIndexOp::create(b, loc, sum.constant));
    op->getResult(0).replaceAllUsesWith(result);
    return;
  }
}

} // namespace

void anchorRowPositions(warp::KernelOp kernel) {
  SmallVector<Operation *> sums;
  kernel.getBody().walk([&](Operation *op) {
    if (isa<arith::AddIOp, arith::SubIOp>(op))
      sums.push_back(op);
  });
  // Users first: a sum is taken apart down to its terms.
  for (Operation *op : llvm::reverse(sums)) {
    bool isPart = llvm::all_of(op->getUsers(), [](Operation *user) {
      return isa<arith::AddIOp, arith::SubIOp>(user);
    });
    if (!op->use_empty() && !isPart)
      anchor(op, kernel);
    if (op->use_empty())
      op->erase();
  }
}

} // namespace attentile
