//===- ShareRandom.cpp - elements of one call share it --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes one attn.philox for the attn.random that are halves of its words.
//   An accumulator's lane holds columns 8 i + 2 c and 8 i + 2 c + 1 of a row:
//   with a tile that starts at a multiple of 32, eight of them are one call.
// Expects: registers, no fragments; indices as sums.
// Leaves: attn.philox; attn.random where the place within 32 columns is not
//   known well enough.
// Does not handle: columns that start at no multiple of 8.
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

/// j = start + lane + constant: `start` a multiple of `step` (8, 16 or 32),
/// `lane` even and below 8.
struct Place {
  IndexSum start, lane;
  int64_t step = kRandomSpan;
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
      if (std::optional<Place> place = findPlace(op.getIndices().back()))
        calls[keyOf(op, *place)].push_back({op, *place});
    });
    for (auto &[key, elements] : calls)
      share(elements);
  }

private:
  struct Element {
    attn::RandomOp op;
    Place place;
  };
  /// What is one call's: block, values, terms of the column and its group.
  using Key = SmallVector<int64_t, 12>;

  std::optional<Place> findPlace(Value j);
  Key keyOf(attn::RandomOp op, const Place &place);
  void share(ArrayRef<Element> elements);

  warp::KernelOp kernel;
  IndexSums sums;
  /// In the program's order: keys hold addresses, which differ between runs.
  llvm::MapVector<Key, SmallVector<Element>, std::map<Key, unsigned>> calls;
};

/// The least that a lane's part is not: n for x mod n.
static std::optional<int64_t> boundOf(Value value) {
  APInt constant;
  auto rest = value.getDefiningOp<arith::RemUIOp>();
  if (rest && matchPattern(rest.getRhs(), m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

std::optional<Place> Sharer::findPlace(Value j) {
  IndexSum sum;
  if (!sums.collect(j, sum))
    return std::nullopt;
  Place place;
  place.constant = sum.constant;
  int64_t reach = 0;
  for (auto &[number, term] : sum.terms) {
    auto [value, factor] = term;
    int64_t known = knownFactor(value, kRandomSpan);
    APInt times(64, factor, /*isSigned=*/true);
    known = std::min<int64_t>(
        kRandomSpan, known << std::min(times.countTrailingZeros(), 5u));
    if (known >= 8) {
      place.start.terms[number] = term;
      place.step = std::min(place.step, known);
      continue;
    }
    std::optional<int64_t> bound = boundOf(value);
    if (!bound || known < 2 || factor < 0)
      return std::nullopt;
    reach += (*bound - 1) * factor;
    place.lane.terms[number] = term;
  }
  if (place.rest() % 8 + reach >= 8)
    return std::nullopt;
  return place;
}

Sharer::Key Sharer::keyOf(attn::RandomOp op, const Place &place) {
  Key key = {int64_t(intptr_t(op->getBlock()))};
  for (Value value : op->getOperands().drop_back())
    key.push_back(int64_t(intptr_t(value.getAsOpaquePointer())));
  for (const IndexSum *sum : {&place.start, &place.lane}) {
    key.push_back(-1);
    for (auto &[number, term] : sum->terms)
      key.append({int64_t(number), term.second});
  }
  key.append({place.step, place.group(), place.rest() % 8 / 2});
  return key;
}

void Sharer::share(ArrayRef<Element> elements) {
  attn::RandomOp first = elements.front().op;
  const Place &place = elements.front().place;
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
  SmallVector<Value, 4> words =
      native::makeCall(b, loc, indices, native::lowWord(b, loc, call),
                       native::keyWords(b, loc, first.getSeed()));
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
      use.set(native::halfOf(b, loc, words[element.place.rest() / 8],
                             element.place.rest() % 2));
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
