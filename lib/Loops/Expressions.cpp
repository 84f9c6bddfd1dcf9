//===- Expressions.cpp - a tile kernel's values as one graph --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace attentile::fusion {

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

Graph::Graph(tile::KernelOp kernel) : context(kernel.getContext()) {
  // Every type lists its axes in the kernel's one order, so an order of all
  // axes is any that extends each of them: take an axis that no type puts
  // behind one not yet taken.
  SmallVector<ArrayRef<StringAttr>> lists;
  auto learn = [&](Type type) {
    ArrayRef<StringAttr> axes = tile::getAxes(type);
    if (axes.empty())
      return;
    lists.push_back(axes);
    for (auto [axis, size] :
         llvm::zip_equal(axes, cast<RankedTensorType>(type).getShape()))
      valid &= axisSize.try_emplace(axis, size).first->second == size;
  };
  kernel.walk([&](Operation *op) {
    llvm::for_each(op->getOperandTypes(), learn); // constants stand outside
    llvm::for_each(op->getResultTypes(), learn);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), learn);
  });
  auto taken = [&](StringAttr axis) {
    return llvm::is_contained(axisOrder, axis);
  };
  while (axisOrder.size() < axisSize.size()) {
    StringAttr next;
    for (ArrayRef<StringAttr> list : lists) {
      const StringAttr *first = llvm::find_if_not(list, taken);
      if (first == list.end())
        continue;
      bool blocked = llvm::any_of(lists, [&](ArrayRef<StringAttr> other) {
        const StringAttr *at = llvm::find(other, *first);
        return at != other.end() &&
               !llvm::all_of(llvm::make_range(other.begin(), at), taken);
      });
      if (!blocked) {
        next = *first;
        break;
      }
    }
    if (!next) {
      valid = false;
      return;
    }
    axisOrder.push_back(next);
  }
}

Type Graph::join(ArrayRef<Type> types, Type element, ArrayAttr axes) {
  SmallVector<StringAttr> joined;
  SmallVector<int64_t> sizes;
  for (StringAttr axis : axisOrder) {
    bool has = axes && llvm::is_contained(axes, Attribute(axis));
    for (Type type : types)
      has |= tile::getAxisPosition(type, axis).has_value();
    if (!has)
      continue;
    joined.push_back(axis);
    sizes.push_back(axisSize.lookup(axis));
  }
  return joined.empty() ? element : tile::getTileType(element, joined, sizes);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Expr *Graph::leaf(Type type, Location loc, bool varies) {
  Expr node{.name = {}, .type = type, .loc = loc, .varies = varies};
  node.id = nodes.size();
  return &nodes.emplace_back(std::move(node));
}

Expr *Graph::unique(Expr &&node) {
  size_t hash = llvm::hash_combine(
      node.name->getAsOpaquePointer(), node.attributes, node.type,
      llvm::hash_combine_range(node.operands.begin(), node.operands.end()),
      llvm::hash_combine_range(node.operandTypes.begin(),
                               node.operandTypes.end()));
  auto [first, last] = known.equal_range(hash);
  for (auto &[_, other] : llvm::make_range(first, last))
    if (other->name == node.name && other->attributes == node.attributes &&
        other->type == node.type && other->operands == node.operands &&
        other->operandTypes == node.operandTypes)
      return other;
  for (Expr *operand : node.operands) {
    node.varies |= operand->varies;
    node.statistics |= operand->statistics;
  }
  node.id = nodes.size();
  Expr *result = &nodes.emplace_back(std::move(node));
  known.emplace(hash, result);
  return result;
}

Expr *Graph::elementwise(OperationName name, ArrayRef<Expr *> operands,
                         Type element, DictionaryAttr attributes,
                         Location loc) {
  SmallVector<Type> types;
  for (Expr *operand : operands)
    types.push_back(operand->type);
  Expr node{.name = name,
            .attributes = attributes,
            .operands = llvm::to_vector<3>(operands),
            .type = join(types, element),
            .loc = loc};
  for (auto [i, type] : llvm::enumerate(types)) {
    // A scalar condition selects whole tiles.
    bool scalar = i == 0 && node.is<arith::SelectOp>() && !tile::isTile(type);
    node.operandTypes.push_back(
        scalar ? type : join({node.type}, tile::getElementType(type)));
  }
  return unique(std::move(node));
}

Expr *Graph::operation(Operation *op, ArrayRef<Expr *> operands) {
  Type type = op->getResult(0).getType();
  if (isa<tile::BroadcastOp>(op))
    return operands[0];
  DictionaryAttr attributes = op->getAttrDictionary();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (dense) {
      attributes = DictionaryAttr::get(
          context, {NamedAttribute(StringAttr::get(context, "value"),
                                   dense.getSplatValue<Attribute>())});
      type = tile::getElementType(type);
    }
  } else if (op->hasTrait<OpTrait::Elementwise>()) {
    return elementwise(op->getName(), operands, tile::getElementType(type),
                       attributes, op->getLoc());
  }
  return unique({.name = op->getName(),
                 .attributes = attributes,
                 .operands = llvm::to_vector<3>(operands),
                 .operandTypes = llvm::to_vector<3>(op->getOperandTypes()),
                 .type = type,
                 .loc = op->getLoc()});
}

Expr *Graph::withOperands(const Expr *expr, ArrayRef<Expr *> operands) {
  if (expr->name->hasTrait<OpTrait::Elementwise>())
    return elementwise(*expr->name, operands, tile::getElementType(expr->type),
                       expr->attributes, expr->loc);
  return unique({.name = expr->name,
                 .attributes = expr->attributes,
                 .operands = llvm::to_vector<3>(operands),
                 .operandTypes = expr->operandTypes,
                 .type = expr->type,
                 .loc = expr->loc});
}

