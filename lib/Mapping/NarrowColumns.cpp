//===- NarrowColumns.cpp - only the columns of a block that rows see ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where the rows of a warp see fewer columns of each block than it has
// (tile.sees), makes scores, and all that follows from them, of these alone;
// factors are loaded whole, as all warps share them, and each takes its part
// (tile.slice). Where rows see so few of some blocks only, both are made, and
// what the loop carries on is chosen (tile.either); the narrow way then has no
// branches around masks that rarely hide anything, and is for blocks that take
// the short side of them. Expects: `tile.warps` (tile-partition-warps), before
// layouts. Leaves: no tile.sees. Does not handle: loops that load pairs, or a
// factor in another type than its product's or for anything else, or that carry
// or store what has columns; warps that share rows.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attentile {
#define GEN_PASS_DEF_TILENARROWCOLUMNS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class Narrower {
public:
  explicit Narrower(tile::SeesOp sees)
      : sees(sees), loop(dyn_cast<scf::ForOp>(sees->getParentOp())),
        axis(loop ? loop->getAttrOfType<StringAttr>("tile.axis")
                  : StringAttr()),
        builder(sees), fits(sees.getFits()) {}

  /// Whether the loop's columns can be fewer for each warp.
  bool find();
  void run();

private:
  bool has(Type type) {
    return tile::isTile(type) && tile::getAxisPosition(type, axis);
  }
  bool hasAny(TypeRange types) {
    return llvm::any_of(types, [&](Type type) { return has(type); });
  }
  void findWork();
  bool isFactor(tile::LoadOp load);
  bool canBeMadeAnew(Value value);
  Value makeAnew(Value value);
  void narrow(Operation *op);
  void emit(Operation *op);
  SmallVector<Value> emit(Block *side);
  Block *chooseSide(scf::IfOp branch);
  Value computeBefore(Value value);
  void rename(Operation *op);
  Type convert(Type type);
  ArrayAttr rename(ArrayAttr over);

  tile::SeesOp sees;
  scf::ForOp loop;
  StringAttr axis, seen; ///< the block's columns, and those that are seen
  SmallVector<Operation *> work; ///< of the body, what it carries on is made of
  bool hasFactors = false;
  OpBuilder builder;  ///< where what is narrow goes
  IRMapping narrowed; ///< of what has columns, or is made of it
  Value fits;         ///< where warps take the narrow way; null: always
  IRMapping before;   ///< of what is known at the marker
};

//===----------------------------------------------------------------------===//
// What can be narrowed
//===----------------------------------------------------------------------===//

/// Whether products alone take what is loaded, as it is and from the right.
bool Narrower::isFactor(tile::LoadOp load) {
  Type element = tile::getElementType(load.getType());
  return load->getBlock() == loop.getBody() &&
         llvm::all_of(load->getUsers(), [&](Operation *user) {
           auto dot = dyn_cast<tile::DotOp>(user);
           return dot && dot.getRhs() == load && dot.getLhs() != load &&
                  dot.getProduct() == element;
         });
}

/// Of what the loop reads from around it.
bool Narrower::canBeMadeAnew(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return dense && dense.isSplat();
  }
  return isa_and_nonnull<ub::PoisonOp>(op) ||
         (isa_and_nonnull<tile::BroadcastOp>(op) &&
          (!has(op->getOperand(0).getType()) ||
           canBeMadeAnew(op->getOperand(0))));
}

/// What only markers ask is no part of it.
void Narrower::findWork() {
  Block *body = loop.getBody();
  llvm::SmallPtrSet<Operation *, 32> needed{body->getTerminator()};
  for (Operation &op : llvm::reverse(body->without_terminator()))
    if (llvm::any_of(op.getUsers(), [&](Operation *user) {
          return needed.contains(body->findAncestorOpInBlock(*user));
        })) {
      needed.insert(&op);
      work.push_back(&op);
    }
  std::reverse(work.begin(), work.end());
}

