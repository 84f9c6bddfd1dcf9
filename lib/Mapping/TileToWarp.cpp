//===- TileToWarp.cpp - from tiles to what each thread does ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: every tile.kernel becomes a warp.kernel, tiles in registers vectors of
// a thread's own, tiles in shared memory buffers. Expects: a layout in every
// tile's type and `tile.warps` on every kernel (tile-assign-layouts). Leaves:
// copies that are waited for at once; warp-pipeline-copies moves them ahead.
// Does not handle: products of tiles of more than two axes.
//
//===----------------------------------------------------------------------===//

#include "IndexRuns.h"
#include "WarpEmitter.h"
#include "attentile/AssumedBounds.h"
#include "attentile/Mapping/Passes.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>
#include <numeric>

namespace attentile {
#define GEN_PASS_DEF_TILETOWARP
#include "Mapping/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-to-warp"

using namespace mlir;

namespace attentile {

WarpEmitter::WarpEmitter(tile::KernelOp kernel, warp::KernelOp target,
                         int64_t registersAtOnce)
    : kernel(kernel), target(target), registersAtOnce(registersAtOnce),
      warps(target.getWarps()),
      builder(OpBuilder::atBlockEnd(&target.getBody().front())),
      loc(kernel.getLoc()) {
  for (auto [from, to] : llvm::zip_equal(kernel.getBody().getArguments(),
                                         target.getBody().getArguments()))
    set(from, to);
}

LogicalResult WarpEmitter::emitBody() {
  lane = warp::LaneIdOp::create(builder, loc, builder.getIndexType());
  warp = warp::WarpIdOp::create(builder, loc, builder.getIndexType());
  lastAtTop = warp.getDefiningOp();
  findPieces();
  return emitBlock(kernel.getBody().front());
}

LogicalResult WarpEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && !inPieces.contains(&op)) {
      loc = op.getLoc();
      if (failed(emit(&op)))
        return failure();
    }
  return success();
}

LogicalResult WarpEmitter::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::IfOp branch) { return emitIf(branch); })
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant); })
      .Case([&](ub::PoisonOp poison) { return emitPoison(poison); })
      .Case([&](tile::RefOp ref) { return emitRef(ref); })
      .Case([&](tile::IndexOp index) { return emitIndex(index); })
      .Case([&](tile::BroadcastOp op) { return emitBroadcast(op); })
      .Case([&](tile::ReduceOp reduce) { return emitReduce(reduce); })
      .Case([&](tile::VoteOp vote) { return emitVote(vote); })
      .Case([&](tile::ReduceGroupOp reduce) { return emitReduceGroup(reduce); })
      .Case([&](tile::HiddenOp hidden) {
        warp::HiddenOp::create(builder, loc, get(hidden.getCondition()));
        return success();
      })
      .Case([&](tile::EitherOp either) {
        warp::EitherOp::create(builder, loc, get(either.getCondition()));
        return success();
      })
      .Case([&](tile::SliceOp slice) {
        set(slice, get(slice.getOperand()));
        return success();
      })
      .Case([&](tile::DotOp dot) { return emitDot(dot); })
      .Case([&](tile::LoadOp load) { return emitLoad(load); })
      .Case([&](tile::StoreOp store) { return emitStore(store); })
      .Case([&](tile::ConvertLayoutOp op) { return emitConvert(op); })
      .Default([&](Operation *other) { return emitElementwise(other); });
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Fills `to`, whose arguments are mapped already, from a region's block.
LogicalResult WarpEmitter::moveRegion(Block &from, Block &to) {
  OpBuilder::InsertionGuard guard(builder);
  if (!to.empty() && to.back().hasTrait<OpTrait::IsTerminator>())
    to.back().erase(); // of a region without results
  builder.setInsertionPointToEnd(&to);
  if (failed(emitBlock(from)))
    return failure();
  SmallVector<Value> yielded;
  for (Value value : from.getTerminator()->getOperands())
    yielded.push_back(get(value));
  scf::YieldOp::create(builder, from.getTerminator()->getLoc(), yielded);
  return success();
}

