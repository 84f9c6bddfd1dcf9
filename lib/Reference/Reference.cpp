//===- Reference.cpp - evaluates a kernel in float64 ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Reference.h"
#include "Evaluator.h"
#include <atomic>
#include <random>
#include <sched.h>
#include <thread>

using namespace mlir;
using namespace attentile::attn;

namespace attentile {

using namespace reference;

//===----------------------------------------------------------------------===//
// Sizes and scalars
//===----------------------------------------------------------------------===//

std::optional<ElementType> elementTypeOf(Type type) {
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
  if (type.isInteger(8))
    return ElementType::I8;
  if (type.isInteger(32))
    return ElementType::I32;
  if (type.isInteger(64) || type.isIndex())
    return ElementType::I64;
  if (type.isInteger(1))
    return ElementType::Bool;
  return std::nullopt;
}

int64_t evaluateExtent(AffineExpr expr, ArrayRef<int64_t> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sizes[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluateExtent(binary.getLHS(), sizes);
  int64_t b = evaluateExtent(binary.getRHS(), sizes);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return floorDivide(a, b);
  case AffineExprKind::CeilDiv:
    return -floorDivide(-a, b);
  default:
    return b == 0 ? 0 : a - floorDivide(a, b) * b;
  }
}

std::vector<int64_t> evaluateShape(AffineMap map, ArrayRef<int64_t> sizes) {
  std::vector<int64_t> shape;
  for (AffineExpr extent : map.getResults())
    shape.push_back(std::max<int64_t>(0, evaluateExtent(extent, sizes)));
  return shape;
}

llvm::Expected<std::vector<int64_t>> bindSizes(KernelOp kernel,
                                               ArrayRef<HostTensor> ins,
                                               ArrayRef<HostTensor> outs) {
  size_t count = kernel.getSizeNames().size();
  std::vector<int64_t> sizes(count, -1);
  std::vector<StringRef> from(count);
  SmallVector<std::pair<BlockArgument, const HostTensor *>> arguments;
  for (auto [argument, tensor] : llvm::zip(kernel.getInArgs(), ins))
    arguments.push_back({argument, &tensor});
  for (auto [argument, tensor] : llvm::zip(kernel.getOutArgs(), outs))
    arguments.push_back({argument, &tensor});
  for (auto [argument, tensor] : arguments) {
    AffineMap shape = kernel.getShape(argument);
    std::string name = kernel.nameOf(argument).str();
    if (!isa<ShapedType>(argument.getType()))
      continue;
    if (tensor->rank() != shape.getNumResults())
      return llvm::createStringError("expected " + name + " of rank " +
                                     std::to_string(shape.getNumResults()) +
                                     ", got rank " +
                                     std::to_string(tensor->rank()));
    for (auto [i, extent] : llvm::enumerate(shape.getResults())) {
      auto symbol = dyn_cast<AffineSymbolExpr>(extent);
      if (!symbol)
        continue;
      unsigned k = symbol.getPosition();
      if (sizes[k] >= 0 && sizes[k] != tensor->sizes[i])
        return llvm::createStringError(
            "expected size " +
            cast<StringAttr>(kernel.getSizeNames()[k]).str() + " of " + name +
            " to be " + std::to_string(sizes[k]) + " as in " + from[k].str() +
            ", got " + std::to_string(tensor->sizes[i]));
      sizes[k] = tensor->sizes[i];
      from[k] = kernel.nameOf(argument);
    }
  }
  for (size_t k = 0; k < count; ++k)
    if (sizes[k] < 0)
      return llvm::createStringError(
          "expected size " + cast<StringAttr>(kernel.getSizeNames()[k]).str() +
          " to be given: no tensor's shape has it alone");
  // Sizes are known: shapes that are expressions or numbers must agree too.
  for (auto [argument, tensor] : arguments) {
    if (!isa<ShapedType>(argument.getType()))
      continue;
    std::vector<int64_t> shape =
        evaluateShape(kernel.getShape(argument), sizes);
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] != tensor->sizes[i])
        return llvm::createStringError(
            "expected dimension " + std::to_string(i) + " of " +
            kernel.nameOf(argument).str() + " to be " +
            std::to_string(shape[i]) + ", got " +
            std::to_string(tensor->sizes[i]));
  }
  return sizes;
}

