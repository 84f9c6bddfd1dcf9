//===- ShareComparisons.cpp - one comparison for a diagonal ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: writes comparisons of indices that differ by constants as a base
//   compared with a constant: the elements of a fragment share the base of
//   n <= m + k, and those on a diagonal the comparison.
// Expects: registers, no fragments.
// Leaves: comparisons with constants; each once in a block.
// Does not handle: differences without the index that a loop counts, or the
//   position that an entry of a list gives; those of values of which nothing
//   is known, but one argument of the program: in 64 bits they could wrap.
//
//===----------------------------------------------------------------------===//

#include "IndexSums.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/NVVM/Signature.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSHARECOMPARISONS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

using P = arith::CmpIPredicate;

/// What a difference stays within, and what its unknown term is clamped to.
constexpr int64_t kMost = int64_t(1) << 60;

/// How far apart the elements of a fragment are at most.
constexpr int64_t kNear = 1 << 13;

/// What a loop counts is at least 0 and at most this.
constexpr int64_t kMostPosition = INT32_MAX - 4 * kNear;

class Sharer {
public:
  explicit Sharer(warp::KernelOp kernel)
      : kernel(kernel), sums(kernel), builder(kernel.getContext()) {
    kernel->walk([&](scf::ForOp loop) { findPositions(loop); });
  }

  void run();

private:
  struct Member {
    arith::CmpIOp op;
    Value limit;  ///< the side without a loop's index
    P predicate;  ///< of `sum` and 0
    IndexSum sum; ///< the difference of both sides; a loop's index counts once
  };
  using Key = std::pair<Block *, IndexSum::Key>;

  void findPositions(scf::ForOp loop);
  scf::ForOp getCounting(Value index);
  std::optional<int64_t> largest(Value value);
  std::optional<Member> collect(arith::CmpIOp op);
  Value takeIndex(IndexSum &sum);
  void share(MutableArrayRef<Member> members);

  warp::KernelOp kernel;
  IndexSums sums;
  OpBuilder builder;
  llvm::DenseMap<Value, Value> clamped;
  /// Of loops that descend, or go over a list.
  llvm::DenseMap<Value, scf::ForOp> positions;
  llvm::MapVector<Key, SmallVector<Member>, std::map<Key, unsigned>> groups;
};

/// Whether it is the position that an entry of a list gives, held within what a
/// loop counts: clamp(entry) * size.
static bool isHeldPosition(arith::MulIOp position) {
  APInt size, most;
  auto held = position.getLhs().getDefiningOp<arith::MinSIOp>();
  auto positive =
      held ? held.getLhs().getDefiningOp<arith::MaxSIOp>() : arith::MaxSIOp();
  return positive && matchPattern(positive.getRhs(), m_Zero()) &&
         matchPattern(held.getRhs(), m_ConstantInt(&most)) &&
         matchPattern(position.getRhs(), m_ConstantInt(&size)) &&
         most.isIntN(31) && size.isIntN(31) &&
         most.getSExtValue() * size.getSExtValue() <= kMostPosition;
}

/// Where a loop descends, its position is its last one less what its index has
/// come; over a list, that of the entry.
void Sharer::findPositions(scf::ForOp loop) {
  auto add = [&](Value position) {
    sums.keepWhole(position);
    positions[position] = loop;
  };
  if (loop->hasAttr("tile.from_list"))
    for (auto position : loop.getBody()->getOps<arith::MulIOp>())
      if (isHeldPosition(position))
        add(position);
  if (!loop->hasAttr("tile.descending"))
    return;
  auto isDone = [&](Value value) {
    auto difference = value.getDefiningOp<arith::SubIOp>();
    if (difference && loop.isDefinedOutsideOfLoop(difference.getRhs()))
      value = difference.getLhs();
    return value == loop.getInductionVar();
  };
  for (auto position : loop.getBody()->getOps<arith::SubIOp>())
    if (loop.isDefinedOutsideOfLoop(position.getLhs()) &&
        isDone(position.getRhs()))
      add(position);
}

