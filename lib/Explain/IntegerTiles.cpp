//===- IntegerTiles.cpp - kernels of integers, run ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerTiles.h"
#include "IntegerElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attentile {
namespace {

/// A scalar or a tile's elements, row by row; an i1 is 0 or 1.
using Elements = std::vector<Integer>;

ArrayRef<int64_t> shapeOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

int64_t countOf(Type type) {
  int64_t count = 1;
  for (int64_t size : shapeOf(type))
    count *= size;
  return count;
}

class Interpreter {
public:
  Interpreter(tile::KernelOp kernel, ArrayRef<int64_t> ids,
              ScalarValues &scalars)
      : scalars(scalars) {
    for (auto [argument, id] :
         llvm::zip_equal(kernel.getBody().getArguments(), ids))
      values[argument] = {id};
  }

  /// False where something is not known.
  bool run(Block &block);
  void keepStores() {
    for (auto &[tensor, at, number] : stores)
      scalars.setElement(tensor, at, number);
  }

private:
  const Elements *get(Value value);
  std::optional<Integer> getScalar(Value value);
  bool runLoop(scf::ForOp loop);
  bool runBranch(scf::IfOp choice);
  bool runStore(tile::StoreOp store);
  bool runLoad(tile::LoadOp load);
  std::optional<SmallVector<int64_t>> getScalars(ValueRange values);
  bool runElementwise(Operation *op);
  bool runSelect(arith::SelectOp select);
  bool runBroadcast(tile::BroadcastOp broadcast);
  bool runReduce(tile::ReduceOp reduce);
  bool assign(ValueRange targets, ValueRange sources);

  struct Store {
    Value tensor;
    SmallVector<int64_t> at;
    int64_t number;
  };

