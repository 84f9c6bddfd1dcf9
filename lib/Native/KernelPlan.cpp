//===- KernelPlan.cpp - what is computed where, in which order ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "attentile/KnownFactor.h"
#include "attentile/Philox.h"
#include "attentile/Sources.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;

namespace attentile::native {

/// A value is recomputed where it is used unless it costs this much (in vector
/// instructions, about) and is used twice.
static constexpr int64_t kExpensive = 10;

bool isWideInteger(Type type) {
  Type element = tile::getElementType(type);
  return element.isIndex() || element.isInteger(64);
}

/// Operations that are computed element by element.
static bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && tile::isTile(op->getResult(0).getType()) &&
         (isa<tile::IndexOp, tile::BroadcastOp, tile::RefOp, arith::ConstantOp>(
              op) ||
          OpTrait::hasElementwiseMappableTraits(op));
}

/// Vector instructions of one element-wise operation.
static int64_t getOwnCost(Operation *op) {
  if (isa<tile::IndexOp, tile::BroadcastOp, arith::ConstantOp>(op))
    return 0;
  if (isa<attn::FloorDivOp, attn::FloorModOp, arith::DivSIOp, arith::RemSIOp,
          arith::DivUIOp, arith::RemUIOp, arith::RemFOp, attn::RandomOp>(op))
    return 2 * kExpensive;
  if (isa<arith::DivFOp>(op))
    return kExpensive;
  bool cheapMath =
      isa<math::FmaOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
          math::RoundEvenOp, math::TruncOp, math::CopySignOp, math::SqrtOp>(op);
  if (op->getDialect()->getNamespace() == "math" && !cheapMath)
    return 2 * kExpensive;
  return 1;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

Axis KernelPlan::getVectorAxis(Type type) const {
  ArrayRef<StringAttr> axes = tile::getAxes(type);
  if (axes.empty())
    return {};
  return llvm::is_contained(axes, lane) ? lane : axes.back();
}

unsigned KernelPlan::getLanes(int64_t size, bool wide) const {
  return std::gcd<int64_t>(size, std::max(vectorBits / (wide ? 64 : 32), 1u));
}

unsigned KernelPlan::getStripe(int64_t size) const {
  return std::gcd<int64_t>(size, 2 * getLanes(vectorBits, /*wide=*/false));
}

int KernelPlan::getBuffer(Value value) const {
  auto found = bufferOf.find(strip(value));
  return found == bufferOf.end() ? -1 : found->second;
}

bool KernelPlan::isAvailable(Value value) const {
  if (!tile::isTile(value.getType()) || isa<BlockArgument>(value))
    return true;
  Operation *op = value.getDefiningOp();
  return isa<tile::LoadOp, scf::ForOp, scf::IfOp>(op) || dots.contains(op) ||
         roots.contains(value);
}

const DotPlan *KernelPlan::getDotPlan(Operation *op) const {
  auto found = dots.find(op);
  return found == dots.end() ? nullptr : &found->second;
}

Value KernelPlan::strip(Value value) {
  while (auto extend = value.getDefiningOp<arith::ExtFOp>()) {
    if (!tile::isTile(value.getType()))
      break;
    value = extend.getIn();
  }
  return value;
}

std::optional<int64_t> KernelPlan::getCoefficient(Value value,
                                                  Axis axis) const {
  Coefficients known;
  return getCoefficient(value, axis, known);
}

std::optional<int64_t> KernelPlan::getCoefficient(Value value, Axis axis,
                                                  Coefficients &known) const {
  if (!tile::getAxisPosition(value.getType(), axis))
    return 0;
  if (isAvailable(value))
    return std::nullopt;
  if (value.hasOneUse())
    return computeCoefficient(value, axis, known);
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<int64_t> result = computeCoefficient(value, axis, known);
  known.try_emplace(value, result);
  return result;
}

std::optional<int64_t>
KernelPlan::computeCoefficient(Value value, Axis axis,
                               Coefficients &known) const {
  Operation *op = value.getDefiningOp();
  auto of = [&](unsigned i) {
    return getCoefficient(op->getOperand(i), axis, known);
  };
  if (isa<tile::IndexOp>(op))
    return 1;
  if (isa<arith::ConstantOp>(op))
    return 0;
  if (isa<tile::BroadcastOp, arith::IndexCastOp>(op))
    return isWideInteger(op->getOperand(0).getType()) ? of(0) : std::nullopt;
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    auto lhs = of(0), rhs = of(1);
    if (!lhs || !rhs)
      return std::nullopt;
    return isa<arith::AddIOp>(op) ? *lhs + *rhs : *lhs - *rhs;
  }
  if (isa<arith::MulIOp>(op))
    for (unsigned i : {0, 1}) {
      APInt factor;
      Value other = op->getOperand(i);
      if (auto broadcast = other.getDefiningOp<tile::BroadcastOp>())
        other = broadcast.getOperand();
      if (!matchPattern(other, m_ConstantInt(&factor)))
        continue;
      // Large factors would leave 32-bit lanes.
      if (auto rest = of(1 - i);
          rest && std::abs(*rest) < 1 << 20 && factor.abs().ult(1 << 10))
        return *rest * factor.getSExtValue();
    }
  // Anything else of uniform operands is uniform.
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (tile::getAxisPosition(op->getOperand(i).getType(), axis) &&
        !(isWideInteger(op->getOperand(i).getType()) && of(i) == 0))
      return std::nullopt;
  return 0;
}

