//===- Target.h - the machine that code is made for -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NATIVE_TARGET_H
#define ATTENTILE_NATIVE_TARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace attentile {

/// A processor of the host's architecture, and what of it lowering asks for.
struct NativeTarget {
  std::string triple;
  std::string cpu; ///< as LLVM names it: "znver3", "x86-64-v3" ...
  std::string
      features; ///< beyond those of the name: "+avx2,-sse4a"; often empty
  unsigned vectorBits = 128; ///< the widest vector registers
  bool hasFMA = false;       ///< one instruction for a * b + c on float vectors
  bool hasF16 = false;       ///< instructions that convert f16 and f32
  bool hasRounding = false;  ///< one instruction for floor, ceil and the like

  /// The processor of that name; "native" is this one, with the features that
  /// it reports. A name stands for its own features, never the host's.
  static llvm::Expected<NativeTarget> select(llvm::StringRef cpu);

  /// A machine that makes position-independent code at the highest level of
  /// code generation. One is used by one thread at a time.
  std::unique_ptr<llvm::TargetMachine> createMachine() const;
};

} // namespace attentile

#endif