/// The position of a loop that goes from its last block to its first: the last
/// one's less what the index has come.
static Value descend(OpBuilder &before, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value from = loop.getLowerBound(), step = loop.getStep();
  Value one = arith::ConstantIndexOp::create(before, loc, 1);
  Value zero = arith::ConstantIndexOp::create(before, loc, 0);
  Value length = arith::SubIOp::create(before, loc, loop.getUpperBound(), from);
  Value behind = arith::MaxSIOp::create(
      before, loc, arith::SubIOp::create(before, loc, length, one), zero);
  Value whole = arith::MulIOp::create(
      before, loc, arith::DivUIOp::create(before, loc, behind, step), step);
  // Where the loop runs at all this is a position of the axis, which
  // warp-narrow-indices cannot tell from the bounds' formulas.
  Value most = arith::ConstantIndexOp::create(before, loc, kLargestPosition);
  Value last = arith::AddIOp::create(before, loc, from, whole);
  last = arith::MinSIOp::create(
      before, loc, arith::MaxSIOp::create(before, loc, last, zero), most);
  OpBuilder body = OpBuilder::atBlockBegin(loop.getBody());
  Value done = loop.getInductionVar();
  // At least 0, likewise.
  if (getConstantIntValue(from) != 0)
    done = arith::MaxSIOp::create(
        body, loc, arith::SubIOp::create(body, loc, done, from), zero);
  return arith::SubIOp::create(body, loc, last, done);
}

/// The position of a loop that does so in every other iteration of the one
/// around it.
static Value alternate(OpBuilder &before, scf::ForOp loop, scf::ForOp around) {
  Location loc = loop.getLoc();
  Value done = before.createOrFold<arith::SubIOp>(loc, around.getInductionVar(),
                                                  around.getLowerBound());
  Value turn = before.createOrFold<arith::DivUIOp>(loc, done, around.getStep());
  Value two = arith::ConstantIndexOp::create(before, loc, 2);
  Value zero = arith::ConstantIndexOp::create(before, loc, 0);
  Value isBack = arith::CmpIOp::create(
      before, loc, arith::CmpIPredicate::ne,
      arith::RemUIOp::create(before, loc, turn, two), zero);
  Value back = descend(before, loop);
  OpBuilder body(loop.getContext());
  body.setInsertionPointAfterValue(back);
  return arith::SelectOp::create(body, loc, isBack, back,
                                 loop.getInductionVar());
}

LogicalResult WarpEmitter::emitFor(scf::ForOp loop) {
  SmallVector<Value> inits;
  for (Value init : loop.getInitArgs())
    inits.push_back(get(init));
  auto made =
      scf::ForOp::create(builder, loc, get(loop.getLowerBound()),
                         get(loop.getUpperBound()), get(loop.getStep()), inits);
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip_equal(loop.getBody()->getArguments(),
                                         made.getBody()->getArguments()))
    set(from, to);
  if (loop->hasAttr("tile.descending")) {
    OpBuilder before(made);
    set(loop.getInductionVar(), descend(before, made));
  } else if (loop->hasAttr("tile.alternating")) {
    OpBuilder before(made);
    if (auto around = made->getParentOfType<scf::ForOp>())
      set(loop.getInductionVar(), alternate(before, made, around));
  }
  if (failed(moveRegion(*loop.getBody(), *made.getBody())))
    return failure();
  for (auto [from, to] : llvm::zip_equal(loop.getResults(), made.getResults()))
    set(from, to);
  return success();
}

LogicalResult WarpEmitter::emitIf(scf::IfOp branch) {
  if (emittedBranches.contains(branch))
    return success();
  if (std::optional<LogicalResult> emitted = emitByBlocks(branch))
    return *emitted;
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    types.push_back(convertType(type));
  bool hasElse = !branch.getElseRegion().empty();
  auto made = scf::IfOp::create(builder, loc, types, get(branch.getCondition()),
                                /*addThenBlock=*/true, hasElse);
  made->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  if (failed(moveRegion(*branch.thenBlock(), *made.thenBlock())))
    return failure();
  if (hasElse && failed(moveRegion(*branch.elseBlock(), *made.elseBlock())))
    return failure();
  for (auto [from, to] :
       llvm::zip_equal(branch.getResults(), made.getResults()))
    set(from, to);
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

LogicalResult WarpEmitter::emitConstant(arith::ConstantOp constant) {
  if (!tile::isTile(constant.getType())) {
    builder.clone(*constant, mapping);
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense || !dense.isSplat())
    return constant.emitError("expected a constant tile of one value, got "
                              "several");
  auto type = cast<VectorType>(convertType(constant.getType()));
  set(constant,
      arith::ConstantOp::create(
          builder, loc, type,
          DenseElementsAttr::get(type, dense.getSplatValue<Attribute>())));
  return success();
}

/// What a branch leaves open.
LogicalResult WarpEmitter::emitPoison(ub::PoisonOp poison) {
  set(poison, ub::PoisonOp::create(builder, loc, convertType(poison.getType()),
                                   poison.getValue()));
  return success();
}

LogicalResult WarpEmitter::emitRef(tile::RefOp ref) {
  Value operand = get(ref.getOperand());
  Type type = operand.getType();
  auto fill = [&](double value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, splat(type, builder.getF32FloatAttr(value)));
  };
  Value lowest = fill(-std::numeric_limits<double>::infinity());
  Value unseen = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                       operand, lowest);
  set(ref, arith::SelectOp::create(builder, loc, unseen, fill(0), operand));
  return success();
}

