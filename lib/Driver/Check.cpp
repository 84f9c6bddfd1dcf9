//===- Check.cpp - a kernel against the reference, over many runs ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Check.h"
#include "CheckReport.h"
#include "CheckSets.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace attentile::checking;

namespace attentile {

RunnableKernel::~RunnableKernel() = default;
KernelRunner::~KernelRunner() = default;
RunRecorder::~RunRecorder() = default;

namespace {
/// One run's inputs and what the reference says of them.
struct Prepared {
  Data data;
  ReferenceResult reference;
};

class Checker {
public:
  Checker(const Source &source, const Space &space, ConfigSets &sets,
          KernelRunner &runner, const RunCheckOptions &options,
          llvm::raw_ostream &os)
      : source(source), space(space), sets(sets), runner(runner),
        options(options), os(os) {}

  /// Runs the configurations with the passes up to `pass`; keeps what the
  /// reference says if other passes will ask again.
  PassCheck runAll(const std::vector<Config> &configs, StringRef pass,
                   bool keepReferences);

private:
  std::string runOne(const Config &config, StringRef pass, bool keepReferences,
                     PassCheck &check);
  std::string record(const Config &config, Variant &variant,
                     const Prepared &run);
  llvm::Expected<RunnableKernel *> compile(const Config &config,
                                           StringRef pass);
  void progress(StringRef pass, size_t done, size_t all);

