//===- Flags.cpp - from flags to options ----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "Session.h"
#include "attentile/WholeExtent.h"

using llvm::StringRef;

namespace attentile {

cl::OptionCategory category("Options");
cl::OptionCategory
    levels("See every step (MLIR's own; --help-hidden has more)");

/// " --target=gpu --tile=m=64,n=32": those that decide how code is made.
static std::string pipelineFlagsOf(const CommonFlags &flags) {
  std::string text;
  for (const cl::opt<std::string> *flag :
       {&flags.target, &flags.normalize, &flags.programs, &flags.split})
    if (flag->getNumOccurrences() > 0)
      text += (" --" + flag->ArgStr + "=" + flag->getValue()).str();
  auto addList = [&](StringRef name, llvm::ArrayRef<std::string> values) {
    if (!values.empty())
      text += (" --" + name + "=" + llvm::join(values, ",")).str();
  };
  addList("disable-pass", flags.disablePass);
  addList("add-pass", flags.addPass);
  addList("tile", flags.tile);
  return text;
}

bool CommonFlags::finish(CommonOptions &options) const {
  options.source = source;
  options.bind.assign(bind.begin(), bind.end());
  options.kernel = kernel;
  options.schedule = schedule;
  options.cpu = cpu;
  options.remarks = remarks;
  if (source.empty()) {
    wrongCall("expected a file, FILE.attn, got none");
    return false;
  }
  options.target = target;
  options.pipelineFlags = pipelineFlagsOf(*this);
  // Of "gpu" and "auto" the machine decides, when it is known.
  if (StringRef(target).starts_with("sm_")) {
    options.pipeline.target = target;
    options.pipeline.forGpu = true;
  }
  if (!llvm::is_contained(targets, StringRef(target))) {
    wrongCall("expected --target=" + llvm::join(targets, ", ") + ", got '" +
              target + "'");
    return false;
  }
  if (diagnostics != "text" && diagnostics != "json") {
    wrongCall("expected --diagnostics=text or json, got '" + diagnostics + "'");
    return false;
  }
  options.jsonDiagnostics = diagnostics == "json";
  if (normalize != "late" && normalize != "each-step") {
    wrongCall("expected --normalize=late or each-step, got '" + normalize +
              "'");
    return false;
  }
  if (programs != "tile" && programs != "head") {
    wrongCall("expected --programs=tile or head, got '" + programs + "'");
    return false;
  }
  if (split != "q" && split != "k") {
    wrongCall("expected --split=q or k, got '" + split + "'");
    return false;
  }
  if (split == "k" && target == "cpu") {
    wrongCall("expected --split=k with the --target of a GPU, got cpu");
    return false;
  }
  options.pipeline.splitReduced = split == "k";
  options.pipeline.programPerHead = programs == "head";
  options.pipeline.normalizeEachStep = normalize == "each-step";
  for (const std::string &text : tile) {
    auto [axis, size] = StringRef(text).split('=');
    unsigned number = 0;
    if (axis.empty() || size.getAsInteger(10, number) || number == 0 ||
        number > largestTile) {
      wrongCall("expected --tile AXIS=SIZE, sizes from 1 to " +
                std::to_string(largestTile) + ", got '" + text + "'");
      return false;
    }
    for (const std::string &other : options.pipeline.tileSizes)
      if (StringRef(other).split('=').first == axis) {
        wrongCall("expected one --tile for axis '" + axis.str() + "', got '" +
                  other + "' and '" + text + "'");
        return false;
      }
    options.pipeline.tileSizes.push_back(text);
  }
  for (const std::string &flag : addPass) {
    if (!llvm::is_contained(optimizingPasses(), flag)) {
      wrongCall("expected --add-pass with an optimising pass, got '" + flag +
                    "'",
                "there are: " + llvm::join(optimizingPasses(), ", "));
      return false;
    }
    options.pipeline.enabledPasses.push_back(flag);
  }
  for (const std::string &flag : disablePass) {
    if (flag == "all")
      options.pipeline.disabledPasses.assign(optimizingPasses().begin(),
                                             optimizingPasses().end());
    else if (llvm::is_contained(optimizingPasses(), flag))
      options.pipeline.disabledPasses.push_back(flag);
    else {
      wrongCall(
          "expected --disable-pass with an optimising pass, got '" + flag + "'",
          "these can be switched off: " + llvm::join(optimizingPasses(), ", ") +
              "; or all");
      return false;
    }
  }
  return true;
}

bool splitFiles(StringRef flag, const std::vector<std::string> &texts,
                std::vector<NamedFile> &files) {
  for (const std::string &text : texts) {
    auto [name, path] = StringRef(text).split('=');
    if (name.empty() || path.empty()) {
      wrongCall("expected --" + flag + " NAME=FILE.npy, got '" + text + "'");
      return false;
    }
    for (const NamedFile &other : files)
      if (other.name == name) {
        wrongCall("expected one --" + flag + " for '" + name + "', got two");
        return false;
      }
    files.push_back({name.str(), path.str()});
  }
  return true;
}

} // namespace attentile
