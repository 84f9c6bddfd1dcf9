//===- Compare.cpp - a kernel's output against the reference --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Reference.h"
#include "attentile/TestData.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace attentile {

bool ReferenceOutput::takesNormCriterion() const {
  int64_t last = sizes.empty() ? 1 : sizes.back();
  auto elements = static_cast<int64_t>(values.size());
  return !rowsAreAlike &&
         (type == ElementType::F16 || type == ElementType::BF16) &&
         elements >= 4096 && elements / last >= 64;
}

Comparison compare(const ReferenceOutput &reference, const HostTensor &got) {
  Comparison result;
  result.name = reference.name;
  result.type = reference.type;
  result.elements = reference.values.size();
  double error = 0, norm = 0, rounded = 0;
  std::vector<int64_t> index(reference.sizes.size());
  for (size_t i = 0; i < reference.values.size(); ++i) {
    if (reference.isExcluded(i)) {
      ++result.excluded;
      continue;
    }
    int64_t rest = reference.positionOf(i);
    for (size_t k = index.size(); k-- > 0;) {
      index[k] = rest % reference.sizes[k];
      rest /= reference.sizes[k];
    }
    double value = got.readDouble(got.positionOf(index.data()));
    double expected = reference.values[i];
    double allowed =
        2 * reference.bounds[i] + halfUnit(reference.type, expected);
    double ratio = errorRatio(value, expected, allowed);
    result.worstRatio = std::max(result.worstRatio, ratio);
    if (ratio > 1 && result.failed++ == 0) {
      result.index = index;
      result.got = value;
      result.expected = expected;
      result.allowed = allowed;
    }
    if (std::isfinite(expected) && std::isfinite(value)) {
      error += (value - expected) * (value - expected);
      norm += expected * expected;
      double plain = reference.rounded[i] - expected;
      rounded += std::isfinite(plain) ? plain * plain : 0;
    }
  }
  result.errorNorm = std::sqrt(error);
  result.norm = std::sqrt(norm);
  result.roundedNorm = std::sqrt(rounded);
  result.normApplies = reference.takesNormCriterion();
  result.arithmeticNorm = reference.arithmeticNorm;
  return result;
}

void print(llvm::raw_ostream &os, const Comparison &comparison) {
  os << comparison.name << ": ";
  if (comparison.failed > 0) {
    os << comparison.failed << " of " << comparison.elements
       << " elements are wrong, first " << comparison.name << '[';
    llvm::interleaveComma(comparison.index, os);
    os << "]: expected " << llvm::format("%.9g", comparison.expected)
       << ", got " << llvm::format("%.9g", comparison.got) << ", allowed "
       << llvm::format("%.3g", comparison.allowed);
    return;
  }
  if (!comparison.normHolds()) {
    os << "expected an error norm of at most 1.5 times "
       << llvm::format("%.3g", comparison.roundedNorm)
       << " (the formula rounded) and "
       << llvm::format("%.3g", comparison.arithmeticNorm)
       << " (f32 arithmetic), got "
       << llvm::format("%.3g", comparison.errorNorm);
    return;
  }
  os << comparison.elements << " elements, worst "
     << llvm::format("%.2f", comparison.worstRatio) << " of the bound";
  if (comparison.norm > 0)
    os << ", relative error "
       << llvm::format("%.2g", comparison.errorNorm / comparison.norm);
  if (comparison.excluded > 0)
    os << ", " << comparison.excluded << " taken out";
}

} // namespace attentile
