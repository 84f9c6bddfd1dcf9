//===- CheckSpace.cpp - what of a kernel can be varied --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckConfig.h"
#include "Tile/Tile.h"
#include "attentile/Pipeline.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;

namespace attentile::checking {

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

std::string Config::compileKey() const {
  std::string key;
  for (const auto &[name, type] : types)
    key += name + "=" + nameOf(type) + ",";
  for (const auto &[name, size] : heads)
    key += name + "=" + std::to_string(size) + ",";
  return key;
}

std::string Config::sizeKey() const {
  std::string key = compileKey();
  for (const auto &[name, size] : sizes)
    key += name + "=" + std::to_string(size) + ",";
  return key;
}

std::string Config::str() const {
  return sizeKey() + "strides=" + stridesNames[unsigned(strides)] +
         ",values=" + valuesNames[unsigned(values)] +
         ",seed=" + std::to_string(seed);
}

std::vector<int64_t> sizesOf(Variant &variant, const Config &config) {
  std::vector<int64_t> sizes;
  for (Attribute attribute : variant.kernel.getSizeNames()) {
    StringRef name = cast<StringAttr>(attribute).getValue();
    for (const auto &[known, size] : config.sizes)
      if (known == name)
        sizes.push_back(size);
  }
  return sizes;
}

std::vector<int64_t> extentsToTry(int64_t tile) {
  auto isPrime = [](int64_t n) {
    for (int64_t k = 2; k * k <= n; ++k)
      if (n % k == 0)
        return false;
    return n > 1;
  };
  int64_t prime = tile + tile / 2;
  while (!isPrime(prime))
    ++prime;
  // A tile of 1 has no smaller size but 0.
  return {1, std::max<int64_t>(tile - 1, 1), tile, tile + 1, prime, 0};
}

/// How many sizes a shape multiplies at most, of those in it noted for each.
static unsigned noteDegrees(const SizeExpr &expr, const CheckedKernel &kernel,
                            unsigned around,
                            llvm::StringMap<unsigned> &degrees) {
  if (expr.kind == SizeExpr::Constant)
    return 0;
  if (expr.kind == SizeExpr::Size) {
    unsigned &degree = degrees[kernel.sizes[expr.size].name];
    degree = std::max(degree, 1 + around);
    return 1;
  }
  bool isProduct = expr.kind == SizeExpr::Mul;
  llvm::StringMap<unsigned> none;
  unsigned ofRight = noteDegrees(*expr.rhs, kernel, 0, none);
  unsigned ofLeft = noteDegrees(*expr.lhs, kernel,
                                around + (isProduct ? ofRight : 0), degrees);
  noteDegrees(*expr.rhs, kernel, around + (isProduct ? ofLeft : 0), degrees);
  return isProduct ? ofLeft + ofRight : std::max(ofLeft, ofRight);
}

/// The extent number `level` of a row's or loop's size; of a product, H * W
/// pixels, each size is a root of that.
static int64_t sizeAt(Variant &variant, const std::string &size, unsigned level,
                      unsigned degree) {
  constexpr int64_t kUnknown = 64, kByIndex = 3;
  int64_t tile = 0;
  bool isAxis = false;
  attn::KernelOp kernel = variant.kernel;
  for (BlockArgument axis : kernel.getIndexArgs()) {
    auto symbol =
        dyn_cast<AffineSymbolExpr>(kernel.getExtent(axis).getResult(0));
    if (!symbol ||
        cast<StringAttr>(kernel.getSizeNames()[symbol.getPosition()]) != size)
      continue;
    isAxis = true;
    if (int64_t known = variant.tiles.lookup(kernel.nameOf(axis)))
      tile = known;
  }
  if (tile == 0)
    tile = isAxis && !variant.tiles.empty() ? kByIndex : kUnknown;
  int64_t extent = extentsToTry(tile)[level];
  return std::llround(std::pow(extent, 1.0 / std::max(1u, degree)));
}

void addTiledSizes(Config &config, Variant &variant, const Space &space,
                   unsigned rowLevel, unsigned loopLevel) {
  // Further row or loop sizes take other levels.
  for (auto [names, level] : {std::pair(&space.rowSizes, rowLevel),
                              std::pair(&space.loopSizes, loopLevel)})
    for (auto [i, name] : llvm::enumerate(*names))
      config.sizes.push_back(
          {name,
           sizeAt(variant, name, (level + i * space.step) % numExtentsToTry,
                  space.degrees.lookup(name))});
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

/// Notes how attn-to-tile tiles the kernel's axes.
static void findTiles(Variant &variant, const std::string &target) {
  OwningOpRef<ModuleOp> copy = variant.module->clone();
  PipelineOptions options;
  options.target = target;
  ScopedDiagnosticHandler quiet(variant.context.get(),
                                [](mlir::Diagnostic &) { return success(); });
  if (!runPasses(*copy, [&](OpPassManager &pm) { buildTiling(pm, options); }))
    return; // the runner will say why
  copy->walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<RankedTensorType>(type);
      auto axes =
          tile ? dyn_cast_or_null<tile::AxesAttr>(tile.getEncoding()) : nullptr;
      if (!axes)
        continue;
      for (auto [name, size] : llvm::zip(axes.getNames(), tile.getShape()))
        variant.tiles[name.getValue()] = size;
    }
  });
}

