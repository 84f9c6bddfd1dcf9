//===- ShareRandom.cpp - elements of one call share it --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes one attn.philox for the attn.random that are halves of its words.
//   An accumulator's lane holds columns 8 i + 2 c and 8 i + 2 c + 1 of rows r
//   and r + 8: with a tile that starts at a multiple of 32 columns and of 16
//   rows, sixteen of them are one call.
// Expects: registers, no fragments; indices as sums.
// Leaves: attn.philox; attn.random where the place within 32 columns is not
//   known well enough.
// Does not handle: columns that start at no multiple of 8. Rows that start at
//   no multiple of 16 have a call each.
//
//===----------------------------------------------------------------------===//

#include "IndexSums.h"
#include "attentile/KnownFactor.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/Native/Random.h"
#include "attentile/Philox.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSHARERANDOM
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// An index as start + lane + constant: `start` a multiple of `step` (8, 16 or
/// 32), `lane` below 8 and so that it does not pass the next 8.
struct Place {
  IndexSum start, lane;
  int64_t step;
  int64_t constant = 0;

  /// The multiple of `step` that the constant lies behind, and how far.
  int64_t group() const { return llvm::divideFloorSigned(constant, step); }
  int64_t rest() const { return constant - group() * step; }
};

class Sharer {
public:
  explicit Sharer(warp::KernelOp kernel) : kernel(kernel), sums(kernel) {}

  void run() {
    kernel->walk([&](attn::RandomOp op) {
      OperandRange indices = op.getIndices();
      std::optional<Place> column = findPlace(indices.back(), kRandomSpan, 2);
      if (!column)
        return;
      std::optional<Place> row;
      if (indices.size() > 1)
        row = findPlace(indices[indices.size() - 2], kRandomRows, 1);
      if (row && row->step < kRandomRows)
        row.reset();
      calls[keyOf(op, *column, row)].push_back({op, *column, row});
    });
    for (auto &[key, elements] : calls)
      share(elements);
  }

private:
  struct Element {
    attn::RandomOp op;
    Place column;
    std::optional<Place> row; // if it is known well enough
  };
  /// What is one call's: block, values, terms of the column and of the row, and
  /// their groups.
  using Key = SmallVector<int64_t, 16>;

  std::optional<Place> findPlace(Value index, int64_t span, int64_t least);
  Key keyOf(attn::RandomOp op, const Place &column,
            const std::optional<Place> &row);
  Value makeRow(OpBuilder &b, Location loc, const Place &row);
  void share(ArrayRef<Element> elements);

  warp::KernelOp kernel;
  IndexSums sums;
  /// In the program's order: keys hold addresses, which differ between runs.
  llvm::MapVector<Key, SmallVector<Element, 0>, std::map<Key, unsigned>> calls;
};

static constexpr int64_t kLanes = 32; // of a warp

/// The least that a lane's part is not: n for x mod n, 32 / n for a lane's
/// number by n.
static std::optional<int64_t> boundOf(Value value) {
  APInt constant;
  if (value.getDefiningOp<warp::LaneIdOp>())
    return kLanes;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::RemUIOp, arith::DivUIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
    return std::nullopt;
  int64_t number = constant.getSExtValue();
  if (isa<arith::RemUIOp>(op))
    return number;
  std::optional<int64_t> whole = boundOf(op->getOperand(0));
  if (!whole || number <= 0)
    return std::nullopt;
  return llvm::divideCeil(*whole, number);
}

/// The index's place in spans of `span`; the lane's part is a multiple of
/// `least`.
std::optional<Place> Sharer::findPlace(Value index, int64_t span,
                                       int64_t least) {
  IndexSum sum;
  if (!sums.collect(index, sum))
    return std::nullopt;
  Place place;
  place.step = span;
  place.constant = sum.constant;
  int64_t reach = 0;
  for (auto &[number, term] : sum.terms) {
    auto [value, factor] = term;
    int64_t known = knownFactor(value, span);
    APInt times(64, factor, /*isSigned=*/true);
    known = std::min<int64_t>(
        span, known << std::min(times.countTrailingZeros(), 5u));
    if (known >= 8) {
      place.start.terms[number] = term;
      place.step = std::min(place.step, known);
      continue;
    }
    std::optional<int64_t> bound = boundOf(value);
    if (!bound || known < least || factor < 0)
      return std::nullopt;
    reach += (*bound - 1) * factor;
    place.lane.terms[number] = term;
  }
  if (place.rest() % 8 + reach >= 8)
    return std::nullopt;
  return place;
}

