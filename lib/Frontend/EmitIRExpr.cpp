//===- EmitIRExpr.cpp - expressions as attn, arith and math ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitIRExpr.h"
#include "Sema.h"

using namespace mlir;
using namespace attentile;
using namespace attentile::frontend;

Type frontend::typeOf(Builder &builder, ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return builder.getBF16Type();
  case ElementType::F16:
    return builder.getF16Type();
  case ElementType::F8E4M3:
    return Float8E4M3FNType::get(builder.getContext());
  case ElementType::F8E5M2:
    return Float8E5M2Type::get(builder.getContext());
  case ElementType::I8:
    return builder.getI8Type();
  case ElementType::I32:
    return builder.getI32Type();
  case ElementType::I64:
    return builder.getI64Type();
  case ElementType::Bool:
    return builder.getI1Type();
  default:
    return builder.getF32Type();
  }
}

Location ExprEmitter::location(SourceRange range, const CallSite *site) {
  LineColumn from = kernel.file->lineColumn(range.begin);
  LineColumn to = kernel.file->lineColumn(range.end);
  llvm::StringRef file = kernel.file->name(kernel.file->partAt(range.begin));
  Location loc = FileLineColRange::get(builder.getStringAttr(file), from.line,
                                       from.column, to.line, to.column);
  return site ? Location(
                    CallSiteLoc::get(loc, location(site->range, site->parent)))
              : loc;
}

//===----------------------------------------------------------------------===//
// Constants and sizes
//===----------------------------------------------------------------------===//

Value ExprEmitter::constant(TypedAttr value) {
  Value &known = constants[value];
  OpBuilder::InsertionGuard guard(builder);
  // For what stands behind a loop too.
  if (auto loop = dyn_cast<attn::ForOp>(builder.getBlock()->getParentOp()))
    builder.setInsertionPoint(loop);
  if (!known)
    known = arith::ConstantOp::create(builder, here, value);
  return known;
}
Value ExprEmitter::index(int64_t value) {
  return constant(builder.getIndexAttr(value));
}
Value ExprEmitter::f32(double value) {
  return constant(builder.getF32FloatAttr(static_cast<float>(value)));
}

