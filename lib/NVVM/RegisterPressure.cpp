//===- RegisterPressure.cpp - registers that a kernel will take -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/RegisterPressure.h"
#include "Registers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {
namespace {

/// What a thread may have, and all threads of a multiprocessor.
constexpr int64_t kMostRegisters = 255, kRegistersOfMultiprocessor = 65536;

/// What ptxas 13 takes for what a kernel needs, fitted to the examples in all
/// types at head sizes 8 to 512 (scripts/resources.py). Where there are
/// products, three tenths more: operands that it asks for ahead, and their
/// addresses. Small kernels share registers better, and each has some for each
/// axis of its grid, by which it finds its place, and for its arguments: more
/// where a loop keeps them than where all is done once. Of integers alone, as
/// kernels that list blocks are, most is computed again where it is used, and a
/// loop behind another keeps a little of its own.
constexpr double kOfProducts = 1.3, kOfFew = 0.75, kOfAxis = 4;
constexpr double kOfLoop = 22, kOfStraight = 4;
constexpr double kOfFewIntegers = 0.62, kOfIntegerLoop = 16.5, kOfNextLoop = 3;

/// Where what is needed fits so many registers that another block shares the
/// multiprocessor, and what would be taken does not, ptxas stays within them in
/// about half of the kernels.
constexpr double kBeyondStep = 0.6, kOverStep = 0.97;

/// Walks a kernel backwards with the set of values that are still needed.
class Pressure {
public:
  int64_t of(warp::KernelOp kernel) {
    walk(kernel.getBody().front());
    return peak;
  }

private:
  llvm::DenseSet<Value> alive;
  llvm::DenseMap<Value, bool> uniform;
  int64_t live = 0, peak = 0;

  bool isUniform(Value value);
  int64_t registersOf(Value value);
  void use(Value value);
  bool isComputedAtUse(Value value);
  void useOperands(Operation &op);
  void kill(Value value);
  void walk(Block &block);
  void walk(scf::ForOp loop);
  void walk(scf::IfOp branch);
};

/// Whether the whole block of threads has one value, which takes none of a
/// thread's registers.
bool Pressure::isUniform(Value value) {
  if (auto known = uniform.find(value); known != uniform.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  bool result;
  if (!op) {
    Operation *parent = cast<BlockArgument>(value).getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    result = !loop || value == loop.getInductionVar();
  } else {
    result = isPure(op) && op->getNumRegions() == 0 &&
             !isa<warp::ThreadIdOp, warp::LaneIdOp, warp::WarpIdOp>(op) &&
             llvm::all_of(op->getOperands(),
                          [&](Value operand) { return isUniform(operand); });
  }
  return uniform[value] = result;
}

int64_t Pressure::registersOf(Value value) {
  Type type = value.getType();
  Type element = getElementTypeOrSelf(type);
  if (isa<warp::BufferType, warp::MbarrierType, TensorType>(type) || element.isInteger(1) ||
      matchPattern(value, m_Constant()))
    return 0;
  if (element.isIntOrIndex() && isUniform(value))
    return 0;
  int64_t bytes = warp::getElementBytes(element) * warp::getNumRegisters(type);
  return llvm::divideCeil(bytes, 4);
}

void Pressure::use(Value value) {
  // Joined registers are those registers.
  if (auto join = value.getDefiningOp<UnrealizedConversionCastOp>();
      join && join.getInputs().size() > 1) {
    for (Value part : join.getInputs())
      use(part);
    return;
  }
  // Another width of an integer is the same register, and a sum with a
  // constant is computed anew or part of an instruction.
  if (Operation *op = value.getDefiningOp();
      op && (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) ||
             (isa<arith::AddIOp>(op) &&
              matchPattern(op->getOperand(1), m_Constant()))))
    return use(op->getOperand(0));
  if (alive.insert(value).second)
    live += registersOf(value);
}

/// Whether a value's only use can compute it, of what is kept until then in any
/// case: half of a constant's product, a distance of positions. ptxas puts it
/// there, though a tile's operations stand one tile after the other.
bool Pressure::isComputedAtUse(Value value) {
  if (alive.contains(value) || registersOf(value) == 0)
    return true;
  Operation *op = value.getDefiningOp();
  return op && isPure(op) && op->getNumRegions() == 0 && value.hasOneUse() &&
         op->getNumResults() == 1 && op->getNumOperands() != 0 &&
         !isa<warp::MmaOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isComputedAtUse(operand); });
}

