//===- UnrollFragments.cpp - fragments become registers -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: rewrites every fragment of a warp.kernel into its registers: a scalar
//   an element, a vector of two for f16 and bf16, also through scf.for and
//   scf.if; register moves disappear.
// Expects: what tile-to-warp makes: one-dimensional vectors, uniform control
//   flow by scf.for and scf.if.
// Leaves: vectors at memory accesses and matrix instructions only, joined to
//   the registers by casts that warp-to-nvvm folds.
// Does not handle: vectors of other ranks, loops other than scf.for.
//
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attentile {
#define GEN_PASS_DEF_WARPUNROLLFRAGMENTS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// One element of a fragment: a scalar register, or a half of a pair.
struct Element {
  Value reg;
  int64_t half = -1; ///< -1: the whole register
};

class Unroller {
public:
  explicit Unroller(MLIRContext *context) : builder(context) {}

  LogicalResult run(warp::KernelOp kernel);

private:
  OpBuilder builder;
  IRMapping scalars;
  DenseMap<Value, SmallVector<Value>> fragments;

  static bool isFragment(Type type) { return isa<VectorType>(type); }

  SmallVector<Value> registersOf(Value value) {
    if (isFragment(value.getType()))
      return fragments.lookup(value);
    return {scalars.lookupOrDefault(value)};
  }
  SmallVector<Value> registersOf(ValueRange values) {
    SmallVector<Value> result;
    for (Value value : values)
      llvm::append_range(result, registersOf(value));
    return result;
  }
  void set(Value value, SmallVector<Value> registers) {
    if (isFragment(value.getType()))
      fragments[value] = std::move(registers);
    else
      scalars.map(value, registers.front());
  }
  /// Takes the next values of `registers` for each of `values`.
  void setAll(ValueRange values, ValueRange registers) {
    for (Value value : values) {
      size_t count = nvvm::registerTypes(value.getType()).size();
      set(value, llvm::to_vector(registers.take_front(count)));
      registers = registers.drop_front(count);
    }
  }
  SmallVector<Type> registerTypesOf(TypeRange types) {
    SmallVector<Type> result;
    for (Type type : types)
      llvm::append_range(result, nvvm::registerTypes(type));
    return result;
  }

  SmallVector<Element> elementsOf(Value value);
  Value scalarOf(Location loc, const Element &element);
  SmallVector<Value> gather(Location loc, VectorType type,
                            ArrayRef<Element> elements);

  LogicalResult emitBlock(Block &block);
  LogicalResult emit(Operation &op);
  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitIf(scf::IfOp op);
  LogicalResult emitConstant(arith::ConstantOp op);
  LogicalResult emitElementwise(Operation &op);
  LogicalResult emitWhole(Operation &op);
};

SmallVector<Element> Unroller::elementsOf(Value value) {
  SmallVector<Element> result;
  for (Value reg : registersOf(value)) {
    if (!isa<VectorType>(reg.getType())) {
      result.push_back({reg});
      continue;
    }
    result.push_back({reg, 0});
    result.push_back({reg, 1});
  }
  return result;
}

Value Unroller::scalarOf(Location loc, const Element &element) {
  if (element.half < 0)
    return element.reg;
  return vector::ExtractOp::create(builder, loc, element.reg, element.half);
}

/// The registers of a fragment with these elements; a pair that stands in one
/// register already is taken as it is.
SmallVector<Value> Unroller::gather(Location loc, VectorType type,
                                    ArrayRef<Element> elements) {
  SmallVector<Value> result;
  for (Type reg : nvvm::registerTypes(type)) {
    if (!isa<VectorType>(reg)) {
      result.push_back(scalarOf(loc, elements.front()));
      elements = elements.drop_front();
      continue;
    }
    const Element &low = elements[0], &high = elements[1];
    if (low.reg == high.reg && low.half == 0 && high.half == 1)
      result.push_back(low.reg);
    else
      result.push_back(vector::FromElementsOp::create(
          builder, loc, reg,
          ValueRange{scalarOf(loc, low), scalarOf(loc, high)}));
    elements = elements.drop_front(2);
  }
  return result;
}

LogicalResult Unroller::emitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(emit(op)))
      return failure();
  return success();
}

