//===- ShareLoads.cpp - lanes load distinct elements and exchange them ----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where the lanes of a warp load the same elements in different places,
//   each lane loads another one and the others take it from there.
// Expects: registers, no fragments; equal loads merged.
// Leaves: loads of which no two share elements, and those outside loops.
// Does not handle: indices whose part of the lane is more than arithmetic.
//
// A score's fragment in a thread with lane 4 g + t is that of rows g + 8 i and
// columns 2 t + 8 j and 2 t + 8 j + 1. So for a bias by n - m its loads are at
//
//   base + 2 t - g + c      c = 0, 1, 8, 9, 16, 17, ...
//
// where base is the same in all lanes and 2 t - g lies in -7 .. 6. What three
// pairs of c need, base - 7 .. base + 23, are 31 elements: a load for each lane
// and a shuffle for each c, instead of a load and its address for each c. The
// index may be any function of the sum, clamped or from another tensor.
//
//===----------------------------------------------------------------------===//

#include "IndexSums.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <numeric>

namespace attentile {
#define GEN_PASS_DEF_WARPSHARELOADS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

constexpr int64_t kLanes = tile::Layout::kLanes;

/// The value of an expression of the lane's number in one lane.
std::optional<int64_t> evaluate(Value value, int64_t lane) {
  if (value.getDefiningOp<warp::LaneIdOp>())
    return lane;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::DivUIOp, arith::RemUIOp, arith::MulIOp,
                       arith::AddIOp, arith::SubIOp, arith::AndIOp>(op))
    return std::nullopt;
  std::optional<int64_t> x = evaluate(op->getOperand(0), lane);
  std::optional<int64_t> y = evaluate(op->getOperand(1), lane);
  if (!x || !y)
    return std::nullopt;
  if (isa<arith::MulIOp>(op))
    return *x * *y;
  if (isa<arith::AddIOp>(op))
    return *x + *y;
  if (isa<arith::SubIOp>(op))
    return *x - *y;
  if (*x < 0 || *y <= 0)
    return std::nullopt;
  if (isa<arith::AndIOp>(op))
    return *x & *y;
  return isa<arith::DivUIOp>(op) ? *x / *y : *x % *y;
}

/// A load and the constant of its sum beside that of the group's first.
struct Member {
  warp::LoadOp load;
  int64_t offset;
};

/// Loads whose indices are one function of sums that differ by constants.
struct Group {
  IndexSum sum; ///< of the first load
  SmallVector<Member> members;
  SmallVector<int64_t> lanes; ///< what each lane adds to the sum
  IndexSum lanePart;
};

class Sharer {
public:
  explicit Sharer(warp::KernelOp kernel) : kernel(kernel), sums(kernel) {}
  void run();

private:
  bool isUniform(Value value);
  bool splitLanes(Group &group);
  bool findSum(Value value, IndexSum &sum);
  bool differsByConstant(const IndexSum &only, Value a, Value b,
                         std::optional<int64_t> &offset);
  void share(Group &group);
  void replace(warp::LoadOp load, Value shared);
  Value cloneAt(OpBuilder &builder, Value value, Value instead,
                IRMapping &mapping);

  warp::KernelOp kernel;
  IndexSums sums;
  DenseMap<Value, bool> uniform;
};

/// Whether a value is the same in all lanes of a warp.
bool Sharer::isUniform(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return !loop || argument == loop.getInductionVar();
  }
  auto [entry, isNew] = uniform.try_emplace(value, false);
  if (!isNew)
    return entry->second;
  Operation *op = value.getDefiningOp();
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      isa<warp::LaneIdOp, warp::ThreadIdOp, warp::MmaOp, warp::ShuffleXorOp,
          warp::ShuffleFromOp>(op) ||
      !llvm::all_of(op->getOperands(), [&](Value v) { return isUniform(v); }))
    return false;
  return uniform[value] = true;
}

/// The lane's part of the sum, in each lane, and what it is the sum of; false
/// where it is not known, or nothing.
bool Sharer::splitLanes(Group &group) {
  group.lanes.assign(kLanes, 0);
  for (auto &[place, term] : group.sum.terms) {
    auto [value, factor] = term;
    if (isUniform(value))
      continue;
    group.lanePart.add(place, value, factor);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      std::optional<int64_t> part = evaluate(value, lane);
      if (!part)
        return false;
      group.lanes[lane] += factor * *part;
    }
  }
  return !group.lanePart.terms.empty();
}

