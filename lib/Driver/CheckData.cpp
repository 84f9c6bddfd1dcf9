//===- CheckData.cpp - inputs and outputs of a check's runs ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckConfig.h"
#include "attentile/AxesAnalysis.h"
#include <cmath>

using namespace mlir;

namespace attentile::checking {

namespace {
/// What the generator knows of an input tensor from how the kernel reads it.
struct Usage {
  bool rows = false, loop = false; // which axes index it
  bool score = false;              // a factor of a sum over whole axes
  std::vector<bool> loopDims;      // dimensions that a loop axis indexes
  int64_t indexes = -1;            // the extent that its integers index
};
} // namespace

//===----------------------------------------------------------------------===//
// How the kernel uses its inputs
//===----------------------------------------------------------------------===//

/// Whether an extent is made of a size in `names`.
static bool dependsOnSizes(attn::KernelOp kernel, AffineMap extent,
                           const std::vector<std::string> &names) {
  bool found = false;
  extent.walkExprs([&](AffineExpr expr) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      found |= llvm::is_contained(
          names,
          cast<StringAttr>(kernel.getSizeNames()[symbol.getPosition()]).str());
  });
  return found;
}

/// The input whose element `value` is, through casts; null if none.
static attn::ReadOp readOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto read = dyn_cast<attn::ReadOp>(op))
      return read;
    if (!isa<arith::IndexCastOp, arith::ExtFOp, arith::ExtSIOp,
             arith::SIToFPOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
}