/// Of indices that follow each other from a multiple of their number on all or
/// none are below a multiple: one comparison for them.
bool WarpEmitter::emitComparison(arith::CmpIOp comparison) {
  using Predicate = arith::CmpIPredicate;
  if (!llvm::is_contained(
          {Predicate::slt, Predicate::sge, Predicate::ult, Predicate::uge},
          comparison.getPredicate()))
    return false;
  int64_t limit = multipleOfAll(comparison.getRhs());
  if (limit == 0) // the right side may differ
    return false;
  int64_t run = std::gcd(runInRegisters(comparison.getLhs()), limit);
  if (run <= 1)
    return false;
  SmallVector<int64_t> firsts, runs;
  int64_t registers = layoutOf(comparison.getLhs().getType()).registers();
  for (int64_t reg = 0; reg < registers; ++reg) {
    runs.push_back(reg / run);
    if (reg % run == 0)
      firsts.push_back(reg);
  }
  Value compared =
      arith::CmpIOp::create(builder, loc, comparison.getPredicate(),
                            gather(get(comparison.getLhs()), firsts),
                            gather(get(comparison.getRhs()), firsts));
  set(comparison, gather(compared, runs));
  return true;
}

LogicalResult WarpEmitter::emitElementwise(Operation *op) {
  if (op->getNumRegions() != 0 ||
      !isa_and_nonnull<arith::ArithDialect, math::MathDialect,
                       attn::AttnDialect>(op->getDialect()))
    return op->emitError("expected an operation that tile-to-warp knows, got ")
           << op->getName();
  for (Type type : op->getResultTypes())
    if (tile::getShared(type))
      return op->emitError("expected elementwise work in registers, got ")
             << type;
  if (auto comparison = dyn_cast<arith::CmpIOp>(op);
      comparison && emitComparison(comparison))
    return success();
  Operation *made = op->clone(mapping);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    made->setOperand(i, get(operand));
  for (auto [from, to] :
       llvm::zip_equal(op->getResults(), made->getResults())) {
    to.setType(convertType(from.getType()));
    set(from, to);
  }
  builder.insert(made);
  return success();
}

//===----------------------------------------------------------------------===//
// What all families use
//===----------------------------------------------------------------------===//

Type WarpEmitter::convertType(Type type) {
  if (tile::getFragment(type))
    return VectorType::get({layoutOf(type).registers()},
                           tile::getElementType(type));
  if (tile::SharedAttr shared = tile::getShared(type))
    return warp::BufferType::get(type.getContext(),
                                 cast<RankedTensorType>(type).getShape(),
                                 tile::getElementType(type), shared, 0);
  return type;
}

Value WarpEmitter::get(Value value) {
  if (Value emitted = mapping.lookupOrNull(value))
    return emitted;
  // A constant tile of the program, outside the kernel.
  Operation *constant = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ConstantOp, ub::PoisonOp>(constant) ||
      !tile::isTile(value.getType()))
    return value;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastAtTop);
  if (failed(emit(constant)))
    return value;
  lastAtTop = mapping.lookup(value).getDefiningOp();
  return mapping.lookup(value);
}

Value WarpEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value WarpEmitter::sum(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AddIOp::create(builder, loc, a, b);
}

Value WarpEmitter::offset(Value value, int64_t offset) {
  if (value && offset == 0)
    return value;
  return sum(value, constant(offset));
}

/// id / stride % extent, of an id below `end`.
static Value extractDigit(OpBuilder &builder, Location loc, Value id,
                          int64_t stride, int64_t extent, int64_t end) {
  auto number = [&](int64_t n) {
    return arith::ConstantIndexOp::create(builder, loc, n);
  };
  if (stride != 1)
    id = arith::DivUIOp::create(builder, loc, id, number(stride));
  if (stride * extent < end)
    id = arith::RemUIOp::create(builder, loc, id, number(extent));
  return id;
}

