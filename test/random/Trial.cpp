//===- Trial.cpp - one program against the reference ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trial.h"
#include "Attn/Attn.h"
#include "Tile/Tile.h"
#include "attentile/AxesAnalysis.h"
#include "attentile/PipelineRunner.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include <set>

using namespace mlir;

namespace attentile::random {

const char *const featureNames[numFeatures] = {"skipped blocks", "fused",
                                               "two grids",      "a gather",
                                               "an empty row",   "GPU mapping"};

llvm::StringRef nameOf(Outcome::Kind kind) {
  static const char *const names[] = {"passed", "refused", "not compiled",
                                      "wrong",  "crashed", "took too long"};
  return names[kind];
}

//===----------------------------------------------------------------------===//
// What the passes do
//===----------------------------------------------------------------------===//

namespace {

/// Looks at the program between passes.
class Observer : public PassInstrumentation {
public:
  explicit Observer(unsigned &features) : features(features) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    llvm::StringRef name = pass->getArgument();
    if (name == "attn-lower-softmax")
      op->walk([&](attn::KernelOp kernel) { lookForGathers(kernel); });
    if (name == "tile-fuse-online-softmax")
      loops = countLoops(op);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    llvm::StringRef name = pass->getArgument();
    if (name == "attn-to-tile") {
      unsigned grids = 0;
      op->walk([&](tile::KernelOp) { ++grids; });
      note(twoGrids, grids >= 2);
    }
    if (name == "tile-fuse-online-softmax")
      note(fused, countLoops(op) < loops);
    if (name == "tile-skip-masked-blocks")
      op->walk([&](tile::KernelOp kernel) { lookForBounds(kernel); });
  }

private:
  void note(Feature feature, bool has) { features |= unsigned(has) << feature; }

  static unsigned countLoops(Operation *op) {
    unsigned count = 0;
    op->walk([&](scf::ForOp loop) { count += loop->hasAttr("tile.axis"); });
    return count;
  }

  /// A read at a place that is computed along queries or keys.
  void lookForGathers(attn::KernelOp kernel) {
    attn::AxesAnalysis axes(kernel);
    kernel.walk([&](attn::ReadOp read) {
      for (Value index : read.getIndices())
        if (index.getDefiningOp())
          for (BlockArgument axis : axes.indicesOf(axes.of(index)))
            note(gather,
                 kernel.nameOf(axis) == "m" || kernel.nameOf(axis) == "n");
    });
  }

  /// Loops over blocks that do not visit the whole of their axis: one that
  /// does starts at 0 and ends at a size.
  void lookForBounds(tile::KernelOp kernel) {
    kernel.walk([&](scf::ForOp loop) {
      if (!loop->hasAttr("tile.blocks"))
        return;
      auto isFollowed = [&](Value end) {
        return llvm::any_of(end.getUsers(), [&](Operation *user) {
          auto next = dyn_cast<scf::ForOp>(user);
          return next && next.getLowerBound() == end;
        });
      };
      APInt number;
      bool startsAtZero =
          matchPattern(loop.getLowerBound(), m_ConstantInt(&number)) &&
          number.isZero();
      bool followsAnother =
          llvm::any_of(loop.getLowerBound().getUsers(), [&](Operation *user) {
            auto other = dyn_cast<scf::ForOp>(user);
            return other && other.getUpperBound() == loop.getLowerBound();
          });
      bool endsAtSize =
          isa<BlockArgument>(loop.getUpperBound()) ||
          matchPattern(loop.getUpperBound(), m_ConstantInt(&number));
      note(skippedBlocks,
           (!startsAtZero && !followsAnother) ||
               (!endsAtSize && !isFollowed(loop.getUpperBound()) &&
                dependsOnMore(loop.getUpperBound())));
    });
  }