std::unique_ptr<Variant> makeVariant(const Source &source, const Config &config,
                                     std::string *why) {
  Bindings bindings = source.bindings;
  for (const auto &[name, type] : config.types)
    bindings.set(name, BoundValue::ofType(type));
  for (const auto &[name, size] : config.heads)
    bindings.set(name, BoundValue::ofInt(size));
  Diagnostics diagnostics;
  CheckOptions options;
  options.kernel = source.kernel;
  options.schedule = source.schedule;
  options.target = source.target;
  auto variant = std::make_unique<Variant>();
  variant->checked = check(source.tree, bindings, options, diagnostics);
  if (!variant->checked) {
    if (why) {
      llvm::raw_string_ostream os(*why);
      diagnostics.print(os);
    }
    return nullptr;
  }
  // One thread each: contexts are many and small.
  variant->context =
      std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  variant->context->loadDialect<tile::TileDialect>();
  variant->module = emit(*variant->context, *variant->checked);
  variant->kernel = *variant->module->getOps<attn::KernelOp>().begin();
  findTiles(*variant, source.target);
  return variant;
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

/// Head sizes to try: all even multiples of 8 that matter, equal and not; and
/// sides of areas, which are small.
static std::vector<std::vector<int64_t>>
headTuples(size_t count, llvm::ArrayRef<bool> isSide = {}) {
  static const std::vector<std::vector<int64_t>> pairs = {
      {64, 64},  {128, 128}, {16, 32},  {72, 80}, {80, 72},
      {96, 192}, {192, 96},  {256, 16}, {32, 256}};
  static const std::vector<int64_t> single = {64, 128, 16,  72, 80,
                                              96, 192, 256, 32},
                                    sides = {4, 3, 5, 2, 7, 1, 8, 6, 9};
  std::vector<std::vector<int64_t>> tuples;
  if (count == 0)
    return {{}};
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::vector<int64_t> tuple = count == 1 ? std::vector{single[i]} : pairs[i];
    while (tuple.size() < count)
      tuple.push_back(single[(i + 3 * tuple.size()) % single.size()]);
    for (auto [k, side] : llvm::enumerate(isSide))
      if (side)
        tuple[k] = sides[(i + 2 * k) % sides.size()];
    tuples.push_back(tuple);
  }
  return tuples;
}

