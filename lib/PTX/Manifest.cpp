//===- Manifest.cpp - what the runtime must know of a program -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read from a program at the warp level. Grids, defaults and constraints are
// values of the program; the operations that they are computed by become
// expression trees.
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Signature.h"
#include "attentile/PTX.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attentile {
namespace {

namespace json = llvm::json;

class Describer {
public:
  explicit Describer(tile::ProgramOp program)
      : program(program),
        head(cast<attn::SignatureOpInterface>(program.getOperation())) {}

  FailureOr<json::Object> run();

private:
  tile::ProgramOp program;
  attn::SignatureOpInterface head;
  Operation *problem = nullptr; ///< the first thing that is no expression
  llvm::DenseSet<Value> lists;  ///< workspaces of kernels that make lists

  json::Value expression(Value value);
  json::Value expression(AffineExpr expr);
  json::Array expressions(ValueRange values);
  json::Array shapeOf(AffineMap shape);
  json::Object tensorOf(BlockArgument tensor, bool isOutput);
  bool makesLists(warp::KernelOp kernel);
  json::Object functionOf(warp::KernelOp kernel);
  json::Object launchOf(warp::KernelOp kernel, warp::KernelOp otherwise);
};

StringRef typeName(Type type) {
  type = getElementTypeOrSelf(type);
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(8))
    return "i8";
  if (type.isInteger(32))
    return "i32";
  return "i64"; // index too
}

/// How the runtime names a comparison; those it lacks have no name.
StringRef comparisonName(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "eq";
  case P::ne:
    return "ne";
  case P::slt:
    return "lt";
  case P::sle:
    return "le";
  case P::sgt:
    return "gt";
  case P::sge:
    return "ge";
  default:
    return "";
  }
}

StringRef comparisonName(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return "eq";
  case P::UNE:
    return "ne";
  case P::OLT:
    return "lt";
  case P::OLE:
    return "le";
  case P::OGT:
    return "gt";
  case P::OGE:
    return "ge";
  default:
    return "";
  }
}

/// The runtime's operation of the same meaning and operands, or nothing.
StringRef operationName(Operation *op) {
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) &&
      !op->getResult(0).getType().isInteger(1))
    return "";
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddIOp) { return "add"; })
      .Case([](arith::SubIOp) { return "sub"; })
      .Case([](arith::MulIOp) { return "mul"; })
      .Case([](arith::MinSIOp) { return "min"; })
      .Case([](arith::MaxSIOp) { return "max"; })
      .Case([](attn::FloorDivOp) { return "floordiv"; })
      .Case([](attn::FloorModOp) { return "floormod"; })
      .Case([](arith::FloorDivSIOp) { return "floordiv"; })
      .Case([](arith::CeilDivSIOp) { return "ceildiv"; })
      // Without a sign only where neither operand is negative.
      .Case([](arith::DivUIOp) { return "floordiv"; })
      .Case([](arith::RemUIOp) { return "floormod"; })
      .Case([](arith::CeilDivUIOp) { return "ceildiv"; })
      .Case([](arith::MinUIOp) { return "min"; })
      .Case([](arith::MaxUIOp) { return "max"; })
      .Case([](arith::SelectOp) { return "select"; })
      .Case([](arith::AddFOp) { return "fadd"; })
      .Case([](arith::SubFOp) { return "fsub"; })
      .Case([](arith::MulFOp) { return "fmul"; })
      .Case([](arith::DivFOp) { return "fdiv"; })
      .Case([](arith::MinimumFOp) { return "fmin"; })
      .Case([](arith::MaximumFOp) { return "fmax"; })
      .Case([](arith::MinNumFOp) { return "fmin"; })
      .Case([](arith::MaxNumFOp) { return "fmax"; })
      .Case([](math::SqrtOp) { return "sqrt"; })
      .Case([](math::ExpOp) { return "exp"; })
      .Case([](math::LogOp) { return "log"; })
      .Case([](arith::CmpIOp op) { return comparisonName(op.getPredicate()); })
      .Case([](arith::CmpFOp op) { return comparisonName(op.getPredicate()); })
      .Case([](arith::AndIOp) { return "and"; })
      .Case([](arith::OrIOp) { return "or"; })
      .Case([](arith::XOrIOp) { return "ne"; })
      .Default(StringRef());
}