  /// Whether a bound is computed from more than one size: by itself that is
  /// the number of blocks.
  static bool dependsOnMore(Value bound) {
    SmallVector<Value> stack{bound};
    llvm::SmallPtrSet<Value, 16> seen, leaves;
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      Operation *op = value.getDefiningOp();
      if (!op)
        leaves.insert(value);
      else if (!op->hasTrait<OpTrait::ConstantLike>())
        llvm::append_range(stack, op->getOperands());
    }
    return leaves.size() > 1;
  }

  unsigned &features;
  unsigned loops = 0;
};

/// A kernel as text, parsed.
struct Source {
  SourceFile file;
  Diagnostics diagnostics;
  SyntaxTree tree;

  explicit Source(const Program &program)
      : file("random.attn", program.text()),
        tree(parse(file, diagnostics, findInLibrary)) {}

  std::string problem() {
    std::string text;
    llvm::raw_string_ostream os(text);
    diagnostics.print(os);
    return text;
  }
};

/// "D=8,E=16,T=f32": types, head sizes, and what the program binds.
std::string bindingsOf(Source &source, const Program &program) {
  CheckOptions options;
  options.mode = CheckMode::Syntax;
  // What is a head size depends on what else is known: a flag that is false
  // makes a mask a literal, and of a product a constant, unless nothing is
  // canonicalised. Those of either way are bound.
  Bindings sizes, all;
  for (auto &[name, value] : program.bound) {
    if (program.runs[0].sizes.contains(name))
      sizes.set(name, BoundValue::ofInt(std::stoll(value)));
    all.add(name + "=" + value, source.diagnostics);
  }
  // (An integer maximum over nothing is an error where that is known.) No heads
  // become as many as there are groups, which divide them.
  auto valueOf = [&](const std::string &name) {
    const auto &sizes = program.runs[0].sizes;
    int64_t value = sizes.at(name);
    return value > 0 ? value : name == "H" ? sizes.at("G") : 1;
  };
  std::set<std::string> heads;
  std::unique_ptr<CheckedKernel> kernel;
  for (Bindings *bindings : {&sizes, &all})
    // Of known head sizes others may become some.
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (const std::string &name : heads)
        bindings->set(name, BoundValue::ofInt(valueOf(name)));
      kernel = check(source.tree, *bindings, options, source.diagnostics);
      if (!kernel)
        return "";
      for (const CheckedSize &size : kernel->sizes)
        if (size.isHead || !size.standsAlone)
          isNew |= heads.insert(size.name.str()).second;
    }
  std::string text;
  auto add = [&](llvm::StringRef name, const std::string &value) {
    text += (text.empty() ? "" : ",") + name.str() + "=" + value;
  };
  for (const CheckedType &type : kernel->types)
    add(type.name, type.name == "T8" ? program.byteType : program.type);
  for (const CheckedSize &size : kernel->sizes)
    if (heads.count(size.name.str()))
      add(size.name, std::to_string(valueOf(size.name.str())));
    else if (program.bound.contains(size.name.str()))
      add(size.name, program.bound.at(size.name.str()));
  for (const CheckedParam &param : kernel->ins)
    if (auto it = program.bound.find(param.name.str());
        it != program.bound.end())
      add(param.name, it->second);
  return text;
}

/// "M=65,N=64,strides=far,values=large,seed=17".
std::string configurationOf(const CheckedKernel &kernel, const RunShape &run) {
  std::string text;
  for (const CheckedSize &size : kernel.sizes)
    if (!size.bound)
      text += size.name.str() + "=" +
              std::to_string(run.sizes.at(size.name.str())) + ",";
  return text + "strides=" + run.strides + ",values=" + run.values +
         ",seed=" + std::to_string(run.seed);
}

} // namespace

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

std::string bindingsOf(const Program &program) {
  Source source(program);
  return bindingsOf(source, program);
}

/// The kernel under the program's bindings; null after reporting.
static std::unique_ptr<CheckedKernel>
checkBound(Source &source, const Program &program, Bindings &bindings) {
  if (source.diagnostics.hasErrors())
    return nullptr;
  if (std::string text = bindingsOf(source, program); !text.empty())
    bindings.add(text, source.diagnostics);
  return source.diagnostics.hasErrors()
             ? nullptr
             : check(source.tree, bindings, {}, source.diagnostics);
}