/// The number, as a float or an integer, of a value of sizes and scalars.
static llvm::Expected<std::pair<double, int64_t>>
evaluateScalar(const Inputs &inputs, Value value) {
  llvm::Expected<Program> program = buildScalarProgram(inputs, value);
  if (!program)
    return program.takeError();
  Evaluator evaluator(inputs, *program);
  evaluator.run({}, nullptr, false, 0);
  const Array &array = evaluator.last();
  if (program->steps.back().kind == Kind::Float)
    return std::pair(array.v[0], int64_t(0));
  return std::pair(0.0, array.i[0]);
}

static Inputs untainted(KernelOp kernel, ArrayRef<HostTensor> ins,
                        ArrayRef<int64_t> sizes) {
  return {kernel, ins, sizes, std::vector<bool>(ins.size()), {}, false};
}

llvm::Error applyDefaults(KernelOp kernel, std::vector<HostTensor> &ins,
                          ArrayRef<int64_t> sizes) {
  for (DefaultOp op : kernel.getHeadBlock().getOps<DefaultOp>()) {
    auto argument = cast<BlockArgument>(op.getParameter());
    HostTensor &scalar = ins[argument.getArgNumber()];
    if (scalar.data)
      continue;
    auto value = evaluateScalar(untainted(kernel, ins, sizes), op.getValue());
    if (!value)
      return value.takeError();
    ElementType type =
        elementTypeOf(argument.getType()).value_or(ElementType::F32);
    scalar = isFloat(type) ? HostTensor::scalar(type, value->first)
                           : HostTensor::scalarInt(type, value->second);
  }
  for (auto [argument, tensor] : llvm::zip(kernel.getInArgs(), ins))
    if (!tensor.data && !isa<ShapedType>(argument.getType()))
      return llvm::createStringError("expected a value for scalar " +
                                     kernel.nameOf(argument).str() +
                                     ", which has no default");
  return llvm::Error::success();
}

/// Whether every scalar that `value` is computed from has data.
static bool scalarsAreKnown(Value value, ArrayRef<HostTensor> ins) {
  SmallVector<Value> stack{value};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!stack.empty()) {
    Value top = stack.pop_back_val();
    if (!seen.insert(top).second)
      continue;
    if (Operation *op = top.getDefiningOp()) {
      llvm::append_range(stack, op->getOperands());
      continue;
    }
    unsigned number = cast<BlockArgument>(top).getArgNumber();
    if (number < ins.size() && !ins[number].data)
      return false;
  }
  return true;
}