/// The first sum with a lane's part that `value` is computed from.
bool Sharer::findSum(Value value, IndexSum &sum) {
  Operation *op = value.getDefiningOp();
  if (!op || isUniform(value) || isa<warp::ShuffleFromOp>(op))
    return false;
  if (value.getType().isIndex() && isa<arith::AddIOp, arith::SubIOp>(op))
    return sums.collect(value, sum);
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return findSum(operand, sum); });
}

/// Whether `b` is computed as `a` is, with a sum that is greater by `offset` in
/// the place of `only`, the one sum of lanes that `a` is computed from.
bool Sharer::differsByConstant(const IndexSum &only, Value a, Value b,
                               std::optional<int64_t> &offset) {
  if (isUniform(a) || isUniform(b))
    return a == b;
  Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
  if (!opA || !opB || opA->getNumRegions() != 0 || !isMemoryEffectFree(opA))
    return false;
  if (a.getType().isIndex() && isa<arith::AddIOp, arith::SubIOp>(opA)) {
    IndexSum sumA, sumB;
    if (!sums.collect(a, sumA) || !sums.collect(b, sumB) ||
        sumA.terms != only.terms || sumA.constant != only.constant ||
        sumB.terms != only.terms)
      return false;
    int64_t difference = sumB.constant - sumA.constant;
    if (offset && *offset != difference)
      return false;
    offset = difference;
    return true;
  }
  if (opA->getName() != opB->getName() ||
      opA->getAttrDictionary() != opB->getAttrDictionary() ||
      opA->getNumOperands() == 0 || opA->getNumResults() != 1 ||
      opA->getResultTypes() != opB->getResultTypes() ||
      opA->getNumOperands() != opB->getNumOperands())
    return false;
  return llvm::all_of(llvm::zip_equal(opA->getOperands(), opB->getOperands()),
                      [&](auto pair) {
                        return differsByConstant(only, std::get<0>(pair),
                                                 std::get<1>(pair), offset);
                      });
}

/// `value` again with `instead` for the sum that it is computed from.
Value Sharer::cloneAt(OpBuilder &builder, Value value, Value instead,
                      IRMapping &mapping) {
  if (isUniform(value))
    return value;
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (value.getType().isIndex() && isa<arith::AddIOp, arith::SubIOp>(op))
    return instead;
  for (Value operand : op->getOperands())
    mapping.map(operand, cloneAt(builder, operand, instead, mapping));
  Operation *made = builder.clone(*op, mapping);
  // Lanes beyond those that are asked for may be outside.
  if (auto load = dyn_cast<warp::LoadOp>(made))
    if (std::optional<ArrayRef<bool>> known = load.getInBounds()) {
      SmallVector<bool> inside(*known);
      for (auto [dim, index] :
           llvm::enumerate(cast<warp::LoadOp>(op).getIndices()))
        inside[dim] &= isUniform(index);
      load.setInBounds(inside);
    }
  return mapping.lookup(value);
}

/// Puts `shared` in the place of each element of `vector`, made of `elements`,
/// that is `value`.
static void replaceExtracted(Value vector, ValueRange elements, Value value,
                             Value shared) {
  for (Operation *user : llvm::make_early_inc_range(vector.getUsers())) {
    auto extract = dyn_cast<vector::ExtractOp>(user);
    if (!extract || extract.hasDynamicPosition() ||
        extract.getStaticPosition().size() != 1 ||
        elements[extract.getStaticPosition().front()] != value)
      continue;
    extract.replaceAllUsesWith(shared);
    extract.erase();
  }
}

/// Puts `shared`, the load's value in f32 where that is a float of 16 bits, in
/// its place.
void Sharer::replace(warp::LoadOp load, Value shared) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  if (load.getType() == shared.getType())
    return load.replaceAllUsesWith(shared);
  // What is extended, alone or in pairs, is there already.
  for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
    if (isa<arith::ExtFOp>(user) &&
        user->getResult(0).getType() == shared.getType()) {
      user->replaceAllUsesWith(ValueRange{shared});
      user->erase();
      continue;
    }
    auto pair = dyn_cast<vector::FromElementsOp>(user);
    if (!pair)
      continue;
    for (Operation *wide : pair->getUsers())
      if (isa<arith::ExtFOp>(wide))
        replaceExtracted(wide->getResult(0), pair.getElements(), load, shared);
  }
  builder.setInsertionPointAfter(shared.getDefiningOp());
  Value narrow = arith::TruncFOp::create(builder, loc, load.getType(), shared);
  load.replaceAllUsesWith(narrow);
}

