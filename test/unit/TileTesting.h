//===- TileTesting.h - parse, transform, draw, compare ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_TILETESTING_H
#define ATTENTILE_TEST_UNIT_TILETESTING_H

#include "TileInterpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attentile::test {

using Values = std::map<std::string, HostTensor>;

/// A module with one tile.program or attn.kernel, in a context of its own.
class TileFile {
public:
  /// Reads a file, the path relative to test/.
  explicit TileFile(llvm::StringRef path);
  /// Parses `text`.
  static TileFile fromText(llvm::StringRef text);
  /// Compiles a kernel in the attn language as far as attn.kernel, with these
  /// names bound; null after printing what is wrong with it.
  static TileFile fromSource(llvm::StringRef source,
                             llvm::ArrayRef<std::string> bound = {"D=8"},
                             llvm::StringRef schedule = "");

  explicit operator bool() const { return bool(module); }
  mlir::ModuleOp getModule() { return *module; }
  /// The module's tile.program, or null.
  tile::ProgramOp program();
  /// Runs a textual pass pipeline on the module; prints what went wrong.
  bool run(llvm::StringRef pipeline);

  /// Random inputs for the program: normal floats, integers below 4, scalars
  /// in [0.1, 1.1), and the sizes as given.
  Values draw(const std::map<std::string, int64_t> &sizes, unsigned seed);

private:
  TileFile();
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The greatest |a - b| / (1 + |b|) over the named tensor's elements; infinity
/// where one is NaN or infinite and the other is not the same.
double difference(const HostTensor &a, const HostTensor &b);

} // namespace attentile::test

#endif