Value ExprEmitter::emitSize(const SizeExpr &size) {
  if (auto value = kernel.evaluate(size))
    return index(*value);
  if (size.kind == SizeExpr::Size)
    return sizes[size.size];
  Value lhs = emitSize(*size.lhs), rhs = emitSize(*size.rhs);
  switch (size.kind) {
  case SizeExpr::Add:
    return arith::AddIOp::create(builder, here, lhs, rhs);
  case SizeExpr::Sub:
    return arith::SubIOp::create(builder, here, lhs, rhs);
  case SizeExpr::Mul:
    return arith::MulIOp::create(builder, here, lhs, rhs);
  case SizeExpr::FloorDiv:
    return attn::FloorDivOp::create(builder, here, lhs, rhs);
  default:
    return attn::FloorModOp::create(builder, here, lhs, rhs);
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// What must stand before an expression: its operands; before a loop all that
/// its tiles use and that is of none of them.
static SmallVector<const TypedExpr *> needsOf(const TypedExpr &expr) {
  if (expr.op != TypedExpr::Loop)
    return llvm::to_vector(expr.operands);
  SmallVector<const TypedExpr *> needs, open(expr.operands);
  llvm::DenseSet<const TypedExpr *> seen;
  while (!open.empty()) {
    const TypedExpr *next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (next->isOfTile())
      open.append(next->operands.begin(), next->operands.end());
    else
      needs.push_back(next);
  }
  llvm::sort(needs, [](const TypedExpr *a, const TypedExpr *b) {
    return a->order < b->order;
  });
  return needs;
}

Value ExprEmitter::emit(const TypedExpr &root) {
  SmallVector<const TypedExpr *> open = {&root};
  SmallVector<Value> operands;
  while (!open.empty()) {
    const TypedExpr &expr = *open.back();
    if (values.contains(&expr)) {
      open.pop_back();
      continue;
    }
    size_t before = open.size();
    SmallVector<const TypedExpr *> needs = needsOf(expr);
    for (const TypedExpr *operand : llvm::reverse(needs))
      if (!values.contains(operand))
        open.push_back(operand);
    if (open.size() > before)
      continue; // operands first
    open.pop_back();
    if (expr.op == TypedExpr::Loop) {
      loops[&expr] = emitLoop(expr);
      values[&expr] = Value();
      continue;
    }
    operands.clear();
    for (const TypedExpr *operand : expr.operands)
      operands.push_back(values[operand]);
    here = location(expr.range, expr.inlinedAt);
    if (truth.size() <= expr.order)
      truth.resize(expr.order + 1);
    truth[expr.order] = truthOf(expr, kernel, truth);
    Value value = emitNode(expr, operands);
    values[&expr] = value;
  }
  return values[&root];
}

attn::ForOp ExprEmitter::emitLoop(const TypedExpr &expr) {
  const CheckedLoop &loop = *expr.loop;
  size_t count = loop.carried.size();
  auto valuesOf = [&](ArrayRef<const TypedExpr *> exprs) {
    return llvm::map_to_vector(exprs,
                               [&](const TypedExpr *e) { return emit(*e); });
  };
  SmallVector<Value> bounds = valuesOf(expr.operands.take_front(2));
  SmallVector<Value> starts = valuesOf(expr.operands.slice(2, count));
  Location loc = location(expr.range, expr.inlinedAt);
  auto op = attn::ForOp::create(builder, loc, TypeRange(ValueRange(starts)),
                                indices[loop.axis], bounds[0], bounds[1],
                                loop.size, starts);
  Block &body = op.getBody().emplaceBlock();
  tileIndices[&loop] = body.addArgument(builder.getIndexType(), loc);
  for (auto [carried, start] : llvm::zip_equal(loop.carried, starts))
    values[carried] = body.addArgument(
        start.getType(), location(carried->range, carried->inlinedAt));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  SmallVector<Value> nexts = valuesOf(expr.operands.drop_front(2 + count));
  attn::NextOp::create(builder, loc, nexts);
  return op;
}

Value ExprEmitter::emitRead(const TypedExpr &expr, ArrayRef<Value> at) {
  Value tensor = ins[expr.id];
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value value = attn::ReadOp::create(builder, here, element, tensor, at);
  if (element.isInteger(1) || element.isF32())
    return value;
  if (element.isInteger())
    return arith::IndexCastOp::create(builder, here, builder.getIndexType(),
                                      value);
  return arith::ExtFOp::create(builder, here, builder.getF32Type(), value);
}

Value ExprEmitter::emitNode(const TypedExpr &expr, ArrayRef<Value> operands) {
  Type f32Type = builder.getF32Type();
  switch (expr.op) {
  case TypedExpr::IntConst:
    return index(expr.intValue);
  case TypedExpr::FloatConst:
    return f32(expr.floatValue);
  case TypedExpr::BoolConst:
    return constant(builder.getBoolAttr(expr.intValue));
  case TypedExpr::IndexVar:
    return indices[expr.id];
  case TypedExpr::Size:
    return emitSize(*expr.size);
  case TypedExpr::Scalar:
    return ins[expr.id];
  case TypedExpr::Read:
    return emitRead(expr, operands);
  case TypedExpr::IntToFloat: {
    // A byte of memory has no use for 64 bits on its way.
    if (auto cast = operands[0].getDefiningOp<arith::IndexCastOp>())
      if (cast.getIn().getType().isInteger(8))
        return arith::SIToFPOp::create(builder, here, f32Type, cast.getIn());
    Value wide = arith::IndexCastOp::create(builder, here, builder.getI64Type(),
                                            operands[0]);
    return arith::SIToFPOp::create(builder, here, f32Type, wide);
  }
  case TypedExpr::Round: {
    Type narrow = typeOf(builder, expr.element);
    Value rounded = arith::TruncFOp::create(builder, here, narrow, operands[0]);
    return arith::ExtFOp::create(builder, here, f32Type, rounded);
  }
  case TypedExpr::ToInt:
    return emitToInt(expr, operands[0]);
  case TypedExpr::Kept: {
    Type word = builder.getI32Type();
    Value bits = attn::RandomOp::create(builder, here, word, operands[0],
                                        operands.drop_front(2));
    Value least = arith::IndexCastOp::create(builder, here, word, operands[1]);
    return arith::CmpIOp::create(builder, here, arith::CmpIPredicate::sge, bits,
                                 least);
  }
  case TypedExpr::Materialize:
    return attn::MaterializeOp::create(builder, here, operands[0].getType(),
                                       operands[0], expr.name);
  case TypedExpr::LoopResult:
    return loops.at(expr.operands[0]).getResult(expr.id);
  case TypedExpr::Select:
    if (std::optional<bool> is = truth[expr.operands[0]->order])
      return operands[*is ? 1 : 2];
    return arith::SelectOp::create(builder, here, operands[0], operands[1],
                                   operands[2]);
  case TypedExpr::Eq:
  case TypedExpr::Ne:
  case TypedExpr::Lt:
  case TypedExpr::Le:
  case TypedExpr::Gt:
  case TypedExpr::Ge:
    return emitComparison(expr, operands);
  default:
    break;
  }
  if (expr.isReduction())
    return emitReduction(expr, operands[0]);
  switch (expr.type) {
  case ValueType::Int:
    return emitInteger(expr, operands);
  case ValueType::Float:
    return emitFloat(expr, operands);
  case ValueType::Bool:
    return emitLogical(expr, operands);
  }
  return {};
}

Value ExprEmitter::emitInteger(const TypedExpr &expr,
                               ArrayRef<Value> operands) {
  Value a = operands[0], b = operands.size() > 1 ? operands[1] : Value();
  switch (expr.op) {
  case TypedExpr::Neg: {
    Value zero = index(0);
    return arith::SubIOp::create(builder, here, zero, a);
  }
  case TypedExpr::Abs:
    return math::AbsIOp::create(builder, here, a);
  case TypedExpr::Add:
    return arith::AddIOp::create(builder, here, a, b);
  case TypedExpr::Sub:
    return arith::SubIOp::create(builder, here, a, b);
  case TypedExpr::Mul:
    return arith::MulIOp::create(builder, here, a, b);
  case TypedExpr::Div:
    return attn::FloorDivOp::create(builder, here, a, b);
  case TypedExpr::Mod:
    return attn::FloorModOp::create(builder, here, a, b);
  case TypedExpr::Min:
    return arith::MinSIOp::create(builder, here, a, b);
  case TypedExpr::Max:
    return arith::MaxSIOp::create(builder, here, a, b);
  default:
    llvm_unreachable("no operation on integers");
  }
}

Value ExprEmitter::emitFloat(const TypedExpr &expr, ArrayRef<Value> operands) {
  Value a = operands[0], b = operands.size() > 1 ? operands[1] : Value();
  switch (expr.op) {
  case TypedExpr::Neg:
    return arith::NegFOp::create(builder, here, a);
  case TypedExpr::Add:
    return arith::AddFOp::create(builder, here, a, b);
  case TypedExpr::Sub:
    return arith::SubFOp::create(builder, here, a, b);
  case TypedExpr::Mul:
    return arith::MulFOp::create(builder, here, a, b);
  case TypedExpr::Div:
    return arith::DivFOp::create(builder, here, a, b);
  case TypedExpr::Min:
    return arith::MinimumFOp::create(builder, here, a, b);
  case TypedExpr::Max:
    return arith::MaximumFOp::create(builder, here, a, b);
  case TypedExpr::Exp:
    return math::ExpOp::create(builder, here, a);
  case TypedExpr::Exp2:
    return math::Exp2Op::create(builder, here, a);
  case TypedExpr::Log:
    return math::LogOp::create(builder, here, a);
  case TypedExpr::Log2:
    return math::Log2Op::create(builder, here, a);
  case TypedExpr::Tanh:
    return math::TanhOp::create(builder, here, a);
  case TypedExpr::Sigmoid: { // 1 / (1 + exp(-x)): exp(-x) = inf gives 0
    Value one = f32(1);
    Value minus = arith::NegFOp::create(builder, here, a);
    Value power = math::ExpOp::create(builder, here, minus);
    Value below = arith::AddFOp::create(builder, here, one, power);
    return arith::DivFOp::create(builder, here, one, below);
  }
  case TypedExpr::Sqrt:
    return math::SqrtOp::create(builder, here, a);
  case TypedExpr::Rsqrt:
    return math::RsqrtOp::create(builder, here, a);
  case TypedExpr::Sin:
    return math::SinOp::create(builder, here, a);
  case TypedExpr::Cos:
    return math::CosOp::create(builder, here, a);
  case TypedExpr::Pow:
    return math::PowFOp::create(builder, here, a, b);
  case TypedExpr::Floor:
    return math::FloorOp::create(builder, here, a);
  case TypedExpr::Abs:
    return math::AbsFOp::create(builder, here, a);
  default:
    llvm_unreachable("no operation on floats");
  }
}

Value ExprEmitter::emitLogical(const TypedExpr &expr,
                               ArrayRef<Value> operands) {
  switch (expr.op) {
  case TypedExpr::Not: {
    Value yes = constant(builder.getBoolAttr(true));
    return arith::XOrIOp::create(builder, here, operands[0], yes);
  }
  case TypedExpr::And:
    return arith::AndIOp::create(builder, here, operands[0], operands[1]);
  case TypedExpr::Or:
    return arith::OrIOp::create(builder, here, operands[0], operands[1]);
  default:
    llvm_unreachable("no operation on bools");
  }
}

Value ExprEmitter::emitComparison(const TypedExpr &expr,
                                  ArrayRef<Value> operands) {
  unsigned i = expr.op - TypedExpr::Eq;
  if (expr.operands[0]->type == ValueType::Float) {
    using P = arith::CmpFPredicate; // NaN is unequal to everything
    static constexpr P predicates[] = {P::OEQ, P::UNE, P::OLT,
                                       P::OLE, P::OGT, P::OGE};
    return arith::CmpFOp::create(builder, here, predicates[i], operands[0],
                                 operands[1]);
  }
  using P = arith::CmpIPredicate;
  static constexpr P predicates[] = {P::eq,  P::ne,  P::slt,
                                     P::sle, P::sgt, P::sge};
  return arith::CmpIOp::create(builder, here, predicates[i], operands[0],
                               operands[1]);
}

/// Casts to integers saturate; from a float they drop the fraction and make
/// NaN 0. arith.fptosi is undefined outside its range, so its operand is
/// brought into it first.
Value ExprEmitter::emitToInt(const TypedExpr &expr, Value x) {
  bool wide = expr.element == ElementType::I64;
  bool byte = expr.element == ElementType::I8;
  int64_t lowest = wide   ? std::numeric_limits<int64_t>::min()
                   : byte ? std::numeric_limits<int8_t>::min()
                          : std::numeric_limits<int32_t>::min();
  int64_t highest = wide   ? std::numeric_limits<int64_t>::max()
                    : byte ? std::numeric_limits<int8_t>::max()
                           : std::numeric_limits<int32_t>::max();
  if (expr.operands[0]->type == ValueType::Int) {
    Value low = index(lowest), high = index(highest);
    Value raised = arith::MaxSIOp::create(builder, here, x, low);
    return arith::MinSIOp::create(builder, here, raised, high);
  }
  double limit = wide ? 0x1p63 : byte ? 0x1p7 : 0x1p31; // -limit: the lowest
  // The next f32 under it.
  double below = wide ? 0x1.fffffep62 : byte ? 0x1.fffffep6 : 0x1.fffffep30;
  Value low = f32(-limit), high = f32(below), edge = f32(limit);
  Value raised = arith::MaxNumFOp::create(builder, here, x, low);
  Value inside = arith::MinNumFOp::create(builder, here, raised, high);
  Value exact = arith::FPToSIOp::create(
      builder, here, wide ? builder.getI64Type() : builder.getI32Type(),
      inside);
  Value dropped =
      arith::IndexCastOp::create(builder, here, builder.getIndexType(), exact);
  Value above =
      arith::CmpFOp::create(builder, here, arith::CmpFPredicate::OGE, x, edge);
  Value most = index(highest), zero = index(0);
  Value saturated =
      arith::SelectOp::create(builder, here, above, most, dropped);
  Value isNaN =
      arith::CmpFOp::create(builder, here, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(builder, here, isNaN, zero, saturated);
}

Value ExprEmitter::emitReduction(const TypedExpr &expr, Value operand) {
  SmallVector<Value> axes;
  for (auto [i, index] : llvm::enumerate(indices))
    if (expr.bound >> i & 1)
      axes.push_back(expr.loop && expr.loop->axis == i
                         ? tileIndices.lookup(expr.loop)
                         : index);
  Type type = operand.getType();
  attn::ReduceKind kind = attn::ReduceKind::Sum;
  switch (expr.op) {
  case TypedExpr::Softmax:
    return attn::SoftmaxOp::create(builder, here, type, operand, axes);
  case TypedExpr::Logsumexp:
    return attn::LogSumExpOp::create(builder, here, type, operand, axes);
  case TypedExpr::ReduceMax:
    kind = attn::ReduceKind::Max;
    break;
  case TypedExpr::ReduceMin:
    kind = attn::ReduceKind::Min;
    break;
  case TypedExpr::Any:
    kind = attn::ReduceKind::Any;
    break;
  case TypedExpr::All:
    kind = attn::ReduceKind::All;
    break;
  default:
    break;
  }
  TypeAttr product;
  if (expr.isProduct)
    product = TypeAttr::get(typeOf(builder, expr.element));
  return attn::ReduceOp::create(builder, here, type, kind, operand, axes,
                                product);
}
