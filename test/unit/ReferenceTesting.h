//===- ReferenceTesting.h - kernels and tensors for tests -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_REFERENCETESTING_H
#define ATTENTILE_TEST_UNIT_REFERENCETESTING_H

#include "attentile/Reference.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

namespace attentile {

/// A module with one attn.kernel, from its text form.
struct ParsedKernel {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit ParsedKernel(const std::string &text) {
    context.loadDialect<attn::AttnDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  attn::KernelOp operator*() {
    return *module->getOps<attn::KernelOp>().begin();
  }

  /// Evaluates; a failure is the test's.
  ReferenceResult evaluate(std::vector<HostTensor> ins,
                           const ReferenceOptions &options = {}) {
    llvm::Expected<std::vector<int64_t>> sizes = bindSizes(**this, ins);
    if (!sizes) {
      ADD_FAILURE() << llvm::toString(sizes.takeError());
      return {};
    }
    if (llvm::Error error = applyDefaults(**this, ins, *sizes))
      ADD_FAILURE() << llvm::toString(std::move(error));
    llvm::Expected<ReferenceResult> result =
        attentile::evaluate(**this, ins, *sizes, options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    return std::move(*result);
  }
};

/// A tensor of normally distributed elements.
inline HostTensor randomTensor(ElementType type, std::vector<int64_t> sizes,
                               unsigned seed, double deviation = 1) {
  HostTensor tensor = HostTensor::allocate(type, std::move(sizes));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.writeDouble(i, normal(random));
  return tensor;
}

/// The text of a one-head causal attention over tensors of `type`: Q, K, V and
/// scale to O and L. `lowered` writes the softmax as attn-lower-softmax does.
std::string causalKernel(const std::string &type, bool lowered = false);

} // namespace attentile

#endif
