//===- ProgramInfo.cpp - what a caller of native code knows ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Native/ProgramInfo.h"
#include "Tile/Tile.h"
#include "attentile/Native/ArgSlots.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace attentile {

//===----------------------------------------------------------------------===//
// From a program
//===----------------------------------------------------------------------===//

static ElementType elementTypeOf(Type type) {
  type = getElementTypeOrSelf(type);
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (isa<Float8E4M3FNType>(type))
    return ElementType::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return ElementType::F8E5M2;
  if (type.isInteger(1))
    return ElementType::Bool;
  if (type.isInteger(8))
    return ElementType::I8;
  if (type.isInteger(32))
    return ElementType::I32;
  return ElementType::I64; // index too
}

static ExtentExpr extentExprOf(AffineExpr expr) {
  ExtentExpr result;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result.value = constant.getValue();
    return result;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    result.kind = ExtentExpr::Size;
    result.value = symbol.getPosition();
    return result;
  }
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    result.kind = ExtentExpr::Add;
    break;
  case AffineExprKind::Mul:
    result.kind = ExtentExpr::Mul;
    break;
  case AffineExprKind::FloorDiv:
    result.kind = ExtentExpr::FloorDiv;
    break;
  case AffineExprKind::Mod:
    result.kind = ExtentExpr::FloorMod;
    break;
  default:
    result.kind = ExtentExpr::CeilDiv;
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  result.operands = {extentExprOf(binary.getLHS()),
                     extentExprOf(binary.getRHS())};
  return result;
}

ProgramInfo ProgramInfo::of(tile::ProgramOp program) {
  ProgramInfo info;
  ArgSlots slots(program);
  auto head = cast<attn::SignatureOpInterface>(program.getOperation());
  info.name = program.getSymName().str();
  auto add = [&](BlockArgument argument, bool isOutput) {
    ParameterInfo &parameter = info.parameters.emplace_back();
    parameter.name = head.nameOf(argument).str();
    parameter.type = elementTypeOf(argument.getType());
    parameter.isTensor = isa<RankedTensorType>(argument.getType());
    parameter.isOutput = isOutput;
    parameter.slot = slots.of(argument);
    for (AffineExpr extent : head.getShape(argument).getResults())
      parameter.shape.push_back(extentExprOf(extent));
  };
  for (BlockArgument argument : head.getInArgs())
    add(argument, false);
  for (BlockArgument argument : head.getOutArgs())
    add(argument, true);
  for (BlockArgument size : head.getSizeArgs())
    info.sizes.push_back(head.nameOf(size).str());
  info.counterSlot = slots.counters;
  info.slotCount = slots.count;
  for (Operation &op : head.getHeadBlock())
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](attn::AssumeOp op) {
          info.constraints.push_back(op.getText().str());
        })
        .Case([&](attn::DefaultOp op) {
          auto scalar = cast<BlockArgument>(op.getParameter());
          info.parameters[scalar.getArgNumber()].hasDefault = true;
        })
        .Case([&](attn::WorkspaceOp op) {
          info.workspaces.push_back(
              {op.getName().str(), elementTypeOf(op.getType()), slots.of(op)});
        })
        .Case([&](tile::KernelOp op) {
          info.kernels.push_back({op.getName().str(), 0});
        });
  // Sizes stand just before workspaces and counters.
  info.sizeSlot = slots.counters - info.workspaces.size() - info.sizes.size();
  return info;
}

void ProgramInfo::readScratch(ModuleOp lowered) {
  for (KernelInfo &kernel : kernels)
    if (Operation *function = lowered.lookupSymbol(kernel.name))
      if (auto bytes = function->getAttrOfType<IntegerAttr>(kScratchBytesAttr))
        kernel.scratchBytes = bytes.getInt();
}

