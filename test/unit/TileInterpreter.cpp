//===- TileInterpreter.cpp - runs tile IR in float64, for tests -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileInterpreter.h"
#include "ElementwiseInterpreter.h"
#include "attentile/Reference.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace attentile::test {
namespace {

using Elements = std::vector<double>;

ArrayRef<int64_t> shapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

int64_t product(ArrayRef<int64_t> shape) {
  int64_t result = 1;
  for (int64_t size : shape)
    result *= size;
  return result;
}

/// The axes of a walk over several tiles at once, with sizes.
struct Space {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;

  void add(Type type) {
    for (auto [axis, size] : llvm::zip(tile::getAxes(type), shapeOf(type)))
      if (!llvm::is_contained(axes, axis)) {
        axes.push_back(axis);
        sizes.push_back(size);
      }
  }
  /// Strides of a tile along the axes of the space, 0 along those it lacks.
  SmallVector<int64_t> strides(Type type) const {
    SmallVector<int64_t> result(axes.size(), 0);
    int64_t stride = 1;
    for (auto [axis, size] :
         llvm::reverse(llvm::zip_equal(tile::getAxes(type), shapeOf(type)))) {
      result[llvm::find(axes, axis) - axes.begin()] = stride;
      stride *= size;
    }
    return result;
  }
  /// Calls `visit` with the offset of each of `tiles` at every point.
  void walk(ArrayRef<Type> tiles,
            function_ref<void(ArrayRef<int64_t>)> visit) const {
    SmallVector<SmallVector<int64_t>> steps;
    for (Type type : tiles)
      steps.push_back(strides(type));
    SmallVector<int64_t> at(axes.size(), 0), offsets(tiles.size(), 0);
    for (int64_t left = product(sizes); left > 0; --left) {
      visit(offsets);
      for (size_t axis = axes.size(); axis-- > 0;) {
        bool wraps = ++at[axis] == sizes[axis];
        for (size_t tile = 0; tile < tiles.size(); ++tile)
          offsets[tile] += steps[tile][axis] * (wraps ? 1 - sizes[axis] : 1);
        if (!wraps)
          break;
        at[axis] = 0;
      }
    }
  }
};

/// Whether a condition says no more than that indices lie in their range: they
/// are less than a size.
bool isTail(Value condition) {
  while (auto broadcast = condition.getDefiningOp<tile::BroadcastOp>())
    condition = broadcast.getOperand();
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt ||
      !compare.getLhs().getDefiningOp<tile::IndexOp>())
    return false;
  Value limit = compare.getRhs();
  while (auto broadcast = limit.getDefiningOp<tile::BroadcastOp>())
    limit = broadcast.getOperand();
  auto size = dyn_cast<BlockArgument>(limit);
  return size && isa<tile::ProgramOp>(size.getOwner()->getParentOp());
}

/// Whether an operation hides elements of a tile for a mask.
bool isMask(arith::SelectOp select) {
  auto isHidden = [](Value branch) {
    auto constant = branch.getDefiningOp<arith::ConstantOp>();
    auto dense = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                          : SplatElementsAttr();
    return dense && isa<FloatType>(dense.getElementType()) &&
           dense.getSplatValue<APFloat>().isInfinity() &&
           dense.getSplatValue<APFloat>().isNegative();
  };
  auto type = dyn_cast<RankedTensorType>(select.getType());
  return type && type.getRank() > 1 && !isTail(select.getCondition()) &&
         (isHidden(select.getTrueValue()) || isHidden(select.getFalseValue()));
}

class Interpreter {
public:
  Interpreter(std::map<std::string, HostTensor> &values, BlockCounts *counts,
              Rounding rounding, std::vector<BlockVisit> *visits)
      : values(values), counts(counts), rounding(rounding), visits(visits) {}

