//===- CheckReport.cpp - what a check prints ------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckReport.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace attentile::checking {

/// The outputs of a kind: of which nothing could be compared, say.
static std::string list(const PassCheck &check,
                        bool (PassCheck::OutputCount::*isOfKind)() const) {
  std::string names;
  for (const PassCheck::OutputCount &output : check.outputs)
    if ((output.*isOfKind)())
      names += (names.empty() ? "" : ", ") + output.name;
  return names;
}

void addIfScarce(std::string &to, llvm::StringRef output, int64_t elements,
                 int64_t excluded) {
  if (2 * excluded <= elements)
    return;
  double share = 100.0 * double(elements - excluded) / double(elements);
  llvm::raw_string_ostream os(to);
  os << (to.empty() ? "" : ", ") << llvm::format("%.0f", share) << " % of "
     << output;
}

/// The outputs of a check of which no half could be compared.
static void listScarce(std::string &to, const PassCheck &check) {
  for (const PassCheck::OutputCount &output : check.outputs)
    addIfScarce(to, output.name, output.elements, output.excluded);
}

static void printFailure(llvm::raw_ostream &os, const PassCheck &check,
                         const PassCheck::Failure &failure,
                         const Source &source, const RunCheckOptions &options) {
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
  os << options.pipelineFlags;
  if (!check.pass.empty())
    os << " --after " << check.pass;
  os << " --only " << failure.configuration << '\n';
}

void report(llvm::raw_ostream &os, const PassCheck &check, size_t planned,
            const Source &source, const RunCheckOptions &options) {
  os << "  "
     << llvm::left_justify(check.pass.empty() ? "all passes" : check.pass, 32);
  if (check.failedRuns > 0) {
    os << "FAILED " << check.failedRuns << " of " << check.runs << " runs";
    if (check.runs < static_cast<int64_t>(planned))
      os << " (" << planned << " planned)";
    os << '\n';
    for (const PassCheck::Failure &failure : check.failures)
      printFailure(os, check, failure, source, options);
    return;
  }
  os << llvm::format("%3lld runs  ", (long long)check.runs);
  using Output = PassCheck::OutputCount;
  std::string lost = list(check, &Output::isLost), scarce,
              zero = list(check, &Output::isZero);
  listScarce(scarce, check);
  if (!lost.empty())
    os << (check.passed() ? "nothing to compare in " : "NOTHING TO COMPARE in ")
       << lost;
  else if (options.recorder)
    os << "prepared";
  else if (!scarce.empty())
    os << "ok in the " << scarce << " that could be compared";
  else
    os << "ok";
  if (lost.empty() && !zero.empty())
    os << ", always 0: " << zero;
  if (!options.recorder) {
    os << llvm::format("   worst %.2f of the bound", check.worstRatio);
    for (auto [type, norms] : check.norms)
      if (norms.reference > 0)
        os << ", " << nameOf(type) << " error "
           << llvm::format("%.1e", norms.error / norms.reference);
    if (check.excluded > 0)
      os << ", " << check.excluded << " of " << check.elements
         << " elements taken out";
  }
  os << '\n';
}

void explainLost(llvm::raw_ostream &os, llvm::ArrayRef<PassCheck> checks) {
  bool isLost = false, isZero = false;
  std::string scarce;
  for (const PassCheck &check : checks) {
    isZero |= !list(check, &PassCheck::OutputCount::isZero).empty();
    isLost |= !check.passed() && check.failedRuns == 0;
    listScarce(scarce, check);
  }
  if (isLost || !scarce.empty())
    os << "  Elements are taken out where f32 may lose all of a value, as "
          "beyond its range,\n"
          "  or where floats that are compared lie closer than their errors: "
          "ties.\n";
  if (isLost)
    os << "  What is left of such an output is infinite, NaN, 0 or of runs "
          "with a size of 0.\n"
          "  Bind scalars or sizes (--bind) that keep values within f32's "
          "range.\n";
  if (isZero)
    os << "  An output that is always 0 has little to compare: bind scalars "
          "or sizes (--bind)\n"
          "  at which it is more.\n";
}

} // namespace attentile::checking
