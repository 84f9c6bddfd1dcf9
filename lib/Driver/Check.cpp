//===- Check.cpp - a kernel against the reference, over many runs ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Check.h"
#include "CheckConfig.h"
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
  Checker(const Source &source, const Space &space, KernelRunner &runner,
          const RunCheckOptions &options, llvm::raw_ostream &os)
      : source(source), space(space), runner(runner), options(options), os(os) {
  }

  /// The covering set, and the smaller one after each pass.
  std::vector<Config> coveringSet();
  std::vector<Config> product(bool ofStridesAndValues);
  std::vector<Config> passSet();

  /// Runs the configurations with the passes up to `pass`; keeps what the
  /// reference says if other passes will ask again.
  PassCheck runAll(const std::vector<Config> &configs, StringRef pass,
                   bool keepReferences);

  /// The configuration that a failure printed.
  llvm::Expected<Config> parse(StringRef text);

private:
  Variant *variantOf(const Config &config);
  Config makeConfig(llvm::ArrayRef<unsigned> row);
  std::vector<unsigned> levels();
  bool isPermitted(const Config &config);
  std::string runOne(const Config &config, StringRef pass, bool keepReferences,
                     PassCheck &check);
  std::string record(const Config &config, Variant &variant,
                     const Prepared &run);
  llvm::Expected<RunnableKernel *> compile(const Config &config,
                                           StringRef pass);
  void print(const PassCheck &check, size_t planned);
  void progress(StringRef pass, size_t done, size_t all);
  int64_t sizeAt(Variant &variant, const std::string &size, unsigned level);

  const Source &source;
  const Space &space;
  KernelRunner &runner;
  const RunCheckOptions &options;
  llvm::raw_ostream &os;
  std::map<std::string, std::unique_ptr<Variant>> variants;
  std::map<std::string, llvm::Expected<std::unique_ptr<RunnableKernel>>>
      compiled;
  std::map<std::string, std::shared_ptr<Prepared>> prepared;
};
} // namespace

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

Variant *Checker::variantOf(const Config &config) {
  std::string key = config.compileKey();
  auto found = variants.find(key);
  if (found == variants.end())
    found = variants.emplace(key, makeVariant(source, config)).first;
  return found->second.get();
}

/// The extent number `level` of a row's or loop's size: by its axis's tile.
int64_t Checker::sizeAt(Variant &variant, const std::string &size,
                        unsigned level) {
  int64_t tile = 64;
  attn::KernelOp kernel = variant.kernel;
  for (BlockArgument axis : kernel.getIndexArgs()) {
    auto symbol =
        dyn_cast<AffineSymbolExpr>(kernel.getExtent(axis).getResult(0));
    if (symbol &&
        cast<StringAttr>(kernel.getSizeNames()[symbol.getPosition()]) == size)
      if (int64_t known = variant.tiles.lookup(kernel.nameOf(axis)))
        tile = known;
  }
  return extentsToTry(tile)[level];
}

/// The factors: types, head sizes, rows, loops, other sizes, strides, values.
std::vector<unsigned> Checker::levels() {
  unsigned types = 1;
  for (const auto &type : space.types)
    types *= type.second.size();
  return {types,
          unsigned(space.headChoices.size()),
          space.rowSizes.empty() ? 1 : numExtentsToTry,
          space.loopSizes.empty() ? 1 : numExtentsToTry,
          unsigned(space.otherChoices.size()),
          unsigned(std::size(stridesNames)),
          unsigned(space.values.size())};
}

Config Checker::makeConfig(llvm::ArrayRef<unsigned> row) {
  Config config;
  unsigned type = row[0];
  for (const auto &[name, choices] : space.types) {
    config.types.push_back({name, choices[type % choices.size()]});
    type /= choices.size();
  }
  for (auto [name, size] :
       llvm::zip(space.headNames, space.headChoices[row[1]]))
    config.heads.push_back({name, size});
  if (Variant *variant = variantOf(config)) {
    // Further row or loop sizes take the next levels.
    for (auto [i, name] : llvm::enumerate(space.rowSizes))
      config.sizes.push_back(
          {name, sizeAt(*variant, name, (row[2] + i) % numExtentsToTry)});
    for (auto [i, name] : llvm::enumerate(space.loopSizes))
      config.sizes.push_back(
          {name, sizeAt(*variant, name, (row[3] + i) % numExtentsToTry)});
  }
  for (auto [name, size] :
       llvm::zip(space.otherNames, space.otherChoices[row[4]]))
    config.sizes.push_back({name, size});
  config.strides = static_cast<Strides>(row[5]);
  config.values = space.values[row[6]];
  config.seed = options.seed;
  for (unsigned level : row)
    config.seed = config.seed * 31 + level;
  return config;
}

bool Checker::isPermitted(const Config &config) {
  Variant *variant = variantOf(config);
  return variant && canDrawScalars(*variant, config);
}