std::optional<std::string> findBrokenAssumption(KernelOp kernel,
                                                ArrayRef<HostTensor> ins,
                                                ArrayRef<int64_t> sizes) {
  for (AssumeOp op : kernel.getHeadBlock().getOps<AssumeOp>()) {
    if (!scalarsAreKnown(op.getCondition(), ins))
      continue;
    auto value =
        evaluateScalar(untainted(kernel, ins, sizes), op.getCondition());
    if (!value)
      return llvm::toString(value.takeError());
    if (!value->second)
      return op.getText().str();
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// The elements of a tensor of floats, row after row.
static std::vector<double> decode(const HostTensor &tensor) {
  std::vector<double> elements;
  if (!isFloat(tensor.type) || tensor.size() == 0)
    return elements;
  elements.reserve(tensor.size());
  std::vector<int64_t> index(tensor.rank());
  do
    elements.push_back(tensor.readDouble(tensor.positionOf(index.data())));
  while (nextIndex(index, tensor.sizes));
  return elements;
}

static unsigned defaultThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

/// The points to evaluate: all, or so many that are drawn, in their order.
static std::vector<int64_t> choosePoints(const Program &program,
                                         const ReferenceOptions &options,
                                         bool &sampled) {
  int64_t all = program.points();
  int64_t work = std::max<int64_t>(program.work, 1);
  sampled = all > 1 && work > options.sampleAbove / all;
  std::vector<int64_t> points;
  if (!sampled) {
    for (int64_t i = 0; i < all; ++i)
      points.push_back(i);
    return points;
  }
  std::mt19937_64 random(options.seed);
  int64_t wanted = std::max<int64_t>(1, options.sampleAbove / work);
  for (int64_t i = 0; i < wanted; ++i)
    points.push_back(random() % all);
  llvm::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

/// Runs `program` at `points`, which threads share in blocks of neighbours;
/// the empty rows that it met.
static int64_t runPoints(const Inputs &inputs, const Program &program,
                         const std::vector<int64_t> &points, bool sampled,
                         std::vector<Sink> &sinks, unsigned threads) {
  std::atomic<size_t> next{0};
  std::atomic<int64_t> emptyRows{0};
  size_t block = std::clamp<size_t>(points.size() / (threads * 8), 1, 256);
  auto work = [&] {
    Evaluator evaluator(inputs, program);
    std::vector<int64_t> outer(program.outerExtents.size());
    for (size_t begin; (begin = next.fetch_add(block)) < points.size();) {
      for (size_t p = begin; p < std::min(begin + block, points.size()); ++p) {
        int64_t rest = points[p];
        for (size_t i = outer.size(); i-- > 0;) {
          outer[i] = rest % program.outerExtents[i];
          rest /= program.outerExtents[i];
        }
        evaluator.run(outer, &sinks, sampled, p);
      }
    }
    emptyRows += evaluator.emptyRows;
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads && i < points.size(); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
  return emptyRows;
}

/// Moves what a sampled program wrote into the outputs.
static void gather(Sink &sink, ReferenceOutput &output) {
  for (size_t p = 0; p < sink.positions.size(); ++p) {
    llvm::append_range(output.positions, sink.positions[p]);
    llvm::append_range(output.values, sink.sampledValues[p]);
    llvm::append_range(output.bounds, sink.sampledBounds[p]);
    llvm::append_range(output.rounded, sink.sampledRounded[p]);
  }
}

/// Lets the factors of products enter as they are.
static void makeExact(Program &program) {
  for (Step &step : program.steps) {
    for (Factor &factor : step.factors)
      factor.roundedTerms.clear();
    if (step.loop)
      makeExact(step.loop->program);
  }
}

/// Takes comparisons of floats as certain.
static void decide(Program &program) {
  for (Step &step : program.steps) {
    step.isDecided = step.op == Op::CompareF;
    if (step.loop)
      decide(step.loop->program);
  }
}

/// One evaluation; `change` is made to its programs.
static llvm::Expected<ReferenceResult>
evaluateOnce(KernelOp kernel, ArrayRef<HostTensor> ins, ArrayRef<int64_t> sizes,
             const ReferenceOptions &options,
             llvm::function_ref<void(Program &)> change) {
  Inputs inputs = untainted(kernel, ins, sizes);
  inputs.reductionsAgree = options.reductionsAgree;
  for (size_t i = 0; i < ins.size(); ++i) {
    inputs.floats.push_back(decode(ins[i]));
    inputs.tainted[i] = llvm::any_of(
        inputs.floats[i], [](double x) { return !std::isfinite(x); });
  }
  llvm::Expected<std::vector<Program>> programs = buildPrograms(inputs);
  if (!programs)
    return programs.takeError();
  for (Program &program : *programs)
    change(program);
  ReferenceResult result;
  std::vector<Sink> sinks;
  for (BlockArgument argument : kernel.getOutArgs()) {
    ReferenceOutput &output = result.outputs.emplace_back();
    output.name = kernel.nameOf(argument).str();
    output.type =
        *elementTypeOf(cast<ShapedType>(argument.getType()).getElementType());
    output.sizes = evaluateShape(kernel.getShape(argument), sizes);
    sinks.emplace_back().sizes = output.sizes;
  }
  unsigned threads = options.threads ? options.threads : defaultThreads();
  for (const Program &program : *programs) {
    bool sampled = false;
    std::vector<int64_t> points = choosePoints(program, options, sampled);
    for (const Step &step : program.steps) {
      if (step.op != Op::Write)
        continue;
      Sink &sink = sinks[step.tensor];
      size_t elements = 1;
      for (int64_t size : sink.sizes)
        elements *= size;
      result.outputs[step.tensor].sampled = sampled;
      if (sampled) {
        sink.positions.resize(points.size());
        sink.sampledValues.resize(points.size());
        sink.sampledBounds.resize(points.size());
        sink.sampledRounded.resize(points.size());
      } else {
        // What no statement writes is compared as 0.
        sink.values.resize(elements);
        sink.bounds.resize(elements);
        sink.rounded.resize(elements);
      }
    }
    result.emptyRows +=
        runPoints(inputs, program, points, sampled, sinks, threads);
    result.sampled |= sampled;
  }
  for (auto [sink, output] : llvm::zip(sinks, result.outputs)) {
    if (output.sampled) {
      gather(sink, output);
    } else {
      output.values = std::move(sink.values);
      output.bounds = std::move(sink.bounds);
      output.rounded = std::move(sink.rounded);
    }
  }
  return result;
}

/// The norm of what f32 alone may lose, `unrounded`'s bounds; elements taken
/// out do not count. Norms of two right kernels are alike where they are sums
/// of many alike errors. An element that has more than a 128th of the sum by
/// itself, as the column of an outlier does, counts with all that it may lose.
/// Nor is a comparison that a right kernel may decide otherwise, as that of a
/// probability with a threshold, a rounding: what its other branch makes of an
/// element, the bound beyond that in `decided`, counts beside f32's.
static double boundNorm(const ReferenceOutput &output,
                        const ReferenceOutput &unrounded,
                        const ReferenceOutput &decided) {
  auto allowed = [&](size_t i) {
    return output.isExcluded(i)
               ? 0
               : 2 * output.bounds[i] + halfUnit(output.type, output.values[i]);
  };
  double all = 0, sum = 0;
  for (size_t i = 0; i < output.bounds.size(); ++i)
    all += allowed(i) * allowed(i);
  for (size_t i = 0; i < output.bounds.size(); ++i) {
    double share = allowed(i) * allowed(i);
    if (share > all / 128)
      sum += share;
    else if (!unrounded.isExcluded(i) && !output.isExcluded(i)) {
      double undecided = std::max(output.bounds[i] - decided.bounds[i], 0.0);
      double lost = unrounded.bounds[i] + undecided;
      sum += lost * lost;
    }
  }
  return std::sqrt(sum);
}

llvm::Expected<ReferenceResult> evaluate(KernelOp kernel,
                                         ArrayRef<HostTensor> ins,
                                         ArrayRef<int64_t> sizes,
                                         const ReferenceOptions &options) {
  llvm::Expected<ReferenceResult> result =
      evaluateOnce(kernel, ins, sizes, options, [](Program &) {});
  if (!result ||
      llvm::none_of(result->outputs,
                    std::mem_fn(&ReferenceOutput::takesNormCriterion)))
    return result;
  llvm::Expected<ReferenceResult> exact =
      evaluateOnce(kernel, ins, sizes, options, [](Program &program) {
        makeExact(program);
        decide(program);
      });
  if (!exact)
    return exact.takeError();
  WalkResult comparison =
      kernel.walk([](arith::CmpFOp) { return WalkResult::interrupt(); });
  std::vector<ReferenceOutput> made;
  ArrayRef<ReferenceOutput> decided = result->outputs;
  if (comparison.wasInterrupted()) {
    llvm::Expected<ReferenceResult> again =
        evaluateOnce(kernel, ins, sizes, options, decide);
    if (!again)
      return again.takeError();
    made = std::move(again->outputs);
    decided = made;
  }
  for (auto [output, unrounded, known] :
       llvm::zip_equal(result->outputs, exact->outputs, decided))
    if (output.takesNormCriterion())
      output.arithmeticNorm = boundNorm(output, unrounded, known);
  return result;
}

bool isQuicklyEvaluated(KernelOp kernel, ArrayRef<int64_t> sizes) {
  constexpr double kMostElements = 1 << 24;
  return countLargestArray(kernel, sizes) <= kMostElements;
}

} // namespace attentile
