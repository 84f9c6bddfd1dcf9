//===- SortedList.h - lists of blocks in the order of programs ---*- C++-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of the lists that tile-list-blocks leaves begins with where its entries
// begin and end. In those that tile-sort-lists makes of them a row stands where
// the program that reads it does; it names the coordinate whose list it is, and
// its entries begin at one place, which a program reads before it knows how
// many there are:
//
//     | coordinate | from | to | - | entries ...
//
// `from` and `to` are those of the list that was copied.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_SORTEDLIST_H
#define ATTENTILE_SORTEDLIST_H

#include <cstdint>

namespace attentile {

/// Places in a row of a list, and of a sorted one.
enum class ListPlace : int64_t { From, To };
enum class SortedPlace : int64_t { Coordinate, From, To, Entries = 4 };

/// Entries in front of a list's blocks: where they begin and end.
inline constexpr int64_t kListEnds = 2;

} // namespace attentile

#endif
