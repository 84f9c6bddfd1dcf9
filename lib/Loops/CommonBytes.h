//===- CommonBytes.h - what programs side by side read -----------*- C++-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One head's programs one after the other: what starts last is the last head's,
// and whichever of its programs are long run on alone. All heads' longest
// first, then all heads' next ones: nothing runs on alone, but keys and values
// of all heads are read again and again from memory. So the heads go in
// sections of as many as have their keys and values in the L2 cache together,
// and within a section the longest of all heads come first. How long keys are
// is known at run time only: a kernel carries how many bytes its programs along
// the last axis read in common, for each of them, and where a block's number
// becomes its coordinates the sections follow from that (warp-to-nvvm).
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_COMMONBYTES_H
#define ATTENTILE_LOOPS_COMMONBYTES_H

#include "Tile/Tile.h"

namespace attentile {

/// How many rows a program along a grid's last axis has: what its coordinate is
/// multiplied by, 1 if it is not.
int64_t getRowsOfProgram(tile::KernelOp kernel);

/// What each program along a grid's last axis adds to what the loops read, if
/// their axis is as long as the programs' rows are many.
int64_t getCommonBytes(tile::KernelOp kernel);

/// Notes that in the kernel; nothing where its programs read nothing in common.
void setCommonBytes(tile::KernelOp kernel, int64_t bytes);

} // namespace attentile

#endif
