//===- PipelineRunner.cpp - kernels for check, through the pipeline -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/PipelineRunner.h"
#include "FirstError.h"
#include "attentile/EmitIR.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Reference.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace attentile {
namespace {

/// A program as machine code.
class NativeKernel : public RunnableKernel {
public:
  NativeKernel(std::shared_ptr<NativeProgram> program, unsigned threads)
      : program(std::move(program)), threads(threads) {}

  llvm::Error run(llvm::ArrayRef<HostTensor> ins,
                  llvm::ArrayRef<HostTensor> outs) override {
    RunArguments arguments;
    arguments.tensors.assign(ins.begin(), ins.end());
    arguments.tensors.insert(arguments.tensors.end(), outs.begin(), outs.end());
    RunOptions options;
    options.threads = threads;
    return program->run(arguments, options).takeError();
  }

private:
  std::shared_ptr<NativeProgram> program;
  unsigned threads;
};

/// A program that is still at the attn level, evaluated there.
class EvaluatedKernel : public RunnableKernel {
public:
  EvaluatedKernel(std::unique_ptr<MLIRContext> context,
                  OwningOpRef<ModuleOp> module, unsigned threads)
      : context(std::move(context)), module(std::move(module)),
        threads(threads) {}

  llvm::Error run(llvm::ArrayRef<HostTensor> ins,
                  llvm::ArrayRef<HostTensor> outs) override {
    attn::KernelOp kernel = *module->getOps<attn::KernelOp>().begin();
    llvm::Expected<std::vector<int64_t>> sizes = bindSizes(kernel, ins, outs);
    if (!sizes)
      return sizes.takeError();
    ReferenceOptions options;
    options.threads = threads;
    options.sampleAbove = INT64_MAX; // every element must be defined
    llvm::Expected<ReferenceResult> result =
        evaluate(kernel, ins, *sizes, options);
    if (!result)
      return result.takeError();
    for (auto [from, to] : llvm::zip_equal(result->outputs, outs)) {
      HostTensor tensor = to;
      std::vector<int64_t> index(to.sizes.size(), 0);
      for (double value : from.values) {
        tensor.set(index, value);
        nextIndex(index, to.sizes);
      }
    }
    return llvm::Error::success();
  }

private:
  std::unique_ptr<MLIRContext> context; // outlives the module
  OwningOpRef<ModuleOp> module;
  unsigned threads;
};

} // namespace

std::vector<std::string> PipelineRunner::passes() const {
  // After attn-form-grids a program is neither a formula nor a loop yet.
  std::vector<std::string> result = {"attn-lower-softmax", "attn-to-tile"};
  for (llvm::StringRef pass : optimizingPasses())
    if (options.upTo(pass).isEnabled(pass))
      result.push_back(pass.str());
  return result;
}

bool PipelineRunner::addsAlike(llvm::StringRef pass) const {
  return (pass.empty() ? options : options.upTo(pass)).addsAlike();
}

/// All of a module but where it comes from.
static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().printGenericOpForm().assumeVerified());
  return text;
}

llvm::Expected<std::shared_ptr<NativeProgram>>
PipelineRunner::compileTiles(ModuleOp module, llvm::StringRef pass) {
  if (pass != lastPass) {
    ofPassBefore = std::move(ofLastPass);
    ofLastPass.clear();
    lastPass = pass.str();
  }
  std::string text = textOf(module);
  std::shared_ptr<NativeProgram> &program = ofLastPass[text];
  if (!program)
    program = ofPassBefore[text];
  if (!program) {
    llvm::Expected<std::unique_ptr<NativeProgram>> compiled =
        NativeProgram::compile(module, target, {}, configure);
    if (!compiled)
      return compiled.takeError();
    program = std::move(*compiled);
  }
  return program;
}

llvm::Expected<std::unique_ptr<RunnableKernel>>
PipelineRunner::compile(const CheckedKernel &kernel, llvm::StringRef pass) {
  auto context =
      std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  FirstError reported(context.get());
  auto failed = [&] {
    return reported.take(llvm::createStringError("the passes failed"));
  };
  OwningOpRef<ModuleOp> module = emit(*context, kernel);
  PassManager pm(context.get(), ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  configure(pm);
  if (pass == "attn-lower-softmax") {
    pm.addPass(createAttnLowerSoftmax());
    if (mlir::failed(pm.run(*module)))
      return failed();
    return std::make_unique<EvaluatedKernel>(std::move(context),
                                             std::move(module), threads);
  }
  buildTilePipeline(pm, pass.empty() ? options : options.upTo(pass));
  if (mlir::failed(pm.run(*module)))
    return failed();
  llvm::Expected<std::shared_ptr<NativeProgram>> program =
      compileTiles(*module, pass);
  if (!program)
    return reported.take(program.takeError());
  return std::make_unique<NativeKernel>(std::move(*program), threads);
}

} // namespace attentile