void Pressure::useOperands(Operation &op) {
  SmallVector<Value> open;
  for (Value operand : op.getOperands())
    if (operand.hasOneUse() && operand.getParentBlock() == op.getBlock())
      open.push_back(operand);
    else
      use(operand);
  for (Value operand : open)
    if (!isComputedAtUse(operand))
      use(operand);
}

void Pressure::kill(Value value) {
  if (alive.erase(value))
    live -= registersOf(value);
}

void Pressure::walk(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (isa<scf::YieldOp>(op))
      continue;
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op);
        cast && cast.getInputs().size() > 1)
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      walk(loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      walk(branch);
    } else {
      // Results that nothing reads are written too.
      for (Value result : op.getResults())
        use(result);
      peak = std::max(peak, live);
      for (Value result : op.getResults())
        kill(result);
      useOperands(op);
    }
    peak = std::max(peak, live);
  }
}

void Pressure::walk(scf::ForOp loop) {
  for (Value result : loop.getResults())
    kill(result);
  llvm::SetVector<Value> outer;
  getUsedValuesDefinedAbove(loop.getRegion(), outer);
  for (Value value : outer)
    use(value);
  for (Value value : loop.getYieldedValues())
    use(value);
  peak = std::max(peak, live);
  walk(*loop.getBody());
  for (Value argument : loop.getRegionIterArgs())
    kill(argument);
  for (Value value : loop.getInitArgs())
    use(value);
}

void Pressure::walk(scf::IfOp branch) {
  for (Value result : branch.getResults())
    kill(result);
  llvm::DenseSet<Value> after = alive, before = alive;
  int64_t liveAfter = live;
  for (Region &region : branch->getRegions()) {
    if (region.empty())
      continue;
    alive = after;
    live = liveAfter;
    for (Value value : region.front().getTerminator()->getOperands())
      use(value);
    walk(region.front());
    before.insert(alive.begin(), alive.end());
  }
  alive = after;
  live = liveAfter;
  for (Value value : before)
    use(value);
}

/// The fewest registers from `needed` on with which one block more shares a
/// multiprocessor than with any more.
int64_t stepAbove(double needed, int64_t threads) {
  int64_t step = kMostRegisters;
  for (int64_t blocks = 1; blocks * threads <= kRegistersOfMultiprocessor;
       ++blocks) {
    int64_t each = std::min(kMostRegisters, kRegistersOfMultiprocessor /
                                                (blocks * threads) / 8 * 8);
    if (double(each) < needed)
      break;
    step = each;
  }
  return step;
}

} // namespace

int64_t predictRegisters(warp::KernelOp kernel) {
  int64_t threads = 32 * kernel.getWarps();
  int64_t most =
      std::min<int64_t>(kMostRegisters, kRegistersOfMultiprocessor / threads);
  int64_t needed = Pressure().of(kernel);
  if (needed >= most)
    return most;
  int64_t products = 0, floats = 0, others = 0;
  bool isOfIntegers = true;
  kernel.getBody().walk([&](Operation *op) {
    products += isa<warp::MmaOp>(op);
    isOfIntegers &= llvm::none_of(op->getResultTypes(), [](Type type) {
      return isa<FloatType>(getElementTypeOrSelf(type));
    });
    auto load = dyn_cast<warp::LoadOp>(op);
    if (!load)
      return;
    auto loop = op->getParentOfType<scf::ForOp>();
    bool inPieces = loop && loop->hasAttr("warp.rolled");
    bool isFloat = getElementTypeOrSelf(load.getType()).isF32();
    (isFloat && !inPieces ? floats : others) += 1;
  });
  // What is loaded one by one is asked for before the products. Floats that
  // are used as they are wait for them; of all else half was seen to. Where
  // there are none, half of the loads' addresses wait with them.
  needed += others / 2 + (products > 0 ? floats : 0);
  auto loops = kernel.getBody().getOps<scf::ForOp>();
  bool isStraight = products == 0 && loops.empty();
  double ofLoop = kOfLoop;
  if (isOfIntegers && !isStraight)
    ofLoop =
        kOfIntegerLoop + kOfNextLoop * (double(llvm::range_size(loops)) - 1);
  double ofFew = isOfIntegers ? kOfFewIntegers : kOfFew;
  double taken = (isStraight ? kOfStraight : ofLoop) +
                 kOfAxis * double(kernel.getBounds().size()) +
                 ofFew * double(needed);
  if (!isStraight && !isOfIntegers)
    taken = std::max(taken, (products > 0 ? kOfProducts : 1) * double(needed));
  if (products > 0)
    if (auto step = double(stepAbove(double(needed) / kOverStep, threads));
        taken > step)
      taken = step + kBeyondStep * (taken - step);
  return std::min(most, int64_t(taken));
}

} // namespace attentile