std::string configurationOf(const Program &program) {
  Source source(program);
  Bindings bindings;
  auto kernel = checkBound(source, program, bindings);
  return kernel ? configurationOf(*kernel, program.runs[0]) : "";
}

std::string flagsOf(const Program &program) {
  const PipelineOptions &switches = program.switches;
  std::string text;
  auto addList = [&](const char *flag, const std::vector<std::string> &list) {
    if (!list.empty())
      text += std::string(" ") + flag + " " + llvm::join(list, ",");
  };
  addList("--disable-pass", switches.disabledPasses);
  addList("--add-pass", switches.enabledPasses);
  addList("--tile", switches.tileSizes);
  if (switches.normalizeEachStep)
    text += " --normalize=each-step";
  if (switches.programPerHead)
    text += " --programs=head";
  if (switches.splitReduced)
    text += " --split=k";
  return text;
}

static const NativeTarget &nativeTarget() {
  static const NativeTarget target =
      llvm::cantFail(NativeTarget::select("native"));
  return target;
}

Outcome runTrial(const Program &program, RunRecorder *recorder) {
  Outcome outcome;
  auto end = [&](Outcome::Kind kind, std::string message) {
    outcome.kind = kind;
    outcome.message = std::move(message);
    return outcome;
  };
  Source source(program);
  Bindings bindings;
  std::unique_ptr<CheckedKernel> kernel = checkBound(source, program, bindings);
  if (!kernel)
    return end(Outcome::Refused, source.problem());

  std::string passError;
  auto configure = [&](PassManager &pm) {
    pm.addInstrumentation(std::make_unique<Observer>(outcome.features));
    pm.getContext()->getDiagEngine().registerHandler(
        [&](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              passError.empty())
            passError = diagnostic.str();
        });
  };
  std::unique_ptr<KernelRunner> runner;
  if (program.level == Level::Warps) {
    runner = makeWarpRunner(program.switches, configure);
    outcome.features |= 1u << onWarps;
  } else {
    runner = std::make_unique<PipelineRunner>(program.switches, nativeTarget(),
                                              /*threads=*/1, configure);
  }
  RunCheckOptions options;
  options.file = "random.attn";
  options.target = program.switches.target;
  options.threads = 1;
  options.recorder = recorder;
  for (const RunShape &run : program.runs)
    options.only.push_back(configurationOf(*kernel, run));
  auto checks = runCheck(source.tree, bindings, *runner, options,
                         source.diagnostics, llvm::nulls());
  if (!checks)
    return end(Outcome::Refused,
               llvm::toString(checks.takeError()) + "\n" + source.problem());
  const PassCheck &check = checks->front();
  outcome.runs = check.runs;
  outcome.elements = check.elements;
  outcome.excluded = check.excluded;
  outcome.worstRatio = check.worstRatio;
  outcome.features |= unsigned(check.emptyRows > 0) << emptyRow;
  if (check.failures.empty())
    return outcome;
  outcome.configuration = check.failures[0].configuration;
  // An axis of which folding left nothing, as under a mask that is never true,
  // has no tiles.
  if (llvm::StringRef(passError).starts_with("expected an axis ") &&
      !program.switches.tileSizes.empty()) {
    Program untiled = program;
    untiled.switches.tileSizes.clear();
    return runTrial(untiled, recorder);
  }
  // A loop that is written out has its tiles' size, which may be too large for
  // a GPU.
  if (llvm::StringRef(passError).starts_with("expected tiles that fit") &&
      llvm::any_of(program.statements,
                   [](const Statement &s) { return s.isLoop(); }))
    return outcome;
  if (!passError.empty())
    return end(Outcome::NotCompiled, passError);
  return end(Outcome::Wrong, check.failures[0].message);
}

} // namespace attentile::random