/// The loop whose index or position `index` is, or null.
scf::ForOp Sharer::getCounting(Value index) {
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument)
    return positions.lookup(index);
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop && argument == loop.getInductionVar() ? loop : scf::ForOp();
}

/// What a value that is at least 0 is at most.
std::optional<int64_t> Sharer::largest(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (auto program = dyn_cast<attn::SignatureOpInterface>(owner)) {
      if (llvm::is_contained(program.getSizeArgs(), argument))
        return kLargestSize;
      return std::nullopt;
    }
    auto loop = dyn_cast<scf::ForOp>(owner);
    if (isa<warp::KernelOp>(owner) || (loop && loop->hasAttr("tile.axis") &&
                                       argument == loop.getInductionVar()))
      return int64_t(1) << 32;
    return std::nullopt;
  }
  if (positions.contains(value))
    return int64_t(1) << 32;
  Operation *op = value.getDefiningOp();
  if (isa<warp::ThreadIdOp, warp::LaneIdOp, warp::WarpIdOp>(op))
    return 1 << 10;
  if (isa<arith::RemUIOp, arith::DivUIOp>(op))
    return largest(op->getOperand(0));
  // A coordinate that counts from the end, or is another program's
  // (tile-order-programs): a difference of such values, held at 0; what is held
  // below a bound.
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.isNonNegative() && constant.isIntN(32))
    return constant.getSExtValue();
  if (isa<arith::MaxSIOp>(op)) {
    auto a = largest(op->getOperand(0)), b = largest(op->getOperand(1));
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  }
  if (isa<arith::MinSIOp>(op)) {
    auto a = largest(op->getOperand(0)), b = largest(op->getOperand(1));
    return a && b ? std::optional(std::min(*a, *b)) : (a ? a : b);
  }
  if (isa<arith::SubIOp>(op) && largest(op->getOperand(1)))
    return largest(op->getOperand(0));
  if (isa<arith::AddIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&constant)) &&
      constant.isNegative())
    return largest(op->getOperand(0));
  APInt divisor;
  if (isa<arith::CeilDivSIOp, arith::FloorDivSIOp, arith::DivSIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
      divisor.isStrictlyPositive())
    return largest(op->getOperand(0));
  return std::nullopt;
}