  bool runProgram(tile::ProgramOp program) {
    attn::SignatureOpInterface head = program;
    for (BlockArgument size : head.getSizeArgs()) {
      HostTensor &given = values.at(head.nameOf(size).str());
      sizes.push_back(int64_t(given.data.at(0)));
      env[size] = given.data;
    }
    for (BlockArgument in : head.getInArgs()) {
      HostTensor &given = values.at(head.nameOf(in).str());
      if (isa<RankedTensorType>(in.getType()))
        tensors[in] = &given;
      else
        env[in] = given.data;
    }
    for (BlockArgument out : head.getOutArgs()) {
      HostTensor &made = values[head.nameOf(out).str()];
      made = allocate(head.getShape(out));
      tensors[out] = &made;
    }
    return runBlock(head.getHeadBlock());
  }

private:
  HostTensor allocate(AffineMap shape) {
    HostTensor result;
    llvm::append_range(result.shape, evaluateShape(shape, sizes));
    result.data.assign(product(result.shape),
                       std::numeric_limits<double>::quiet_NaN());
    return result;
  }

  bool runBlock(Block &block) {
    return llvm::all_of(block, [&](Operation &op) { return run(&op); });
  }

  bool run(Operation *op) {
    return TypeSwitch<Operation *, bool>(op)
        .Case([&](tile::KernelOp kernel) { return runKernel(kernel); })
        .Case([&](scf::ForOp loop) { return runLoop(loop); })
        .Case([&](scf::IfOp branch) { return runIf(branch); })
        .Case<attn::AssumeOp, attn::DefaultOp, scf::YieldOp, tile::SeesOp>(
            [](auto) { return true; })
        .Case([&](attn::WorkspaceOp workspace) {
          owned.push_back(
              std::make_unique<HostTensor>(allocate(workspace.getShape())));
          tensors[workspace.getResult()] = owned.back().get();
          return true;
        })
        .Case([&](tile::IndexOp index) {
          Elements result(shapeOf(index.getType())[0]);
          for (auto [i, element] : llvm::enumerate(result))
            element = env[index.getBase()][0] + double(i);
          if (visits)
            visit.tiles[tile::getAxes(index.getType()).front().str()] = {
                int64_t(env[index.getBase()][0]), shapeOf(index.getType())[0]};
          return set(index.getResult(), std::move(result));
        })
        .Case([&](tile::VoteOp vote) {
          const Elements &rows = env[vote.getOperand()];
          bool all = llvm::all_of(rows, [](double x) { return x != 0; });
          return set(vote.getResult(), {double(all)});
        })
        .Case([&](tile::HiddenOp hidden) {
          skips = env[hidden.getCondition()][0] != 0;
          return true;
        })
        .Case([&](ub::PoisonOp poison) {
          double any = std::numeric_limits<double>::quiet_NaN();
          return set(poison.getResult(),
                     Elements(product(shapeOf(poison.getType())), any));
        })
        .Case<tile::LoadOp, tile::StoreOp, tile::BroadcastOp, tile::DotOp,
              tile::ReduceOp, tile::ReduceGroupOp>(
            [&](auto typed) { return runTile(typed); })
        .Default([&](Operation *other) { return runElementwise(other); });
  }

  bool runKernel(tile::KernelOp kernel) {
    SmallVector<int64_t> bounds;
    for (Value bound : kernel.getBounds())
      bounds.push_back(int64_t(env[bound][0]));
    for (int64_t cell = 0, cells = product(bounds); cell < cells; ++cell) {
      int64_t rest = cell;
      for (size_t i = bounds.size(); i-- > 0; rest /= bounds[i])
        env[kernel.getBody().getArgument(i)] = {double(rest % bounds[i])};
      visit = {kernel.getName().str(), "", {}, {}, false};
      for (auto [id, name] :
           llvm::enumerate(kernel.getIds().getAsValueRange<StringAttr>()))
        visit.ids[name.str()] =
            int64_t(env[kernel.getBody().getArgument(id)][0]);
      if (!runBlock(kernel.getBody().front()))
        return false;
    }
    return true;
  }

  /// After an iteration.
  void note(scf::ForOp loop) {
    if (loop->getParentOfType<tile::KernelOp>()->hasAttr("tile.block_list"))
      return;
    visit.axis = loop->getAttrOfType<StringAttr>("tile.axis").str();
    visit.tiles[visit.axis].first = int64_t(env[tile::getBlockStart(loop)][0]);
    visits->push_back(visit);
  }