/// Every combination; strides and values too, or else their next ones for each.
std::vector<Config> Checker::product(bool ofStridesAndValues) {
  std::vector<unsigned> counts = levels();
  std::vector<int64_t> sizes(counts.begin(), counts.end());
  if (!ofStridesAndValues)
    sizes[5] = sizes[6] = 1;
  std::vector<int64_t> index(sizes.size());
  std::vector<Config> configs;
  do {
    std::vector<unsigned> row(index.begin(), index.end());
    if (!ofStridesAndValues) {
      row[5] = configs.size() % counts[5];
      row[6] = configs.size() / counts[5] % counts[6];
    }
    Config config = makeConfig(row);
    if (isPermitted(config))
      configs.push_back(config);
  } while (nextIndex(index, sizes));
  return configs;
}

std::vector<Config> Checker::coveringSet() {
  if (options.coverage != Coverage::Pairs)
    return product(options.coverage == Coverage::All);
  std::vector<Config> configs;
  // The last extent to try is 0.
  int zero = numExtentsToTry - 1;
  std::vector<int> empty{-1,
                         -1,
                         space.rowSizes.empty() ? -1 : zero,
                         space.loopSizes.empty() ? -1 : zero,
                         -1,
                         -1,
                         -1};
  std::vector<unsigned> counts = levels();
  for (const std::vector<unsigned> &row : coverPairs(
           counts, empty, options.seed, [&](llvm::ArrayRef<unsigned> row) {
             return isPermitted(makeConfig(row));
           }))
    configs.push_back(makeConfig(row));
  // Runs of one compilation follow each other.
  llvm::sort(configs, [](const Config &a, const Config &b) {
    return a.str() < b.str();
  });
  return configs;
}

/// Three head sizes, one of them drawn, each in one type, and no type left out;
/// every value of rows, loops and values once for each.
std::vector<Config> Checker::passSet() {
  std::vector<unsigned> counts = levels();
  std::vector<unsigned> heads{0};
  if (counts[1] > 1)
    heads.push_back(1);
  if (counts[1] > 2)
    heads.push_back(2 + options.seed % (counts[1] - 2));
  unsigned runs = std::max({counts[2], counts[3], counts[6]});
  std::vector<Config> configs;
  unsigned groups = std::max<unsigned>(heads.size(), counts[0]);
  for (unsigned group = 0; group < groups; ++group) {
    unsigned head = heads[group % heads.size()];
    for (unsigned i = 0; i < runs; ++i) {
      // A row that a constraint refuses tries other loops' sizes.
      for (unsigned shift = 0; shift < counts[3]; ++shift) {
        // Normal values (i = 0) meet tile + 1 by tile, tile by tile + 1, ...
        Config config = makeConfig(
            {group % counts[0], head, (i + 3 + 5 * group) % counts[2],
             (5 * i + 2 + group + shift) % counts[3], (i + group) % counts[4],
             (i + 2 * group) % counts[5], i % counts[6]});
        if (!isPermitted(config))
          continue;
        configs.push_back(config);
        break;
      }
    }
  }
  return configs;
}

llvm::Expected<Config> Checker::parse(StringRef text) {
  Config config;
  auto fail = [&](const Twine &message) {
    return llvm::createStringError(message);
  };
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, false);
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    auto isNamed = [key = key](auto &entry) { return entry.first == key; };
    int64_t number = 0;
    if (key == "strides" || key == "values") {
      auto find = [value = value](auto names) -> int {
        for (const char *const &name : names)
          if (value == name)
            return &name - names.begin();
        return -1;
      };
      int found = key == "strides" ? find(llvm::ArrayRef(stridesNames))
                                   : find(llvm::ArrayRef(valuesNames));
      if (found < 0)
        return fail("expected a kind of " + key + ", got '" + value + "'");
      (key == "strides" ? (void)(config.strides = Strides(found))
                        : (void)(config.values = Values(found)));
    } else if (llvm::any_of(space.types, isNamed)) {
      std::optional<ElementType> type = parseElementType(value.str());
      if (!type)
        return fail("expected a type for " + key + ", got '" + value + "'");
      config.types.push_back({key.str(), *type});
    } else if (value.getAsInteger(10, number)) {
      return fail("expected NAME=NUMBER, got '" + part + "'");
    } else if (key == "seed") {
      config.seed = number;
    } else if (llvm::is_contained(space.headNames, key)) {
      config.heads.push_back({key.str(), number});
    } else if (llvm::is_contained(space.rowSizes, key) ||
               llvm::is_contained(space.loopSizes, key) ||
               llvm::is_contained(space.otherNames, key)) {
      config.sizes.push_back({key.str(), number});
    } else {
      return fail("expected a type or size of the kernel, got '" + key + "'");
    }
  }
  Variant *variant = variantOf(config);
  if (!variant)
    return fail("expected types and head sizes that the kernel permits");
  if (sizesOf(*variant, config).size() != variant->kernel.getSizeNames().size())
    return fail("expected every size of the kernel in '" + text + "'");
  if (!isPermitted(config))
    return fail("expected sizes that keep the kernel's constraints");
  return config;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