LogicalResult Unroller::emitFor(scf::ForOp op) {
  auto loop = scf::ForOp::create(
      builder, op.getLoc(), scalars.lookupOrDefault(op.getLowerBound()),
      scalars.lookupOrDefault(op.getUpperBound()),
      scalars.lookupOrDefault(op.getStep()), registersOf(op.getInitArgs()));
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  setAll(op.getRegionIterArgs(), loop.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(builder);
  // Without iteration arguments the builder has made the terminator already.
  loop.getBody()->clear();
  builder.setInsertionPointToEnd(loop.getBody());
  if (failed(emitBlock(*op.getBody())))
    return failure();
  setAll(op.getResults(), loop.getResults());
  return success();
}

LogicalResult Unroller::emitIf(scf::IfOp op) {
  auto branch = scf::IfOp::create(
      builder, op.getLoc(), registerTypesOf(op.getResultTypes()),
      scalars.lookupOrDefault(op.getCondition()), op.elseBlock() != nullptr);
  branch->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), branch->getRegions())) {
    if (from.empty())
      continue;
    if (to.empty())
      to.emplaceBlock();
    to.front().clear();
    builder.setInsertionPointToEnd(&to.front());
    if (failed(emitBlock(from.front())))
      return failure();
  }
  setAll(op.getResults(), branch.getResults());
  return success();
}

LogicalResult Unroller::emitConstant(arith::ConstantOp op) {
  auto type = cast<VectorType>(op.getType());
  auto values = cast<DenseElementsAttr>(op.getValue());
  SmallVector<Attribute> elements(values.getValues<Attribute>());
  SmallVector<Value> result;
  ArrayRef<Attribute> rest = elements;
  for (Type reg : nvvm::registerTypes(type)) {
    auto pair = dyn_cast<VectorType>(reg);
    size_t count = pair ? 2 : 1;
    TypedAttr value =
        pair ? TypedAttr(DenseElementsAttr::get(pair, rest.take_front(2)))
             : cast<TypedAttr>(rest.front());
    result.push_back(arith::ConstantOp::create(builder, op.getLoc(), value));
    rest = rest.drop_front(count);
  }
  set(op.getResult(), result);
  return success();
}

/// An operation on each register. If some fragment has its elements in pairs,
/// on each pair: then scalars of the others are put into vectors of two.
LogicalResult Unroller::emitElementwise(Operation &op) {
  Location loc = op.getLoc();
  int64_t count = 1;
  bool inPairs = false;
  auto look = [&](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return;
    count = vector.getNumElements();
    inPairs |= nvvm::isPaired(vector.getElementType());
  };
  llvm::for_each(op.getOperandTypes(), look);
  llvm::for_each(op.getResultTypes(), look);

  SmallVector<SmallVector<Element>> operands;
  for (Value operand : op.getOperands())
    operands.push_back(isFragment(operand.getType()) ? elementsOf(operand)
                                                     : SmallVector<Element>());
  SmallVector<SmallVector<Element>> results(op.getNumResults());
  for (int64_t i = 0; i < count;) {
    int64_t width = inPairs && i + 1 < count ? 2 : 1;
    OperationState state(loc, op.getName());
    state.attributes = op.getDiscardableAttrDictionary();
    state.propertiesAttr = op.getPropertiesAsAttribute();
    for (auto [operand, elements] : llvm::zip_equal(op.getOperands(), operands))
      if (elements.empty())
        state.operands.push_back(scalars.lookupOrDefault(operand));
      else if (width == 1)
        state.operands.push_back(scalarOf(loc, elements[i]));
      else
        state.operands.push_back(
            gather(loc, VectorType::get({2}, getElementTypeOrSelf(operand)),
                   ArrayRef(elements).slice(i, 2))
                .front());
    // gather() pairs only types that are kept in pairs.
    if (width == 2)
      for (auto [operand, elements, value] :
           llvm::zip_equal(op.getOperands(), operands, state.operands))
        if (!elements.empty() && !isa<VectorType>(value.getType()))
          value = vector::FromElementsOp::create(
              builder, loc, VectorType::get({2}, value.getType()),
              ValueRange{scalarOf(loc, elements[i]),
                         scalarOf(loc, elements[i + 1])});
    for (Type type : op.getResultTypes()) {
      Type element = getElementTypeOrSelf(type);
      state.types.push_back(width == 2 ? VectorType::get({2}, element)
                                       : element);
    }
    Operation *made = builder.create(state);
    for (auto [r, value] : llvm::enumerate(made->getResults())) {
      if (width == 1) {
        results[r].push_back({value});
        continue;
      }
      bool paired = nvvm::isPaired(getElementTypeOrSelf(value));
      for (int64_t half : {0, 1})
        results[r].push_back(paired ? Element{value, half}
                                    : Element{vector::ExtractOp::create(
                                          builder, loc, value, half)});
    }
    i += width;
  }
  for (auto [result, elements] : llvm::zip_equal(op.getResults(), results))
    set(result, gather(loc, cast<VectorType>(result.getType()), elements));
  return success();
}

