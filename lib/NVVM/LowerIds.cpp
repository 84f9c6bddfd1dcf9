//===- LowerIds.cpp - a kernel's function, its blocks and threads ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "attentile/Float8.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile::nvvm {

Value Emitter::to32(Value value) const {
  if (value.getType().isInteger(32))
    return value;
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getIn().getType().isInteger(32))
    return cast.getIn();
  if (auto cast = value.getDefiningOp<arith::IndexCastUIOp>();
      cast && cast.getIn().getType().isInteger(32))
    return cast.getIn();
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), value);
}

Value Emitter::at(Value pointer, Value offset, Type element) const {
  if (offset.getType().isIndex())
    offset = arith::IndexCastOp::create(b, loc, b.getI64Type(), offset);
  return LLVM::GEPOp::create(b, loc, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

SmallVector<Value> Emitter::ptx(StringRef text, StringRef constraints,
                                TypeRange results, ValueRange operands,
                                bool sideEffects) const {
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (results.empty())
    type = LLVM::LLVMVoidType::get(b.getContext());
  else
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            llvm::to_vector(results));
  auto op = LLVM::InlineAsmOp::create(
      b, loc, results.empty() ? TypeRange() : TypeRange(type), operands, text,
      constraints, sideEffects, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  if (results.empty())
    return {};
  if (results.size() == 1)
    return {op.getResult(0)};
  SmallVector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, loc, op.getResult(0), i));
  return values;
}

Type memoryType(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isIndex())
    return IntegerType::get(context, 64);
  if (element.isInteger(1) || isFloat8(element))
    return IntegerType::get(context, 8);
  return element;
}

/// The value of an extent's expression, of type index. Division as the language
/// has it.
static Value expand(const Emitter &e, AffineExpr expr, ArrayRef<Value> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return e.index(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sizes[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = expand(e, binary.getLHS(), sizes);
  Value rhs = expand(e, binary.getRHS(), sizes);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return e.add(lhs, rhs);
  case AffineExprKind::Mul:
    return e.mul(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return attn::FloorDivOp::create(e.b, e.loc, lhs, rhs);
  case AffineExprKind::Mod:
    return attn::FloorModOp::create(e.b, e.loc, lhs, rhs);
  default: {
    Value zero = e.index(0);
    Value down = attn::FloorDivOp::create(e.b, e.loc, e.sub(zero, lhs), rhs);
    return e.sub(zero, down);
  }
  }
}

/// A scalar's type as a parameter of a kernel.
static Type parameterType(OpBuilder &b, const KernelArgument &argument) {
  switch (argument.kind) {
  case KernelArgument::Tensor:
  case KernelArgument::Workspace:
    return LLVM::LLVMPointerType::get(b.getContext(), 1);
  case KernelArgument::Size:
  case KernelArgument::Stride:
    return b.getI64Type();
  case KernelArgument::Scalar:
    return memoryType(argument.value.getType());
  }
  llvm_unreachable("unknown kind");
}

/// Reads a special register, whose values end before `bound`.
template <typename Op>
static Value readRegister(const Emitter &e, int64_t bound) {
  auto range = LLVM::ConstantRangeAttr::get(e.b.getContext(), APInt(32, 0),
                                            APInt(32, bound));
  return Op::create(e.b, e.loc, e.b.getI32Type(), range);
}

/// Sizes and strides of the tensors; strides of a workspace from its shape.
static void
describeTensors(KernelLowering &k, const Emitter &e,
                ArrayRef<KernelArgument> arguments, const IRMapping &mapping,
                ArrayRef<Value> sizes,
                const DenseMap<std::pair<Value, unsigned>, Value> &strides) {
  SmallVector<KernelRequirement> requirements = getKernelRequirements(k.kernel);
  for (const KernelArgument &argument : arguments) {
    if (argument.kind != KernelArgument::Tensor &&
        argument.kind != KernelArgument::Workspace)
      continue;
    TensorAccess &access = k.tensors[argument.value];
    access.type = cast<RankedTensorType>(argument.value.getType());
    access.pointer = mapping.lookup(argument.value);
    for (AffineExpr extent : getShapeOf(argument.value).getResults())
      access.sizes.push_back(expand(e, extent, sizes));
    unsigned rank = access.sizes.size();
    access.strides.resize(rank);
    if (argument.kind == KernelArgument::Tensor) {
      for (unsigned dim = 0; dim < rank; ++dim)
        access.strides[dim] = strides.lookup({argument.value, dim});
      // What the launch has checked.
      for (const KernelRequirement &known : requirements)
        if (known.tensor == argument.value)
          access.strides[known.dims.back()] = e.index(1);
      continue;
    }
    access.isPadded = rank > 1;
    AffineMap shape = getMemoryShapeOf(argument.value);
    Value product = e.index(1);
    for (unsigned dim = rank; dim-- > 0;) {
      access.strides[dim] = product;
      if (dim > 0)
        product = e.mul(product, expand(e, shape.getResult(dim), sizes));
    }
  }
}

/// Copies what the kernel uses of the program's own values to its top.
static void sinkValues(warp::KernelOp kernel, OpBuilder &builder,
                       IRMapping &mapping) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(kernel.getBody(), used);
  used.insert(kernel.getBounds().begin(), kernel.getBounds().end());
  std::function<void(Value)> sink = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || mapping.contains(value) ||
        isa<RankedTensorType>(value.getType()))
      return;
    llvm::for_each(op->getOperands(), sink);
    builder.clone(*op, mapping);
  };
  llvm::for_each(used, sink);
}