/// The head sizes that the kernel's constraints permit: of the table, else
/// whatever of its numbers does.
static std::vector<std::vector<int64_t>> permittedHeads(const Source &source,
                                                        Config config,
                                                        const Space &space,
                                                        std::string &why) {
  const std::vector<std::string> &names = space.headNames;
  llvm::SmallVector<bool> isSide;
  for (const std::string &name : names)
    isSide.push_back(space.degrees.lookup(name) > 1);
  std::vector<std::vector<int64_t>> permitted;
  auto consider = [&](std::vector<int64_t> tuple) {
    config.heads.clear();
    for (auto [name, size] : llvm::zip(names, tuple))
      config.heads.push_back({name, size});
    if (makeVariant(source, config, why.empty() ? &why : nullptr))
      permitted.push_back(tuple);
  };
  for (const std::vector<int64_t> &tuple : headTuples(names.size(), isSide))
    consider(tuple);
  if (!permitted.empty() || names.empty())
    return permitted;
  std::vector<int64_t> index(names.size()), counts(names.size(), 9);
  std::vector<std::vector<int64_t>> single = headTuples(1);
  do {
    std::vector<int64_t> tuple;
    for (int64_t i : index)
      tuple.push_back(single[i][0]);
    consider(tuple);
  } while (permitted.size() < 9 && names.size() < 4 &&
           nextIndex(index, counts));
  return permitted;
}

/// Adds the names of the sizes in the extents of `axes` to `names`, but those
/// in `except`.
static void addSizeNames(attn::KernelOp kernel, OperandRange axes,
                         std::vector<std::string> &names,
                         const std::vector<std::string> &except) {
  for (Value axis : axes)
    kernel.getExtent(cast<BlockArgument>(axis)).walkExprs([&](AffineExpr expr) {
      auto symbol = dyn_cast<AffineSymbolExpr>(expr);
      if (!symbol)
        return;
      std::string name =
          cast<StringAttr>(kernel.getSizeNames()[symbol.getPosition()]).str();
      if (!llvm::is_contained(names, name) && !llvm::is_contained(except, name))
        names.push_back(name);
    });
}

/// Which sizes are of tiled rows and which of loops: the first grid that has
/// one decides.
static void findRoles(Variant &variant, Space &space) {
  OwningOpRef<ModuleOp> copy = variant.module->clone();
  ScopedDiagnosticHandler quiet(variant.context.get(),
                                [](mlir::Diagnostic &) { return success(); });
  if (!runPasses(*copy, [&](OpPassManager &pm) { buildGrids(pm, {}); }))
    return;
  attn::KernelOp kernel = *copy->getOps<attn::KernelOp>().begin();
  for (attn::GridOp grid : kernel.getBody().getOps<attn::GridOp>()) {
    addSizeNames(kernel, grid.getTile(), space.rowSizes, space.loopSizes);
    addSizeNames(kernel, grid.getLoop(), space.loopSizes, space.rowSizes);
    addSizeNames(kernel, grid.getWalk(), space.loopSizes, space.rowSizes);
  }
}

/// The sizes that stand in one constraint with another of `names`.
static std::vector<bool> findRelated(attn::KernelOp kernel,
                                     const std::vector<std::string> &names) {
  std::vector<bool> related(names.size());
  for (attn::AssumeOp assume : kernel.getBody().getOps<attn::AssumeOp>()) {
    std::vector<size_t> found;
    SmallVector<Value> stack{assume.getCondition()};
    llvm::SmallPtrSet<Value, 16> seen;
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (Operation *op = value.getDefiningOp()) {
        llvm::append_range(stack, op->getOperands());
        continue;
      }
      StringRef name = kernel.nameOf(cast<BlockArgument>(value));
      auto position = llvm::find(names, name);
      if (position != names.end() &&
          !llvm::is_contained(found, size_t(position - names.begin())))
        found.push_back(position - names.begin());
    }
    if (found.size() > 1)
      for (size_t i : found)
        related[i] = true;
  }
  return related;
}