bool KernelPlan::isMonotone(Value value, Axis axis) const {
  if (getCoefficient(value, axis))
    return true;
  if (isAvailable(value))
    return false;
  Operation *op = value.getDefiningOp();
  auto of = [&](unsigned i) { return isMonotone(op->getOperand(i), axis); };
  auto isSame = [&](unsigned i) {
    return getCoefficient(op->getOperand(i), axis) == 0;
  };
  if (isa<tile::BroadcastOp, arith::IndexCastOp>(op))
    return isWideInteger(op->getOperand(0).getType()) && of(0);
  if (isa<attn::FloorDivOp>(op))
    return of(0) && isSame(1);
  return isa<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(
             op) &&
         ((of(0) && isSame(1)) || (isSame(0) && of(1)));
}

std::pair<Axis, int64_t> KernelPlan::getSpans(Value value) const {
  auto random = value.getDefiningOp<attn::RandomOp>();
  if (!random || !tile::isTile(value.getType()))
    return {};
  Value column = random.getIndices().back();
  if (auto repeated = column.getDefiningOp<tile::BroadcastOp>())
    column = repeated.getOperand();
  auto index = column.getDefiningOp<tile::IndexOp>();
  if (!index)
    return {};
  Axis axis = tile::getAxes(index.getType()).front();
  if (axis == getVectorAxis(value.getType()))
    return {};
  for (Value other : random->getOperands().drop_back())
    if (getCoefficient(other, axis) != 0)
      return {};
  int64_t size = index.getType().getDimSize(0);
  int64_t together = std::gcd(knownFactor(index.getBase(), kRandomSpan), size);
  return together < 8 ? std::pair<Axis, int64_t>() : std::pair(axis, together);
}

void KernelPlan::collectLeaves(Value value,
                               llvm::SetVector<Value> &leaves) const {
  value = strip(value);
  if (isAvailable(value)) {
    leaves.insert(value);
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    collectLeaves(operand, leaves);
}

void KernelPlan::collectRootLeaves(const Root &root,
                                   llvm::SetVector<Value> &leaves) const {
  if (root.isCopy)
    return collectLeaves(root.value, leaves);
  for (Value operand : root.value.getDefiningOp()->getOperands())
    collectLeaves(operand, leaves);
}

int64_t KernelPlan::getCost(Value value) const {
  value = strip(value);
  if (!tile::isTile(value.getType()))
    return 0;
  if (isAvailable(value))
    return 1;
  Operation *op = value.getDefiningOp();
  int64_t cost = getOwnCost(op);
  for (Value operand : op->getOperands())
    cost += getCost(operand);
  return cost;
}

bool KernelPlan::isWideAt(Value value, Axis axis,
                          llvm::DenseSet<Value> &seen) const {
  value = strip(value);
  if (!tile::getAxisPosition(value.getType(), axis) ||
      !seen.insert(value).second)
    return false;
  if (isWideInteger(value.getType()))
    return !getCoefficient(value, axis);
  if (isAvailable(value))
    return false;
  Operation *op = value.getDefiningOp();
  auto compare = dyn_cast<arith::CmpIOp>(op);
  bool takesAffine =
      isa<arith::SIToFPOp, attn::RandomOp>(op) ||
      (compare && compare.getPredicate() <= arith::CmpIPredicate::sge);
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    if (isWideInteger(operand.getType()) && !takesAffine &&
        getCoefficient(operand, axis) != 0)
      return true;
    return isWideAt(operand, axis, seen);
  });
}

