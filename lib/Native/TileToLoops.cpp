//===- TileToLoops.cpp - tile kernels to functions with loops -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: each tile.kernel becomes a function that runs a range of its grid's
// cells, with tiles in one block of scratch, scf loops and vector operations of
// the machine's width. Expects: tile.program, its host functions already made
// (attentile/Native/ArgSlots.h has the calling convention). Leaves: functions
// in the func, scf, arith, math, vector, memref and llvm dialects, and total
// integer division; no tile operation. Does not handle: constants that differ
// from element to element.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "attentile/Native/Passes.h"
#include "attentile/Splat.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {
#define GEN_PASS_DEF_TILETOLOOPS
#include "Native/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile::native {

KernelEmitter::KernelEmitter(tile::KernelOp kernel, const KernelPlan &plan,
                             const ArgSlots &slots, unsigned vectorBits,
                             bool countBlocks)
    : b(kernel.getContext()), loc(kernel.getLoc()), plan(plan),
      vectorBits(vectorBits), kernel(kernel), slots(slots),
      countBlocks(countBlocks) {}

//===----------------------------------------------------------------------===//
// Small pieces
//===----------------------------------------------------------------------===//

Value KernelEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value KernelEmitter::add(Value a, Value c) {
  return b.createOrFold<arith::AddIOp>(loc, a, c);
}

Value KernelEmitter::mul(Value a, Value c) {
  return b.createOrFold<arith::MulIOp>(loc, a, c);
}

Value KernelEmitter::toI64(Value value) {
  if (!value.getType().isIndex())
    return value;
  return b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), value);
}

Value KernelEmitter::advance(Value pointer, Type element, Value offset) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), element, pointer,
                             LLVM::GEPArg(toI64(offset)));
}

SmallVector<Value> KernelEmitter::indicesOf(int id, const Coordinates &at) {
  const Buffer &buffer = plan.buffers[id];
  SmallVector<Value> indices;
  for (Axis axis : buffer.order)
    indices.push_back(at.lookup(axis));
  if (buffer.panel) {
    Value position = indices.back(), panel = index(buffer.panel);
    indices.back() = b.createOrFold<arith::RemUIOp>(loc, position, panel);
    indices.insert(indices.begin(),
                   b.createOrFold<arith::DivUIOp>(loc, position, panel));
  }
  return indices;
}

/// Slot `number` of the arguments.
Value KernelEmitter::slot(unsigned number, Type type) {
  Value pointer = function.getArgument(0);
  Value at = LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI64Type(),
                                 pointer, LLVM::GEPArg(int32_t(number)));
  Type stored = type;
  if (type.isIndex())
    stored = b.getI64Type();
  if (type.isInteger(1))
    stored = b.getI8Type();
  Value value = LLVM::LoadOp::create(b, loc, stored, at);
  if (type.isIndex())
    return arith::IndexCastOp::create(b, loc, type, value);
  if (type.isInteger(1))
    return arith::TruncIOp::create(b, loc, type, value);
  return value;
}

//===----------------------------------------------------------------------===//
// Values of the program around the kernel
//===----------------------------------------------------------------------===//

Value KernelEmitter::scalar(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entryEnd);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value loaded = slot(slots.of(argument), value.getType());
    mapping.map(value, loaded);
    return loaded;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    scalar(operand);
  b.setInsertionPoint(entryEnd);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

