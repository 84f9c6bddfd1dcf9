//===- AssignLayouts.cpp - where the elements of every tile are -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: gives every tile of a kernel a layout, and inserts
// tile.convert_layout where a value is needed in another one. Expects:
// `tile.warps` on the kernel (tile-partition-warps). Leaves: operations in
// their order, factors of 16-bit products in that type. Does not handle:
// right factors that change their layout within shared memory.
//
//===----------------------------------------------------------------------===//

#include "BallotPlaces.h"
#include "ComputedFactors.h"
#include "KeptFactors.h"
#include "LoadPlaces.h"
#include "NaturalLayouts.h"
#include "StorePackets.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attentile {
#define GEN_PASS_DEF_TILEASSIGNLAYOUTS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Gives the tiles of one kernel their layouts, first operation to last.
class Assignment {
public:
  Assignment(tile::KernelOp kernel, tile::WarpsAttr warps,
             tile::ResourcesAttr resources)
      : kernel(kernel), warps(warps), axes(kernel), natural(axes, warps),
        computed(kernel, natural), kept(resources, natural) {}

  LogicalResult run() {
    if (failed(assignBlock(kernel.getBody().front())))
      return failure();
    eraseDead(kernel.getBody().front());
    return success();
  }

private:
  LogicalResult assignBlock(Block &block);
  LogicalResult assign(Operation *op);
  LogicalResult assignFor(scf::ForOp loop);
  LogicalResult assignIf(scf::IfOp branch);
  LogicalResult assignElementwise(Operation *op);
  void assignLoad(tile::LoadOp load);
  void assignVote(tile::VoteOp vote);
  void exchangeTruths(tile::BroadcastOp broadcast);
  void unpackBytes(tile::LoadOp load);
  LogicalResult assignDot(tile::DotOp dot);

  FailureOr<Value> makeLeft(tile::DotOp dot, Value factor);
  FailureOr<Value> makeRight(tile::DotOp dot, Value factor);
  FailureOr<Value> round(tile::DotOp dot, Value factor);

  /// `value` in a layout: itself, made anew, or converted, once for all users.
  Value inLayout(Value value, Attribute layout);
  Value inNatural(Value value) {
    return tile::isTile(value.getType())
               ? inLayout(value, natural.get(tileType(value)))
               : value;
  }
  Value makeAnew(Operation *op, tile::FragmentAttr layout);
  /// The operands of `op` that are tiles, as slices of `whole`.
  void sliceOperands(MutableOperandRange operands, Type whole);
  void setLayout(Value value, Attribute layout) {
    value.setType(tile::withLayout(tileType(value), layout));
  }
  static RankedTensorType tileType(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  void eraseDead(Block &block);

  tile::KernelOp kernel;
  tile::WarpsAttr warps;
  KernelAxes axes;
  NaturalLayouts natural;
  ComputedFactors computed;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> made;
  KeptFactors kept;
  llvm::DenseMap<std::pair<Value, Type>, Value> roundedBefore; // their loop
};

//===----------------------------------------------------------------------===//
// A value in another layout
//===----------------------------------------------------------------------===//

Value Assignment::inLayout(Value value, Attribute layout) {
  if (!tile::isTile(value.getType()) ||
      tile::getLayout(value.getType()) == layout)
    return value;
  if (Value known = made.lookup({value, layout}))
    return known;
  Value now;
  auto fragment = dyn_cast<tile::FragmentAttr>(layout);
  if (fragment && isCheap(value)) {
    now = makeAnew(value.getDefiningOp(), fragment);
  } else {
    // A constant has no layout of its own.
    Value from = tile::getLayout(value.getType()) ? value : inNatural(value);
    OpBuilder builder(kernel.getContext());
    builder.setInsertionPointAfterValue(from);
    now = tile::ConvertLayoutOp::create(
        builder, value.getLoc(), tile::withLayout(tileType(value), layout),
        from);
  }
  return made[{value, layout}] = now;
}

/// A cheap operation once more, with its result in a layout.
Value Assignment::makeAnew(Operation *op, tile::FragmentAttr layout) {
  OpBuilder builder(op->getContext());
  // Constants stand outside of the kernel.
  if (kernel->isProperAncestor(op))
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPointToStart(&kernel.getBody().front());
  auto type = tile::withLayout(tileType(op->getResult(0)), layout);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(
        builder, op->getLoc(),
        cast<TypedAttr>(
            dense.isSplat()
                ? DenseElementsAttr::get(type, dense.getSplatValue<Attribute>())
                : dense.reshape(type)));
  }
  Operation *copy = builder.clone(*op);
  copy->getResult(0).setType(type);
  for (OpOperand &operand : copy->getOpOperands())
    if (tile::isTile(operand.get().getType()))
      operand.set(inLayout(operand.get(),
                           tile::sliceLayout(type, operand.get().getType())));
  return copy->getResult(0);
}