bool Narrower::find() {
  auto warps = loop ? loop->getParentOfType<tile::KernelOp>()
                          ->getAttrOfType<tile::WarpsAttr>("tile.warps")
                    : tile::WarpsAttr();
  if (!warps || !axis || warps.getSplitReduced() != 1 ||
      hasAny(loop->getResultTypes()))
    return false;
  seen = StringAttr::get(loop.getContext(), axis.str() + "_seen");
  findWork();
  bool fits = true;
  auto check = [&](Operation *op) {
    if (!hasAny(op->getOperandTypes()) && !hasAny(op->getResultTypes()))
      return;
    fits &=
        llvm::TypeSwitch<Operation *, bool>(op)
            .Case([&](tile::IndexOp index) {
              return index->getBlock() == loop.getBody();
            })
            .Case([&](tile::LoadOp load) {
              hasFactors |= isFactor(load);
              return isFactor(load) ||
                     tile::getAxes(load.getType()).size() == 1;
            })
            .Case([&](tile::DotOp dot) {
              // Groups are warps with rows of their own.
              auto rows = tile::getAxisPosition(dot.getType(), warps.getRows());
              return rows && dot.getTileType().getDimSize(*rows) ==
                                 int64_t(sees.getRows() * warps.getSplitRows());
            })
            .Default([&](Operation *) {
              return !isa<tile::StoreOp, scf::ForOp>(op);
            });
    for (Value operand : op->getOperands())
      fits &= !has(operand.getType()) ||
              !loop.isDefinedOutsideOfLoop(operand) || canBeMadeAnew(operand);
  };
  for (Operation *op : work)
    op->walk(check);
  return fits && hasFactors;
}

//===----------------------------------------------------------------------===//
// Narrowing
//===----------------------------------------------------------------------===//

Type Narrower::convert(Type type) {
  if (!has(type))
    return type;
  auto whole = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(whole.getShape());
  SmallVector<StringAttr> axes(tile::getAxes(type));
  unsigned position = *tile::getAxisPosition(type, axis);
  shape[position] = sees.getCount();
  axes[position] = seen;
  return RankedTensorType::get(shape, whole.getElementType(),
                               tile::AxesAttr::get(type.getContext(), axes));
}

ArrayAttr Narrower::rename(ArrayAttr over) {
  SmallVector<Attribute> names(over.getValue());
  for (Attribute &name : names)
    if (name == axis)
      name = seen;
  return ArrayAttr::get(over.getContext(), names);
}

Value Narrower::makeAnew(Value value) {
  if (!has(value.getType()))
    return value;
  OpBuilder b(loop);
  Location loc = value.getLoc();
  Type type = convert(value.getType());
  if (auto broadcast = value.getDefiningOp<tile::BroadcastOp>())
    return tile::BroadcastOp::create(b, loc, type,
                                     makeAnew(broadcast.getOperand()));
  if (value.getDefiningOp<ub::PoisonOp>())
    return ub::PoisonOp::create(b, loc, type);
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto dense = cast<DenseElementsAttr>(constant.getValue());
  return arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(cast<ShapedType>(type),
                             dense.getSplatValue<Attribute>()));
}

/// Of a copy, as of all that stands in it.
void Narrower::rename(Operation *op) {
  if (auto dot = dyn_cast<tile::DotOp>(op))
    dot.setOverAttr(rename(dot.getOver()));
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    reduce.setOverAttr(rename(reduce.getOver()));
  for (Value result : op->getResults())
    result.setType(convert(result.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto type = dyn_cast<ShapedType>(constant.getType());
        type && type != constant.getValue().getType())
      constant.setValueAttr(DenseElementsAttr::get(
          type, cast<DenseElementsAttr>(constant.getValue())
                    .getSplatValue<Attribute>()));
}

/// A scalar of the loop's body where the marker stands; null where it is not
/// known there.
Value Narrower::computeBefore(Value value) {
  if (Value made = before.lookupOrNull(value))
    return made;
  Operation *op = value.getDefiningOp();
  if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar() ||
      (op && op->getBlock() == loop.getBody() && op->isBeforeInBlock(sees)))
    return value;
  if (!op || op->getNumRegions() != 0 || !isPure(op) ||
      llvm::any_of(op->getOperandTypes(), tile::isTile) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) {
        Value made = computeBefore(operand);
        if (made)
          before.map(operand, made);
        return made != nullptr;
      }))
    return {};
  OpBuilder(sees).clone(*op, before);
  return before.lookup(value);
}