bool KernelPlan::isWide(const NestGroup &group) const {
  llvm::DenseSet<Value> seen;
  for (const Root &root : group.roots) {
    if (isWideInteger(root.value.getType()) &&
        tile::getAxisPosition(root.value.getType(), group.vector))
      return true;
    if (root.isCopy && isWideAt(root.value, group.vector, seen))
      return true;
    if (!root.isCopy)
      for (Value operand : root.value.getDefiningOp()->getOperands())
        if (isWideAt(operand, group.vector, seen))
          return true;
    // An operation of its own on lanes of consecutive integers, say a
    // conversion, is judged as if it were used.
    if (!root.isCopy && !isa<tile::ReduceOp, tile::VoteOp, tile::DotOp>(
                            root.value.getDefiningOp())) {
      auto *op = root.value.getDefiningOp();
      bool takesAffine =
          isa<arith::SIToFPOp, arith::CmpIOp, attn::RandomOp>(op);
      for (Value operand : op->getOperands())
        if (isWideInteger(operand.getType()) && !takesAffine &&
            getCoefficient(operand, group.vector) != 0)
          return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Classification
//===----------------------------------------------------------------------===//

/// Whether `value` is computed from `source` by scalar operations.
static bool dependsOn(Value value, Value source) {
  return anySource(
      value, [&](Value part) { return part == source; },
      [](Value part) { return part.getDefiningOp()->getNumRegions() == 0; });
}

/// Any other sum of products is a nest.
static bool isMatrixProduct(tile::DotOp dot) {
  return dot.getOver().size() == 1 && dot.getLhs().getType().getRank() == 2 &&
         dot.getRhs().getType().getRank() == 2 &&
         tile::getAxes(dot.getType()).size() == 2;
}

void KernelPlan::chooseLane(tile::KernelOp kernel) {
  // The axis tiled over the grid: rows run along vectors, so that reductions
  // over columns need no shuffles (see docs of the pass).
  for (BlockArgument id : llvm::reverse(kernel.getBody().getArguments())) {
    kernel.walk([&](tile::IndexOp index) {
      if (!lane && index.getType().getDimSize(0) > 1 &&
          dependsOn(index.getBase(), id))
        lane = tile::getAxes(index.getType()).front();
    });
    if (lane)
      return;
  }
  kernel.walk([&](tile::DotOp dot) {
    if (!lane && isMatrixProduct(dot))
      lane = tile::getAxes(dot.getType()).front();
  });
}

void KernelPlan::planDot(tile::DotOp dot) {
  Axis vector = getVectorAxis(dot.getType());
  if (!vector || !isMatrixProduct(dot))
    return;
  for (auto [factor, other] : {std::pair(dot.getLhs(), dot.getRhs()),
                               std::pair(dot.getRhs(), dot.getLhs())})
    if (getVectorAxis(factor.getType()) == vector &&
        !tile::getAxisPosition(other.getType(), vector))
      dots[dot] = {strip(factor), strip(other)};
}

/// A load is read in place when products are its only users, as the factor
/// that is read element by element, nothing needs converting, and its indices
/// advance evenly.
void KernelPlan::chooseViews(tile::KernelOp kernel) {
  kernel.walk([&](tile::LoadOp load) {
    Type type = load.getType();
    if (!tile::isTile(type) || !tile::getElementType(type).isF32())
      return;
    for (Value index : load.getIndices())
      for (Axis axis : tile::getAxes(index.getType()))
        if (!getCoefficient(index, axis))
          return;
    for (Operation *user : load->getUsers()) {
      const DotPlan *dot = getDotPlan(user);
      if (!dot || dot->vectorFactor == load.getResult() ||
          cast<tile::DotOp>(user).getAcc() == load.getResult())
        return;
    }
    views.insert(load.getResult());
  });
}

void KernelPlan::requireStored(Value value) {
  value = strip(value);
  if (!isAvailable(value))
    roots.insert(value);
}

void KernelPlan::chooseRoots(tile::KernelOp kernel) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<tile::ReduceOp, tile::VoteOp>(op)) {
      roots.insert(op->getResult(0));
    } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
      llvm::DenseSet<Value> seen;
      if (getDotPlan(op)) {
        requireStored(dot.getLhs());
        requireStored(dot.getRhs());
        if (dot.getAcc() &&
            isWideAt(dot.getAcc(), getVectorAxis(dot.getType()), seen))
          requireStored(dot.getAcc());
      } else {
        roots.insert(dot.getResult());
        size_t all = tile::getAxes(dot.getType()).size() + dot.getOver().size();
        for (Value factor : {dot.getLhs(), dot.getRhs()})
          if (tile::getAxes(factor.getType()).size() < all &&
              getCost(factor) > 1)
            requireStored(factor); // it would be computed again and again
      }
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (tile::isTile(store.getValue().getType()))
        requireStored(store.getValue());
    } else if (isa<scf::YieldOp>(op)) {
      for (Value value : op->getOperands())
        if (tile::isTile(value.getType()) &&
            value.getParentBlock() == op->getBlock() &&
            !isa_and_nonnull<arith::ConstantOp, ub::PoisonOp>(
                value.getDefiningOp()))
          requireStored(value);
    } else if (isElementwise(op)) {
      Value value = op->getResult(0);
      // Repeating a value costs nothing: what is kept is the smaller one.
      auto broadcast = dyn_cast<tile::BroadcastOp>(op);
      Type type = value.getType();
      if (strip(value) != value || isAvailable(value))
        return;
      if (getSpans(value).first)
        return requireStored(value);
      int64_t cost = getCost(value);
      bool isFloat = isa<FloatType>(tile::getElementType(type));
      bool expensive = cost >= kExpensive;
      bool otherVector = false, inner = false;
      for (Operation *user : op->getUsers()) {
        inner |= user->getBlock() != op->getBlock();
        if (user->getNumResults() == 1)
          otherVector |= getVectorAxis(user->getResult(0).getType()) !=
                         getVectorAxis(type);
      }
      if ((expensive && (!value.hasOneUse() || otherVector || inner)) ||
          (inner && isFloat && cost > 2))
        requireStored(broadcast ? broadcast.getOperand() : value);
    }
  });
}

