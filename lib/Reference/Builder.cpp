//===- Builder.cpp - makes the steps of a program -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "Alike.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"
#include <set>

using namespace mlir;
using namespace attentile::attn;

namespace attentile::reference {

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The operations that are pointwise and need nothing but their operands.
static std::optional<Op> pointwise(StringRef name) {
  static const llvm::StringMap<Op> table = {{"arith.addf", Op::AddF},
                                            {"arith.subf", Op::SubF},
                                            {"arith.mulf", Op::MulF},
                                            {"arith.divf", Op::DivF},
                                            {"arith.negf", Op::NegF},
                                            {"arith.maximumf", Op::MaxF},
                                            {"arith.minimumf", Op::MinF},
                                            {"arith.maxnumf", Op::MaxNumF},
                                            {"arith.minnumf", Op::MinNumF},
                                            {"math.fma", Op::Fma},
                                            {"math.exp", Op::Exp},
                                            {"math.exp2", Op::Exp2},
                                            {"math.log", Op::Log},
                                            {"math.log2", Op::Log2},
                                            {"math.log1p", Op::Log1p},
                                            {"math.expm1", Op::Expm1},
                                            {"math.tanh", Op::Tanh},
                                            {"math.sqrt", Op::Sqrt},
                                            {"math.rsqrt", Op::Rsqrt},
                                            {"math.sin", Op::Sin},
                                            {"math.cos", Op::Cos},
                                            {"math.absf", Op::Abs},
                                            {"math.floor", Op::Floor},
                                            {"math.ceil", Op::Ceil},
                                            {"math.powf", Op::Pow},
                                            {"arith.addi", Op::AddI},
                                            {"arith.subi", Op::SubI},
                                            {"arith.muli", Op::MulI},
                                            {"attn.floordiv", Op::FloorDiv},
                                            {"attn.floormod", Op::FloorMod},
                                            {"arith.floordivsi", Op::FloorDiv},
                                            {"arith.divsi", Op::DivI},
                                            {"arith.remsi", Op::RemI},
                                            {"arith.ceildivsi", Op::CeilDiv},
                                            {"arith.maxsi", Op::MaxI},
                                            {"arith.minsi", Op::MinI},
                                            {"arith.andi", Op::And},
                                            {"arith.ori", Op::Or},
                                            {"arith.xori", Op::Xor},
                                            {"math.absi", Op::AbsI},
                                            {"attn.random", Op::Random},
                                            {"arith.select", Op::Select},
                                            {"arith.sitofp", Op::ToFloat},
                                            {"arith.fptosi", Op::ToInt},
                                            {"arith.extf", Op::Copy},
                                            {"arith.extsi", Op::Copy},
                                            {"arith.index_cast", Op::Copy},
                                            {"arith.extui", Op::Copy},
                                            {"arith.uitofp", Op::ToFloat},
                                            {"arith.index_castui", Op::Copy},
                                            {"attn.materialize", Op::Copy},
                                            {"arith.truncf", Op::RoundF},
                                            {"arith.trunci", Op::TruncI},
                                            {"arith.cmpf", Op::CompareF},
                                            {"arith.cmpi", Op::CompareI}};
  auto found = table.find(name);
  if (found == table.end())
    return std::nullopt;
  return found->second;
}

Kind kindOf(Type type) {
  return isa<FloatType>(type) ? Kind::Float
         : type.isInteger(1)  ? Kind::Bool
                              : Kind::Int;
}

/// The relations a predicate is true for: 1 equal, 2 greater, 4 less, 8
/// unordered.
static int64_t relationsOf(arith::CmpFPredicate predicate) {
  auto number = static_cast<int64_t>(predicate);
  if (predicate == arith::CmpFPredicate::UNO)
    return 8;
  if (predicate == arith::CmpFPredicate::AlwaysTrue || number < 8)
    return number;
  return (number - 7) | 8;
}

/// The axes that an operation binds.
ValueRange boundAxes(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getAxes();
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return softmax.getAxes();
  if (auto logsumexp = dyn_cast<LogSumExpOp>(op))
    return logsumexp.getAxes();
  return {};
}

bool isReduction(Operation *op) {
  return isa<ReduceOp, SoftmaxOp, LogSumExpOp>(op);
}

/// The operands that are values, not axes.
OperandRange valueOperands(Operation *op) {
  return isReduction(op) ? op->getOperands().take_front(1) : op->getOperands();
}

/// What a step of `op` is computed from: its operands, of a product its
/// factors.
OperandRange neededBy(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (reduce && reduce.getKind() == ReduceKind::Sum)
    if (auto product = reduce.getOperand().getDefiningOp<arith::MulFOp>())
      return product->getOperands();
  return valueOperands(op);
}

/// Whether a value is `where(mx1 == -inf, 0, mx1)` with mx1 the maximum of what
/// a loop over tiles carries and of this tile: a softmax's reference, as it is
/// written by hand.
static bool isRunningReference(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto test = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                     : arith::CmpFOp();
  if (!test || test.getPredicate() != arith::CmpFPredicate::OEQ ||
      test.getLhs() != select.getFalseValue() ||
      !matchPattern(test.getRhs(), m_NegInfFloat()) ||
      !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
    return false;
  Operation *maximum = select.getFalseValue().getDefiningOp();
  return isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(maximum) &&
         llvm::any_of(maximum->getOperands(), [](Value operand) {
           return isa<BlockArgument>(operand) &&
                  isa<ForOp>(operand.getParentBlock()->getParentOp());
         });
}

/// Whether `extreme` is the maximum or minimum over elements of `value`.
static bool isOwnExtreme(Value value, Value extreme) {
  auto reduce = extreme.getDefiningOp<ReduceOp>();
  return reduce && reduce.getOperand() == value &&
         (reduce.getKind() == ReduceKind::Max ||
          reduce.getKind() == ReduceKind::Min);
}

/// Whether a kernel may compute a reduction again for the value.
static bool hasReduction(Value value) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    Value each = values[i];
    Operation *op = each.getDefiningOp();
    Operation *maker = op ? op : each.getParentBlock()->getParentOp();
    if (isReduction(maker) || isa<ForOp>(maker))
      return true;
    if (op && !isa<MaterializeOp>(op))
      values.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

std::vector<unsigned> Builder::arrayAxesOf(const Axes &of) {
  std::vector<unsigned> result;
  for (unsigned axis : of.set_bits())
    if (!outer.test(axis))
      result.push_back(axis);
  return result;
}

/// The operand's strides along array axes; 0 for an axis that it lacks.
std::vector<int64_t> Builder::stridesAlong(const Step &operand,
                                           ArrayRef<unsigned> along) {
  std::vector<int64_t> own = contiguousStrides(operand.extents);
  std::vector<int64_t> strides;
  for (unsigned axis : along) {
    auto found = llvm::find(operand.arrayAxes, axis);
    strides.push_back(found == operand.arrayAxes.end()
                          ? 0
                          : own[found - operand.arrayAxes.begin()]);
  }
  return strides;
}

/// The operand's offset at each point of the array axes `along`.
std::vector<int64_t> Builder::offsetsOf(const Step &operand,
                                        ArrayRef<unsigned> along) {
  std::vector<int64_t> strides = stridesAlong(operand, along), extents;
  for (unsigned axis : along)
    extents.push_back(extentOf(axis));
  std::vector<int64_t> offsets, index(along.size());
  if (llvm::is_contained(extents, 0))
    return offsets;
  do {
    int64_t offset = 0;
    for (auto [i, stride] : llvm::zip(index, strides))
      offset += i * stride;
    offsets.push_back(offset);
  } while (nextIndex(index, extents));
  return offsets;
}

Offsets Builder::seenFrom(const Step &operand, ArrayRef<unsigned> along) {
  Offsets offsets;
  if (operand.arrayAxes.empty()) {
    offsets.form = Offsets::scalar;
  } else if (ArrayRef<unsigned>(operand.arrayAxes) != along) {
    offsets.form = Offsets::list;
    for (int64_t offset : offsetsOf(operand, along))
      offsets.at.push_back(offset);
  }
  return offsets;
}

/// The axes along which a value is reduced, once or again; all where a loop
/// over tiles takes it.
Axes Builder::reducedAxesOf(Value value) {
  Axes result = axes.setOf({});
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (user->getNumRegions() || user->hasTrait<OpTrait::IsTerminator>())
        return result.set();
      if (auto reduce = dyn_cast<ReduceOp>(user))
        result |= axes.setOf(reduce.getAxes());
      reached.insert_range(user->getResults());
    }
  return result;
}

/// The reductions along axes of a selection of floats that its two choices are
/// computed from, if they lack an axis along which the value is reduced: a
/// kernel may multiply that sum by them.
std::vector<unsigned> Builder::statisticsOf(const Step &select, Value value) {
  const Axes of = axes.of(value), reduced = reducedAxesOf(value);
  std::vector<unsigned> left(select.operands.begin() + 1,
                             select.operands.end());
  std::vector<unsigned> found;
  std::set<unsigned> seen;
  while (!left.empty()) {
    unsigned number = left.back();
    left.pop_back();
    const Step &step = program.steps[number];
    if (step.kind != Kind::Float || !step.bound.anyCommon(of) ||
        !seen.insert(number).second)
      continue;
    if (isReduction(step.op)) {
      Axes ofRow = step.axes; // a softmax's statistics
      if (reduced.test(ofRow.reset(step.bound)))
        found.push_back(number);
    } else {
      left.insert(left.end(), step.operands.begin(), step.operands.end());
    }
  }
  return found;
}

unsigned Builder::push(Step step, const Axes &of) {
  step.axes = of;
  step.arrayAxes = arrayAxesOf(of);
  for (unsigned axis : step.arrayAxes) {
    step.extents.push_back(extentOf(axis));
    step.count *= step.extents.back();
  }
  if (step.count >= int64_t(1) << 27)
    error = "a value of " + std::to_string(step.count) +
            " elements does not fit in the reference's memory";
  // Lists of offsets for an array that is refused would be as large.
  bool pointwiseOperands =
      error.empty() && !isReduction(step.op) &&
      !llvm::is_contained({Op::Loop, Op::LoopResult}, step.op);
  for (unsigned operand : step.operands) {
    step.tainted |= program.steps[operand].tainted;
    step.bound |= program.steps[operand].bound;
    if (pointwiseOperands)
      step.from.push_back(seenFrom(program.steps[operand], step.arrayAxes));
  }
  if (step.op == Op::MulF)
    step.rescales = llvm::any_of(step.operands, [&](unsigned operand) {
      return program.steps[operand].op == Op::Carried;
    });
  if (step.op == Op::AddF && parent)
    for (auto [i, operand] : llvm::enumerate(step.operands))
      if (program.steps[operand].op == Op::Product &&
          program.steps[operand].arrayAxes == step.arrayAxes)
        step.startedSum = i + 1;
  if (step.op == Op::Product)
    step.rescales = parent;
  program.steps.push_back(std::move(step));
  return program.steps.size() - 1;
}

unsigned Builder::addArgument(BlockArgument argument) {
  KernelOp kernel = inputs.kernel;
  Step step;
  step.kind = kindOf(argument.getType());
  unsigned number = argument.getArgNumber();
  unsigned firstSize = kernel.getInNames().size() + kernel.getOutNames().size();
  if (number < kernel.getInNames().size()) {
    step.op = Op::Parameter;
    step.whole = number;
    step.tainted = inputs.tainted[number];
  } else if (number < firstSize + kernel.getSizeNames().size()) {
    step.op = Op::Size;
    step.whole = number - firstSize;
  } else {
    step.op = Op::Index;
    step.whole = axes.numberOf(argument);
  }
  return steps[argument] = push(step, axes.of(argument));
}

void Builder::addConstant(arith::ConstantOp constant) {
  Step step;
  step.op = Op::Constant;
  step.kind = kindOf(constant.getType());
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    step.number = number.getValueAsDouble();
  else if (auto whole = dyn_cast<IntegerAttr>(constant.getValue()))
    step.whole = step.kind == Kind::Bool ? !whole.getValue().isZero()
                                         : whole.getValue().getSExtValue();
  steps[constant] = push(step, axes.of(constant));
}

void Builder::addRead(ReadOp read) {
  auto tensor = dyn_cast<BlockArgument>(read.getTensor());
  assert(tensor && tensor.getArgNumber() < inputs.ins.size() &&
         "outputs are not read, and there is no workspace without grids");
  Step step;
  step.op = Op::Read;
  step.kind = kindOf(read.getType());
  step.tensor = tensor.getArgNumber();
  step.tainted = inputs.tainted[step.tensor];
  for (Value index : read.getIndices())
    step.operands.push_back(steps.lookup(index));
  steps[read] = push(step, axes.of(read));
}

unsigned Builder::add(Value root) {
  // An explicit stack: masks can be chains of thousands of operations.
  SmallVector<Value> stack{root};
  while (!stack.empty() && error.empty()) {
    Value value = stack.back();
    if (steps.contains(value)) {
      stack.pop_back();
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      addArgument(argument);
      continue;
    }
    Operation *op = value.getDefiningOp();
    size_t waiting = stack.size();
    auto wait = [&](ValueRange values) {
      for (Value operand : values)
        if (!steps.contains(operand) && !isa<ShapedType>(operand.getType()))
          stack.push_back(operand);
    };
    if (auto made = dyn_cast<ForOp>(op)) {
      wait(neededBefore(made));
      if (stack.size() == waiting)
        addLoop(made);
      continue;
    }
    wait(neededBy(op));
    if (stack.size() != waiting)
      continue;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      addConstant(constant);
    } else if (auto read = dyn_cast<ReadOp>(op)) {
      addRead(read);
    } else if (isReduction(op)) {
      addReduction(op);
    } else if (std::optional<Op> known =
                   pointwise(op->getName().getStringRef())) {
      Step step;
      step.op = *known;
      step.kind = kindOf(value.getType());
      for (Value operand : op->getOperands())
        step.operands.push_back(steps.lookup(operand));
      if (step.op == Op::Select && step.kind == Kind::Float)
        llvm::append_range(step.operands, statisticsOf(step, value));
      if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
        step.whole = relationsOf(compare.getPredicate());
        // What is cast to an integer is compared with itself.
        bool agrees = inputs.reductionsAgree ||
                      compare.getLhs() == compare.getRhs() ||
                      !hasReduction(compare.getLhs());
        step.isOfExtreme =
            agrees && isOwnExtreme(compare.getLhs(), compare.getRhs());
        step.isOfAlike = agrees && areAlike(inputs.kernel, axes,
                                            compare.getLhs(), compare.getRhs());
      }
      if (auto compare = dyn_cast<arith::CmpIOp>(op))
        step.whole = static_cast<int64_t>(compare.getPredicate());
      if (step.op == Op::RoundF)
        step.type = elementTypeOf(value.getType()).value_or(ElementType::F32);
      if (step.op == Op::TruncI)
        step.whole = value.getType().getIntOrFloatBitWidth();
      if (step.op == Op::SubF) {
        auto ref = op->getOperand(1).getDefiningOp<ReduceOp>();
        if (ref && ref.getKind() == ReduceKind::Ref)
          step.op = Op::SubRef;
        else if (isRunningReference(op->getOperand(1)))
          step.op = Op::SubRunning;
      }
      steps[value] = push(std::move(step), axes.of(value));
    } else {
      error = "expected an operation of the attn level, got " +
              op->getName().getStringRef().str();
    }
  }
  return error.empty() ? steps.lookup(root) : 0;
}

