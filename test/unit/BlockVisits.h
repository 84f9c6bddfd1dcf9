//===- BlockVisits.h - which blocks a program's loops visit -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_BLOCKVISITS_H
#define ATTENTILE_TEST_UNIT_BLOCKVISITS_H

#include "MaskExpression.h"
#include "Tile/Tile.h"

namespace attentile::test {

/// One loop over tiles as one program runs it, in elements; of a loop over a
/// list one block.
struct LoopVisit {
  int64_t from, to, step;
  std::optional<tile::BlockClass> blocks;
  bool listed = false;
};

/// Runs kernels that write lists of blocks, evaluates the integer operations of
/// the last kernel, for every program of its grid, but of loops' bodies only
/// what reads a list, and calls `visit` with the
/// program's coordinates and the loops it would run. Arithmetic is exact: a
/// result that does not fit its type is an error. Returns false after printing
/// what went wrong.
bool visitLoops(
    tile::ProgramOp program, const std::map<std::string, int64_t> &sizes,
    const MaskInputs &inputs,
    llvm::function_ref<void(llvm::ArrayRef<int64_t>, llvm::ArrayRef<LoopVisit>)>
        visit);

} // namespace attentile::test

#endif