LogicalResult KernelPlan::classify(tile::KernelOp kernel) {
  auto isTileValue = [](Value value) { return tile::isTile(value.getType()); };
  WalkResult known = kernel.getBody().walk([&](Operation *op) -> WalkResult {
    bool touchesTiles = llvm::any_of(op->getOperands(), isTileValue) ||
                        llvm::any_of(op->getResults(), isTileValue);
    if (isElementwise(op)) {
      DenseElementsAttr elements;
      if (!matchPattern(op, m_Constant(&elements)) || elements.isSplat())
        return WalkResult::advance();
      return op->emitOpError("expected one value for all elements");
    }
    if (auto yield = dyn_cast<scf::YieldOp>(op))
      for (OpOperand &operand : yield->getOpOperands()) {
        auto carried = dyn_cast<BlockArgument>(operand.get());
        // Copies at a loop's end run one after the other.
        if (carried && carried.getOwner() == op->getBlock() &&
            isTileValue(carried) &&
            carried.getArgNumber() != operand.getOperandNumber() + 1)
          return op->emitOpError("expected a carried tile to keep its place");
      }
    if (isa<scf::ForOp, scf::IfOp, scf::YieldOp, tile::LoadOp, tile::StoreOp,
            tile::DotOp, tile::ReduceOp, tile::VoteOp, ub::PoisonOp>(op))
      return WalkResult::advance();
    if (touchesTiles || op->getNumRegions() != 0)
      return op->emitOpError("expected an operation on tiles that tile-to-loops"
                             " lowers");
    return WalkResult::advance();
  });
  return failure(known.wasInterrupted());
}

FailureOr<KernelPlan> KernelPlan::create(tile::KernelOp kernel,
                                         unsigned vectorBits) {
  KernelPlan plan;
  plan.vectorBits = vectorBits;
  if (failed(plan.classify(kernel)))
    return failure();
  plan.chooseLane(kernel);
  kernel.walk([&](tile::DotOp dot) { plan.planDot(dot); });
  plan.chooseViews(kernel);
  plan.chooseRoots(kernel);
  plan.steps = plan.schedule(kernel.getBody().front());
  planScratch(plan);
  return plan;
}

} // namespace attentile::native