void Assignment::sliceOperands(MutableOperandRange operands, Type whole) {
  for (OpOperand &operand : operands)
    if (tile::isTile(operand.get().getType()))
      operand.set(inLayout(operand.get(),
                           tile::sliceLayout(whole, operand.get().getType())));
}

void Assignment::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}

//===----------------------------------------------------------------------===//
// Control flow and elementwise operations
//===----------------------------------------------------------------------===//

LogicalResult Assignment::assignBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(assign(&op)))
      return failure();
  return success();
}

LogicalResult Assignment::assign(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return assignFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return assignIf(branch);
  auto isAnyTile = [](TypeRange types) {
    return llvm::any_of(types, tile::isTile);
  };
  if (!isAnyTile(op->getOperandTypes()) && !isAnyTile(op->getResultTypes()))
    return success();
  if (isa<arith::ConstantOp, ub::PoisonOp>(op))
    return success(); // made anew in each layout that it is needed in
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    assignLoad(load);
  } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
    return assignDot(dot);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    if (!tile::getFragment(reduce.getOperand().getType()))
      reduce.getOperandMutable().assign(inNatural(reduce.getOperand()));
    SmallVector<StringAttr> over(reduce.getOver().getAsRange<StringAttr>());
    reduce.getResult().setType(
        tile::dropAxes(reduce.getOperand().getType(), over));
  } else if (auto slice = dyn_cast<tile::SliceOp>(op)) {
    // Each warp takes its part of what all of them have made.
    Value whole = slice.getOperand();
    if (!tile::getShared(whole.getType()))
      whole = inLayout(whole, NaturalLayouts::shared(tileType(whole)));
    slice.getOperandMutable().assign(whole);
    setLayout(slice.getResult(), tile::getLayout(whole.getType()));
  } else if (auto vote = dyn_cast<tile::VoteOp>(op)) {
    assignVote(vote);
  } else if (auto reduce = dyn_cast<tile::ReduceGroupOp>(op)) {
    reduce.getOperandMutable().assign(inNatural(reduce.getOperand()));
  } else if (isa<tile::IndexOp, tile::BroadcastOp>(op)) {
    setLayout(op->getResult(0), natural.get(tileType(op->getResult(0))));
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
      exchangeTruths(broadcast);
    sliceOperands(MutableOperandRange(op), op->getResult(0).getType());
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    if (tile::isTile(store.getValue().getType()) &&
        !tile::getFragment(store.getValue().getType()))
      store.getValueMutable().assign(inNatural(store.getValue()));
    gatherPackets(store, warps.getCount());
    sliceOperands(store.getIndicesMutable(), store.getValue().getType());
  } else if (!isa<scf::YieldOp>(op)) { // whose parent sets its operands
    return assignElementwise(op);
  }
  return success();
}

LogicalResult Assignment::assignFor(scf::ForOp loop) {
  for (OpOperand &init : loop.getInitArgsMutable()) {
    init.set(inNatural(init.get()));
    loop.getTiedLoopRegionIterArg(&init).setType(init.get().getType());
    loop.getTiedLoopResult(&init).setType(init.get().getType());
  }
  if (failed(assignBlock(*loop.getBody())))
    return failure();
  for (OpOperand &yielded : loop.getBody()->getTerminator()->getOpOperands())
    yielded.set(inNatural(yielded.get()));
  return success();
}

LogicalResult Assignment::assignIf(scf::IfOp branch) {
  for (Region *region : branch.getRegions())
    for (Block &block : *region) {
      if (failed(assignBlock(block)))
        return failure();
      for (OpOperand &yielded : block.getTerminator()->getOpOperands())
        yielded.set(inNatural(yielded.get()));
    }
  for (Value result : branch.getResults())
    if (tile::isTile(result.getType()))
      setLayout(result, natural.get(tileType(result)));
  return success();
}

