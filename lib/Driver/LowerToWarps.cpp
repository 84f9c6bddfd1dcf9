//===- LowerToWarps.cpp - tiles that fit shared memory --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/LowerToWarps.h"
#include "Attn/Attn.h"
#include "Remarks.h"
#include "Warp/Warp.h"
#include "attentile/Loops/Targets.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include <optional>

using namespace mlir;

namespace attentile {

/// Times that tiles are chosen again. Each asks for as much less as was too
/// much, so that few are needed.
static constexpr int kMostTries = 8;

/// What the kernels' buffers end at, of those that have a place.
static int64_t findSharedBytes(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](warp::KernelOp kernel) {
    bytes = std::max<int64_t>(bytes, kernel.getSharedBytes().value_or(0));
  });
  return bytes;
}

bool lowerToWarps(ModuleOp module, PipelineOptions &options,
                  llvm::function_ref<void(PassManager &)> configure) {
  int64_t limit = mostSharedBytes(options.target);
  if (options.sharedBytes == 0)
    options.sharedBytes = limit;
  OwningOpRef<ModuleOp> formula = module.clone();
  std::vector<Diagnostic> errors; // of the first tiles
  // The same passes say the same of other tiles.
  std::optional<RemarksOff> off;
  for (int tries = 0;; ++tries) {
    std::vector<Diagnostic> reported;
    bool isLowered;
    {
      ScopedDiagnosticHandler handler(
          module.getContext(), [&](Diagnostic &diagnostic) {
            if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
              return failure(); // for the handler before
            reported.push_back(std::move(diagnostic));
            return success();
          });
      isLowered = runPasses(module, [&](PassManager &pm) {
        configure(pm);
        buildTilePipeline(pm, options);
        buildWarpPipeline(pm, options);
      });
    }
    if (isLowered)
      return true;
    if (tries == 0)
      errors = std::move(reported);
    int64_t bytes = findSharedBytes(module);
    if (bytes <= limit || tries == kMostTries)
      break;
    options.sharedBytes = options.sharedBytes * limit / bytes;
    off.emplace();
    OwningOpRef<ModuleOp> again = formula->clone();
    module.getBodyRegion().takeBody(again->getBodyRegion());
  }
  for (Diagnostic &error : errors)
    module.getContext()->getDiagEngine().emit(std::move(error));
  return false;
}

PipelineOptions fitShared(ModuleOp module, PipelineOptions options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  RemarksOff off;
  PipelineOptions fitting = options;
  return lowerToWarps(*copy, fitting) ? fitting : options;
}

} // namespace attentile