static std::vector<Usage> findUsages(Variant &variant, const Space &space,
                                     llvm::ArrayRef<int64_t> sizes) {
  attn::KernelOp kernel = variant.kernel;
  attn::AxesAnalysis axes(kernel);
  std::vector<Usage> usages(kernel.getInNames().size());
  kernel.walk([&](attn::ReadOp read) {
    auto tensor = cast<BlockArgument>(read.getTensor());
    Usage &usage = usages[tensor.getArgNumber()];
    usage.loopDims.resize(read.getIndices().size());
    std::vector<int64_t> shape = evaluateShape(kernel.getShape(tensor), sizes);
    for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
      for (BlockArgument axis : axes.indicesOf(axes.of(index))) {
        AffineMap extent = kernel.getExtent(axis);
        usage.rows |= dependsOnSizes(kernel, extent, space.rowSizes);
        bool loop = dependsOnSizes(kernel, extent, space.loopSizes);
        usage.loop |= loop;
        usage.loopDims[dim] = usage.loopDims[dim] || loop;
      }
      if (attn::ReadOp inner = readOf(index)) {
        Usage &indexing =
            usages[cast<BlockArgument>(inner.getTensor()).getArgNumber()];
        indexing.indexes = indexing.indexes < 0
                               ? shape[dim]
                               : std::min(indexing.indexes, shape[dim]);
      }
    }
  });
  kernel.walk([&](attn::ReduceOp reduce) {
    auto product = reduce.getOperand().getDefiningOp<arith::MulFOp>();
    auto bound = axes.indicesOf(axes.setOf(reduce.getAxes()));
    bool whole = llvm::all_of(bound, [&](BlockArgument axis) {
      AffineMap extent = kernel.getExtent(axis);
      return !dependsOnSizes(kernel, extent, space.loopSizes) &&
             !dependsOnSizes(kernel, extent, space.rowSizes);
    });
    if (!product || !whole)
      return;
    for (Value factor : product->getOperands())
      if (attn::ReadOp read = readOf(factor))
        usages[cast<BlockArgument>(read.getTensor()).getArgNumber()].score =
            true;
  });
  return usages;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static HostTensor makeTensor(ElementType type, std::vector<int64_t> sizes,
                             Strides strides, bool output) {
  HostTensor tensor;
  tensor.type = type;
  tensor.strides = contiguousStrides(sizes);
  tensor.sizes = std::move(sizes);
  size_t rank = tensor.sizes.size();
  // The first dimension with several elements, but the last.
  size_t first = 0;
  while (first + 1 < rank && tensor.sizes[first] <= 1)
    ++first;
  switch (output && strides == Strides::Expanded ? Strides::Padded : strides) {
  case Strides::Contiguous:
    break;
  case Strides::Permuted: {
    int64_t stride =
        rank > 0 ? std::max<int64_t>(tensor.sizes[rank - 1], 1) : 1;
    for (size_t i = 0; i + 1 < rank; ++i) {
      tensor.strides[i] = stride;
      stride *= std::max<int64_t>(tensor.sizes[i], 1);
    }
    break;
  }
  case Strides::Padded: {
    int64_t stride = 2;
    for (size_t i = rank; i-- > 0;) {
      tensor.strides[i] = stride;
      stride = stride * std::max<int64_t>(tensor.sizes[i], 1) + 3;
    }
    break;
  }
  case Strides::Expanded:
    if (rank > 0)
      tensor.strides[first] = 0;
    break;
  case Strides::Reversed:
    for (int64_t &stride : tensor.strides)
      stride = -stride;
    break;
  case Strides::Far:
    if (rank > 0 && tensor.sizes[first] > 1 && tensor.size() > 0) {
      tensor.strides[first] =
          (int64_t(1) << 31) / (tensor.sizes[first] - 1) + 64;
      giveMemory(tensor, true);
      if (tensor.data)
        return tensor;
      tensor.strides = contiguousStrides(tensor.sizes);
    }
    break;
  }
  giveMemory(tensor, false);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Recipe floatsOf(const HostTensor &tensor, const Usage &usage,
                       Values values, Random random) {
  Recipe recipe;
  recipe.seed = random.state;
  if (values == Values::Large && usage.score)
    recipe.factor = 100; // two of them and 1 / sqrt(D): scores of 10^4
  else if (tensor.type == ElementType::I8)
    recipe.factor = 12; // most of its range
  if (values == Values::Subnormal)
    recipe.factor = tensor.type == ElementType::F16 ? 0x1p-17 : 0x1p-130;
  recipe.equalRows = values == Values::Equal;
  return recipe;
}

/// A random element; along the dimensions of loop axes often the first, which
/// most masks show to most rows.
static std::vector<int64_t> drawIndex(const HostTensor &tensor,
                                      const Usage &usage, Random &random) {
  std::vector<int64_t> index;
  bool front = random.below(2) == 0;
  for (size_t dim = 0; dim < tensor.sizes.size(); ++dim)
    index.push_back(front && dim < usage.loopDims.size() && usage.loopDims[dim]
                        ? 0
                        : random.below(tensor.sizes[dim]));
  return index;
}

/// Puts what `values` asks for into a few elements of one tensor.
static void spoil(Data &data, const std::vector<Usage> &usages, Values values,
                  Random &random) {
  std::vector<HostTensor> &ins = data.ins;
  std::vector<size_t> candidates;
  for (size_t i = 0; i < ins.size(); ++i) {
    if (!isFloat(ins[i].type) || ins[i].rank() == 0 || ins[i].size() == 0)
      continue;
    bool wanted =
        values == Values::Outlier ||
        (values == Values::NanRows && usages[i].rows && !usages[i].loop) ||
        (values == Values::NanLoop && usages[i].loop);
    if (wanted)
      candidates.push_back(i);
  }
  if (candidates.empty())
    return;
  size_t chosen = candidates[random.below(candidates.size())];
  auto set = [&](std::vector<int64_t> index, double value) {
    int64_t number = 0;
    for (auto [at, size] : llvm::zip(index, ins[chosen].sizes))
      number = number * size + at;
    data.recipes[chosen].patches.push_back({number, value});
  };
  if (values == Values::Outlier) {
    std::vector<int64_t> index = drawIndex(ins[chosen], usages[chosen], random);
    set(index, random.below(2) ? 3e4 : -3e4);
    return;
  }
  for (double value : {double(INFINITY), double(-INFINITY), double(NAN)})
    set(drawIndex(ins[chosen], usages[chosen], random), value);
}

static Recipe integersOf(const Usage &usage, Values values, int64_t largest,
                         Random random) {
  Recipe recipe;
  recipe.integers = true;
  // What indexes nothing may be a length or a label: few labels or all.
  recipe.limit = usage.indexes >= 0 ? usage.indexes
                 : random.below(2)  ? largest + 1
                                    : 4;
  recipe.outside = values == Values::Outside;
  recipe.seed = random.state;
  return recipe;
}

/// Draws a scalar; the first attempt takes defaults.
static HostTensor drawScalar(ElementType type, int64_t largest,
                             Random &random) {
  if (isFloat(type))
    return HostTensor::scalar(type,
                              random.normal() * (random.below(4) ? 1 : 0.1));
  if (type == ElementType::Bool)
    return HostTensor::scalarInt(type, random.below(2));
  return HostTensor::scalarInt(type, 1 + random.below(largest));
}

/// Gives the scalars values that keep the kernel's constraints.
static bool drawScalars(Variant &variant, Data &data, int64_t largest,
                        Random random) {
  attn::KernelOp kernel = variant.kernel;
  for (unsigned attempt = 0; attempt < 200; ++attempt) {
    // Defaults stay in three of four runs, and a scaled one is as likely.
    bool defaults = random.below(4) != 0;
    for (auto [argument, in] : llvm::zip(kernel.getInArgs(), data.ins)) {
      if (isa<ShapedType>(argument.getType()))
        continue;
      in = HostTensor();
      bool hasDefault = llvm::any_of(
          argument.getUsers(), [argument = argument](Operation *user) {
            auto op = dyn_cast<attn::DefaultOp>(user);
            return op && op.getParameter() == argument;
          });
      if (!defaults || !hasDefault)
        in = drawScalar(
            elementTypeOf(argument.getType()).value_or(ElementType::F32),
            std::max<int64_t>(largest, 1), random);
    }
    if (llvm::Error error = applyDefaults(kernel, data.ins, data.sizes)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    if (!findBrokenAssumption(kernel, data.ins, data.sizes))
      return true;
  }
  return false;
}

/// Whether an extent is negative, as that of `R[2 * X - 1]` where X is 0.
static bool hasNegativeExtent(attn::KernelOp kernel,
                              llvm::ArrayRef<int64_t> sizes) {
  return llvm::any_of(
      kernel.getBody().front().getArguments(), [&](BlockArgument argument) {
        return isa<ShapedType>(argument.getType()) &&
               llvm::any_of(kernel.getShape(argument).getResults(),
                            [&](AffineExpr extent) {
                              return evaluateExtent(extent, sizes) < 0;
                            });
      });
}

/// Sizes and scalars; nothing if no scalars keep the constraints, or sizes make
/// no tensor.
static std::optional<Data> startData(Variant &variant, const Config &config,
                                     int64_t &largest, Random &random) {
  Data data;
  data.sizes = sizesOf(variant, config);
  if (hasNegativeExtent(variant.kernel, data.sizes))
    return std::nullopt;
  data.ins.resize(variant.kernel.getInNames().size());
  data.recipes.resize(data.ins.size());
  largest = 1;
  for (int64_t size : data.sizes)
    largest = std::max(largest, size);
  random.state = config.seed;
  if (!drawScalars(variant, data, largest, Random{random.next()}))
    return std::nullopt;
  return data;
}

bool canDrawScalars(Variant &variant, const Config &config) {
  int64_t largest;
  Random random;
  return startData(variant, config, largest, random).has_value();
}

Data makeData(Variant &variant, const Space &space, const Config &config) {
  attn::KernelOp kernel = variant.kernel;
  int64_t largest;
  Random random;
  std::optional<Data> started = startData(variant, config, largest, random);
  assert(started && "a set holds configurations alone whose scalars are drawn");
  Data data = std::move(*started);
  data.rowsAreAlike = config.values == Values::Equal;
  std::vector<Usage> usages = findUsages(variant, space, data.sizes);
  auto make = [&](BlockArgument argument, bool output) {
    ElementType type =
        *elementTypeOf(cast<ShapedType>(argument.getType()).getElementType());
    return makeTensor(type,
                      evaluateShape(kernel.getShape(argument), data.sizes),
                      config.strides, output);
  };
  for (BlockArgument argument : kernel.getInArgs()) {
    if (!isa<ShapedType>(argument.getType()))
      continue;
    HostTensor &tensor = data.ins[argument.getArgNumber()];
    const Usage &usage = usages[argument.getArgNumber()];
    tensor = make(argument, false);
    for (auto [dim, isLoop] : llvm::enumerate(usage.loopDims))
      data.rowsAreAlike |=
          isLoop && tensor.strides[dim] == 0 && tensor.sizes[dim] > 1;
    Random own{random.next()};
    Recipe &recipe = data.recipes[argument.getArgNumber()];
    bool isNumber = isFloat(tensor.type) ||
                    (tensor.type == ElementType::I8 && usage.indexes < 0);
    if (isNumber)
      recipe = floatsOf(tensor, usage, config.values, own);
    else if (tensor.type == ElementType::Bool)
      recipe =
          integersOf(Usage{false, false, false, {}, 2}, Values::Normal, 1, own);
    else
      recipe = integersOf(usage, config.values, largest, own);
  }
  if (config.values == Values::Outlier || config.values == Values::NanRows ||
      config.values == Values::NanLoop)
    spoil(data, usages, config.values, random);
  for (BlockArgument argument : kernel.getInArgs())
    if (unsigned i = argument.getArgNumber();
        isa<ShapedType>(argument.getType()))
      draw(data.ins[i], data.recipes[i]);
  for (BlockArgument argument : kernel.getOutArgs()) {
    data.outs.push_back(make(argument, true));
    poison(data.outs.back());
  }
  return data;
}

} // namespace attentile::checking