  ScalarValues &scalars;
  llvm::DenseMap<Value, Elements> values;
  std::vector<Store> stores;
};

const Elements *Interpreter::get(Value value) {
  if (auto found = values.find(value); found != values.end())
    return &found->second;
  Attribute constant;
  if (auto op = value.getDefiningOp();
      op && matchPattern(op, m_Constant(&constant))) {
    SmallVector<APInt> numbers;
    if (auto dense = dyn_cast<DenseIntElementsAttr>(constant))
      llvm::append_range(numbers, dense.getValues<APInt>());
    else if (auto number = dyn_cast<IntegerAttr>(constant))
      numbers.push_back(number.getValue());
    Elements elements;
    for (const APInt &number : numbers) {
      if (number.getSignificantBits() > 64)
        return nullptr;
      elements.push_back(wrap(number.getSExtValue(), widthOf(value.getType())));
    }
    return numbers.empty() ? nullptr : &(values[value] = std::move(elements));
  }
  // Of what stands outside of the kernel: sizes, and what follows from them.
  if (std::optional<int64_t> number = scalars.get(value))
    return &(values[value] = {wrap(*number, widthOf(value.getType()))});
  return nullptr;
}

std::optional<Integer> Interpreter::getScalar(Value value) {
  const Elements *elements = get(value);
  return elements && elements->size() == 1 ? std::optional(elements->front())
                                           : std::nullopt;
}

/// All at once: a source may be one of the targets.
bool Interpreter::assign(ValueRange targets, ValueRange sources) {
  std::vector<Elements> copies;
  for (Value source : sources) {
    const Elements *elements = get(source);
    if (!elements)
      return false;
    copies.push_back(*elements);
  }
  for (auto [target, elements] : llvm::zip_equal(targets, copies))
    values[target] = std::move(elements);
  return true;
}

bool Interpreter::runLoop(scf::ForOp loop) {
  std::optional<Integer> from = getScalar(loop.getLowerBound()),
                         to = getScalar(loop.getUpperBound()),
                         step = getScalar(loop.getStep());
  if (!from || !to || !step ||
      !assign(loop.getRegionIterArgs(), loop.getInits()))
    return false;
  for (Integer i = *from; i < *to; i += *step) {
    values[loop.getInductionVar()] = {i};
    if (!run(*loop.getBody()) ||
        !assign(loop.getRegionIterArgs(), loop.getYieldedValues()))
      return false;
  }
  return assign(loop.getResults(), loop.getRegionIterArgs());
}

bool Interpreter::runBranch(scf::IfOp choice) {
  std::optional<Integer> condition = getScalar(choice.getCondition());
  if (!condition)
    return false;
  Region &side = *condition ? choice.getThenRegion() : choice.getElseRegion();
  if (side.empty())
    return true;
  return run(side.front()) &&
         assign(choice.getResults(),
                side.front().getTerminator()->getOperands());
}

std::optional<SmallVector<int64_t>> Interpreter::getScalars(ValueRange values) {
  SmallVector<int64_t> result;
  for (Value value : values) {
    std::optional<Integer> number = getScalar(value);
    if (!number)
      return std::nullopt;
    result.push_back(static_cast<int64_t>(*number));
  }
  return result;
}

/// Of a scalar, or of a tile of one axis whose indices are scalars and tiles of
/// the same axis.
bool Interpreter::runStore(tile::StoreOp store) {
  Type type = store.getValue().getType();
  if (!get(store.getValue()) || shapeOf(type).size() > 1)
    return false;
  for (Value index : store.getIndices())
    if (!get(index))
      return false;
  for (int64_t i = 0, count = countOf(type); i < count; ++i) {
    SmallVector<int64_t> at;
    for (Value index : store.getIndices()) {
      const Elements &own = *get(index);
      at.push_back(static_cast<int64_t>(own[own.size() == 1 ? 0 : i]));
    }
    if (llvm::all_of(at, [](int64_t index) { return index >= 0; }))
      stores.push_back({store.getTensor(), at,
                        static_cast<int64_t>((*get(store.getValue()))[i])});
  }
  return true;
}

/// Of an element that another kernel has written.
bool Interpreter::runLoad(tile::LoadOp load) {
  std::optional<SmallVector<int64_t>> at = getScalars(load.getIndices());
  std::optional<int64_t> number =
      at ? scalars.getElement(load.getTensor(), *at) : std::nullopt;
  if (number)
    values[load.getResult()] = {*number};
  return number.has_value();
}

bool Interpreter::runElementwise(Operation *op) {
  Combine combine = combineOf(op);
  if (!combine)
    return false;
  SmallVector<const Elements *> operands;
  for (Value operand : op->getOperands())
    if (!get(operand))
      return false;
  // Getting one may move the others.
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  unsigned from = widthOf(op->getOperand(0).getType());
  unsigned to = widthOf(op->getResult(0).getType());
  Elements result(countOf(op->getResult(0).getType()));
  Integer x[2] = {};
  for (size_t i = 0; i < result.size(); ++i) {
    for (auto [k, operand] : llvm::enumerate(operands))
      x[k] = (*operand)[i];
    result[i] = wrap(combine(x, from), to);
  }
  values[op->getResult(0)] = std::move(result);
  return true;
}

/// The condition may be a scalar where the choices are tiles.
bool Interpreter::runSelect(arith::SelectOp select) {
  for (Value operand : select->getOperands())
    if (!get(operand))
      return false;
  const Elements &condition = *get(select.getCondition());
  Elements result = *get(select.getTrueValue());
  const Elements &other = *get(select.getFalseValue());
  for (size_t i = 0; i < result.size(); ++i)
    if (!condition[condition.size() == 1 ? 0 : i])
      result[i] = other[i];
  values[select.getResult()] = std::move(result);
  return true;
}

/// How far apart neighbours along each axis of `type` lie in a tile of
/// `within`; 0 for an axis that it lacks.
SmallVector<int64_t> stridesIn(Type type, Type within) {
  SmallVector<int64_t> strides;
  for (StringAttr axis : tile::getAxes(type)) {
    std::optional<unsigned> position;
    if (tile::isTile(within))
      position = tile::getAxisPosition(within, axis);
    int64_t stride = position ? 1 : 0;
    if (position)
      for (int64_t size : shapeOf(within).drop_front(*position + 1))
        stride *= size;
    strides.push_back(stride);
  }
  return strides;
}

/// Calls `visit` with the place of each element of `type`, in their order, in a
/// tile of `within`.
void forEach(Type type, Type within,
             llvm::function_ref<void(int64_t number, int64_t place)> visit) {
  SmallVector<int64_t> strides = stridesIn(type, within);
  ArrayRef<int64_t> shape = shapeOf(type);
  SmallVector<int64_t> index(shape.size());
  int64_t place = 0;
  for (int64_t number = 0, count = countOf(type); number < count; ++number) {
    visit(number, place);
    for (size_t dim = shape.size(); dim-- > 0;) {
      place += strides[dim];
      if (++index[dim] < shape[dim])
        break;
      place -= strides[dim] * std::exchange(index[dim], 0);
    }
  }
}

bool Interpreter::runBroadcast(tile::BroadcastOp broadcast) {
  Value operand = broadcast.getOperand();
  const Elements *from = get(operand);
  if (!from)
    return false;
  Type type = broadcast.getType();
  Elements result(countOf(type));
  if (!tile::isTile(operand.getType()))
    llvm::fill(result, from->front());
  else
    forEach(type, operand.getType(), [&](int64_t number, int64_t place) {
      result[number] = (*from)[place];
    });
  values[broadcast.getResult()] = std::move(result);
  return true;
}

bool Interpreter::runReduce(tile::ReduceOp reduce) {
  const Elements *from = get(reduce.getOperand());
  if (!from)
    return false;
  using attn::ReduceKind;
  ReduceKind kind = reduce.getKind();
  Type type = reduce.getType();
  Elements result(countOf(type));
  std::vector<bool> isSet(result.size());
  forEach(reduce.getOperand().getType(), type,
          [&](int64_t number, int64_t place) {
            Integer &so = result[place], x = (*from)[number];
            so = !isSet[place]             ? x
                 : kind == ReduceKind::Sum ? so + x
                 : kind == ReduceKind::Min ? std::min(so, x)
                 : kind == ReduceKind::All ? so & x
                                           : std::max(so, x);
            isSet[place] = true;
          });
  for (Integer &x : result)
    x = wrap(x, widthOf(type));
  values[reduce.getResult()] = std::move(result);
  return true;
}

bool Interpreter::run(Block &block) {
  for (Operation &op : block) {
    bool isKnown =
        llvm::TypeSwitch<Operation *, bool>(&op)
            .Case<arith::ConstantOp, scf::YieldOp>([](auto) { return true; })
            .Case([&](scf::ForOp loop) { return runLoop(loop); })
            .Case([&](scf::IfOp choice) { return runBranch(choice); })
            .Case([&](tile::StoreOp store) { return runStore(store); })
            .Case([&](tile::LoadOp load) { return runLoad(load); })
            .Case([&](tile::ReduceOp reduce) { return runReduce(reduce); })
            .Case([&](tile::BroadcastOp op) { return runBroadcast(op); })
            .Case([&](arith::SelectOp select) { return runSelect(select); })
            .Case([&](tile::IndexOp index) {
              std::optional<Integer> base = getScalar(index.getBase());
              Elements result(base ? countOf(index.getType()) : 0);
              for (auto [i, element] : llvm::enumerate(result))
                element = *base + i;
              values[index.getResult()] = std::move(result);
              return base.has_value();
            })
            .Default([&](Operation *op) {
              return op->getNumResults() == 1 && op->getNumOperands() <= 2 &&
                     getElementTypeOrSelf(op->getResult(0).getType())
                         .isIntOrIndex() &&
                     runElementwise(op);
            });
    if (!isKnown)
      return false;
  }
  return true;
}

} // namespace

bool runOnIntegers(tile::KernelOp kernel, ArrayRef<int64_t> ids,
                   ScalarValues &scalars) {
  Interpreter interpreter(kernel, ids, scalars);
  if (!interpreter.run(kernel.getBody().front()))
    return false;
  interpreter.keepStores();
  return true;
}

} // namespace attentile
