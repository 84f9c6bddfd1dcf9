//===- BallotPlaces.h - a column's truth in a ballot's word -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of 64 columns that a warp's lanes ask one after the other, 32 at a time, two
// ballots have all truths: column n is bit n % 32 of word n / 32. In a product's
// result lane l has the columns 2 (l % 4) + {0, 1, 8, 9, ...}, so shifts by
// 2 (l % 4) bring its truths to bits that are constants:
//
//     lanes      [32 lane 1, 2 reg 1]         two loads and comparisons a lane
//     a result's [2 reg 1, 4 lane 1, 8 reg 2] sixteen
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_MAPPING_BALLOTPLACES_H
#define ATTENTILE_MAPPING_BALLOTPLACES_H

#include "Tile/Layout.h"

namespace attentile {

/// The ballot and, once its word is shifted by the lane's part of a position,
/// the bit.
struct BallotPlace {
  int64_t word, bit;
};

/// Where each register of `to` finds its truth in ballots over the registers of
/// `from`, in which lanes are side by side; nothing where lanes disagree about
/// the word or the bit. One axis, which warps do not share out.
std::optional<llvm::SmallVector<BallotPlace>>
findBallotPlaces(const tile::Layout &from, const tile::Layout &to);

} // namespace attentile

#endif
