//===- BallotPlaces.cpp - a column's truth in a ballot's word -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BallotPlaces.h"

namespace attentile {

using tile::Layout;
using tile::Unit;

std::optional<llvm::SmallVector<BallotPlace>>
findBallotPlaces(const Layout &from, const Layout &to) {
  if (from.rank() != 1 || to.rank() != 1 || from.size(0, Unit::Warp) != 1 ||
      to.size(0, Unit::Warp) != 1)
    return std::nullopt;
  int64_t across = from.size(0, Unit::Lane);
  for (int64_t reg = 0; reg < from.registers(); ++reg)
    for (int64_t lane = 0; lane < across; ++lane)
      if (from.positionOf({.reg = reg, .lane = lane}).front() !=
          reg * across + lane)
        return std::nullopt;
  int64_t most = 0; // what a lane adds to a position
  for (int64_t lane = 0; lane < Layout::kLanes; ++lane)
    most = std::max(most, to.positionOf({.lane = lane}).front());
  llvm::SmallVector<BallotPlace> places;
  for (int64_t reg = 0; reg < to.registers(); ++reg) {
    int64_t position = to.positionOf({.reg = reg}).front();
    places.push_back({position / across, position % across});
    if (places.back().bit + most >= across)
      return std::nullopt;
  }
  return places;
}

} // namespace attentile
