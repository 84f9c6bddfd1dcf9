//===- WarpInterpreter.h - runs warp IR thread by thread --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a warp.kernel means: every thread of a block, its shared memory as
// bytes, its matrix instructions lane by lane. Results are rounded to their
// types, so they differ from a float64 run by what a GPU would lose. Races,
// copies that nobody waited for, elements stored twice and branches that part
// a warp at a shuffle are errors: SharedMemory.h tells how they are found.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_WARPINTERPRETER_H
#define ATTENTILE_TEST_UNIT_WARPINTERPRETER_H

#include "TileInterpreter.h"

namespace attentile::test {

/// Runs every warp.kernel of `program` over its grid, as `interpret` does for
/// tiles. Buffers without an offset get room of their own. False after
/// reporting what is wrong at the operation.
bool interpretWarps(tile::ProgramOp program,
                    std::map<std::string, HostTensor> &values);

} // namespace attentile::test

#endif
