//===- CheckCover.cpp - covering arrays -----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy, one row at a time (as AETG does: Cohen et al., 1997): take a pair
// that is not covered, complete it factor by factor with the level that covers
// most, and of several such rows keep the best. For 9 x 7 x 6 x 6 x 6 x 4 x 3
// levels that gives some 70 rows; the two largest factors alone need 63.
//
//===----------------------------------------------------------------------===//

#include "CheckConfig.h"
#include <random>

namespace attentile::checking {

namespace {
class Cover {
public:
  Cover(llvm::ArrayRef<unsigned> levels, uint64_t seed)
      : levels(levels), random(seed), first(levels.size()) {
    unsigned total = 0;
    for (size_t i = 0; i < levels.size(); ++i) {
      first[i] = total;
      total += levels[i];
    }
    open.assign(total, std::vector<bool>(total, false));
    for (size_t i = 0; i < levels.size(); ++i)
      for (size_t j = i + 1; j < levels.size(); ++j)
        for (unsigned a = 0; a < levels[i]; ++a)
          for (unsigned b = 0; b < levels[j]; ++b)
            openPairs.push_back({i, j, a, b}), set(i, j, a, b, true);
  }

  struct Pair {
    size_t i, j;
    unsigned a, b;
  };

  /// A pair that no row has; nothing once all are covered or given up.
  std::optional<Pair> next() {
    while (!openPairs.empty()) {
      Pair pair = openPairs.front();
      if (isOpen(pair.i, pair.j, pair.a, pair.b))
        return pair;
      openPairs.erase(openPairs.begin());
    }
    return std::nullopt;
  }

  void giveUp(const Pair &pair) { set(pair.i, pair.j, pair.a, pair.b, false); }

  /// A row with the pair, the other factors in a random order; without
  /// `greedy` at random levels.
  std::vector<unsigned> complete(const Pair &pair, bool greedy) {
    std::vector<unsigned> row(levels.size());
    std::vector<size_t> order, done{pair.i, pair.j};
    row[pair.i] = pair.a;
    row[pair.j] = pair.b;
    for (size_t i = 0; i < levels.size(); ++i)
      if (i != pair.i && i != pair.j)
        order.push_back(i);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      unsigned best = 0, bestCount = 0, start = random() % levels[i];
      for (unsigned k = 0; k < (greedy ? levels[i] : 1); ++k) {
        unsigned level = (start + k) % levels[i], count = 1;
        // (from 1, so that a level is taken where none covers anything)
        for (size_t j : done)
          count += isOpen(i, j, level, row[j]);
        if (count > bestCount)
          best = level, bestCount = count;
      }
      row[i] = best;
      done.push_back(i);
    }
    return row;
  }

  unsigned count(llvm::ArrayRef<unsigned> row) {
    unsigned covered = 0;
    for (size_t i = 0; i < row.size(); ++i)
      for (size_t j = i + 1; j < row.size(); ++j)
        covered += isOpen(i, j, row[i], row[j]);
    return covered;
  }

  void take(llvm::ArrayRef<unsigned> row) {
    for (size_t i = 0; i < row.size(); ++i)
      for (size_t j = i + 1; j < row.size(); ++j)
        set(i, j, row[i], row[j], false);
  }

private:
  bool isOpen(size_t i, size_t j, unsigned a, unsigned b) {
    return open[first[i] + a][first[j] + b];
  }
  void set(size_t i, size_t j, unsigned a, unsigned b, bool value) {
    open[first[i] + a][first[j] + b] = open[first[j] + b][first[i] + a] = value;
  }

  llvm::ArrayRef<unsigned> levels;
  std::mt19937_64 random;
  std::vector<unsigned> first; // number of a factor's first level
  std::vector<std::vector<bool>> open;
  std::vector<Pair> openPairs;
};
} // namespace

std::vector<std::vector<unsigned>>
coverPairs(llvm::ArrayRef<unsigned> levels, uint64_t seed, bool full,
           llvm::function_ref<bool(llvm::ArrayRef<unsigned>)> permitted) {
  std::vector<std::vector<unsigned>> rows;
  if (full) {
    std::vector<int64_t> index(levels.size());
    std::vector<int64_t> sizes(levels.begin(), levels.end());
    do {
      std::vector<unsigned> row(index.begin(), index.end());
      if (permitted(row))
        rows.push_back(row);
    } while (nextIndex(index, sizes));
    return rows;
  }
  Cover cover(levels, seed);
  while (std::optional<Cover::Pair> pair = cover.next()) {
    std::vector<unsigned> best;
    unsigned bestCount = 0;
    // The greedy choice may be one that is refused, again and again.
    for (unsigned attempt = 0; attempt < 20 || (best.empty() && attempt < 200);
         ++attempt) {
      std::vector<unsigned> row = cover.complete(*pair, attempt < 20);
      unsigned count = cover.count(row);
      if (count > bestCount && permitted(row)) {
        best = row;
        bestCount = count;
      }
    }
    if (best.empty()) {
      cover.giveUp(*pair);
      continue;
    }
    cover.take(best);
    rows.push_back(best);
  }
  return rows;
}

} // namespace attentile::checking
