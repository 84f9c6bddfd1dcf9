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
// (tile.slice). Expects: `tile.warps` (tile-partition-warps), before layouts.
// Leaves: no tile.sees. Does not handle: loops that load anything of columns
// but a product's right factors, in its type, or carry or store what has them;
// warps that share rows.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
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
                  : StringAttr()) {}

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
  bool isFactor(tile::LoadOp load);
  bool canBeMadeAnew(Value value);
  Value makeAnew(Value value);
  void narrow(tile::IndexOp index);
  void narrow(tile::LoadOp factor);
  void narrow(Operation *op);
  Type convert(Type type);
  ArrayAttr rename(ArrayAttr over);

  tile::SeesOp sees;
  scf::ForOp loop;
  StringAttr axis, seen; ///< the block's columns, and those that are seen
  SmallVector<tile::IndexOp> indices;
  SmallVector<tile::LoadOp> factors;
  SmallVector<Operation *> others; ///< that have columns
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

bool Narrower::find() {
  auto warps = loop ? loop->getParentOfType<tile::KernelOp>()
                          ->getAttrOfType<tile::WarpsAttr>("tile.warps")
                    : tile::WarpsAttr();
  if (!warps || !axis || warps.getSplitReduced() != 1 ||
      hasAny(loop->getResultTypes()))
    return false;
  seen = StringAttr::get(loop.getContext(), axis.str() + "_seen");
  bool fits = true;
  loop.getBody()->walk([&](Operation *op) {
    if (!hasAny(op->getOperandTypes()) && !hasAny(op->getResultTypes()))
      return;
    fits &= llvm::TypeSwitch<Operation *, bool>(op)
                .Case([&](tile::IndexOp index) {
                  indices.push_back(index);
                  return index->getBlock() == loop.getBody();
                })
                .Case([&](tile::LoadOp load) {
                  factors.push_back(load);
                  return isFactor(load);
                })
                .Case([&](tile::DotOp dot) {
                  // Groups are warps with rows of their own.
                  auto rows =
                      tile::getAxisPosition(dot.getType(), warps.getRows());
                  others.push_back(op);
                  return rows && dot.getType().getDimSize(*rows) ==
                                     sees.getRows() * warps.getSplitRows();
                })
                .Default([&](Operation *) {
                  others.push_back(op);
                  return !isa<tile::StoreOp, scf::ForOp>(op);
                });
    for (Value operand : op->getOperands())
      fits &= !has(operand.getType()) ||
              !loop.isDefinedOutsideOfLoop(operand) || canBeMadeAnew(operand);
  });
  return fits && !factors.empty();
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

/// Factors are loaded by the whole block's, others read those seen.
void Narrower::narrow(tile::IndexOp index) {
  OpBuilder b(loop.getContext());
  b.setInsertionPointAfter(index->isBeforeInBlock(sees) ? sees.getOperation()
                                                        : index.getOperation());
  Value base =
      arith::AddIOp::create(b, index.getLoc(), index.getBase(), sees.getFrom());
  Value part =
      tile::IndexOp::create(b, index.getLoc(), convert(index.getType()), base);
  index.getResult().replaceUsesWithIf(
      part, [&](OpOperand &use) { return !isa<tile::LoadOp>(use.getOwner()); });
}

void Narrower::narrow(tile::LoadOp factor) {
  OpBuilder b(loop.getContext());
  b.setInsertionPointAfter(factor->isBeforeInBlock(sees)
                               ? sees.getOperation()
                               : factor.getOperation());
  auto part =
      tile::SliceOp::create(b, factor.getLoc(), convert(factor.getType()),
                            factor, axis, sees.getFrom());
  factor.getResult().replaceAllUsesExcept(part, part);
}

void Narrower::narrow(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (loop.isDefinedOutsideOfLoop(operand.get()))
      operand.set(makeAnew(operand.get()));
  if (auto dot = dyn_cast<tile::DotOp>(op))
    dot.setOverAttr(rename(dot.getOver()));
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    reduce.setOverAttr(rename(reduce.getOver()));
  for (Value result : op->getResults())
    result.setType(convert(result.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    constant.setValueAttr(
        DenseElementsAttr::get(cast<ShapedType>(constant.getType()),
                               cast<DenseElementsAttr>(constant.getValue())
                                   .getSplatValue<Attribute>()));
}

void Narrower::run() {
  for (tile::IndexOp index : indices)
    narrow(index);
  for (tile::LoadOp factor : factors)
    narrow(factor);
  for (Operation *op : others)
    narrow(op);
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