/// Memory accesses and matrix instructions keep their vectors.
LogicalResult Unroller::emitWhole(Operation &op) {
  IRMapping mapping = scalars;
  for (Value operand : op.getOperands())
    if (isFragment(operand.getType()))
      mapping.map(operand,
                  nvvm::joinRegisters(builder, op.getLoc(), operand.getType(),
                                      registersOf(operand)));
  Operation *made = builder.clone(op, mapping);
  for (auto [from, to] : llvm::zip_equal(op.getResults(), made->getResults()))
    if (isFragment(from.getType()))
      set(from, nvvm::splitRegisters(builder, op.getLoc(), to));
    else
      scalars.map(from, to);
  return success();
}

LogicalResult Unroller::emit(Operation &op) {
  Location loc = op.getLoc();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitIf(branch);
  if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    scf::YieldOp::create(builder, loc, registersOf(yield.getOperands()));
    return success();
  }
  auto isVector = [](Type type) { return isFragment(type); };
  bool hasFragment = llvm::any_of(op.getOperandTypes(), isVector) ||
                     llvm::any_of(op.getResultTypes(), isVector);
  if (op.getNumRegions() != 0)
    return op.emitOpError("expected loops and branches by scf.for and scf.if");
  for (Type type : llvm::concat<Type>(llvm::to_vector(op.getOperandTypes()),
                                      llvm::to_vector(op.getResultTypes())))
    if (auto vector = dyn_cast<VectorType>(type);
        vector && (vector.getRank() != 1 || vector.isScalable()))
      return op.emitOpError("expected vectors of one dimension, got ") << type;
  if (!hasFragment) {
    builder.clone(op, scalars);
    return success();
  }
  auto result = [&]() { return cast<VectorType>(op.getResult(0).getType()); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](arith::ConstantOp op) { return emitConstant(op); })
      .Case([&](ub::PoisonOp op) {
        SmallVector<Value> all;
        for (Type reg : nvvm::registerTypes(op.getType()))
          all.push_back(ub::PoisonOp::create(builder, loc, reg));
        set(op, all);
        return success();
      })
      .Case([&](vector::BroadcastOp op) {
        Element one = isFragment(op.getSourceType())
                          ? elementsOf(op.getSource()).front()
                          : Element{scalars.lookupOrDefault(op.getSource())};
        SmallVector<Element> all(result().getNumElements(), one);
        SmallVector<Value> registers = gather(loc, result(), all);
        // One pair serves all.
        for (Value &reg : registers)
          if (reg.getType() == registers.front().getType())
            reg = registers.front();
        set(op, registers);
        return success();
      })
      .Case([&](vector::FromElementsOp op) {
        SmallVector<Element> all;
        for (Value value : op.getElements())
          all.push_back({scalars.lookupOrDefault(value)});
        set(op, gather(loc, result(), all));
        return success();
      })
      .Case([&](vector::ToElementsOp op) {
        for (auto [value, element] :
             llvm::zip_equal(op.getResults(), elementsOf(op.getSource())))
          scalars.map(value, scalarOf(loc, element));
        return success();
      })
      .Case([&](vector::ShuffleOp op) {
        SmallVector<Element> all = elementsOf(op.getV1()), picked;
        llvm::append_range(all, elementsOf(op.getV2()));
        for (int64_t from : op.getMask())
          picked.push_back(all[std::max<int64_t>(from, 0)]);
        set(op, gather(loc, result(), picked));
        return success();
      })
      .Case([&](vector::ExtractStridedSliceOp op) {
        SmallVector<Element> all = elementsOf(op->getOperand(0)), picked;
        int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
        int64_t stride = cast<IntegerAttr>(op.getStrides()[0]).getInt();
        for (int64_t i = 0; i < result().getNumElements(); ++i)
          picked.push_back(all[first + i * stride]);
        set(op, gather(loc, result(), picked));
        return success();
      })
      .Case([&](vector::InsertStridedSliceOp op) {
        SmallVector<Element> all = elementsOf(op.getDest());
        int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
        int64_t stride = cast<IntegerAttr>(op.getStrides()[0]).getInt();
        for (auto [i, element] :
             llvm::enumerate(elementsOf(op.getValueToStore())))
          all[first + i * stride] = element;
        set(op, gather(loc, result(), all));
        return success();
      })
      .Case([&](vector::ExtractOp op) -> LogicalResult {
        if (op.hasDynamicPosition() || isFragment(op.getType()))
          return op.emitOpError("expected one element at a constant position");
        scalars.map(
            op.getResult(),
            scalarOf(loc, elementsOf(
                              op.getSource())[op.getStaticPosition().front()]));
        return success();
      })
      .Case([&](vector::InsertOp op) -> LogicalResult {
        if (op.hasDynamicPosition() ||
            isFragment(op.getValueToStore().getType()))
          return op.emitOpError("expected one element at a constant position");
        SmallVector<Element> all = elementsOf(op.getDest());
        all[op.getStaticPosition().front()] = {
            scalars.lookupOrDefault(op.getValueToStore())};
        set(op, gather(loc, result(), all));
        return success();
      })
      .Case([&](warp::ShuffleXorOp op) {
        SmallVector<Value> all;
        for (Value reg : registersOf(op.getOperand()))
          all.push_back(
              warp::ShuffleXorOp::create(builder, loc, reg, op.getMask()));
        set(op.getResult(), all);
        return success();
      })
      .Case([&](warp::SplitTf32Op op) {
        SmallVector<Value> high, low;
        for (Value reg : registersOf(op.getOperand())) {
          auto split = warp::SplitTf32Op::create(
              builder, loc, TypeRange{reg.getType(), reg.getType()}, reg);
          high.push_back(split.getHigh());
          low.push_back(split.getLow());
        }
        set(op.getHigh(), high);
        set(op.getLow(), low);
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (op->hasTrait<OpTrait::Elementwise>())
          return emitElementwise(*op);
        if (isa<warp::WarpDialect>(op->getDialect()))
          return emitWhole(*op);
        return op->emitOpError("expected register moves, elementwise "
                               "operations and those of the warp dialect");
      });
}