  const Source &source;
  const Space &space;
  ConfigSets &sets;
  KernelRunner &runner;
  const RunCheckOptions &options;
  llvm::raw_ostream &os;
  std::map<std::string, llvm::Expected<std::unique_ptr<RunnableKernel>>>
      compiled;
  std::map<std::pair<std::string, bool>, std::shared_ptr<Prepared>> prepared;
};
} // namespace

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

llvm::Expected<RunnableKernel *> Checker::compile(const Config &config,
                                                  StringRef pass) {
  std::string key = config.compileKey();
  auto found = compiled.find(key);
  if (found == compiled.end())
    found = compiled
                .emplace(key,
                         runner.compile(*sets.variantOf(config)->checked, pass))
                .first;
  if (found->second)
    return found->second->get();
  std::string message = llvm::toString(found->second.takeError());
  // Later runs of the same compilation get the same answer.
  found->second = llvm::createStringError(message);
  return llvm::createStringError(message);
}

/// Hands a run to the recorder; what it says, or nothing.
std::string Checker::record(const Config &config, Variant &variant,
                            const Prepared &run) {
  attn::KernelOp kernel = variant.kernel;
  RecordedRun recorded{*variant.checked,
                       config.str(),
                       config.compileKey(),
                       {},
                       {},
                       run.data.ins,
                       run.data.outs,
                       run.data.recipes,
                       run.reference,
                       config.seed};
  for (BlockArgument in : kernel.getInArgs())
    recorded.inNames.push_back(kernel.nameOf(in).str());
  for (BlockArgument out : kernel.getOutArgs())
    recorded.outNames.push_back(kernel.nameOf(out).str());
  llvm::Error error = options.recorder->record(recorded);
  return error ? llvm::toString(std::move(error)) : "";
}

/// Adds what the reference can tell of each output of a run.
static void count(const ReferenceResult &reference, const Config &config,
                  PassCheck &check) {
  auto isEmpty = [](const auto &size) { return size.second == 0; };
  bool ofNothing = llvm::any_of(config.heads, isEmpty) ||
                   llvm::any_of(config.sizes, isEmpty);
  check.outputs.resize(reference.outputs.size());
  for (auto [output, total] : llvm::zip(reference.outputs, check.outputs)) {
    total.name = output.name;
    total.elements += output.values.size();
    for (size_t i = 0; i < output.values.size(); ++i) {
      if (output.isExcluded(i))
        ++total.excluded;
      else if (!ofNothing && std::isfinite(output.values[i])) {
        ++total.telling;
        total.nonzero += output.values[i] != 0;
      }
    }
  }
}

/// What was wrong with one run; empty if nothing.
std::string Checker::runOne(const Config &config, StringRef pass,
                            bool keepReferences, PassCheck &check) {
  bool addsAlike = runner.addsAlike(pass);
  std::pair key(config.str(), addsAlike);
  std::shared_ptr<Prepared> run;
  auto kept = prepared.find(key);
  if (kept != prepared.end())
    run = kept->second;
  Variant &variant = *sets.variantOf(config);
  if (!run) {
    Data data = makeData(variant, space, config);
    ReferenceOptions evaluation;
    evaluation.seed = config.seed;
    evaluation.threads = options.threads;
    evaluation.reductionsAgree = addsAlike;
    llvm::Expected<ReferenceResult> reference =
        evaluate(variant.kernel, data.ins, data.sizes, evaluation);
    if (!reference)
      return llvm::toString(reference.takeError());
    for (ReferenceOutput &output : reference->outputs)
      output.rowsAreAlike = data.rowsAreAlike;
    run = std::make_shared<Prepared>(
        Prepared{std::move(data), std::move(*reference)});
    if (keepReferences)
      prepared.emplace(key, run);
  }
  count(run->reference, config, check);
  if (options.recorder)
    return record(config, variant, *run);
  llvm::Expected<RunnableKernel *> kernel = compile(config, pass);
  if (!kernel)
    return llvm::toString(kernel.takeError());
  for (const HostTensor &out : run->data.outs)
    poison(out);
  if (llvm::Error error = (*kernel)->run(run->data.ins, run->data.outs))
    return llvm::toString(std::move(error));
  check.emptyRows += run->reference.emptyRows;
  std::string wrong;
  llvm::raw_string_ostream text(wrong);
  for (auto [reference, out] :
       llvm::zip(run->reference.outputs, run->data.outs)) {
    Comparison comparison = compare(reference, out);
    check.elements += comparison.elements;
    check.excluded += comparison.excluded;
    if (std::isfinite(comparison.worstRatio))
      check.worstRatio = std::max(check.worstRatio, comparison.worstRatio);
    if (config.values == Values::Normal) {
      PassCheck::Norms &norms = check.norms[comparison.type];
      norms.error = std::hypot(norms.error, comparison.errorNorm);
      norms.reference = std::hypot(norms.reference, comparison.norm);
    }
    if (!comparison.passed()) {
      text << (wrong.empty() ? "" : "; ");
      attentile::print(text, comparison);
    } else if (!gapsAreUntouched(out)) {
      text << (wrong.empty() ? "" : "; ") << comparison.name
           << ": wrote outside its elements";
    }
  }
  return wrong;
}

PassCheck Checker::runAll(const std::vector<Config> &configs, StringRef pass,
                          bool keepReferences) {
  PassCheck check;
  check.pass = pass.str();
  check.isOfSome = !options.only.empty();
  compiled.clear();
  for (const Config &config : configs) {
    progress(pass, check.runs, configs.size());
    std::string wrong = runOne(config, pass, keepReferences, check);
    ++check.runs;
    if (wrong.empty())
      continue;
    ++check.failedRuns;
    check.failures.push_back({config.str(), wrong});
    if (check.failedRuns >= options.maxFailures)
      break;
  }
  for (auto &entry : compiled)
    if (!entry.second)
      llvm::consumeError(entry.second.takeError());
  compiled.clear();
  progress(pass, configs.size(), configs.size());
  report(os, check, configs.size(), source, options);
  return check;
}

void Checker::progress(StringRef pass, size_t done, size_t all) {
  if (!options.progress)
    return;
  if (done == all) {
    llvm::errs() << "\r\033[K";
    return;
  }
  llvm::errs() << "\r\033[K  " << (pass.empty() ? "all passes" : pass) << " "
               << done + 1 << "/" << all;
}

bool PassCheck::passed() const {
  return failedRuns == 0 &&
         (isOfSome || llvm::none_of(outputs, [](const OutputCount &output) {
            return output.isLost();
          }));
}

bool allPassed(llvm::ArrayRef<PassCheck> checks) {
  return llvm::all_of(checks,
                      [](const PassCheck &check) { return check.passed(); });
}

llvm::Expected<std::vector<PassCheck>>
runCheck(const SyntaxTree &tree, const Bindings &bindings, KernelRunner &runner,
         const RunCheckOptions &options, Diagnostics &diagnostics,
         llvm::raw_ostream &os) {
  Source source{tree, bindings, options.kernel, options.schedule,
                options.target};
  std::unique_ptr<Space> space = makeSpace(source, diagnostics);
  if (!space)
    return llvm::createStringError("expected a kernel that can be checked");
  std::vector<std::string> passes = runner.passes();
  if (!options.after.empty() && !llvm::is_contained(passes, options.after))
    return llvm::createStringError("expected a pass of the pipeline, got '" +
                                   options.after + "'; there are " +
                                   llvm::join(passes, ", "));
  ConfigSets sets(source, *space, options.seed);
  Checker checker(source, *space, sets, runner, options, os);
  // A wrong program, or a constraint that the call breaks.
  auto refuse = [&](const llvm::Twine &message) {
    diagnostics.error(*space->file, space->range, message);
    return llvm::createStringError(message);
  };
  std::vector<Config> configs;
  for (const std::string &text : options.only) {
    llvm::Expected<Config> config = sets.parse(text);
    if (!config)
      return config.takeError();
    if (!sets.isPermitted(*config))
      return refuse("expected types and sizes that keep the kernel's "
                    "constraints, got '" +
                    text + "'");
    configs.push_back(*config);
  }
  if (!options.only.empty()) {
    // As they were asked for.
  } else if (!options.after.empty()) {
    configs = sets.passSet();
  } else {
    configs = sets.coveringSet(options.coverage);
  }
  if (configs.empty() && sets.hasTooLarge())
    return refuse("expected sizes at which the reference's values are of some "
                  "million elements, found none; bind smaller ones (--bind)");
  if (configs.empty())
    return refuse("expected types, sizes and scalars that keep the kernel's "
                  "constraints, found none");
  os << "check " << options.file << ", seed " << options.seed << '\n';
  std::vector<PassCheck> checks;
  checks.push_back(checker.runAll(configs, options.after, false));
  if (options.eachPass) {
    // What was asked for; else what failed, and a set of its own.
    std::vector<Config> set = configs;
    if (options.only.empty()) {
      set.clear();
      for (const PassCheck::Failure &failure : checks.front().failures)
        set.push_back(llvm::cantFail(sets.parse(failure.configuration)));
      llvm::append_range(set, sets.passSet());
    }
    for (const std::string &pass : passes)
      checks.push_back(checker.runAll(set, pass, true));
  }
  explainLost(os, checks);
  return checks;
}

} // namespace attentile
