//===- EmitIR.cpp - from a checked kernel to the attn dialect -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/EmitIR.h"
#include "EmitIRExpr.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace attentile;
using namespace attentile::frontend;

namespace {
/// Emits one kernel: its head, then constraints, defaults and outputs.
class KernelEmitter {
public:
  KernelEmitter(OpBuilder &builder, const CheckedKernel &kernel)
      : builder(builder), kernel(kernel), exprs(builder, kernel) {}
  void emit();

private:
  AffineExpr affine(const SizeExpr &size);
  AffineMapAttr map(ArrayRef<const SizeExpr *> results);
  Type paramType(const CheckedParam &param);
  attn::KernelOp emitHead();
  void addArguments(Block &block);
  void emitStatement(const CheckedStatement &statement);
  void assumeFits(const CheckedParam &param, Value scalar);

  OpBuilder &builder;
  const CheckedKernel &kernel;
  ExprEmitter exprs;
  /// The place of each size among the symbols, for those that are not bound.
  SmallVector<unsigned> symbols;
  unsigned numSymbols = 0;
  SmallVector<Value> outs;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types and shapes
//===----------------------------------------------------------------------===//

AffineExpr KernelEmitter::affine(const SizeExpr &size) {
  if (auto value = kernel.evaluate(size))
    return builder.getAffineConstantExpr(*value);
  if (size.kind == SizeExpr::Size)
    return builder.getAffineSymbolExpr(symbols[size.size]);
  AffineExpr lhs = affine(*size.lhs), rhs = affine(*size.rhs);
  switch (size.kind) {
  case SizeExpr::Add:
    return lhs + rhs;
  case SizeExpr::Sub:
    return lhs - rhs;
  case SizeExpr::Mul:
    return lhs * rhs;
  default:
    // A quotient by 0 is 0, also where it is known to be one.
    if (auto divisor = dyn_cast<AffineConstantExpr>(rhs))
      if (divisor.getValue() == 0)
        return builder.getAffineConstantExpr(0);
    return size.kind == SizeExpr::FloorDiv ? lhs.floorDiv(rhs) : lhs % rhs;
  }
}

AffineMapAttr KernelEmitter::map(ArrayRef<const SizeExpr *> results) {
  SmallVector<AffineExpr> exprs;
  for (const SizeExpr *result : results)
    exprs.push_back(affine(*result));
  return AffineMapAttr::get(
      AffineMap::get(0, numSymbols, exprs, builder.getContext()));
}

Type KernelEmitter::paramType(const CheckedParam &param) {
  if (!param.isTensor)
    return isInteger(param.type) ? builder.getIndexType()
                                 : typeOf(builder, param.type);
  SmallVector<int64_t> dims;
  for (const SizeExpr *size : param.shape) {
    auto constant = dyn_cast<AffineConstantExpr>(affine(*size));
    dims.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
  }
  return RankedTensorType::get(dims, typeOf(builder, param.type));
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

attn::KernelOp KernelEmitter::emitHead() {
  for (const CheckedSize &size : kernel.sizes)
    symbols.push_back(size.bound ? ~0u : numSymbols++);

  SmallVector<StringRef> inNames, outNames, sizeNames, indexNames;
  SmallVector<Attribute> shapes, extents;
  for (const CheckedParam &param : kernel.ins) {
    if (param.bound)
      continue;
    inNames.push_back(param.name);
    shapes.push_back(map(param.shape));
  }
  for (const CheckedParam &param : kernel.outs) {
    outNames.push_back(param.name);
    shapes.push_back(map(param.shape));
  }
  for (const CheckedSize &size : kernel.sizes)
    if (!size.bound)
      sizeNames.push_back(size.name);
  for (const CheckedIndex &index : kernel.indices) {
    indexNames.push_back(index.name);
    extents.push_back(map(index.extent));
  }
  auto op = attn::KernelOp::create(
      builder, exprs.location(kernel.range), builder.getStringAttr(kernel.name),
      builder.getStrArrayAttr(inNames), builder.getStrArrayAttr(outNames),
      builder.getStrArrayAttr(sizeNames), builder.getStrArrayAttr(indexNames),
      builder.getArrayAttr(shapes), builder.getArrayAttr(extents));
  if (!kernel.tiles.empty()) {
    SmallVector<NamedAttribute> tiles;
    for (const CheckedTile &tile : kernel.tiles)
      tiles.push_back(builder.getNamedAttr(
          tile.axis, builder.getI64IntegerAttr(tile.size)));
    op->setAttr("attn.tile_sizes", builder.getDictionaryAttr(tiles));
  }
  return op;
}

void KernelEmitter::addArguments(Block &block) {
  auto add = [&](Type type, SourceRange range) -> Value {
    return block.addArgument(type, exprs.location(range));
  };
  for (const CheckedParam &param : kernel.ins)
    exprs.ins.push_back(param.bound ? Value()
                                    : add(paramType(param), param.range));
  for (const CheckedParam &param : kernel.outs)
    outs.push_back(add(paramType(param), param.range));
  Type indexType = builder.getIndexType();
  for (const CheckedSize &size : kernel.sizes)
    exprs.sizes.push_back(size.bound ? Value() : add(indexType, size.range));
  for (const CheckedIndex &index : kernel.indices)
    exprs.indices.push_back(add(indexType, index.range));
}

void KernelEmitter::emitStatement(const CheckedStatement &statement) {
  if (statement.kind != CheckedStatement::Output)
    return; // lets are emitted where an output needs them
  Value value = exprs.emit(*statement.value);
  SmallVector<Value> at;
  for (unsigned index : statement.index)
    at.push_back(exprs.indices[index]);
  attn::WriteOp::create(builder, exprs.location(statement.range), value,
                        outs[statement.output], at);
}

/// An i32 is an index inside the kernel, but a launch keeps it to its type.
void KernelEmitter::assumeFits(const CheckedParam &param, Value scalar) {
  if (param.bound || param.isTensor || param.type != ElementType::I32)
    return;
  Location loc = exprs.location(param.range);
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) {
    return arith::CmpIOp::create(
        builder, loc, predicate, scalar,
        arith::ConstantIndexOp::create(builder, loc, bound));
  };
  Value fits = arith::AndIOp::create(
      builder, loc, compare(arith::CmpIPredicate::sge, INT32_MIN),
      compare(arith::CmpIPredicate::sle, INT32_MAX));
  attn::AssumeOp::create(builder, loc, fits, (param.name + " fits i32").str());
}

void KernelEmitter::emit() {
  attn::KernelOp op = emitHead();
  Block &block = op.getBody().emplaceBlock();
  addArguments(block);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  for (const CheckedConstraint &constraint : kernel.constraints) {
    Value condition = exprs.emit(*constraint.condition);
    attn::AssumeOp::create(builder, exprs.location(constraint.range), condition,
                           constraint.text);
  }
  for (auto [param, argument] : llvm::zip(kernel.ins, exprs.ins))
    assumeFits(param, argument);
  for (auto [param, argument] : llvm::zip(kernel.ins, exprs.ins)) {
    if (!param.defaultValue || param.bound)
      continue;
    Value value = exprs.emit(*param.defaultValue);
    attn::DefaultOp::create(builder, exprs.location(param.defaultValue->range),
                            argument, value);
  }
  for (const CheckedStatement &statement : kernel.body)
    emitStatement(statement);
}

OwningOpRef<ModuleOp> attentile::emit(MLIRContext &context,
                                      const CheckedKernel &kernel) {
  context
      .loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(
      FileLineColLoc::get(&context, kernel.file->name(), 1, 1));
  builder.setInsertionPointToEnd(module->getBody());
  KernelEmitter(builder, kernel).emit();
  return module;
}