int64_t ProgramInfo::scratchBytes() const {
  int64_t bytes = 0;
  for (const KernelInfo &kernel : kernels)
    bytes = std::max(bytes, kernel.scratchBytes);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static int64_t floorDivide(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t ExtentExpr::evaluate(const std::vector<int64_t> &sizes) const {
  if (kind == Constant)
    return value;
  if (kind == Size)
    return sizes[value];
  int64_t a = operands[0].evaluate(sizes), b = operands[1].evaluate(sizes);
  switch (kind) {
  case Add:
    return a + b;
  case Mul:
    return a * b;
  case FloorDiv:
    return floorDivide(a, b);
  case FloorMod:
    return b == 0 ? 0 : a - floorDivide(a, b) * b;
  default:
    return -floorDivide(-a, b);
  }
}

std::string ExtentExpr::print(const std::vector<std::string> &names,
                              const Divide &divide) const {
  if (kind == Constant)
    return std::to_string(value);
  if (kind == Size)
    return names[value];
  std::string a = operands[0].print(names, divide);
  std::string b = operands[1].print(names, divide);
  switch (kind) {
  case Add:
    return "(" + a + " + " + b + ")";
  case Mul:
    return "(" + a + " * " + b + ")";
  default:
    return divide(kind, a, b);
  }
}

std::string ExtentExpr::print(const std::vector<std::string> &names) const {
  return print(names,
               [](Kind kind, const std::string &a, const std::string &b) {
                 const char *op = kind == FloorMod ? " % " : " / ";
                 return (kind == CeilDiv ? "ceil(" : "(") + a + op + b + ")";
               });
}

bool ProgramInfo::deduceSizes(const std::vector<const HostTensor *> &arguments,
                              std::vector<int64_t> &values,
                              std::string &error) const {
  auto where = [&](size_t parameter, size_t dim) {
    return "dimension " + std::to_string(dim) + " of '" +
           parameters[parameter].name + "'";
  };
  std::vector<std::string> origin(sizes.size());
  values.assign(sizes.size(), -1);
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (!parameters[p].isTensor)
      continue;
    const std::vector<ExtentExpr> &shape = parameters[p].shape;
    if (arguments[p]->sizes.size() != shape.size()) {
      error = "expected '" + parameters[p].name + "' of rank " +
              std::to_string(shape.size()) + ", got rank " +
              std::to_string(arguments[p]->sizes.size());
      return false;
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t actual = arguments[p]->sizes[d];
      if (actual < 0 || actual >= int64_t(1) << 31) {
        error = "expected a size from 0 to 2147483647 in " + where(p, d) +
                ", got " + std::to_string(actual);
        return false;
      }
      if (shape[d].kind != ExtentExpr::Size)
        continue;
      int64_t &value = values[shape[d].value];
      std::string &first = origin[shape[d].value];
      if (first.empty()) {
        value = actual;
        first = where(p, d);
      } else if (value != actual) {
        error = "expected size " + sizes[shape[d].value] + " = " +
                std::to_string(value) + " of " + first + " in " + where(p, d) +
                ", got " + std::to_string(actual);
        return false;
      }
    }
  }
  for (size_t s = 0; s < sizes.size(); ++s)
    if (origin[s].empty()) {
      error = "expected size " + sizes[s] + " to stand alone in a shape";
      return false;
    }
  for (size_t p = 0; p < parameters.size(); ++p)
    for (size_t d = 0; d < parameters[p].shape.size(); ++d) {
      const ExtentExpr &extent = parameters[p].shape[d];
      int64_t expected = extent.evaluate(values);
      if (arguments[p]->sizes[d] != expected) {
        bool isFixed = extent.kind == ExtentExpr::Constant;
        error = "expected " + (isFixed ? "" : extent.print(sizes) + " = ") +
                std::to_string(expected) + " in " + where(p, d) + ", got " +
                std::to_string(arguments[p]->sizes[d]);
        return false;
      }
    }
  return true;
}

} // namespace attentile