/// An extent of a workspace, from the sizes.
static Value expandExtent(KernelEmitter &k, AffineExpr expression,
                          ArrayRef<BlockArgument> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return k.index(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return k.scalar(sizes[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Value lhs = expandExtent(k, binary.getLHS(), sizes);
  Value rhs = expandExtent(k, binary.getRHS(), sizes);
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return k.add(lhs, rhs);
  case AffineExprKind::Mul:
    return k.mul(lhs, rhs);
  case AffineExprKind::Mod:
    return attn::FloorModOp::create(k.b, k.loc, lhs, rhs);
  case AffineExprKind::FloorDiv:
    return attn::FloorDivOp::create(k.b, k.loc, lhs, rhs);
  default: { // ceildiv is -floordiv(-lhs, rhs)
    Value minusOne = k.index(-1);
    Value quotient =
        attn::FloorDivOp::create(k.b, k.loc, k.mul(lhs, minusOne), rhs);
    return k.mul(quotient, minusOne);
  }
  }
}

const TensorAccess &KernelEmitter::tensor(Value value) {
  auto [entry, isNew] = tensors.try_emplace(value);
  if (!isNew)
    return entry->second;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entryEnd);
  auto type = cast<RankedTensorType>(value.getType());
  TensorAccess access;
  access.element = type.getElementType();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    access.pointer = slot(slots.of(argument), pointer);
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      access.sizes.push_back(
          type.isDynamicDim(dim)
              ? slot(slots.ofSize(argument, dim), b.getIndexType())
              : index(type.getDimSize(dim)));
      access.strides.push_back(
          slot(slots.ofStride(argument, dim), b.getIndexType()));
    }
  } else {
    auto workspace = value.getDefiningOp<attn::WorkspaceOp>();
    auto head = cast<attn::SignatureOpInterface>(kernel->getParentOp());
    access.pointer = slot(slots.of(workspace), pointer);
    for (AffineExpr extent : workspace.getShape().getResults()) {
      Value size = expandExtent(*this, extent, head.getSizeArgs());
      b.setInsertionPoint(entryEnd);
      access.sizes.push_back(size);
    }
    Value stride = index(1);
    access.strides.resize(access.sizes.size());
    for (unsigned dim = access.sizes.size(); dim-- > 0;) {
      access.strides[dim] = stride;
      stride = mul(stride, access.sizes[dim]);
    }
  }
  return tensors[value] = std::move(access);
}

Value KernelEmitter::buffer(int id) {
  if (Value known = bufferValues.lookup(id))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entryEnd);
  if (!scratchBytes) {
    // The block of scratch as a memref of bytes: a descriptor by hand.
    Type pointer = function.getArgument(3).getType(), i64 = b.getI64Type();
    auto one = LLVM::LLVMArrayType::get(i64, 1);
    auto type = LLVM::LLVMStructType::getLiteral(
        b.getContext(), {pointer, pointer, i64, one, one});
    Value descriptor = LLVM::PoisonOp::create(b, loc, type);
    auto set = [&](Value value, ArrayRef<int64_t> position) {
      descriptor =
          LLVM::InsertValueOp::create(b, loc, descriptor, value, position);
    };
    auto number = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(value));
    };
    set(function.getArgument(3), {0});
    set(function.getArgument(3), {1});
    set(number(0), {2});
    set(number(plan.scratchBytes), {3, 0});
    set(number(1), {4, 0});
    auto bytes = MemRefType::get({plan.scratchBytes}, b.getI8Type());
    scratchBytes = UnrealizedConversionCastOp::create(b, loc, bytes, descriptor)
                       .getResult(0);
  }
  const Buffer &buffer = plan.buffers[id];
  SmallVector<int64_t> shape;
  for (Axis axis : buffer.order)
    shape.push_back(
        buffer.type.getDimSize(*tile::getAxisPosition(buffer.type, axis)));
  if (buffer.panel) {
    shape.insert(shape.begin(), shape.back() / buffer.panel);
    shape.back() = buffer.panel;
  }
  auto type = MemRefType::get(shape, buffer.type.getElementType());
  Value view = memref::ViewOp::create(b, loc, type, scratchBytes,
                                      index(buffer.offset), ValueRange());
  bufferValues[id] = view;
  return view;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Value emitRef(OpBuilder &b, Location loc, Value maximum) {
  Type type = maximum.getType();
  TypedAttr least = b.getFloatAttr(getElementTypeOrSelf(type), -INFINITY);
  Value infinity = arith::ConstantOp::create(b, loc, splat(type, least));
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, maximum,
                                     infinity);
  return arith::SelectOp::create(b, loc, none, zero, maximum);
}