json::Value Describer::expression(Value value) {
  if (isa<BlockArgument>(value))
    return getNameOf(value);
  Operation *op = value.getDefiningOp();
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto integer = dyn_cast<IntegerAttr>(constant))
      return integer.getType().isInteger(1)
                 ? int64_t(integer.getValue().getBoolValue())
                 : integer.getValue().getSExtValue();
    double real = cast<FloatAttr>(constant).getValueAsDouble();
    // JSON has no infinities: a quotient.
    if (std::isinf(real))
      return json::Array{"fdiv",
                         json::Array{"convert", "f32", real < 0 ? -1 : 1},
                         json::Array{"convert", "f32", 0}};
    return json::Array{"convert", "f32", real};
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return expression(op->getOperand(0));
  if (isa<arith::SIToFPOp, arith::UIToFPOp, arith::ExtFOp>(op))
    return json::Array{"convert", "f32", expression(op->getOperand(0))};
  if (isa<arith::NegFOp>(op))
    return json::Array{"fmul", json::Array{"convert", "f32", -1.0},
                       expression(op->getOperand(0))};
  StringRef name = operationName(op);
  if (name.empty()) {
    if (!problem)
      problem = op;
    return nullptr;
  }
  json::Array result{name};
  for (Value operand : op->getOperands())
    result.push_back(expression(operand));
  return json::Value(std::move(result));
}

