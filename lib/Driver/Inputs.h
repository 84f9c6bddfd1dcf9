//===- Inputs.h - the tensors of a run --------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_INPUTS_H
#define ATTENTILE_LIB_DRIVER_INPUTS_H

#include "Attn/Attn.h"
#include "Options.h"
#include "attentile/Frontend.h"
#include "attentile/Tensor.h"
#include <map>
#include <optional>

namespace attentile {

/// The inputs of `attentile run`: files first, which fix types and sizes, then
/// what is drawn. Every step prints what is wrong with the call and says
/// whether to go on.
class Inputs {
public:
  /// Reads the files of --in against the kernel's head as it stands before
  /// types and sizes are known, and binds what code must know of them: type
  /// parameters and head sizes.
  bool read(const CheckedKernel &head, llvm::ArrayRef<NamedFile> files,
            Bindings &bindings);

  /// Allocates every tensor of the kernel and draws the inputs that no file
  /// gave. `kernel` is what `checked` was emitted as.
  bool complete(const CheckedKernel &checked, attn::KernelOp kernel,
                uint64_t seed);

  /// In the order of the emitted kernel's head. Scalars have no data: they take
  /// their defaults (bound ones are constants of the kernel).
  std::vector<HostTensor> ins, outs;
  /// Names of the inputs that were drawn.
  std::vector<std::string> drawn;

private:
  struct Given {
    std::string path;
    HostTensor tensor;
  };
  /// A size's value and where it comes from, for messages.
  struct Size {
    int64_t value;
    std::string origin;
  };

  bool bindTypes(const CheckedKernel &head, Bindings &bindings);
  bool bindSizes(const CheckedKernel &head, Bindings &bindings);
  bool fixSize(llvm::StringRef name, int64_t value, const std::string &origin);
  bool convert(const CheckedParam &param, Given &given);
  std::optional<std::vector<int64_t>> shapeOf(const CheckedKernel &kernel,
                                              const CheckedParam &param) const;

  std::map<std::string, Given> given;
  std::map<std::string, Size> sizes;
};

} // namespace attentile

#endif
