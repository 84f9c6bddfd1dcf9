//===- Warps.cpp - random programs thread by thread -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../unit/WarpInterpreter.h"
#include "Trial.h"
#include "attentile/EmitIR.h"
#include "attentile/LowerToWarps.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/Reference.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace attentile::random {
namespace {

/// A program of warp kernels, interpreted.
class InterpretedKernel : public RunnableKernel {
public:
  InterpretedKernel(std::unique_ptr<MLIRContext> context,
                    OwningOpRef<ModuleOp> formula, OwningOpRef<ModuleOp> warps,
                    const std::string &problem)
      : context(std::move(context)), formula(std::move(formula)),
        warps(std::move(warps)), problem(problem) {}

  llvm::Error run(llvm::ArrayRef<HostTensor> ins,
                  llvm::ArrayRef<HostTensor> outs) override {
    attn::KernelOp kernel = *formula->getOps<attn::KernelOp>().begin();
    llvm::Expected<std::vector<int64_t>> sizes = bindSizes(kernel, ins, outs);
    if (!sizes)
      return sizes.takeError();
    std::map<std::string, test::HostTensor> values;
    for (auto [argument, size] : llvm::zip(kernel.getSizeArgs(), *sizes))
      values[kernel.nameOf(argument).str()].data = {double(size)};
    for (auto [argument, in] : llvm::zip(kernel.getInArgs(), ins))
      values[kernel.nameOf(argument).str()] = elementsOf(in);
    auto program = *warps->getOps<tile::ProgramOp>().begin();
    if (!test::interpretWarps(program, values))
      return llvm::createStringError("the interpreter stopped: " + problem);
    for (auto [argument, out] : llvm::zip(kernel.getOutArgs(), outs)) {
      const test::HostTensor &made = values[kernel.nameOf(argument).str()];
      HostTensor to = out;
      std::vector<int64_t> index(to.rank());
      size_t number = 0;
      if (to.size() > 0)
        do
          to.set(index, made.data[number++]);
        while (nextIndex(index, to.sizes));
    }
    return llvm::Error::success();
  }

private:
  static test::HostTensor elementsOf(const HostTensor &tensor) {
    test::HostTensor result;
    result.shape = tensor.sizes;
    std::vector<int64_t> index(tensor.rank());
    if (tensor.size() > 0)
      do
        result.data.push_back(isFloat(tensor.type)
                                  ? tensor.at(index)
                                  : double(tensor.intAt(index)));
      while (nextIndex(index, tensor.sizes));
    return result;
  }

  std::unique_ptr<MLIRContext> context; // outlives the modules
  OwningOpRef<ModuleOp> formula, warps;
  const std::string &problem;
};

class WarpRunner : public KernelRunner {
public:
  WarpRunner(PipelineOptions options,
             std::function<void(PassManager &)> configure)
      : options(std::move(options)), configure(std::move(configure)) {}

  std::vector<std::string> passes() const override { return {}; }

  llvm::Expected<std::unique_ptr<RunnableKernel>>
  compile(const CheckedKernel &kernel, llvm::StringRef) override {
    auto context =
        std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    OwningOpRef<ModuleOp> formula = emit(*context, kernel);
    OwningOpRef<ModuleOp> module = formula->clone();
    context->getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        problem = diagnostic.str();
      return failure(); // for the next handler too
    });
    PipelineOptions fitting = options;
    // What code is made of: registers, loads that lanes share.
    if (!lowerToWarps(*module, fitting, configure) ||
        !runPasses(*module, [](PassManager &pm) { buildRegisterPipeline(pm); }))
      return llvm::createStringError("the passes failed");
    return std::make_unique<InterpretedKernel>(
        std::move(context), std::move(formula), std::move(module), problem);
  }

private:
  PipelineOptions options;
  std::function<void(PassManager &)> configure;
  std::string problem;
};

} // namespace

std::unique_ptr<KernelRunner>
makeWarpRunner(const PipelineOptions &options,
               std::function<void(mlir::PassManager &)> configure) {
  return std::make_unique<WarpRunner>(options, std::move(configure));
}

} // namespace attentile::random