LogicalResult Unroller::run(warp::KernelOp kernel) {
  Block *body = new Block;
  for (BlockArgument argument : kernel.getBody().getArguments())
    scalars.map(argument,
                body->addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(body);
  // Fragments of the enclosing program are constants, mostly.
  llvm::SetVector<Value> outer;
  getUsedValuesDefinedAbove(kernel.getBody(), outer);
  LogicalResult emitted = success();
  std::function<void(Value)> sink = [&](Value value) {
    if (!isFragment(value.getType()) || fragments.contains(value))
      return;
    llvm::for_each(value.getDefiningOp()->getOperands(), sink);
    if (failed(emit(*value.getDefiningOp())))
      emitted = failure();
  };
  llvm::for_each(outer, sink);
  if (failed(emitted) || failed(emitBlock(kernel.getBody().front()))) {
    // The kernel keeps its old body; what was made goes, users first.
    body->dropAllReferences();
    delete body;
    return failure();
  }
  Region &region = kernel.getBody();
  Block &old = region.front();
  region.push_front(body);
  old.dropAllReferences();
  old.erase();
  return success();
}

struct WarpUnrollFragments
    : impl::WarpUnrollFragmentsBase<WarpUnrollFragments> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](warp::KernelOp kernel) {
      return failed(Unroller(&getContext()).run(kernel))
                 ? WalkResult::interrupt()
                 : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
