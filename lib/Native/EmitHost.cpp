//===- EmitHost.cpp - host functions of a program -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: adds functions for what a caller must know before it runs a program's
// kernels. Expects: a tile.program whose own level holds pure arithmetic of
// sizes and scalars, besides assumptions, defaults, workspace and kernels.
// Leaves: the program as it is. Does not handle: constraints of element types,
// which are checked when the program is made.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Native/ArgSlots.h"
#include "attentile/Native/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attentile {
#define GEN_PASS_DEF_TILETOHOST
#include "Native/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// One function under construction: computes values of the program's level
/// from the slots of its only argument.
class HostFunction {
public:
  HostFunction(OpBuilder &builder, tile::ProgramOp program,
               const ArgSlots &slots, const Twine &name, Type result)
      : builder(builder), program(program), slots(slots) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    function = func::FuncOp::create(builder, program.getLoc(), name.str(),
                                    builder.getFunctionType(pointer, result));
    saved = builder.saveInsertionPoint();
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  /// Ends the function.
  void finish(Value result) {
    func::ReturnOp::create(builder, function.getLoc(), result);
    builder.restoreInsertionPoint(saved);
  }

  /// A value of the program's level, with what it is computed from.
  Value get(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Value loaded = load(argument);
      mapping.map(value, loaded);
      return loaded;
    }
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      get(operand);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  }

  /// An extent, which may divide by a size that is 0.
  Value get(AffineExpr extent) {
    Location loc = program.getLoc();
    if (auto constant = dyn_cast<AffineConstantExpr>(extent))
      return arith::ConstantIndexOp::create(builder, loc, constant.getValue());
    auto head = cast<attn::SignatureOpInterface>(program.getOperation());
    if (auto symbol = dyn_cast<AffineSymbolExpr>(extent))
      return get(head.getSizeArgs()[symbol.getPosition()]);
    auto binary = cast<AffineBinaryOpExpr>(extent);
    Value lhs = get(binary.getLHS()), rhs = get(binary.getRHS());
    switch (extent.getKind()) {
    case AffineExprKind::Add:
      return arith::AddIOp::create(builder, loc, lhs, rhs);
    case AffineExprKind::Mul:
      return arith::MulIOp::create(builder, loc, lhs, rhs);
    case AffineExprKind::Mod:
      return attn::FloorModOp::create(builder, loc, lhs, rhs);
    case AffineExprKind::FloorDiv:
      return attn::FloorDivOp::create(builder, loc, lhs, rhs);
    default: { // ceildiv: -floordiv(-lhs, rhs)
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value negated = arith::SubIOp::create(builder, loc, zero, lhs);
      Value quotient = attn::FloorDivOp::create(builder, loc, negated, rhs);
      return arith::SubIOp::create(builder, loc, zero, quotient);
    }
    }
  }

  /// The product of numbers of which a negative one counts as 0, as an i64.
  Value product(ArrayRef<Value> factors) {
    Location loc = program.getLoc();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value result = arith::ConstantIndexOp::create(builder, loc, 1);
    for (Value factor : factors)
      result = arith::MulIOp::create(
          builder, loc, result,
          arith::MaxSIOp::create(builder, loc, factor, zero));
    return toI64(result);
  }

  /// An index as it is, a boolean as 0 or 1.
  Value toI64(Value value) {
    Type i64 = builder.getI64Type();
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(builder, program.getLoc(), i64, value);
    return arith::ExtUIOp::create(builder, program.getLoc(), i64, value);
  }

private:
  /// A scalar or size from its slot.
  Value load(BlockArgument argument) {
    Location loc = argument.getLoc();
    Type pointer = function.getArgument(0).getType();
    Value address = LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI64Type(), function.getArgument(0),
        LLVM::GEPArg(static_cast<int32_t>(slots.of(argument))));
    Type type = argument.getType();
    bool isIndex = type.isIndex(), isBool = type.isInteger(1);
    Type stored = isIndex  ? Type(builder.getI64Type())
                  : isBool ? Type(builder.getI8Type())
                           : type;
    Value value = LLVM::LoadOp::create(builder, loc, stored, address);
    if (isIndex)
      return arith::IndexCastOp::create(builder, loc, type, value);
    if (isBool)
      return arith::TruncIOp::create(builder, loc, type, value);
    return value;
  }

  OpBuilder &builder;
  tile::ProgramOp program;
  const ArgSlots &slots;
  func::FuncOp function;
  OpBuilder::InsertPoint saved;
  IRMapping mapping;
};

/// All host functions of one program, placed before it.
struct HostEmitter {
  HostEmitter(tile::ProgramOp program)
      : program(program), builder(program), slots(program) {}

  HostFunction begin(const Twine &name, Type result) {
    return HostFunction(builder, program, slots, name, result);
  }

  /// 0, or 1 + the index of the first assumption that does not hold.
  void emitCheck() {
    HostFunction check =
        begin(program.getSymName() + "_check", builder.getI64Type());
    Location loc = program.getLoc();
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(builder, loc, value, 64);
    };
    auto assumptions = llvm::to_vector(body().getOps<attn::AssumeOp>());
    Value result = number(0);
    for (int64_t k = assumptions.size(); k > 0; --k)
      result = arith::SelectOp::create(
          builder, loc, check.get(assumptions[k - 1].getCondition()), result,
          number(k));
    check.finish(result);
  }

  /// A scalar's default, as f32 or i64.
  void emitDefault(attn::DefaultOp op) {
    auto head = cast<attn::SignatureOpInterface>(program.getOperation());
    StringRef scalar = head.nameOf(cast<BlockArgument>(op.getParameter()));
    bool isFloat = op.getValue().getType().isF32();
    HostFunction function =
        begin(program.getSymName() + "_default_" + scalar,
              isFloat ? op.getValue().getType() : builder.getI64Type());
    Value value = function.get(op.getValue());
    function.finish(isFloat ? value : function.toI64(value));
  }

  /// How many programs a kernel's grid has.
  void emitCells(tile::KernelOp kernel) {
    HostFunction cells =
        begin(kernel.getName() + "_cells", builder.getI64Type());
    SmallVector<Value> bounds;
    for (Value bound : kernel.getBounds())
      bounds.push_back(cells.get(bound));
    cells.finish(cells.product(bounds));
  }

  /// How many elements the k-th workspace has.
  void emitWorkspace(attn::WorkspaceOp workspace, unsigned k) {
    HostFunction elements = begin(
        program.getSymName() + "_workspace_" + Twine(k), builder.getI64Type());
    SmallVector<Value> extents;
    for (AffineExpr extent : workspace.getShape().getResults())
      extents.push_back(elements.get(extent));
    elements.finish(elements.product(extents));
  }

  Block &body() {
    return cast<attn::SignatureOpInterface>(program.getOperation())
        .getHeadBlock();
  }

  tile::ProgramOp program;
  OpBuilder builder;
  ArgSlots slots;
};

struct TileToHost : impl::TileToHostBase<TileToHost> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<tile::ProgramOp>()) {
      HostEmitter emitter(program);
      Block &body = emitter.body();
      emitter.emitCheck();
      for (auto op : body.getOps<attn::DefaultOp>())
        emitter.emitDefault(op);
      for (auto [k, op] : llvm::enumerate(body.getOps<attn::WorkspaceOp>()))
        emitter.emitWorkspace(op, k);
      for (auto op : body.getOps<tile::KernelOp>())
        emitter.emitCells(op);
    }
  }
};

} // namespace
} // namespace attentile