/// Of a branch around a mask that hides nothing in most blocks, the short side,
/// for those blocks alone that take it.
Block *Narrower::chooseSide(scf::IfOp branch) {
  if (!fits || !branch->hasAttr("tile.shortcut"))
    return nullptr;
  Value condition = computeBefore(branch.getCondition());
  if (!condition)
    return nullptr;
  OpBuilder b(sees);
  fits = arith::AndIOp::create(b, branch.getLoc(), fits, condition);
  return branch.thenBlock();
}

/// Factors are loaded by the whole block's index; all else has a copy.
void Narrower::emit(Operation *op) {
  Location loc = op->getLoc();
  if (auto index = dyn_cast<tile::IndexOp>(op)) {
    Value base =
        arith::AddIOp::create(builder, loc, index.getBase(), sees.getFrom());
    narrowed.map(
        index.getResult(),
        tile::IndexOp::create(builder, loc, convert(index.getType()), base));
    return;
  }
  if (auto load = dyn_cast<tile::LoadOp>(op); load && isFactor(load)) {
    narrowed.map(load.getResult(),
                 tile::SliceOp::create(builder, loc, convert(load.getType()),
                                       load, axis, sees.getFrom()));
    return;
  }
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch || branch.getElseRegion().empty()) {
    builder.clone(*op, narrowed)->walk([&](Operation *copy) { rename(copy); });
    return;
  }
  if (Block *side = chooseSide(branch)) {
    narrowed.map(branch.getResults(), emit(side));
    return;
  }
  auto made = scf::IfOp::create(
      builder, loc,
      llvm::map_to_vector(branch.getResultTypes(),
                          [&](Type type) { return convert(type); }),
      narrowed.lookupOrDefault(branch.getCondition()), /*addThenBlock=*/true,
      /*addElseBlock=*/true);
  made->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  for (auto [from, to] : {std::pair(branch.thenBlock(), made.thenBlock()),
                          std::pair(branch.elseBlock(), made.elseBlock())}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(to);
    scf::YieldOp::create(builder, loc, emit(from));
  }
  narrowed.map(branch.getResults(), made.getResults());
}

/// A side of a branch; what it yields.
SmallVector<Value> Narrower::emit(Block *side) {
  for (Operation &op : side->without_terminator())
    emit(&op);
  return llvm::map_to_vector(
      side->getTerminator()->getOperands(),
      [&](Value value) { return narrowed.lookupOrDefault(value); });
}

void Narrower::narrow(Operation *op) {
  bool isNarrow = false;
  op->walk([&](Operation *inner) {
    isNarrow |= hasAny(inner->getResultTypes());
    for (Value operand : inner->getOperands()) {
      if (has(operand.getType()) && loop.isDefinedOutsideOfLoop(operand) &&
          !narrowed.contains(operand))
        narrowed.map(operand, makeAnew(operand));
      isNarrow |= narrowed.contains(operand);
    }
  });
  if (!isNarrow)
    return;
  if (sees->isBeforeInBlock(op))
    builder.setInsertionPointAfter(op);
  emit(op);
}

void Narrower::run() {
  builder.setInsertionPointAfter(sees);
  for (Operation *op : work)
    narrow(op);
  // Which of both goes on.
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  for (OpOperand &carried : loop.getBody()->getTerminator()->getOpOperands()) {
    Value narrow = narrowed.lookupOrNull(carried.get());
    if (narrow && fits)
      narrow = arith::SelectOp::create(builder, loop.getLoc(), fits, narrow,
                                       carried.get());
    if (narrow)
      carried.set(narrow);
  }
  if (fits) {
    builder.setInsertionPoint(sees);
    tile::EitherOp::create(builder, sees.getLoc(), fits);
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

struct TileNarrowColumns : impl::TileNarrowColumnsBase<TileNarrowColumns> {
  void runOnOperation() override {
    SmallVector<tile::SeesOp> found;
    getOperation()->walk([&](tile::SeesOp op) { found.push_back(op); });
    for (tile::SeesOp sees : found) {
      Narrower narrower(sees);
      if (narrower.find())
        narrower.run();
      sees.erase();
    }
  }
};

} // namespace
} // namespace attentile