Sharer::Key Sharer::keyOf(attn::RandomOp op, const Place &column,
                          const std::optional<Place> &row) {
  Key key = {int64_t(intptr_t(op->getBlock()))};
  for (Value value : op->getOperands().drop_back(row ? 2 : 1))
    key.push_back(int64_t(intptr_t(value.getAsOpaquePointer())));
  auto add = [&](const Place &place, int64_t within) {
    for (const IndexSum *sum : {&place.start, &place.lane}) {
      key.push_back(-1);
      for (auto &[number, term] : sum->terms)
        key.append({int64_t(number), term.second});
    }
    key.append({place.step, place.group(), within});
  };
  add(column, column.rest() % 8 / 2);
  if (row)
    add(*row, row->rest() % 8);
  return key;
}

/// 8 * (i / 16) + i % 8.
Value Sharer::makeRow(OpBuilder &b, Location loc, const Place &row) {
  Value result =
      arith::ConstantIndexOp::create(b, loc, 8 * row.group() + row.rest() % 8);
  if (Value start = sums.makeBase(row.start)) {
    Value two = arith::ConstantIndexOp::create(b, loc, 2);
    start = arith::DivUIOp::create(b, loc, start, two);
    result = arith::AddIOp::create(b, loc, start, result);
  }
  if (Value lane = sums.makeBase(row.lane))
    result = arith::AddIOp::create(b, loc, result, lane);
  return result;
}

void Sharer::share(ArrayRef<Element> elements) {
  attn::RandomOp first = elements.front().op;
  const Place &place = elements.front().column;
  const std::optional<Place> &row = elements.front().row;
  Value start = sums.makeBase(place.start), lane = sums.makeBase(place.lane);
  OpBuilder b(first);
  Location loc = first.getLoc();
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  auto add = [&](Value a, int64_t n) -> Value {
    return n == 0 && a ? a
           : a         ? arith::AddIOp::create(b, loc, a, number(n)).getResult()
                       : number(n);
  };
  // 4 * (j / 32) + (j % 8) / 2; `within` is the first element's place in 32.
  Value span, within;
  int64_t group = place.group();
  if (place.step == kRandomSpan) {
    span = start ? arith::DivUIOp::create(b, loc, start, number(kRandomSpan))
                       .getResult()
                 : start;
    span = add(span, group);
  } else {
    Value from = add(start, group * place.step);
    span = arith::DivUIOp::create(b, loc, from, number(kRandomSpan));
    within = arith::RemUIOp::create(b, loc, from, number(kRandomSpan));
  }
  Value call = arith::MulIOp::create(b, loc, span, number(4));
  if (lane)
    call = arith::AddIOp::create(
        b, loc, call, arith::DivUIOp::create(b, loc, lane, number(2)));
  call = add(call, place.rest() % 8 / 2);
  SmallVector<Value, 4> indices;
  for (Value index : first.getIndices().drop_back())
    indices.push_back(native::lowWord(b, loc, index));
  Value unknownRow = indices.empty() || row ? Value() : indices.back();
  if (row)
    indices.back() = native::lowWord(b, loc, makeRow(b, loc, *row));
  else if (unknownRow)
    indices.back() = native::pairedRow(b, loc, unknownRow);
  SmallVector<Value, 4> words =
      native::makeCall(b, loc, indices, native::lowWord(b, loc, call),
                       native::keyWords(b, loc, first.getSeed()));
  if (unknownRow)
    for (Value &word : words)
      word = native::turnForRow(b, loc, word, unknownRow);
  auto isSet = [&](int64_t bit) -> Value {
    Value rest = arith::DivUIOp::create(b, loc, within, number(bit));
    rest = arith::RemUIOp::create(b, loc, rest, number(2));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rest,
                                 number(0));
  };
  // A tile that may start in the middle of 32 columns: its words move up.
  auto moveUp = [&](int64_t by) {
    Value condition = isSet(8 * by);
    for (int64_t i = 0; i + by < 4; ++i)
      words[i] =
          arith::SelectOp::create(b, loc, condition, words[i + by], words[i]);
  };
  if (place.step <= 16)
    moveUp(2);
  if (place.step == 8)
    moveUp(1);
  // A half where it is used: words wait in half the registers.
  for (const Element &element : elements) {
    attn::RandomOp op = element.op;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      b.setInsertionPoint(use.getOwner());
      Value word = words[element.column.rest() / 8];
      if (element.row && element.row->rest() >= 8)
        word = native::turn(b, loc, word);
      use.set(native::halfOf(b, loc, word, element.column.rest() % 2));
    }
    op->erase();
  }
}

struct WarpShareRandom : impl::WarpShareRandomBase<WarpShareRandom> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) { Sharer(kernel).run(); });
  }
};

} // namespace
} // namespace attentile