LogicalResult Assignment::assignElementwise(Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op))
    return op->emitError("expected an operation on tiles that "
                         "tile-assign-layouts knows, got ")
           << op->getName();
  // Where an operand that is dear to move lies, else where the axes say. So
  // does what would have to move between warps afterwards: in a branch that
  // they may take apart, or made of what each of them has of its own.
  Attribute layout = natural.get(tileType(op->getResult(0)));
  bool isInBranch = isa<scf::IfOp>(op->getParentOp());
  for (Value operand : op->getOperands())
    if (auto fragment = tile::getFragment(operand.getType());
        fragment && !isCheap(operand)) {
      bool movesFirst =
          fragment.getLayout().rank() == 1 &&
          ((isInBranch && operand.getParentBlock() != op->getBlock()) ||
           llvm::any_of(op->getOperands(), isOfGroup));
      if (!movesFirst)
        layout = fragment;
      break;
    }
  for (OpOperand &operand : op->getOpOperands())
    operand.set(inLayout(operand.get(), layout));
  for (Value result : op->getResults())
    setLayout(result, layout);
  return success();
}

//===----------------------------------------------------------------------===//
// Loads and products
//===----------------------------------------------------------------------===//

/// Of columns that every warp looks at, each lane loads and compares a part.
void Assignment::assignVote(tile::VoteOp vote) {
  Value operand = vote.getOperand();
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  bool isOfColumns = type && !tile::getAxisPosition(type, warps.getRows());
  vote.getOperandMutable().assign(
      isOfColumns && isCheap(operand)
          ? inLayout(operand, NaturalLayouts::lanes(type))
          : inNatural(operand));
}

/// Of what is asked of loaded columns each lane asks a part; ballots bring the
/// truths to where the rows' lanes need them.
void Assignment::exchangeTruths(tile::BroadcastOp broadcast) {
  Value operand = broadcast.getOperand();
  if (!asksLoadedColumns(operand, warps.getRows()))
    return;
  RankedTensorType type = tileType(operand);
  tile::FragmentAttr lanes = NaturalLayouts::lanes(type);
  auto needed = cast<tile::FragmentAttr>(
      tile::sliceLayout(broadcast.getType(), operand.getType()));
  if (!findBallotPlaces(lanes.getLayout(), needed.getLayout()))
    return;
  OpBuilder builder(broadcast);
  broadcast.getOperandMutable().assign(tile::ConvertLayoutOp::create(
      builder, broadcast.getLoc(), tile::withLayout(type, needed),
      inLayout(operand, lanes)));
}

/// Bytes are copied as they are; then every thread takes its part, eight at a
/// time, which is converted once.
void Assignment::unpackBytes(tile::LoadOp load) {
  RankedTensorType type = tileType(load.getResult());
  tile::FragmentAttr packets;
  if (type.getRank() == 2)
    packets = NaturalLayouts::packets(load.getContext(), type.getDimSize(0),
                                      type.getDimSize(1), warps.getCount());
  OpBuilder builder(load->getContext());
  builder.setInsertionPointAfter(load);
  auto parts = tile::ConvertLayoutOp::create(
      builder, load.getLoc(),
      tile::withLayout(type, packets ? packets : natural.get(type)),
      load.getResult());
  load.getResult().replaceAllUsesExcept(parts, parts);
}

/// To shared memory if a product takes what is loaded as it is.
void Assignment::assignLoad(tile::LoadOp load) {
  if (!tile::isTile(load.getType()))
    return;
  Value result = load.getResult();
  bool isFactor = llvm::any_of(result.getUsers(), [&](Operation *user) {
    if (isa<tile::SliceOp>(user))
      user = *user->getUsers().begin();
    auto dot = dyn_cast<tile::DotOp>(user);
    return dot && dot.getProduct() == tile::getElementType(result.getType());
  });
  bool isBytes = isBytesOfFactor(load);
  if ((isFactor || isBytes) && isWindow(load)) {
    setLayout(result, NaturalLayouts::shared(tileType(result)));
    if (isBytes)
      unpackBytes(load);
    return; // the copy takes the indices' first elements
  }
  if (isForScores(load, warps.getRows())) {
    setLayout(result, NaturalLayouts::sharedForScores(tileType(result)));
    OpBuilder builder(load->getContext());
    builder.setInsertionPointAfter(load); // in registers where it is needed
    auto own = tile::ConvertLayoutOp::create(
        builder, load.getLoc(),
        tile::withLayout(tileType(result), natural.get(tileType(result))),
        result);
    result.replaceAllUsesExcept(own, own);
    moveUp(load);
    return;
  }
  tile::FragmentAttr pieces;
  if (computed.hasLoad(load))
    pieces = NaturalLayouts::pieces(tileType(result), warps.getCount());
  setLayout(result, pieces ? pieces : natural.get(tileType(result)));
  sliceOperands(load.getIndicesMutable(), result.getType());
}