/// The difference of both sides, with the one term that may be anything held
/// so that nothing wraps: a limit beyond all positions stays beyond them.
std::optional<Sharer::Member> Sharer::collect(arith::CmpIOp op) {
  IndexSum left, right;
  if (!op.getLhs().getType().isIndex() || op.getPredicate() == P::eq ||
      op.getPredicate() == P::ne || op.getPredicate() >= P::ult ||
      !sums.collect(op.getLhs(), left) || !sums.collect(op.getRhs(), right))
    return std::nullopt;
  // Every index that a loop counts stands on the left.
  Member member{op, op.getRhs(), op.getPredicate(), {}};
  auto isCounted = [&](const auto &entry) {
    return getCounting(entry.second.first) != nullptr;
  };
  if (llvm::any_of(right.terms, isCounted)) {
    std::swap(left, right);
    member.limit = op.getLhs();
    P swapped[] = {P::sgt, P::sge, P::slt, P::sle};
    member.predicate = swapped[unsigned(member.predicate) - unsigned(P::slt)];
  }
  IndexSum &sum = member.sum = std::move(left);
  for (auto &[place, term] : right.terms)
    sum.add(place, term.first, -term.second);
  sum.constant -= right.constant;
  Value open;
  __int128 reach = std::abs(sum.constant);
  for (auto &[place, term] : sum.terms) {
    auto [value, factor] = term;
    if (std::optional<int64_t> most = largest(value)) {
      reach += __int128(*most) * std::abs(factor);
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    if (open || std::abs(factor) != 1 || !argument ||
        !isa<tile::ProgramOp>(argument.getOwner()->getParentOp()))
      return std::nullopt;
    open = value;
  }
  if (reach >= kMost)
    return std::nullopt;
  if (open) {
    Value &held = clamped[open];
    if (!held) {
      sums.setInsertionPointAfter(builder, open);
      auto bound = [&](int64_t value) {
        return arith::ConstantIndexOp::create(builder, open.getLoc(), value);
      };
      held = arith::MinSIOp::create(
          builder, open.getLoc(),
          arith::MaxSIOp::create(builder, open.getLoc(), open, bound(-kMost)),
          bound(kMost));
      sums.addDerived(held, open);
    }
    sums.replace(sum, open, held);
  }
  return member;
}

/// Of a difference, takes the index that a loop counts, if the rest does not
/// change in that; null if there is none.
Value Sharer::takeIndex(IndexSum &sum) {
  for (auto &[place, term] : sum.terms) {
    Value index = term.first;
    scf::ForOp loop = getCounting(index);
    if (!loop || term.second != 1)
      continue;
    sum.terms.erase(place);
    bool isFixed =
        !sum.terms.empty() && llvm::all_of(sum.terms, [&](const auto &other) {
          return loop.isDefinedOutsideOfLoop(other.second.first);
        });
    return isFixed ? index : Value();
  }
  return {};
}

/// n + rest < c as n + rest' < c with a rest' of 32 bits: n is at least 0 and
/// at most 2^31 - 2^15, c is small, so that what is beyond 2^14 or -2^31 + 2^14
/// may as well be there.
void Sharer::share(MutableArrayRef<Member> members) {
  int64_t first = members.front().sum.constant;
  bool areNear = llvm::all_of(members, [&](const Member &member) {
    return std::abs(member.sum.constant - first) <= kNear;
  });
  // One limit for all, the axis's end, needs no other.
  bool haveLimits = llvm::any_of(members, [&](const Member &member) {
    return member.limit != members.front().limit;
  });
  IndexSum rest = members.front().sum;
  Value index = takeIndex(rest);
  if (!haveLimits || !areNear || !index)
    return;
  Value fixed = sums.makeBase(rest);
  sums.setInsertionPointAfter(builder, fixed);
  Location loc = members.front().op.getLoc();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  if (first != 0)
    fixed = arith::AddIOp::create(builder, loc, fixed, constant(first));
  fixed = arith::MaxSIOp::create(builder, loc, fixed,
                                 constant(INT32_MIN + 2 * kNear));
  fixed = arith::MinSIOp::create(builder, loc, fixed, constant(2 * kNear));
  // Here, not in the loop: the branch may not be taken.
  builder.setInsertionPoint(members.front().op);
  Value base = arith::AddIOp::create(builder, loc, fixed, index);
  std::map<std::pair<P, int64_t>, arith::CmpIOp> made;
  for (Member &member : members) {
    int64_t limit = first - member.sum.constant;
    arith::CmpIOp &shared = made[{member.predicate, limit}];
    if (!shared) {
      builder.setInsertionPoint(member.op);
      shared = arith::CmpIOp::create(builder, member.op.getLoc(),
                                     member.predicate, base, constant(limit));
    }
    member.op.replaceAllUsesWith(shared.getResult());
    member.op.erase();
  }
}

void Sharer::run() {
  SmallVector<arith::CmpIOp> work;
  kernel->walk([&](arith::CmpIOp op) { work.push_back(op); });
  for (arith::CmpIOp op : work)
    if (std::optional<Member> member = collect(op)) {
      Key key{op->getBlock(), member->sum.getKey()};
      groups[key].push_back(std::move(*member));
    }
  for (auto &[key, members] : groups)
    share(members);
}

struct WarpShareComparisons
    : impl::WarpShareComparisonsBase<WarpShareComparisons> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) { Sharer(kernel).run(); });
  }
};

} // namespace
} // namespace attentile
