//===- attentile-random.cpp - random programs against the reference -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   attentile-random --seed 1 --count 2000           programs 1 to 2000
//   attentile-random --seconds 120                   from a seed of the clock
//   attentile-random --seed 17 --count 1 --print     the program of a seed
//   attentile-random --seed 1 --add-pass NAME        one pass in every program
//   attentile-random --seed 1 --count 500 --prepare DIR --target=sm_90
//
// Each program is compiled under a set of switches of its own, runs at three
// sizes and is compared with the float64 reference. What fails is cut down to a
// small program. Exit code: 0; 1 where a program failed or the programs were
// too much alike; 2 for a wrong call.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Driver/GpuCompiler.h"
#include "../../lib/Driver/Prepare.h"
#include "Generator.h"
#include "Isolate.h"
#include "Options.h"
#include "Shrink.h"
#include "attentile/Reference.h"
#include "attentile/WriteFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <chrono>
#include <sched.h>

using namespace attentile;
using namespace attentile::random;
namespace cl = llvm::cl;

namespace {

struct Flags {
  cl::opt<uint64_t> seed{"seed", cl::init(0),
                         cl::desc("Of the first program; default: the clock")};
  cl::opt<size_t> count{"count", cl::init(0), cl::desc("How many programs")};
  cl::opt<unsigned> seconds{"seconds", cl::init(0),
                            cl::desc("Stop after so long")};
  cl::opt<unsigned> jobs{"jobs", cl::init(0),
                         cl::desc("Processes; default: one a core")};
  cl::opt<double> onWarps{"on-warps", cl::init(0.12),
                          cl::desc("The share that is mapped for a GPU and "
                                   "interpreted thread by thread")};
  cl::list<std::string> addPass{"add-pass", cl::CommaSeparated,
                                cl::desc("Passes that run in every program")};
  cl::opt<unsigned> shrunk{"shrink", cl::init(3),
                           cl::desc("Failures to cut down; default 3")};
  cl::opt<bool> print{"print", cl::desc("Print the programs, run nothing")};
  cl::opt<bool> verbose{"verbose", cl::desc("A line for each program")};
  cl::opt<std::string> out{"out", cl::init("."),
                           cl::desc("A folder for programs that failed; made "
                                    "where there is none")};
  cl::opt<std::string> prepare{
      "prepare", cl::desc("Write a set for attentile-run into this folder")};
  cl::opt<std::string> target{
      "target", cl::desc("The GPU of --prepare (sm_90), and of --print")};
};

/// What all programs together did.
struct Totals {
  size_t programs = 0, runs = 0, failed = 0;
  size_t with[numFeatures] = {};
  int64_t elements = 0, excluded = 0;
  double worst = 0;

  void add(const Outcome &outcome) {
    ++programs;
    runs += outcome.runs;
    failed += outcome.kind != Outcome::Passed;
    elements += outcome.elements;
    excluded += outcome.excluded;
    worst = std::max(worst, outcome.worstRatio);
    for (unsigned i = 0; i < numFeatures; ++i)
      with[i] += outcome.features >> i & 1;
  }
};

/// The least share of programs for each feature, where there are so many that
/// a share says something.
constexpr double kLeastShare = 0.05;
constexpr size_t kEnoughPrograms = 200;

class Session {
public:
  explicit Session(const Flags &flags) : flags(flags) {
    first = flags.seed
                ? uint64_t(flags.seed)
                : std::chrono::system_clock::now().time_since_epoch().count() /
                          1000 % 1000000000 * 1000 +
                      1;
    purpose.onWarps = flags.onWarps;
    purpose.passes.assign(flags.addPass.begin(), flags.addPass.end());
  }

  int run();
  int print();
  int prepare();

private:
  Program programOf(size_t number) const {
    return generate(first + number, purpose);
  }
  bool report(const Totals &totals, double seconds) const;
  void explain(size_t number, Outcome outcome) const;

