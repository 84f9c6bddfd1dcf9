//===- StorePackets.h - outputs as packets of 16 bytes ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_MAPPING_STOREPACKETS_H
#define ATTENTILE_MAPPING_STOREPACKETS_H

#include "Tile/Tile.h"

namespace attentile {

/// An accumulator's lane has two neighbours of a row: 4 bytes of a 16-bit
/// output, an eighth of what memory writes at once. So the lanes of a row
/// exchange until each has 16 bytes, through shared memory: of a tile larger
/// than every target has room for, elements go from where they are.
void gatherPackets(tile::StoreOp store, int64_t warps);

} // namespace attentile

#endif