void Builder::addWrite(WriteOp write) {
  auto tensor = dyn_cast<BlockArgument>(write.getTensor());
  assert(tensor && "there is no workspace without grids");
  Step step;
  step.op = Op::Write;
  step.kind = kindOf(write.getValue().getType());
  step.tensor = tensor.getArgNumber() - inputs.kernel.getInNames().size();
  step.type = *elementTypeOf(write.getTensor().getType().getElementType());
  step.operands.push_back(add(write.getValue()));
  for (Value index : write.getIndices())
    step.operands.push_back(add(index));
  if (error.empty())
    push(std::move(step), axes.ofAny(write->getOperands()));
}

/// Adds the outer axes, each within those that cost more where they move: what
/// depends on the last one is computed at every point.
void Builder::orderOuterAxes() {
  Axes left = outer, inside(outer.size());
  SmallVector<unsigned> order;
  // Of equal costs the last axis, whose elements lie together, goes inside.
  while (left.any()) {
    unsigned cheapest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned axis : left.set_bits()) {
      double cost = 0;
      for (const Step &step : program.steps)
        if (step.axes.test(axis) && !step.axes.anyCommon(inside))
          cost += double(step.count) * double(step.terms);
      if (cost <= least) {
        least = cost;
        cheapest = axis;
      }
    }
    order.push_back(cheapest);
    left.reset(cheapest);
    inside.set(cheapest);
  }
  for (unsigned axis : llvm::reverse(order)) {
    program.outerAxes.push_back(axis);
    program.outerExtents.push_back(extentOf(axis));
  }
}

Program Builder::finish() {
  orderOuterAxes();
  for (unsigned i = 0; i < program.steps.size(); ++i) {
    program.work += program.steps[i].count;
    program.steps[i].lastUse = i;
    for (unsigned operand : program.steps[i].operands)
      program.steps[operand].lastUse = i;
  }
  return std::move(program);
}

} // namespace attentile::reference