  const Flags &flags;
  uint64_t first;
  Purpose purpose;
};

} // namespace

static unsigned cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// The settings under which a program fails, beside its text.
static void printSettings(llvm::raw_ostream &os, const Program &program) {
  os << "bind " << bindingsOf(program) << flagsOf(program);
  if (program.switches.target != "cpu")
    os << " --target=" << program.switches.target
       << (program.switches.byElement ? ", by element" : "");
  os << (program.level == Level::Warps ? ", thread by thread\n" : "\n");
}

int Session::print() {
  purpose.gpu = flags.target;
  for (size_t number = 0; number < std::max<size_t>(flags.count, 1); ++number) {
    Program program = programOf(number);
    llvm::outs() << "// seed " << program.seed << ", ";
    printSettings(llvm::outs(), program);
    llvm::outs() << program.text();
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Cuts a failing program down and prints it, with the command that repeats it.
void Session::explain(size_t number, Outcome outcome) const {
  Program program = shrink(programOf(number), outcome);
  llvm::SmallString<128> path(flags.out);
  llvm::sys::path::append(path,
                          "random-" + std::to_string(program.seed) + ".attn");
  llvm::outs() << "\nseed " << program.seed << ": " << nameOf(outcome.kind)
               << ", " << llvm::StringRef(outcome.message).rtrim()
               << "\ncut down:\n"
               << program.text();
  printSettings(llvm::outs(), program);
  if (program.level == Level::Warps || outcome.kind == Outcome::Refused) {
    llvm::outs() << "at " << outcome.configuration
                 << "\nagain: attentile-random --seed " << program.seed
                 << " --count 1 --on-warps "
                 << llvm::format("%g", purpose.onWarps);
    for (const std::string &pass : purpose.passes)
      llvm::outs() << " --add-pass=" << pass;
    llvm::outs() << '\n';
    return;
  }
  llvm::Error error =
      writeFile(path, [&](llvm::raw_ostream &os) { os << program.text(); });
  if (error)
    llvm::outs() << llvm::toString(std::move(error)) << '\n';
  std::string only = outcome.configuration;
  if (only.empty()) // it ended before it could say
    only = configurationOf(program);
  llvm::outs() << "again: attentile check " << path << " --bind "
               << bindingsOf(program) << flagsOf(program) << " --only " << only
               << '\n';
  llvm::outs().flush();
}

bool Session::report(const Totals &totals, double seconds) const {
  llvm::outs() << llvm::format(
      "\nseeds %llu to %llu: %zu programs, %zu runs in %.0f s; worst %.2f of "
      "the bound, %.1f %% of %lld elements taken out\n",
      (unsigned long long)first,
      (unsigned long long)(first + std::max<size_t>(totals.programs, 1) - 1),
      totals.programs, totals.runs, seconds, totals.worst,
      100.0 * double(totals.excluded) /
          double(std::max<int64_t>(totals.elements, 1)),
      (long long)totals.elements);
  bool enough = true;
  for (unsigned i = 0; i < numFeatures; ++i) {
    double share = double(totals.with[i]) / double(totals.programs);
    bool isAsked = totals.programs >= kEnoughPrograms &&
                   (i != onWarps || purpose.onWarps >= 0.1);
    bool isFew = isAsked && share < kLeastShare;
    llvm::outs() << llvm::format("  %-16s %5.1f %%%s\n", featureNames[i],
                                 100 * share,
                                 isFew ? ": too few, expected 5 %" : "");
    enough &= !isFew;
  }
  llvm::outs() << totals.failed << " failed\n";
  return enough && totals.failed == 0;
}

int Session::run() {
  // Known before hours are spent: what fails is written there.
  if (std::error_code error = llvm::sys::fs::create_directories(flags.out)) {
    llvm::errs() << "error: expected a folder to write to, got --out '"
                 << flags.out << "': " << error.message() << '\n';
    return 2;
  }
  size_t count = flags.count ? size_t(flags.count) : SIZE_MAX / 2;
  if (!flags.count && !flags.seconds)
    count = 1000;
  llvm::outs() << "random programs from seed " << first << '\n';
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&] {
    std::chrono::duration<double> past =
        std::chrono::steady_clock::now() - start;
    return past.count();
  };
  bool shows = llvm::sys::Process::StandardErrIsDisplayed();
  Totals totals;
  std::vector<std::pair<size_t, Outcome>> failures;
  runMany(
      count, flags.jobs ? unsigned(flags.jobs) : cores(), kTrialSeconds,
      [&](size_t number) { return runTrial(programOf(number)); },
      [&] { return !flags.seconds || seconds() < flags.seconds; },
      [&](size_t number, const Outcome &outcome) {
        totals.add(outcome);
        if (flags.verbose)
          llvm::outs() << first + number << ' ' << nameOf(outcome.kind) << ' '
                       << outcome.features << '\n';
        if (shows)
          llvm::errs() << "\r\033[K  " << totals.programs << " programs, "
                       << totals.failed << " failed";
        if (outcome.kind == Outcome::Passed)
          return;
        failures.push_back({number, outcome});
        llvm::outs() << "FAILED seed " << first + number << ": "
                     << nameOf(outcome.kind) << ", "
                     << llvm::StringRef(outcome.message).split('\n').first
                     << '\n';
        llvm::outs().flush();
      });
  if (shows)
    llvm::errs() << "\r\033[K";
  double past = seconds();
  llvm::sort(failures,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  for (size_t i = 0; i < failures.size() && i < flags.shrunk; ++i)
    explain(failures[i].first, failures[i].second);
  return report(totals, past) ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// Sets for a GPU elsewhere
//===----------------------------------------------------------------------===//

/// Compiles a program for a GPU and writes its runs into a folder of its own
/// below `folder`.
static Outcome prepareOne(const Program &program, const std::string &folder,
                          const std::string &target) {
  std::string name = "random-" + std::to_string(program.seed);
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  PreparedSet set(path.str().str(), [&](const CheckedKernel &kernel) {
    return compileForGpu(kernel, target, program.switches);
  });
  Outcome outcome = runTrial(program, &set);
  if (outcome.kind != Outcome::Passed)
    return outcome;
  llvm::Expected<uint64_t> bytes = set.finish(name, target, program.seed);
  if (bytes)
    return outcome;
  outcome.kind = Outcome::NotCompiled;
  outcome.message = llvm::toString(bytes.takeError());
  return outcome;
}

int Session::prepare() {
  const std::string target =
      flags.target.empty() ? std::string("sm_90") : flags.target.getValue();
  purpose.gpu = target;
  // ptxas takes its time.
  constexpr unsigned seconds = 900;
  Totals totals;
  runMany(
      std::max<size_t>(flags.count, 1),
      flags.jobs ? unsigned(flags.jobs) : cores(), seconds,
      [&](size_t number) {
        return prepareOne(programOf(number), flags.prepare, target);
      },
      [] { return true; },
      [&](size_t number, const Outcome &outcome) {
        totals.add(outcome);
        if (outcome.kind != Outcome::Passed)
          llvm::outs() << "FAILED seed " << first + number << ": "
                       << nameOf(outcome.kind) << ", " << outcome.message
                       << '\n';
        llvm::outs().flush();
      });
  llvm::outs() << flags.prepare << ": " << totals.programs
               << " programs from seed " << first << ", " << totals.runs
               << " runs, " << totals.failed
               << " failed; where there is a GPU: attentile-run "
               << flags.prepare << '\n';
  return totals.failed ? 1 : 0;
}

int main(int argc, char **argv) {
  removeLibraryFlags();
  Flags flags;
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "random programs against the reference\n",
                                   &llvm::errs(), nullptr, nullptr, true))
    return 2;
  Session session(flags);
  if (flags.print)
    return session.print();
  return flags.prepare.empty() ? session.run() : session.prepare();
}