json::Value Describer::expression(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return head.nameOf(head.getSizeArgs()[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  StringRef name = expr.getKind() == AffineExprKind::Add        ? "add"
                   : expr.getKind() == AffineExprKind::Mul      ? "mul"
                   : expr.getKind() == AffineExprKind::FloorDiv ? "floordiv"
                   : expr.getKind() == AffineExprKind::Mod      ? "floormod"
                                                                : "ceildiv";
  return json::Array{name, expression(binary.getLHS()),
                     expression(binary.getRHS())};
}

json::Array Describer::expressions(ValueRange values) {
  json::Array result;
  for (Value value : values)
    result.push_back(expression(value));
  return result;
}

json::Array Describer::shapeOf(AffineMap shape) {
  json::Array result;
  for (AffineExpr extent : shape.getResults())
    result.push_back(expression(extent));
  return result;
}

json::Object Describer::tensorOf(BlockArgument tensor, bool isOutput) {
  return json::Object{{"name", head.nameOf(tensor)},
                      {"role", isOutput ? "output" : "input"},
                      {"type", typeName(tensor.getType())},
                      {"shape", shapeOf(getShapeOf(tensor))}};
}

/// One entry of `arguments`.
json::Object argumentOf(const KernelArgument &argument) {
  StringRef name = getNameOf(argument.value);
  if (argument.kind == KernelArgument::Stride)
    return json::Object{
        {"kind", "stride"}, {"tensor", name}, {"dim", int64_t(argument.dim)}};
  StringRef kind = argument.kind == KernelArgument::Tensor      ? "tensor"
                   : argument.kind == KernelArgument::Workspace ? "workspace"
                   : argument.kind == KernelArgument::Size      ? "size"
                                                                : "scalar";
  return json::Object{{"kind", kind}, {"name", name}};
}

/// Whether a kernel only writes lists of blocks, and these follow from inputs
/// and scalars: of other kernels it reads nothing but lists. Asked of all
/// kernels in order.
bool Describer::makesLists(warp::KernelOp kernel) {
  if (!kernel->hasAttr("tile.block_list"))
    return false;
  llvm::DenseSet<Value> written;
  kernel.walk([&](warp::StoreOp op) { written.insert(op.getTensor()); });
  for (const KernelArgument &argument : getKernelArguments(kernel))
    if (argument.kind == KernelArgument::Workspace &&
        !written.contains(argument.value) && !lists.contains(argument.value))
      return false;
  lists.insert_range(written);
  return true;
}

/// A function of the image, and how it is launched.
json::Object Describer::functionOf(warp::KernelOp kernel) {
  json::Array arguments;
  for (const KernelArgument &argument : getKernelArguments(kernel))
    arguments.push_back(argumentOf(argument));
  return json::Object{{"kernel", kernel.getName()},
                      {"cells", expressions(kernel.getBounds())},
                      {"threads", int64_t(32 * kernel.getWarps())},
                      {"shared", int64_t(kernel.getSharedBytes().value_or(0))},
                      {"dependent", isDependent(kernel)},
                      {"arguments", std::move(arguments)}};
}

/// `otherwise`: null where the kernel asks for nothing.
json::Object Describer::launchOf(warp::KernelOp kernel,
                                 warp::KernelOp otherwise) {
  json::Object launch = functionOf(kernel);
  json::Array requirements;
  for (const KernelRequirement &need : getKernelRequirements(kernel)) {
    json::Array dims;
    for (int64_t dim : need.dims)
      dims.push_back(dim);
    requirements.push_back(json::Object{{"tensor", getNameOf(need.tensor)},
                                        {"dims", std::move(dims)},
                                        {"bytes", need.bytes}});
  }
  if (makesLists(kernel))
    launch["lists"] = true;
  if (!requirements.empty())
    launch["requires"] = std::move(requirements);
  if (otherwise)
    launch["otherwise"] = functionOf(otherwise);
  return launch;
}

FailureOr<json::Object> Describer::run() {
  json::Array sizes, tensors, scalars, constraints, workspace, launches;
  llvm::DenseMap<Value, Value> defaults;
  for (auto op : head.getHeadBlock().getOps<attn::DefaultOp>())
    defaults[op.getParameter()] = op.getValue();
  for (BlockArgument size : head.getSizeArgs())
    sizes.push_back(head.nameOf(size));
  for (BlockArgument input : head.getInArgs()) {
    if (isa<RankedTensorType>(input.getType())) {
      tensors.push_back(tensorOf(input, /*isOutput=*/false));
      continue;
    }
    json::Value byDefault = nullptr;
    if (defaults.contains(input))
      byDefault = expression(defaults.lookup(input));
    scalars.push_back(json::Object{{"name", head.nameOf(input)},
                                   {"type", typeName(input.getType())},
                                   {"default", std::move(byDefault)}});
  }
  for (BlockArgument output : head.getOutArgs())
    tensors.push_back(tensorOf(output, /*isOutput=*/true));
  for (auto op : head.getHeadBlock().getOps<attn::AssumeOp>())
    constraints.push_back(json::Object{
        {"text", op.getText()}, {"holds", expression(op.getCondition())}});
  // Index arithmetic was narrowed for sizes up to this one.
  for (BlockArgument size : head.getSizeArgs())
    constraints.push_back(json::Object{
        {"text",
         (head.nameOf(size) + " <= " + llvm::Twine(kLargestSize)).str()},
        {"holds", json::Array{"le", head.nameOf(size), kLargestSize}}});
  for (auto op : head.getHeadBlock().getOps<attn::WorkspaceOp>())
    workspace.push_back(json::Object{{"name", op.getName()},
                                     {"type", typeName(op.getType())},
                                     {"shape", shapeOf(getMemoryShapeOf(op))}});
  llvm::StringMap<warp::KernelOp> alternatives;
  for (auto kernel : head.getHeadBlock().getOps<warp::KernelOp>())
    if (std::optional<StringRef> otherwise = kernel.getOtherwise())
      alternatives[*otherwise] = nullptr;
  for (auto kernel : head.getHeadBlock().getOps<warp::KernelOp>())
    if (auto found = alternatives.find(kernel.getName());
        found != alternatives.end())
      found->second = kernel;
  for (auto kernel : head.getHeadBlock().getOps<warp::KernelOp>())
    if (!alternatives.contains(kernel.getName()))
      launches.push_back(launchOf(
          kernel, alternatives.lookup(kernel.getOtherwise().value_or(""))));
  if (problem) {
    // The operation's name without its dialect is the language's, or near it.
    InFlightDiagnostic error =
        problem->emitError("expected what the runtime of a GPU can evaluate, "
                           "got '")
        << problem->getName().stripDialect() << "'";
    error.attachNote() << "it has + - * / %, comparisons, where, min, max, "
                          "clamp, sqrt, exp and log; other functions of sizes "
                          "and scalars stand in the kernel itself, or are "
                          "passed to it";
    return failure();
  }
  return json::Object{{"format", "attentile-manifest"},
                      {"version", 2},
                      {"kernel", program.getSymName()},
                      {"sizes", std::move(sizes)},
                      {"tensors", std::move(tensors)},
                      {"scalars", std::move(scalars)},
                      {"constraints", std::move(constraints)},
                      {"workspace", std::move(workspace)},
                      {"launches", std::move(launches)}};
}

} // namespace

FailureOr<llvm::json::Object> describeProgram(tile::ProgramOp program) {
  return Describer(program).run();
}

void addResources(llvm::json::Object &manifest, const GpuImage &image) {
  auto add = [&](json::Object &function) {
    auto found = image.kernels.find(*function.getString("kernel"));
    if (found == image.kernels.end())
      return;
    const KernelResources &resources = found->second;
    function["registers"] = resources.registers;
    function["spill_bytes"] = resources.spillStores + resources.spillLoads;
  };
  for (json::Value &launch : *manifest.getArray("launches")) {
    json::Object &object = *launch.getAsObject();
    add(object);
    if (json::Object *otherwise = object.getObject("otherwise"))
      add(*otherwise);
  }
}

} // namespace attentile