/// Loads for windows of 32 elements, and a shuffle for each of the group's.
void Sharer::share(Group &group) {
  if (!splitLanes(group))
    return;
  auto [least, most] =
      std::minmax_element(group.lanes.begin(), group.lanes.end());
  llvm::sort(group.members, [](const Member &a, const Member &b) {
    return a.offset < b.offset;
  });
  int64_t first = group.members.front().offset, low = *least;
  int64_t step = 0;
  for (const Member &member : group.members)
    step = std::gcd(step, member.offset - first);
  for (int64_t part : group.lanes)
    step = std::gcd(step, part - low);
  if (step == 0)
    return; // one element for all lanes
  int64_t span = (*most - low) / step;
  // A window begins with the least element of its first member.
  SmallVector<SmallVector<Member>> windows;
  for (const Member &member : group.members) {
    if (windows.empty() ||
        (member.offset - windows.back().front().offset) / step + span >= kLanes)
      windows.emplace_back();
    windows.back().push_back(member);
  }
  if (span >= kLanes || 2 * windows.size() > group.members.size())
    return;

  // Before all of them: in the order of the program the first stands first.
  Operation *before = group.members.front().load;
  for (const Member &member : group.members)
    if (member.load->isBeforeInBlock(before))
      before = member.load;
  OpBuilder builder(before);
  Location loc = before->getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value lane;
  kernel->walk([&](warp::LaneIdOp op) {
    lane = op;
    return WalkResult::interrupt();
  });
  IndexSum byLane;
  for (auto &[place, term] : group.sum.terms)
    if (isUniform(term.first))
      byLane.add(place, term.first, term.second);
  sums.add(byLane, lane, step);
  Value base = sums.makeBase(byLane);
  Value from = sums.makeBase(group.lanePart);
  OpBuilder behind(builder);
  sums.setInsertionPointAfter(behind, from);
  from = arith::SubIOp::create(
      behind, loc, from, arith::ConstantIndexOp::create(behind, loc, low));
  if (step != 1)
    from = arith::DivUIOp::create(
        behind, loc, from, arith::ConstantIndexOp::create(behind, loc, step));
  warp::LoadOp example = group.members.front().load;
  int64_t constant = group.sum.constant + low;
  SmallVector<Value> loads;
  for (ArrayRef<Member> window : windows) {
    Value sum = arith::AddIOp::create(builder, loc, base,
                                      number(constant + window.front().offset));
    IRMapping mapping;
    Value loaded = cloneAt(builder, example, sum, mapping);
    if (isa<Float16Type, BFloat16Type>(loaded.getType()))
      loaded =
          arith::ExtFOp::create(builder, loc, builder.getF32Type(), loaded);
    loads.push_back(loaded);
  }
  for (auto [window, loaded] : llvm::zip_equal(windows, loads)) {
    int64_t start = window.front().offset;
    for (const Member &member : window) {
      Value at = from;
      if (member.offset != start)
        at = arith::AddIOp::create(builder, loc, from,
                                   number((member.offset - start) / step));
      replace(member.load,
              warp::ShuffleFromOp::create(builder, loc, loaded, at));
    }
  }
  for (const Member &member : group.members)
    member.load->erase();
}

void Sharer::run() {
  kernel->walk([&](scf::ForOp loop) {
    SmallVector<Group> groups;
    for (auto load : loop.getBody()->getOps<warp::LoadOp>()) {
      IndexSum sum;
      if (!load.getType().isIntOrFloat() ||
          (load.getType().getIntOrFloatBitWidth() != 32 &&
           !isa<Float16Type, BFloat16Type>(load.getType())) ||
          !findSum(load, sum))
        continue;
      std::optional<int64_t> offset;
      auto group = llvm::find_if(groups, [&](Group &group) {
        offset.reset();
        return differsByConstant(group.sum, group.members.front().load, load,
                                 offset);
      });
      if (group != groups.end())
        group->members.push_back({load, *offset});
      else
        groups.push_back({sum, {{load, 0}}, {}, {}});
    }
    // The last first: their indices may be loads of groups before them, which
    // are no function of the lane's sum once other lanes make them.
    for (Group &group : llvm::reverse(groups))
      if (group.members.size() > 1)
        share(group);
  });
}

struct WarpShareLoads : impl::WarpShareLoadsBase<WarpShareLoads> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) { Sharer(kernel).run(); });
  }
};

} // namespace
} // namespace attentile
