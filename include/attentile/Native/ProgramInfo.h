//===- ProgramInfo.h - what a caller of native code knows -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program's head, kernels and host functions without MLIR: what outlives the
// compiler's context, for running a program and for writing its C header.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NATIVE_PROGRAMINFO_H
#define ATTENTILE_NATIVE_PROGRAMINFO_H

#include "attentile/Tensor.h"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace attentile {

namespace tile {
class ProgramOp;
} // namespace tile

/// An extent: an expression of the program's run-time sizes. Division rounds
/// toward minus infinity and gives 0 for a divisor of 0.
struct ExtentExpr {
  enum Kind { Constant, Size, Add, Mul, FloorDiv, FloorMod, CeilDiv };
  Kind kind = Constant;
  int64_t value = 0; ///< of a constant, or the number of the size
  std::vector<ExtentExpr> operands;

  int64_t evaluate(const std::vector<int64_t> &sizes) const;

  /// As text; a division or remainder by `divide`: (kind, lhs, rhs) -> text.
  using Divide = std::function<std::string(Kind, const std::string &,
                                           const std::string &)>;
  std::string print(const std::vector<std::string> &names,
                    const Divide &divide) const;
  std::string print(const std::vector<std::string> &names) const;
};

/// An input or output.
struct ParameterInfo {
  std::string name;
  ElementType type;
  bool isTensor = false;
  bool isOutput = false;
  bool hasDefault = false;     ///< a scalar that the caller may leave out
  unsigned slot = 0;           ///< see ArgSlots.h
  std::vector<ExtentExpr> shape; ///< empty for a scalar
};

struct KernelInfo {
  std::string name;         ///< of its function; NAME_cells gives its grid
  int64_t scratchBytes = 0; ///< for each thread, 64-byte aligned
};

struct WorkspaceInfo {
  std::string name;
  ElementType type;
  unsigned slot = 0;
};

struct ProgramInfo {
  std::string name;
  std::vector<ParameterInfo> parameters; ///< inputs, then outputs
  std::vector<std::string> sizes;
  unsigned sizeSlot = 0; ///< of the first size; the others follow
  std::vector<WorkspaceInfo> workspaces;
  std::vector<KernelInfo> kernels;      ///< in launch order
  std::vector<std::string> constraints; ///< as the source has them
  unsigned counterSlot = 0;
  unsigned slotCount = 0;

  /// Of a program before it is lowered; scratch is not known yet.
  static ProgramInfo of(tile::ProgramOp program);

  /// Reads the kernels' scratch off their functions.
  void readScratch(mlir::ModuleOp lowered);

  /// What one thread needs for any of the kernels.
  int64_t scratchBytes() const;

  /// The values of the sizes from the tensors' shapes, one entry a parameter
  /// (scalars are not looked at). False, with a message in `error`, if two
  /// tensors disagree, a shape is not what the head says, or a size is not
  /// from 0 to 2^31 - 1.
  bool deduceSizes(const std::vector<const HostTensor *> &arguments,
                   std::vector<int64_t> &sizes, std::string &error) const;
};

} // namespace attentile

#endif
