//===- TileTesting.cpp - parse, transform, draw, compare ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileTesting.h"
#include "Warp/Warp.h"
#include "attentile/EmitIR.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include <cmath>
#include <limits>
#include <mutex>
#include <random>

using namespace mlir;

namespace attentile::test {

TileFile::TileFile() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerTransformsPasses();
    registerAttentileLoopsPasses();
  });
  context = std::make_shared<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<attn::AttnDialect, tile::TileDialect, scf::SCFDialect,
                       warp::WarpDialect, arith::ArithDialect,
                       math::MathDialect, ub::UBDialect>();
}

TileFile::TileFile(llvm::StringRef path) : TileFile() {
  std::string full = std::string(ATTENTILE_TEST_DIR) + "/" + path.str();
  module = parseSourceFile<ModuleOp>(full, context.get());
}

TileFile TileFile::fromText(llvm::StringRef text) {
  TileFile result;
  result.module = parseSourceString<ModuleOp>(text, result.context.get());
  return result;
}

TileFile TileFile::fromSource(llvm::StringRef source,
                              llvm::ArrayRef<std::string> bound,
                              llvm::StringRef schedule) {
  TileFile result;
  SourceFile file("test.attn", source.str());
  Diagnostics diagnostics;
  SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
  Bindings bindings;
  for (const std::string &binding : bound)
    bindings.add(binding, diagnostics);
  CheckOptions options;
  options.schedule = schedule;
  if (!diagnostics.hasErrors())
    if (auto kernel = check(tree, bindings, options, diagnostics))
      result.module = emit(*result.context, *kernel);
  if (diagnostics.hasErrors())
    diagnostics.print(llvm::errs());
  return result;
}

tile::ProgramOp TileFile::program() {
  auto programs = module->getOps<tile::ProgramOp>();
  return programs.empty() ? tile::ProgramOp() : *programs.begin();
}

bool TileFile::run(llvm::StringRef pipeline) {
  PassManager manager(context.get());
  return succeeded(parsePassPipeline(pipeline, manager)) &&
         succeeded(manager.run(*module));
}

Values TileFile::draw(const std::map<std::string, int64_t> &sizes,
                      unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0.1, 1.1);
  Values values;
  attn::SignatureOpInterface head = program();
  SmallVector<int64_t> known;
  for (BlockArgument size : head.getSizeArgs()) {
    known.push_back(sizes.at(head.nameOf(size).str()));
    values[head.nameOf(size).str()].data = {double(known.back())};
  }
  for (BlockArgument in : head.getInArgs()) {
    HostTensor &made = values[head.nameOf(in).str()];
    auto tensor = dyn_cast<RankedTensorType>(in.getType());
    int64_t count = 1;
    if (tensor)
      for (AffineExpr extent : head.getShape(in).getResults()) {
        auto map = AffineMap::get(0, known.size(), extent);
        SmallVector<Attribute> symbols;
        for (int64_t size : known)
          symbols.push_back(Builder(context.get()).getIndexAttr(size));
        SmallVector<Attribute> folded;
        if (failed(map.constantFold(symbols, folded)))
          llvm::report_fatal_error("expected an extent of the sizes");
        made.shape.push_back(cast<IntegerAttr>(folded[0]).getInt());
        count *= made.shape.back();
      }
    Type element = tile::getElementType(in.getType());
    for (int64_t i = 0; i < count; ++i)
      made.data.push_back(element.isInteger(1)       ? double(random() % 2)
                          : !isa<FloatType>(element) ? double(random() % 4)
                          : tensor ? double(float(normal(random)))
                                   : double(float(unit(random))));
  }
  return values;
}

double difference(const HostTensor &a, const HostTensor &b) {
  double worst = 0;
  if (a.data.size() != b.data.size())
    return std::numeric_limits<double>::infinity();
  for (auto [x, y] : llvm::zip(a.data, b.data)) {
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (!std::isfinite(x) || !std::isfinite(y))
      return std::numeric_limits<double>::infinity();
    worst = std::max(worst, std::fabs(x - y) / (1 + std::fabs(y)));
  }
  return worst;
}

} // namespace attentile::test