Expr *Graph::constant(TypedAttr value, Location loc) {
  return elementwise(
      OperationName(arith::ConstantOp::getOperationName(), context), {},
      value.getType(),
      DictionaryAttr::get(
          context, {NamedAttribute(StringAttr::get(context, "value"), value)}),
      loc);
}

Expr *Graph::constant(double value, Location loc) {
  return constant(Builder(context).getF32FloatAttr(float(value)), loc);
}

Expr *Graph::boolean(bool value, Location loc) {
  return constant(Builder(context).getBoolAttr(value), loc);
}

Expr *Graph::logicalNot(Expr *condition) {
  return make<arith::XOrIOp>({condition, boolean(true, condition->loc)});
}

Expr *Graph::compare(arith::CmpFPredicate predicate, Expr *a, Expr *b) {
  return make<arith::CmpFOp>(
      {a, b}, IntegerType::get(context, 1),
      {NamedAttribute(StringAttr::get(context, "predicate"),
                      arith::CmpFPredicateAttr::get(context, predicate))});
}

Expr *Graph::reduce(attn::ReduceKind kind, Expr *operand, ArrayAttr over) {
  auto type = cast<RankedTensorType>(
      join({operand->type}, tile::getElementType(operand->type), over));
  SmallVector<StringAttr> axes(over.getAsRange<StringAttr>());
  return unique(
      {.name = OperationName(tile::ReduceOp::getOperationName(), context),
       .attributes = DictionaryAttr::get(
           context, {NamedAttribute(StringAttr::get(context, "kind"),
                                    attn::ReduceKindAttr::get(context, kind)),
                     NamedAttribute(StringAttr::get(context, "over"), over)}),
       .operands = {operand},
       .operandTypes = {type},
       .type = tile::dropAxes(type, axes),
       .loc = operand->loc});
}

Expr *Graph::dot(Expr *lhs, Type lhsType, Expr *rhs, Type rhsType, Expr *acc,
                 Type type, ArrayAttr over, TypeAttr product) {
  return unique(
      {.name = OperationName(tile::DotOp::getOperationName(), context),
       .attributes = DictionaryAttr::get(
           context,
           {NamedAttribute(StringAttr::get(context, "over"), over),
            NamedAttribute(StringAttr::get(context, "product"), product)}),
       .operands = {lhs, rhs, acc},
       .operandTypes = {lhsType, rhsType, type},
       .type = type,
       .loc = lhs->loc});
}

std::optional<double> constantOf(const Expr *expr) {
  if (!expr->is<arith::ConstantOp>())
    return std::nullopt;
  auto value = dyn_cast_or_null<FloatAttr>(expr->attributes.get("value"));
  return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
}

bool isConstant(const Expr *expr, double value) {
  auto constant = constantOf(expr);
  return constant && *constant == value;
}

bool isZero(const Expr *expr) {
  if (!expr->is<arith::ConstantOp>())
    return false;
  Attribute value = expr->attributes.get("value");
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return integer.getValue().isZero();
  return isConstant(expr, 0);
}

bool isSurelyFinite(const Expr *expr) {
  if (std::optional<double> constant = constantOf(expr))
    return std::isfinite(*constant);
  if (expr->is<arith::SelectOp>())
    return isSurelyFinite(expr->operands[1]) &&
           isSurelyFinite(expr->operands[2]);
  if (expr->is<arith::NegFOp>())
    return isSurelyFinite(expr->operands[0]);
  return expr->is<arith::SIToFPOp>() &&
         tile::getElementType(expr->type).isF32();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

void Emitter::enterLoop(scf::ForOp outermost, scf::ForOp innermost) {
  rows.setInsertionPoint(outermost);
  body = OpBuilder::atBlockEnd(innermost.getBody());
}

void Emitter::leaveLoop(scf::ForOp outermost) {
  for (Expr *expr : inBody)
    values.erase(expr);
  inBody.clear();
  repeated.clear();
  body.reset();
  rows.setInsertionPointAfter(outermost);
}

Value Emitter::broadcast(Value value, Type type, Location loc) {
  if (value.getType() == type)
    return value;
  Value &result = repeated[{value, type}];
  if (!result) {
    // In the body, where it costs nothing: hoisted, it would be a buffer.
    OpBuilder &builder = body ? *body : rows;
    result = builder.createOrFold<tile::BroadcastOp>(loc, type, value);
  }
  return result;
}

Value Emitter::emit(Expr *expr, Type type) {
  return broadcast(emit(expr), type, expr->loc);
}

Value Emitter::emit(Expr *expr) {
  if (Value value = values.lookup(expr))
    return value;
  if (Expr *definition = definitions.lookup(expr))
    return values[expr] = emit(definition);
  assert(expr->name && "expected every leaf to be bound");
  bool inside = expr->varies;
  assert((!inside || body) && "expected a loop around what varies");

  // What does not vary may be wanted from within a loop; its operands'
  // broadcasts must then stay outside too.
  std::optional<OpBuilder> suspended;
  llvm::DenseMap<std::pair<Value, Type>, Value> outside;
  if (!inside && body) {
    suspended = std::exchange(body, std::nullopt);
    std::swap(outside, repeated);
  }
  OperationState state(expr->loc, *expr->name);
  for (auto [operand, type] :
       llvm::zip_equal(expr->operands, expr->operandTypes))
    state.addOperands(emit(operand, type));
  state.addAttributes(expr->attributes.getValue());
  state.addTypes(expr->type);
  Value result = (inside ? *body : rows).create(state)->getResult(0);
  if (suspended) {
    body = suspended;
    std::swap(outside, repeated);
  }
  if (inside)
    inBody.push_back(expr);
  return values[expr] = result;
}

} // namespace attentile::fusion
