//===- Native.h - compiling programs for this machine -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   auto target = NativeTarget::select("native");
//   auto program = NativeProgram::compile(module, *target);    // a
//   tile.program auto stats = (*program)->run({{q, k, v, scale, o, l}, {}});
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NATIVE_H
#define ATTENTILE_NATIVE_H

#include "attentile/Native/ProgramInfo.h"
#include "attentile/Native/Target.h"
#include "attentile/Tensor.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
class OpPassManager;
class PassManager;
} // namespace mlir

namespace attentile {

struct NativeOptions {
  bool countBlocks = false; ///< count blocks of loops; a little slower
};

/// Adds every pass from a tile.program to the LLVM dialect: tile-to-host,
/// tile-to-loops and native-lower-to-llvm, for `target`.
void buildNativeLowering(mlir::OpPassManager &manager,
                         const NativeTarget &target,
                         const NativeOptions &options = {});

/// What to make of a module in the LLVM dialect.
enum class NativeOutput { LLVM, Assembly, Object };

/// LLVM IR or assembly as text, or a position-independent object file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitNative(mlir::ModuleOp lowered, const NativeTarget &target,
           NativeOutput output);

/// The C header of a program's object file, for C99 and C++. How to call it is
/// explained in its first lines.
std::string emitHeader(const ProgramInfo &info, const NativeTarget &target);

/// What a run is given: a tensor for each input and output in the order of the
/// head, scalars as tensors of rank 0. A scalar that has a default may be left
/// out (no data). Tensors are used where they lie, whatever their strides.
struct RunArguments {
  std::vector<HostTensor> tensors;
  std::vector<int64_t> sizes; ///< empty: deduced from the tensors
};

struct RunOptions {
  unsigned threads = 0; ///< 0: as many as processors this process may use
  /// Called now and then by the caller's thread with the share of work done,
  /// 0 to 1.
  std::function<void(double)> progress;
  /// Set by another thread or a signal handler to stop early.
  const std::atomic<bool> *cancel = nullptr;
};

struct RunStats {
  bool cancelled = false;
  double seconds = 0;       ///< of the kernels alone
  int64_t blocks = 0;       ///< with NativeOptions::countBlocks
  int64_t maskedBlocks = 0; ///< of them, those that evaluate a mask
  int64_t workspaceBytes = 0;
  int64_t scratchBytes = 0; ///< of all threads
};

/// How many processors this process may use.
unsigned availableThreads();

/// A program as machine code in memory.
class NativeProgram {
public:
  /// Lowers the one tile.program of `module` in place, and loads it.
  /// `configure` may set up the pass manager (printing, timing). Diagnostics go
  /// to the module's context.
  static llvm::Expected<std::unique_ptr<NativeProgram>>
  compile(mlir::ModuleOp module, const NativeTarget &target,
          const NativeOptions &options = {},
          const std::function<void(mlir::PassManager &)> &configure = {});

  /// Loads an object file that holds the functions of `info`.
  static llvm::Expected<std::unique_ptr<NativeProgram>>
  load(ProgramInfo info, std::unique_ptr<llvm::MemoryBuffer> object);

  ~NativeProgram();

  const ProgramInfo &info() const;

  /// The address of a function, or null.
  void *lookup(llvm::StringRef name) const;

  /// Runs every kernel in order, its grid spread over threads. An error says
  /// which argument or which constraint is wrong; nothing has run then.
  llvm::Expected<RunStats> run(const RunArguments &arguments,
                               const RunOptions &options = {}) const;

private:
  struct Impl;
  explicit NativeProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace attentile

#endif