/// Adds a loop's iterations to the block counters; those of one around another
/// are no blocks.
void KernelEmitter::count(scf::ForOp loop) {
  if (!countBlocks || !loop->hasAttr("tile.axis") ||
      loop->hasAttr("tile.to_list") || tile::isAround(loop))
    return;
  OpBuilder::InsertionGuard guard(b);
  Value zero = index(0);
  Value lower = scalar(loop.getLowerBound()),
        upper = scalar(loop.getUpperBound());
  Value length = arith::SubIOp::create(b, loc, upper, lower);
  length = arith::MaxSIOp::create(b, loc, length, zero);
  Value blocks =
      arith::CeilDivUIOp::create(b, loc, length, scalar(loop.getStep()));
  Value counters =
      slot(slots.counters, LLVM::LLVMPointerType::get(b.getContext()));
  auto addTo = [&](int32_t which) {
    Value at = LLVM::GEPOp::create(b, loc, counters.getType(), b.getI64Type(),
                                   counters, LLVM::GEPArg(which));
    LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::add, at, toI64(blocks),
                              LLVM::AtomicOrdering::monotonic);
  };
  addTo(0);
  auto blockClass = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
  if (blockClass && blockClass.getValue() == tile::BlockClass::Partial)
    addTo(1);
}

void KernelEmitter::emitLoop(const Step &step) {
  auto loop = cast<scf::ForOp>(step.op);
  count(loop);
  SmallVector<Value> inits, yields;
  for (Value init : loop.getInitArgs())
    if (!tile::isTile(init.getType()))
      inits.push_back(scalar(init));
  auto result = scf::ForOp::create(
      b, loop.getLoc(), scalar(loop.getLowerBound()),
      scalar(loop.getUpperBound()), scalar(loop.getStep()), inits);
  setScalar(loop.getInductionVar(), result.getInductionVar());
  unsigned next = 0;
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults()))
    if (!tile::isTile(argument.getType())) {
      setScalar(argument, result.getRegionIterArg(next));
      setScalar(value, result.getResult(next++));
    }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(result.getBody());
  enterLoop(result);
  emitSteps(step.body);
  nextTiles.clear();
  for (Value value : loop.getYieldedValues())
    if (!tile::isTile(value.getType()))
      yields.push_back(scalar(value));
  if (!yields.empty())
    scf::YieldOp::create(b, loc, yields);
}

/// Tiles that the sides yield are in their buffers; scalars are results.
void KernelEmitter::emitBranch(const Step &step) {
  auto branch = cast<scf::IfOp>(step.op);
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    if (!tile::isTile(type))
      types.push_back(type);
  auto result = scf::IfOp::create(b, branch.getLoc(), types,
                                  scalar(branch.getCondition()),
                                  /*withElseRegion=*/branch.elseBlock());
  unsigned next = 0;
  for (Value value : branch.getResults())
    if (!tile::isTile(value.getType()))
      setScalar(value, result.getResult(next++));
  OpBuilder::InsertionGuard guard(b);
  auto emitSide = [&](Block *from, Block *to, ArrayRef<Step> steps) {
    b.setInsertionPointToStart(to);
    SmallVector<NextTile> around = std::exchange(nextTiles, {});
    emitSteps(steps);
    nextTiles = std::move(around);
    SmallVector<Value> yields;
    for (Value value : from->getTerminator()->getOperands())
      if (!tile::isTile(value.getType()))
        yields.push_back(scalar(value));
    if (!yields.empty())
      scf::YieldOp::create(b, loc, yields);
  };
  emitSide(branch.thenBlock(), result.thenBlock(), step.body);
  if (branch.elseBlock())
    emitSide(branch.elseBlock(), result.elseBlock(), step.otherwise);
}