llvm::Expected<RunnableKernel *> Checker::compile(const Config &config,
                                                  StringRef pass) {
  std::string key = config.compileKey();
  auto found = compiled.find(key);
  if (found == compiled.end())
    found =
        compiled.emplace(key, runner.compile(*variantOf(config)->checked, pass))
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

/// What was wrong with one run; empty if nothing.
std::string Checker::runOne(const Config &config, StringRef pass,
                            bool keepReferences, PassCheck &check) {
  std::string key = config.str();
  std::shared_ptr<Prepared> run;
  auto kept = prepared.find(key);
  if (kept != prepared.end())
    run = kept->second;
  Variant &variant = *variantOf(config);
  if (!run) {
    std::optional<Data> data = makeData(variant, space, config);
    if (!data)
      return "expected scalars that keep the kernel's constraints";
    ReferenceOptions evaluation;
    evaluation.seed = config.seed;
    evaluation.threads = options.threads;
    llvm::Expected<ReferenceResult> reference =
        evaluate(variant.kernel, data->ins, data->sizes, evaluation);
    if (!reference)
      return llvm::toString(reference.takeError());
    for (ReferenceOutput &output : reference->outputs)
      output.rowsAreAlike = config.values == Values::Equal;
    run = std::make_shared<Prepared>(
        Prepared{std::move(*data), std::move(*reference)});
    if (keepReferences)
      prepared.emplace(key, run);
  }
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
    if (config.values == Values::Normal && comparison.norm > 0) {
      double &worst = check.relativeErrors[comparison.type];
      worst = std::max(worst, comparison.errorNorm / comparison.norm);
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
  print(check, configs.size());
  return check;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

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

void Checker::print(const PassCheck &check, size_t planned) {
  os << "  "
     << llvm::left_justify(check.pass.empty() ? "all passes" : check.pass, 32);
  if (check.failedRuns == 0 && options.recorder) {
    os << llvm::format("%3lld runs  prepared\n", (long long)check.runs);
    return;
  }
  if (check.failedRuns == 0) {
    os << llvm::format("%3lld runs  ok   worst %.2f of the bound",
                       (long long)check.runs, check.worstRatio);
    for (auto [type, error] : check.relativeErrors)
      os << ", " << nameOf(type) << " error " << llvm::format("%.1e", error);
    if (check.excluded > 0)
      os << ", " << check.excluded << " of " << check.elements
         << " elements taken out";
    os << '\n';
    return;
  }
  os << "FAILED " << check.failedRuns << " of " << check.runs << " runs";
  if (check.runs < static_cast<int64_t>(planned))
    os << " (" << planned << " planned)";
  os << '\n';
  for (const PassCheck::Failure &failure : check.failures) {
    os << "    " << failure.configuration << "\n      " << failure.message
       << "\n      again: attentile check " << options.file;
    if (!options.kernel.empty())
      os << " --kernel " << options.kernel;
    if (!options.schedule.empty())
      os << " --schedule " << options.schedule;
    if (!source.bindings.entries().empty()) {
      os << " --bind ";
      llvm::interleave(
          source.bindings.entries(), os,
          [&](const Bindings::Entry &entry) {
            os << entry.name << '=' << entry.value.str();
          },
          ",");
    }
    if (!check.pass.empty())
      os << " --after " << check.pass;
    os << " --only " << failure.configuration << '\n';
  }
}

bool allPassed(llvm::ArrayRef<PassCheck> checks) {
  return llvm::all_of(
      checks, [](const PassCheck &check) { return check.failedRuns == 0; });
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
  Checker checker(source, *space, runner, options, os);
  std::vector<Config> configs;
  for (const std::string &text : options.only) {
    llvm::Expected<Config> config = checker.parse(text);
    if (!config)
      return config.takeError();
    configs.push_back(*config);
  }
  if (!options.only.empty()) {
    // As they were asked for.
  } else if (!options.after.empty()) {
    configs = checker.passSet();
  } else {
    configs = checker.coveringSet();
  }
  if (configs.empty())
    return llvm::createStringError(
        "expected a configuration that keeps the kernel's constraints");
  os << "check " << options.file << ", seed " << options.seed << '\n';
  std::vector<PassCheck> checks;
  checks.push_back(checker.runAll(configs, options.after, false));
  if (options.eachPass) {
    std::vector<Config> set = checker.passSet();
    for (const std::string &pass : passes)
      checks.push_back(checker.runAll(set, pass, true));
  }
  return checks;
}

} // namespace attentile