Value WarpEmitter::threadPart(ArrayRef<tile::Digit> digits, ThreadUnits units) {
  std::string key = std::to_string(int(units));
  for (const tile::Digit &digit : digits)
    key += ";" + std::to_string(digit.extent) +
           tile::stringifyUnit(digit.unit).str() + std::to_string(digit.stride);
  auto [entry, isNew] = threadParts.try_emplace(key);
  if (!isNew)
    return entry->second;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastAtTop);
  Value result;
  int64_t worth = 1;
  for (const tile::Digit &digit : digits) {
    bool isLane = digit.unit == tile::Unit::Lane;
    bool isWarp = digit.unit == tile::Unit::Warp;
    if ((isLane && units != ThreadUnits::Warp) ||
        (isWarp && units != ThreadUnits::Lane)) {
      Value value =
          extractDigit(builder, loc, isLane ? lane : warp, digit.stride,
                       digit.extent, isLane ? tile::Layout::kLanes : warps);
      if (worth != 1)
        value = arith::MulIOp::create(builder, loc, value, constant(worth));
      result = sum(result, value);
    }
    worth *= digit.extent;
  }
  if (result && builder.getInsertionPoint() != builder.getBlock()->begin())
    lastAtTop = &*std::prev(builder.getInsertionPoint());
  return entry->second = result;
}

Value WarpEmitter::isFirstHolder(const tile::Layout &layout,
                                 ThreadUnits units) {
  Value result;
  auto require = [&](Value id, int64_t stride, int64_t extent, int64_t end) {
    Value digit = extractDigit(builder, loc, id, stride, extent, end);
    Value zero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       digit, constant(0));
    result = result ? arith::AndIOp::create(builder, loc, result, zero) : zero;
  };
  for (auto [unit, id, end] :
       {std::tuple(tile::Unit::Lane, lane, tile::Layout::kLanes),
        std::tuple(tile::Unit::Warp, warp, warps)}) {
    if (units ==
        (unit == tile::Unit::Lane ? ThreadUnits::Warp : ThreadUnits::Lane))
      continue;
    for (const tile::Digit &copies : layout.copies(unit, end))
      require(id, copies.stride, copies.extent, end);
  }
  return result;
}

bool WarpEmitter::isInLoop() {
  return isa<scf::ForOp>(builder.getBlock()->getParentOp()) ||
         builder.getBlock()->getParentOp()->getParentOfType<scf::ForOp>();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct TileToWarp : impl::TileToWarpBase<TileToWarp> {
  using TileToWarpBase::TileToWarpBase;

  void runOnOperation() override {
    SmallVector<tile::KernelOp> kernels;
    getOperation()->walk([&](tile::KernelOp op) { kernels.push_back(op); });
    for (tile::KernelOp kernel : kernels)
      if (failed(convert(kernel)))
        return signalPassFailure();
  }

  LogicalResult convert(tile::KernelOp kernel) {
    auto warps = kernel->getAttrOfType<tile::WarpsAttr>("tile.warps");
    if (!warps)
      return kernel.emitError("expected `tile.warps`, as tile-partition-warps "
                              "leaves it");
    WalkResult hasLayouts = kernel->walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (tile::isTile(type) && !tile::getLayout(type)) {
          op->emitError("expected a layout in the tile's type, got ") << type;
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (hasLayouts.wasInterrupted())
      return failure();
    OpBuilder builder(kernel);
    auto target = warp::KernelOp::create(
        builder, kernel.getLoc(), kernel.getName(), kernel.getIds(),
        kernel.getBounds(), warps.getCount(), /*shared_bytes=*/nullptr,
        /*otherwise=*/nullptr);
    Block &body = target.getBody().emplaceBlock();
    for (BlockArgument id : kernel.getBody().getArguments())
      body.addArgument(id.getType(), id.getLoc());
    for (NamedAttribute attr : kernel->getDiscardableAttrs())
      if (attr.getName() != "tile.warps")
        target->setDiscardableAttr(attr.getName(), attr.getValue());
    if (failed(WarpEmitter(kernel, target, registersAtOnce).emitBody()))
      return failure();
    kernel.erase();
    return success();
  }
};

} // namespace
} // namespace attentile