void KernelEmitter::emitSteps(ArrayRef<Step> steps) {
  for (const Step &step : steps) {
    loc = step.op ? step.op->getLoc() : step.group.roots.front().value.getLoc();
    switch (step.kind) {
    case StepKind::Scalar:
      for (Value operand : step.op->getOperands())
        scalar(operand);
      if (isa<tile::RefOp>(step.op))
        setScalar(step.op->getResult(0),
                  emitRef(b, loc, scalar(step.op->getOperand(0))));
      else
        b.clone(*step.op, mapping);
      break;
    case StepKind::Load:
      emitLoad(cast<tile::LoadOp>(step.op));
      break;
    case StepKind::Store:
      emitStore(cast<tile::StoreOp>(step.op));
      break;
    case StepKind::Dot:
      emitDot(cast<tile::DotOp>(step.op));
      break;
    case StepKind::Nests:
      emitGroup(step.group);
      break;
    case StepKind::Loop:
      emitLoop(step);
      break;
    case StepKind::If:
      emitBranch(step);
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emit() {
  auto program = kernel->getParentOfType<tile::ProgramOp>();
  b.setInsertionPoint(program);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  function =
      func::FuncOp::create(b, loc, kernel.getName(),
                           b.getFunctionType({pointer, i64, i64, pointer}, {}));
  function->setAttr(kScratchBytesAttr, b.getI64IntegerAttr(plan.scratchBytes));
  b.setInsertionPointToStart(function.addEntryBlock());
  Value begin = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                           function.getArgument(1));
  Value end = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                         function.getArgument(2));
  Value one = index(1);
  auto cells = scf::ForOp::create(b, loc, begin, end, one);
  entryEnd = cells;
  func::ReturnOp::create(b, loc);

  // A cell's coordinates, the last varying fastest.
  b.setInsertionPointToStart(cells.getBody());
  Value rest = cells.getInductionVar();
  auto ids = kernel.getBody().getArguments();
  for (unsigned i = ids.size(); i-- > 0;) {
    if (i == 0) {
      mapping.map(ids[i], rest);
      break;
    }
    Value bound = scalar(kernel.getBounds()[i]);
    mapping.map(ids[i],
                arith::RemUIOp::create(b, loc, rest, bound).getResult());
    rest = arith::DivUIOp::create(b, loc, rest, bound);
  }
  emitSteps(plan.steps);
  return success();
}

} // namespace attentile::native

namespace attentile {
namespace {

/// Constants that MLIR has moved out of `kernel` go back into it, where the
/// plan looks for the operations of tiles.
static void sinkConstants(tile::KernelOp kernel) {
  OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  llvm::SmallDenseMap<Operation *, Value> inside;
  kernel.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto constant = operand.get().getDefiningOp<arith::ConstantOp>();
      if (!constant || !tile::isTile(constant.getType()) ||
          kernel->isAncestor(constant))
        continue;
      Value &copy = inside[constant];
      if (!copy)
        copy = b.clone(*constant)->getResult(0);
      operand.set(copy);
    }
  });
}

struct TileToLoops : impl::TileToLoopsBase<TileToLoops> {
  using TileToLoopsBase::TileToLoopsBase;

  /// All rows of a tile decide together here.
  static void reduceWholeTiles(tile::KernelOp kernel) {
    kernel.walk([](tile::ReduceGroupOp group) {
      OpBuilder b(group);
      Value operand = group.getOperand();
      SmallVector<Attribute> over(tile::getAxes(operand.getType()));
      Value all = tile::ReduceOp::create(b, group.getLoc(), group.getType(),
                                         group.getKind(), operand,
                                         b.getArrayAttr(over));
      group.replaceAllUsesWith(all);
      group.erase();
    });
  }

  /// Nothing is gained by it here: a block is needed by some row.
  static void eraseHidden(tile::KernelOp kernel) {
    kernel.walk([](Operation *hidden) {
      if (!isa<tile::HiddenOp, tile::SeesOp>(hidden))
        return;
      // Once each: what is erased may have been several operands.
      llvm::SetVector<Operation *> unused;
      auto add = [&](Value value) {
        if (Operation *op = value.getDefiningOp())
          unused.insert(op);
      };
      llvm::for_each(hidden->getOperands(), add);
      hidden->erase();
      while (!unused.empty()) {
        Operation *op = unused.pop_back_val();
        if (!isOpTriviallyDead(op))
          continue;
        SmallVector<Value> operands(op->getOperands());
        op->erase();
        llvm::for_each(operands, add);
      }
    });
  }

  void runOnOperation() override {
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<tile::ProgramOp>())) {
      ArgSlots slots(program);
      for (auto kernel : program.getBody().getOps<tile::KernelOp>()) {
        eraseHidden(kernel);
        sinkConstants(kernel);
        reduceWholeTiles(kernel);
        auto plan = native::KernelPlan::create(kernel, vectorBits);
        if (failed(plan) ||
            failed(native::KernelEmitter(kernel, *plan, slots, vectorBits,
                                         countBlocks)
                       .emit()))
          return signalPassFailure();
      }
      program.erase();
    }
  }
};

} // namespace
} // namespace attentile