/// Programs of one section at a time have what they read in common in the L2
/// cache; H100 and A100 have 40 MB and more.
static constexpr int64_t kSectionKB = 32 * 1024;

/// A section of what shares no more than lists, as pairs of batch and head:
/// documents of 256 pairs are 2 % faster in sections, a neighbourhood 7 % (4096
/// keys, an H200). A power of two, for one division.
static constexpr int64_t kListedTogether = 32;

namespace {
/// A program along the last coordinate, and the number of the others.
struct Split {
  Value last, others;
};
} // namespace

/// The last coordinate varies slowest: all that share it run side by side.
static Split splitSideBySide(const Emitter &e, Value number, Value others) {
  Value last = e.div(number, others);
  return {last, e.sub(number, e.mul(last, others))};
}

/// The same in sections of the other coordinates, of each of which `common`
/// bytes are read along the last one, and no more than `mostPrograms` programs
/// have theirs in the cache at a time.
static Split splitInSections(const Emitter &e, Value number, Value last,
                             Value others, int64_t common,
                             int64_t mostPrograms) {
  auto least = [&](Value x, Value y) -> Value {
    return arith::MinUIOp::create(e.b, e.loc, x, y);
  };
  int64_t each = std::clamp<int64_t>(common / 1024, 1, kSectionKB);
  Value together = e.i32(std::clamp<int64_t>(mostPrograms, 1, 1 << 16));
  Value whole = e.mul(least(last, together), e.i32(each));
  Value size = arith::MaxUIOp::create(
      e.b, e.loc, e.div(e.i32(kSectionKB), whole), e.i32(1));
  size = least(size, others);
  Value programs = e.mul(size, last);
  Value section = e.div(number, programs);
  Value first = e.mul(section, size);
  Value inSection = e.sub(number, e.mul(section, programs));
  Split split =
      splitSideBySide(e, inSection, least(size, e.sub(others, first)));
  return {split.last, e.add(first, split.others)};
}

/// Programs that share no more than a list, in sections where there are four or
/// more and all are whole. With sections or without, one division, as it stands
/// before a program's first access of memory.
static Split splitListed(const Emitter &e, Value number, Value last,
                         Value others) {
  auto is = [&](arith::CmpIPredicate predicate, Value x, int64_t y) -> Value {
    return arith::CmpIOp::create(e.b, e.loc, predicate, x, e.i32(y));
  };
  Value inSection = e.i32(kListedTogether - 1);
  Value some = is(arith::CmpIPredicate::uge, others, 4 * kListedTogether);
  Value whole = is(arith::CmpIPredicate::eq, e.bitAnd(others, inSection), 0);
  Value sections = arith::AndIOp::create(e.b, e.loc, some, whole);
  Value size = e.i32(kListedTogether);
  Split split =
      splitSideBySide(e, number, e.select(sections, e.mul(last, size), others));
  // Of sections: the section, and a program's number in it.
  Value rest = split.others;
  return {e.select(sections, e.div(rest, size), split.last),
          e.select(sections,
                   e.add(e.mul(split.last, size), e.bitAnd(rest, inSection)),
                   rest)};
}

/// The coordinates of the block `number`, the last varying fastest; all fit 31
/// bits, as the runtime refuses larger grids. With `common` (tile-order-
/// programs) the last one varies slowest within a section. One byte says that
/// programs share no more than a list.
static SmallVector<Value> splitNumber(const Emitter &e, Value number,
                                      ArrayRef<Value> bounds,
                                      IntegerAttr common,
                                      IntegerAttr mostPrograms) {
  SmallVector<Value> ids(bounds.size());
  size_t outer = bounds.size();
  if (common && bounds.size() > 1) {
    Value others = e.i32(1);
    for (Value bound : bounds.drop_back())
      others = e.mul(others, bound);
    Split split =
        common.getInt() == 1
            ? splitListed(e, number, bounds.back(), others)
            : splitInSections(e, number, bounds.back(), others, common.getInt(),
                              mostPrograms ? mostPrograms.getInt() : 1 << 16);
    ids.back() = split.last;
    number = split.others;
    --outer;
  }
  for (size_t i = outer; i-- > 0;) {
    ids[i] = i == 0 ? number : e.rem(number, bounds[i]);
    if (i != 0)
      number = e.div(number, bounds[i]);
  }
  return ids;
}