/// Batch, heads and groups: sizes that one constraint relates (H % G == 0) in
/// ratios 1, 4 and 8 as far as it permits, the others small.
static void findOtherChoices(Variant &variant, Space &space) {
  std::vector<std::string> &names = space.otherNames;
  std::vector<bool> related = findRelated(variant.kernel, names);
  auto isExtent = [&](const std::string &name) {
    return llvm::any_of(variant.kernel.getIndexArgs(), [&](BlockArgument axis) {
      std::vector<std::string> own;
      auto symbol = dyn_cast<AffineSymbolExpr>(
          variant.kernel.getExtent(axis).getResult(0));
      return symbol &&
             cast<StringAttr>(
                 variant.kernel.getSizeNames()[symbol.getPosition()]) == name;
    });
  };
  static constexpr int64_t batch[] = {2, 1, 1}, heads[] = {3, 1, 2},
                           lengths[] = {33, 1, 8};
  std::vector<HostTensor> noScalars(variant.kernel.getInNames().size());
  // Adds the choice of most elements whose related sizes are among `values` and
  // as `permits` wants them (the smallest, the largest, their product).
  auto choose =
      [&](unsigned i, ArrayRef<int64_t> values,
          llvm::function_ref<bool(int64_t, int64_t, int64_t)> permits) {
        std::vector<int64_t> choice(names.size()), best;
        unsigned free = 0;
        std::vector<size_t> vary;
        for (size_t k = 0; k < names.size(); ++k) {
          if (related[k])
            vary.push_back(k);
          else
            choice[k] = !isExtent(names[k]) ? lengths[i]
                        : free++ == 0       ? batch[i]
                                            : heads[i];
        }
        std::vector<int64_t> index(vary.size()),
            counts(vary.size(), int64_t(values.size()));
        int64_t most = 0;
        do {
          int64_t smallest = values.back(), largest = 1, product = 1;
          for (size_t k = 0; k < vary.size(); ++k) {
            int64_t size = values[index[k]];
            choice[vary[k]] = size;
            smallest = std::min(smallest, size);
            largest = std::max(largest, size);
            product *= size;
          }
          if (!vary.empty() && !permits(smallest, largest, product))
            continue;
          Config config;
          for (auto [name, size] : llvm::zip(names, choice))
            config.sizes.push_back({name, size});
          for (const std::string &name : space.rowSizes)
            config.sizes.push_back({name, 64});
          for (const std::string &name : space.loopSizes)
            config.sizes.push_back({name, 64});
          if (product > most &&
              !findBrokenAssumption(variant.kernel, noScalars,
                                    sizesOf(variant, config))) {
            best = choice;
            most = product;
          }
        } while (nextIndex(index, counts));
        if (most > 0)
          space.otherChoices.push_back(best);
      };
  for (unsigned i = 0; i < 3; ++i) {
    int64_t ratio = i == 0 ? 1 : i == 1 ? 4 : 8;
    choose(i, {1, 2, 4, 8}, [&](int64_t least, int64_t most, int64_t product) {
      return most == least * ratio && product <= 16;
    });
  }
  // H == 5 * G, say: other numbers, few and many.
  if (space.otherChoices.empty())
    for (int64_t limit : {16, 48, 256})
      choose(
          0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
          [&](int64_t, int64_t, int64_t product) { return product <= limit; });
}

/// Takes rows' and loops' sizes that stand in one constraint with another size
/// (H == 5 * G of a program whose rows are heads) to the others; whether any.
static bool relateRoles(Variant &variant, Space &space) {
  std::vector<std::string> names = space.otherNames;
  llvm::append_range(names, space.rowSizes);
  llvm::append_range(names, space.loopSizes);
  std::vector<bool> related = findRelated(variant.kernel, names);
  size_t before = space.otherNames.size();
  for (size_t i = before; i < names.size(); ++i)
    if (related[i]) {
      space.otherNames.push_back(names[i]);
      llvm::erase(space.rowSizes, names[i]);
      llvm::erase(space.loopSizes, names[i]);
    }
  return space.otherNames.size() > before;
}