/// A factor in the product's type; in registers if it must be rounded.
FailureOr<Value> Assignment::round(tile::DotOp dot, Value factor) {
  Type element = tile::getElementType(factor.getType());
  if (element == dot.getProduct())
    return factor;
  if (!element.isF32())
    return dot.emitOpError("expected factors of ")
           << dot.getProduct() << " or f32, got " << factor.getType();
  // Where it was computed: bytes are rounded in the layout they came in.
  if (!tile::getFragment(factor.getType()))
    factor = inNatural(factor);
  OpBuilder builder(dot);
  Value once;
  bool isBefore = isMadeBefore(dot, factor);
  Value &rounded = isBefore ? roundedBefore[{factor, dot.getProduct()}] : once;
  if (rounded)
    return rounded;
  if (isBefore)
    builder.setInsertionPointAfterValue(factor);
  return rounded = arith::TruncFOp::create(
             builder, dot.getLoc(),
             tile::withElementType(factor.getType(), dot.getProduct()), factor);
}

FailureOr<Value> Assignment::makeLeft(tile::DotOp dot, Value factor) {
  FailureOr<Value> rounded = round(dot, factor);
  if (failed(rounded))
    return failure();
  // As what is loaded: to shared memory, and from there where it is needed.
  if (computed.hasLeft(factor))
    rounded = inLayout(*rounded, NaturalLayouts::shared(tileType(*rounded)));
  if (tile::getShared(rounded->getType()) && !kept.keeps(dot, *rounded))
    return rounded;
  // Likewise a product whose rows or columns are not those of this one's left.
  RankedTensorType type = tileType(*rounded), result = dot.getTileType();
  if (!isReadAsLeft(tile::withLayout(type, natural.get(type)),
                    tile::withLayout(result, natural.get(result))))
    return inLayout(*rounded, NaturalLayouts::shared(type));
  return inNatural(*rounded);
}

FailureOr<Value> Assignment::makeRight(tile::DotOp dot, Value factor) {
  FailureOr<Value> rounded = round(dot, factor);
  if (failed(rounded))
    return failure();
  // A part of a tile in shared memory is read where it lies, whose columns give
  // the layout.
  if (isa_and_nonnull<tile::SliceOp>(rounded->getDefiningOp()))
    return *rounded;
  return inLayout(*rounded, NaturalLayouts::shared(tileType(*rounded)));
}

LogicalResult Assignment::assignDot(tile::DotOp dot) {
  bool isLhsLeft = isLeft(dot, dot.getLhs(), natural);
  FailureOr<Value> left =
      makeLeft(dot, isLhsLeft ? dot.getLhs() : dot.getRhs());
  FailureOr<Value> right =
      makeRight(dot, isLhsLeft ? dot.getRhs() : dot.getLhs());
  if (failed(left) || failed(right))
    return failure();
  dot.getLhsMutable().assign(isLhsLeft ? *left : *right);
  dot.getRhsMutable().assign(isLhsLeft ? *right : *left);
  setLayout(dot.getResult(), natural.get(dot.getTileType()));
  if (dot.getAcc())
    dot.getAccMutable().assign(
        inLayout(dot.getAcc(), tile::getLayout(dot.getType())));
  return success();
}

struct TileAssignLayouts : impl::TileAssignLayoutsBase<TileAssignLayouts> {
  void runOnOperation() override {
    auto *dialect = getContext().getLoadedDialect<tile::TileDialect>();
    WalkResult result = getOperation()->walk([&](tile::KernelOp kernel) {
      tile::WarpsAttr warps = dialect->getWarpsAttrHelper().getAttr(kernel);
      if (!warps) {
        kernel.emitError(
            "expected 'tile.warps'; tile-partition-warps writes it");
        return WalkResult::interrupt();
      }
      Assignment assignment(kernel, warps,
                            dialect->getResourcesAttrHelper().getAttr(kernel));
      return failed(assignment.run()) ? WalkResult::interrupt()
                                      : WalkResult::skip();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // Constants that every kernel now has in its own layouts.
    getOperation()->walk([](tile::ProgramOp program) {
      for (Operation &op : llvm::make_early_inc_range(program.getHeadBlock()))
        if (isa<arith::ConstantOp>(op) && isOpTriviallyDead(&op))
          op.erase();
    });
  }
};

} // namespace
} // namespace attentile
