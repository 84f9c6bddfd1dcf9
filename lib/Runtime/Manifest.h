//===- Manifest.h - what a compiled kernel says of itself -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/manifest.md describes the text. Here it is checked once, so that a
// launch may rely on it: every name is resolved to a number, every expression
// is compiled, nothing exceeds the limits below.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_MANIFEST_H
#define ATTENTILE_LIB_RUNTIME_MANIFEST_H

#include "Expression.h"
#include "attentile-c/runtime.h"
#include <optional>
#include <string_view>

namespace attentile::runtime {

/// What a launch keeps on its stack is as large as this.
inline constexpr size_t kMaxTensors = 32, kMaxRank = 8, kMaxSizes = 64,
                        kMaxScalars = 64, kMaxWorkspaces = 32,
                        kMaxLaunches = 32, kMaxParameters = 256;

struct Dimension {
  std::string text; // "M", "2 * D", for messages
  Expression extent;
};

struct TensorParameter {
  std::string name;
  ElementType type;
  bool isOutput;
  std::vector<Dimension> shape;
  std::string shapeText; // "[B, H, M, 128]"
};

struct ScalarParameter {
  std::string name;
  ElementType type;
  bool hasDefault;
  Expression byDefault;
};

struct Constraint {
  std::string text;
  Expression holds;
};

struct Workspace {
  std::string name;
  ElementType type;
  std::vector<Expression> shape;
};

/// One parameter of a compiled function.
struct Parameter {
  enum Kind { Tensor, Workspace, Size, Stride, Scalar } kind;
  unsigned index; // of the tensor, workspace, size or scalar
  unsigned dim;   // of a stride
  unsigned bytes;
};

/// What 16-byte copies of a tensor need: address, and the strides of all
/// dimensions but `last`, multiples of so many bytes; stride 1 along `last`.
struct Requirement {
  unsigned tensor, last, bytes;
};

/// A compiled function and how it is launched.
struct Function {
  std::string kernel;
  std::vector<Expression> cells;
  unsigned threads, shared;
  /// Waits for the kernel before it, and may be launched before that ends.
  bool isDependent;
  std::vector<Parameter> parameters;
};

/// A function, and another for tensors that are not as it requires them.
struct Launch : Function {
  /// Only writes lists of blocks, from inputs, scalars and other lists.
  bool makesLists = false;
  std::vector<Requirement> requirements;
  std::optional<Function> otherwise;
};

struct Manifest {
  std::string kernel, target, source;
  int architecture; // of the target: 90
  bool isExact;     // sm_90a: of that architecture alone
  std::string cubinFile, cubinHash, ptxFile, ptxHash;
  size_t cubinBytes = 0;
  std::vector<std::string> sizes;
  std::vector<TensorParameter> tensors;
  std::vector<ScalarParameter> scalars;
  std::vector<Constraint> constraints;
  std::vector<Workspace> workspaces;
  std::vector<Launch> launches;
  /// For each size the tensor and dimension that it is read from.
  struct Origin {
    unsigned tensor, dim;
  };
  std::vector<Origin> origins;
};

/// Reads and checks a manifest.
attentile_status parseManifest(std::string_view text, Manifest &manifest);

} // namespace attentile::runtime

#endif