/// How many of the sizes to try keep the constraints of sizes alone.
static unsigned countPermitted(Variant &variant, const Space &space) {
  unsigned count = 0;
  std::vector<HostTensor> noScalars(variant.kernel.getInNames().size());
  for (const std::vector<int64_t> &choice : space.otherChoices)
    for (unsigned row = 0; row < numExtentsToTry; ++row)
      for (unsigned loop = 0; loop < numExtentsToTry; ++loop) {
        Config config;
        for (auto [name, size] : llvm::zip(space.otherNames, choice))
          config.sizes.push_back({name, size});
        addTiledSizes(config, variant, space, row, loop);
        count += !findBrokenAssumption(variant.kernel, noScalars,
                                       sizesOf(variant, config));
      }
  return count;
}

std::unique_ptr<Space> makeSpace(const Source &source,
                                 Diagnostics &diagnostics) {
  CheckOptions options;
  options.kernel = source.kernel;
  options.schedule = source.schedule;
  options.target = source.target;
  options.mode = CheckMode::Syntax;
  std::unique_ptr<CheckedKernel> checked =
      check(source.tree, source.bindings, options, diagnostics);
  if (!checked)
    return nullptr;
  auto space = std::make_unique<Space>();
  space->file = checked->file;
  space->range = checked->range;
  Config config;
  for (const CheckedType &type : checked->types) {
    std::vector<ElementType> choices(type.options.begin(), type.options.end());
    if (type.isBound)
      choices = {type.chosen};
    space->types.push_back({type.name.str(), choices});
    config.types.push_back({type.name.str(), choices[0]});
  }
  for (const CheckedSize &size : checked->sizes)
    if (size.isHead && !size.bound)
      space->headNames.push_back(size.name.str());
  // A size that stands nowhere alone must be bound too.
  for (const CheckedSize &size : checked->sizes)
    if (!size.standsAlone && !size.bound && !size.isHead)
      space->headNames.push_back(size.name.str());
  std::string why;
  for (const auto &params : {checked->ins, checked->outs})
    for (const CheckedParam &param : params)
      for (const SizeExpr *extent : param.shape)
        noteDegrees(*extent, *checked, 0, space->degrees);
  space->headChoices = permittedHeads(source, config, *space, why);
  if (space->headChoices.empty()) {
    diagnostics.error(*space->file, space->range,
                      "expected head sizes to check that the kernel permits; "
                      "bind them with --bind. The first try said:\n" +
                          StringRef(why).rtrim());
    return nullptr;
  }
  for (auto [name, size] :
       llvm::zip(space->headNames, space->headChoices.front()))
    config.heads.push_back({name, size});
  std::unique_ptr<Variant> variant = makeVariant(source, config);
  findRoles(*variant, *space);
  for (Attribute attribute : variant->kernel.getSizeNames()) {
    std::string name = cast<StringAttr>(attribute).str();
    if (!llvm::is_contained(space->rowSizes, name) &&
        !llvm::is_contained(space->loopSizes, name))
      space->otherNames.push_back(name);
  }
  findOtherChoices(*variant, *space);
  // L >= J, where both are of rows, permits little where J is the next level.
  unsigned next = countPermitted(*variant, *space);
  space->step = numExtentsToTry - 1;
  unsigned permitted = std::max(next, countPermitted(*variant, *space));
  space->step = permitted == next ? 1 : space->step;
  // N % 16 == 0 && N >= M, say, where both sizes are of rows: together.
  if (permitted == 0 && relateRoles(*variant, *space)) {
    space->otherChoices.clear();
    findOtherChoices(*variant, *space);
  }
  if (space->otherChoices.empty()) {
    diagnostics
        .error(*space->file, space->range,
               "expected some small sizes to satisfy the kernel's constraints")
        .note("bind them with --bind");
    return nullptr;
  }
  bool integers = llvm::any_of(checked->ins, [](const CheckedParam &in) {
    return in.isTensor && isInteger(in.type);
  });
  for (unsigned i = 0; i < (integers ? 8 : 7); ++i)
    space->values.push_back(static_cast<Values>(i));
  return space;
}

} // namespace attentile::checking