  bool runLoop(scf::ForOp loop) {
    SmallVector<Elements> carried;
    for (Value init : loop.getInitArgs())
      carried.push_back(env[init]);
    auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
    auto scalar = [&](Value value) { return int64_t(env[value][0]); };
    int64_t step = scalar(loop.getStep()), end = scalar(loop.getUpperBound());
    for (int64_t i = scalar(loop.getLowerBound()); i < end; i += step) {
      if (counts && loop->hasAttr("tile.axis")) {
        ++counts->computed;
        if (blocks)
          ++(blocks.getValue() == tile::BlockClass::Full    ? counts->full
             : blocks.getValue() == tile::BlockClass::Mixed ? counts->mixed
                                                            : counts->partial);
      }
      env[loop.getInductionVar()] = {double(i)};
      for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), carried))
        env[arg] = value;
      visit.masked = false;
      bool outer = std::exchange(skips, false);
      if (!runBlock(*loop.getBody()))
        return false;
      if (visits && loop->hasAttr("tile.axis"))
        note(loop);
      if (!std::exchange(skips, outer))
        for (auto [value, next] : llvm::zip(carried, loop.getYieldedValues()))
          value = env[next];
    }
    for (auto [result, value] : llvm::zip(loop.getResults(), carried))
      env[result] = std::move(value);
    return true;
  }

  bool runIf(scf::IfOp branch) {
    bool holds = env[branch.getCondition()][0] != 0;
    Block *block = holds ? branch.thenBlock() : branch.elseBlock();
    // The second branch of a guard asks the first, and that a carried flag.
    if (counts && branch.getCondition().getDefiningOp<scf::IfOp>()) {
      ++counts->guarded;
      counts->fast += holds;
    } else if (counts && isa<BlockArgument>(branch.getCondition())) {
      counts->tried += holds;
    }
    if (!block)
      return true;
    if (!runBlock(*block))
      return false;
    for (auto [result, value] :
         llvm::zip(branch.getResults(), block->getTerminator()->getOperands()))
      env[result] = Elements(env[value]);
    return true;
  }

  /// Visits every element of a tile with the position in the tensor that its
  /// indices give, or -1 for one that lies outside.
  void access(Value tensor, OperandRange indices, Type value,
              function_ref<void(int64_t, int64_t)> visit) {
    Space space;
    space.add(value);
    SmallVector<Type> types{value};
    llvm::append_range(types, indices.getTypes());
    const HostTensor &host = *tensors.at(tensor);
    space.walk(types, [&](ArrayRef<int64_t> offsets) {
      int64_t position = 0;
      for (auto [i, index] : llvm::enumerate(indices)) {
        int64_t at = int64_t(env[index][offsets[i + 1]]);
        if (at < 0 || at >= host.shape[i])
          return visit(offsets[0], -1);
        position = position * host.shape[i] + at;
      }
      visit(offsets[0], position);
    });
  }

  bool runTile(tile::LoadOp load) {
    Elements result(product(shapeOf(load.getType())));
    const HostTensor &host = *tensors.at(load.getTensor());
    access(load.getTensor(), load.getIndices(), load.getType(),
           [&](int64_t offset, int64_t position) {
             result[offset] = position < 0 ? 0 : host.data[position];
           });
    return set(load.getResult(), std::move(result));
  }

  bool runTile(tile::StoreOp store) {
    HostTensor &host = *tensors.at(store.getTensor());
    const Elements &value = env[store.getValue()];
    access(store.getTensor(), store.getIndices(), store.getValue().getType(),
           [&](int64_t offset, int64_t position) {
             if (position >= 0)
               host.data[position] = value[offset];
           });
    return true;
  }

  bool runTile(tile::BroadcastOp broadcast) {
    Elements result(product(shapeOf(broadcast.getType())));
    const Elements &operand = env[broadcast.getOperand()];
    Space space;
    space.add(broadcast.getType());
    space.walk({broadcast.getType(), broadcast.getOperand().getType()},
               [&](ArrayRef<int64_t> at) { result[at[0]] = operand[at[1]]; });
    return set(broadcast.getResult(), std::move(result));
  }

  /// The elements of a factor as a product of type `type` takes them.
  Elements enterProduct(Value factor, Type type) {
    Elements result = env[factor];
    if (rounding != Rounding::Narrow)
      return result;
    for (double &element : result) {
      APFloat rounded(element);
      bool inexact;
      rounded.convert(cast<FloatType>(type).getFloatSemantics(),
                      APFloat::rmNearestTiesToEven, &inexact);
      element = rounded.convertToDouble();
    }
    return result;
  }

  bool runTile(tile::DotOp dot) {
    Elements result(product(shapeOf(dot.getType())), 0);
    if (dot.getAcc())
      result = env[dot.getAcc()];
    Elements lhs = enterProduct(dot.getLhs(), dot.getProduct());
    Elements rhs = enterProduct(dot.getRhs(), dot.getProduct());
    Space space;
    space.add(dot.getType());
    space.add(dot.getLhs().getType());
    space.walk({dot.getType(), dot.getLhs().getType(), dot.getRhs().getType()},
               [&](ArrayRef<int64_t> at) {
                 result[at[0]] += lhs[at[1]] * rhs[at[2]];
               });
    return set(dot.getResult(), std::move(result));
  }

  bool runTile(tile::ReduceOp reduce) { return runReduction(reduce); }
  /// Of the whole tile, as for a vote.
  bool runTile(tile::ReduceGroupOp reduce) { return runReduction(reduce); }

  template <typename OpTy> bool runReduction(OpTy reduce) {
    double inf = std::numeric_limits<double>::infinity();
    auto kind = reduce.getKind();
    using attn::ReduceKind;
    double neutral = kind == ReduceKind::Max || kind == ReduceKind::Ref ? -inf
                     : kind == ReduceKind::Min                          ? inf
                     : kind == ReduceKind::All                          ? 1
                                                                        : 0;
    Elements result(product(shapeOf(reduce.getType())), neutral);
    const Elements &operand = env[reduce.getOperand()];
    Space space;
    space.add(reduce.getOperand().getType());
    space.walk({reduce.getType(), reduce.getOperand().getType()},
               [&](ArrayRef<int64_t> at) {
                 double &to = result[at[0]], x = operand[at[1]];
                 if (kind == ReduceKind::Sum)
                   to += x;
                 else if (kind == ReduceKind::Ref)
                   to = std::fmax(to, x);
                 else if (std::isnan(x) || std::isnan(to))
                   to = std::numeric_limits<double>::quiet_NaN();
                 else if (kind == ReduceKind::Max || kind == ReduceKind::Any)
                   to = std::max(to, x);
                 else
                   to = std::min(to, x);
               });
    return set(reduce.getResult(), std::move(result));
  }

  bool runElementwise(Operation *op) {
    if (auto select = dyn_cast<arith::SelectOp>(op))
      visit.masked |= isMask(select);
    ElementFunction function = elementFunction(op);
    if (op->getNumResults() != 1 || !function)
      return unknown(op);
    SmallVector<const Elements *> operands;
    for (Value operand : op->getOperands()) {
      if (!env.count(operand))
        return unknown(op);
      operands.push_back(&env[operand]);
    }
    Elements result(product(shapeOf(op->getResult(0).getType())));
    SmallVector<double> arguments(operands.size());
    for (auto [i, element] : llvm::enumerate(result)) {
      for (auto [argument, operand] : llvm::zip(arguments, operands))
        argument = operand->size() == 1 ? (*operand)[0] : (*operand)[i];
      element = function(arguments, i);
    }
    return set(op->getResult(0), std::move(result));
  }

  bool set(Value value, Elements elements) {
    if (rounding != Rounding::None &&
        isa<FloatType>(tile::getElementType(value.getType())))
      for (double &element : elements)
        element = float(element);
    env[value] = std::move(elements);
    return true;
  }

  bool unknown(Operation *op) {
    op->emitError("the interpreter does not know this operation");
    return false;
  }

  std::map<std::string, HostTensor> &values;
  BlockCounts *counts;
  Rounding rounding;
  std::vector<BlockVisit> *visits;
  BlockVisit visit; ///< the running program's
  bool skips = false; ///< what the running iteration adds (tile.hidden)
  SmallVector<int64_t> sizes;
  DenseMap<Value, Elements> env;
  DenseMap<Value, HostTensor *> tensors;
  std::vector<std::unique_ptr<HostTensor>> owned;
};

} // namespace

bool interpret(tile::ProgramOp program,
               std::map<std::string, HostTensor> &values, BlockCounts *counts,
               Rounding rounding, std::vector<BlockVisit> *visits) {
  return Interpreter(values, counts, rounding, visits).runProgram(program);
}

} // namespace attentile::test
