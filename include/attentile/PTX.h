//===- PTX.h - from NVVM to PTX, cubins and their manifest ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   auto target = GpuTarget::select("sm_90");
//   llvm::json::Object manifest = ...describeProgram(program)...  // warp level
//   ... buildNVVMPipeline ...
//   auto code = emitPTX(module, *target);
//   auto image = assemble(*code, *target, {});                    // ptxas
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_PTX_H
#define ATTENTILE_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace attentile {

namespace tile {
class ProgramOp;
} // namespace tile

/// An architecture that the mma.sync path compiles for.
struct GpuTarget {
  std::string name;     ///< "sm_90"
  std::string features; ///< of LLVM: the PTX version

  /// sm_80, sm_86, sm_89 or sm_90; an error names these.
  static llvm::Expected<GpuTarget> select(llvm::StringRef name);
};

struct GpuOptions {
  bool lineInfo = false; ///< lines of the .attn source in PTX and cubin
};

/// LLVM IR or PTX of a module of NVVM kernels.
enum class GpuOutput { PTX, LLVM };
llvm::Expected<std::string> emitPTX(mlir::ModuleOp lowered,
                                    const GpuTarget &target,
                                    GpuOutput output = GpuOutput::PTX);

/// What emitPTX asks of a context, which it adds to it: beforehand where
/// several threads emit.
void registerForPTX(mlir::DialectRegistry &registry);

/// One PTX of several for the same target: what stands before their kernels
/// once, then all kernels in order.
std::string joinPTX(llvm::ArrayRef<std::string> parts);

/// What ptxas says of a kernel.
struct KernelResources {
  int64_t registers = 0;
  int64_t spillStores = 0, spillLoads = 0; ///< bytes
};

/// A cubin and what ptxas says of it.
struct GpuImage {
  std::string cubin;
  std::string version; ///< of ptxas: "13.0.88"
  llvm::StringMap<KernelResources> kernels;
};

/// ptxas: in PATH, in CUDA_HOME/bin, or in the Python package of the CUDA
/// compiler. Nothing if there is none.
std::optional<std::string> findPtxas();

/// Runs ptxas, at -O1 for very long kernels; again where it spills, and keeps
/// what spills less. Its first error is the error; what it warns of is a
/// diagnostic at `loc`.
llvm::Expected<GpuImage> assemble(llvm::StringRef ptx, llvm::StringRef ptxas,
                                  const GpuTarget &target,
                                  const GpuOptions &options,
                                  mlir::Location loc);

/// The manifest (format 2) of a program at the warp level, with buffers
/// allocated: everything but source, image and registers. Fails, with an error
/// at its place, if a grid, default or constraint is no expression that the
/// runtime evaluates.
mlir::FailureOr<llvm::json::Object> describeProgram(tile::ProgramOp program);

/// Adds to each launch the registers that ptxas gave it and the bytes that its
/// code writes to and reads from memory for want of more.
void addResources(llvm::json::Object &manifest, const GpuImage &image);

/// SHA-256 in hexadecimal.
std::string hashOf(llvm::StringRef bytes);

/// A C header with the images and the manifest in it and a typed function that
/// launches the kernel, over attentile-c/runtime.h.
std::string emitGpuHeader(const llvm::json::Object &manifest,
                          llvm::StringRef manifestText, llvm::StringRef cubin,
                          llvm::StringRef ptx);

} // namespace attentile

#endif