LLVM::LLVMFuncOp createKernelFunction(KernelLowering &k, OpBuilder &b) {
  warp::KernelOp kernel = k.kernel;
  Location loc = kernel.getLoc();
  MLIRContext *context = b.getContext();
  SmallVector<KernelArgument> arguments = getKernelArguments(kernel);
  SmallVector<Type> types;
  for (const KernelArgument &argument : arguments)
    types.push_back(parameterType(b, argument));
  auto function = LLVM::LLVMFuncOp::create(
      b, loc, kernel.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.reqntid",
                    b.getDenseI32ArrayAttr({int32_t(k.threads())}));
  // f32 arithmetic flushes what is below 2^-126, as ex2.approx.ftz does.
  function->setAttr("passthrough",
                    b.getArrayAttr(b.getStrArrayAttr(
                        {"denormal-fp-math-f32", "preserve-sign"})));

  OpBuilder::InsertionGuard guard(b);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Emitter e(b, loc);
  IRMapping mapping;
  SmallVector<Value> sizes;
  DenseMap<std::pair<Value, unsigned>, Value> strides;
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    Value parameter = entry->getArgument(number);
    Type wanted = argument.kind == KernelArgument::Stride
                      ? Type(b.getIndexType())
                      : argument.value.getType();
    if (isa<LLVM::LLVMPointerType>(parameter.getType())) {
      function.setArgAttr(number, "llvm.noalias", b.getUnitAttr());
      mapping.map(argument.value, parameter);
      continue;
    }
    if (wanted.isIndex())
      parameter = arith::IndexCastOp::create(b, loc, wanted, parameter);
    else if (wanted.isInteger(1))
      parameter = arith::TruncIOp::create(b, loc, wanted, parameter);
    if (argument.kind == KernelArgument::Stride)
      strides[{argument.value, argument.dim}] = parameter;
    else
      mapping.map(argument.value, parameter);
    if (argument.kind == KernelArgument::Size)
      sizes.push_back(parameter);
  }
  describeTensors(k, e, arguments, mapping, sizes, strides);
  sinkValues(kernel, b, mapping);

  k.threadId = readRegister<NVVM::ThreadIdXOp>(e, k.threads());
  k.laneId = e.bitAnd(k.threadId, e.i32(31));
  // Broadcast, so that ptxas sees one value a warp.
  k.warpId = e.div(k.threadId, e.i32(32));
  if (kernel.getWarps() > 1)
    k.warpId = NVVM::ShflOp::create(b, loc, b.getI32Type(), e.i32(-1), k.warpId,
                                    e.i32(0), e.i32(31), NVVM::ShflKind::idx,
                                    /*return_value_and_is_valid=*/UnitAttr());

  Block &body = kernel.getBody().front();
  SmallVector<Value> bounds;
  for (Value bound : kernel.getBounds())
    bounds.push_back(e.to32(mapping.lookup(bound)));
  SmallVector<Value> ids = splitNumber(
      e, readRegister<NVVM::BlockIdXOp>(e, (int64_t(1) << 31) - 1), bounds,
      kernel->getAttrOfType<IntegerAttr>("tile.common_bytes"),
      kernel->getAttrOfType<IntegerAttr>("tile.common_programs"));
  for (auto [argument, id] : llvm::zip_equal(body.getArguments(), ids))
    mapping.map(argument, e.toIndex(id));

  entry->getOperations().splice(entry->end(), body.getOperations());
  b.setInsertionPointToEnd(entry);
  LLVM::ReturnOp::create(b, loc, ValueRange());
  for (BlockArgument id : body.getArguments())
    id.replaceAllUsesWith(mapping.lookup(id));
  for (auto [from, to] : mapping.getValueMap())
    if (Value(from) != to && !isa<RankedTensorType>(to.getType()))
      Value(from).replaceUsesWithIf(to, [&](OpOperand &use) {
        return !isa<RankedTensorType>(use.get().getType()) &&
               function->isProperAncestor(use.getOwner());
      });
  return function;
}

void lowerIds(KernelLowering &k, Operation *op) {
  OpBuilder b(op);
  Emitter e(b, op->getLoc());
  Value id = isa<warp::ThreadIdOp>(op) ? k.threadId
             : isa<warp::LaneIdOp>(op) ? k.laneId
                                       : k.warpId;
  op->getResult(0).replaceAllUsesWith(e.toIndex(id));
  op->erase();
}

} // namespace attentile::nvvm
