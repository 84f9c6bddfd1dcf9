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
// levels that gives some 80 rows; the two largest factors alone need 63.
//
// A level may be empty (a size of 0): a row with it computes nothing, so it
// covers only the pairs that the level itself is in.
//
//===----------------------------------------------------------------------===//

#include "CheckConfig.h"
#include <random>

namespace attentile::checking {

namespace {
class Cover {
public:
  Cover(llvm::ArrayRef<unsigned> levels, llvm::ArrayRef<int> empty,
        uint64_t seed)
      : levels(levels), empty(empty), random(seed), first(levels.size()) {
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
        unsigned level = (start + k) % levels[i];
        // Empty levels come in through their own pairs only. Counting from 1,
        // some level is taken where none covers anything.
        if (isEmpty(i, level))
          level = (level + 1) % levels[i];
        row[i] = level;
        unsigned count = 1;
        for (size_t j : done)
          count += covers(row, done, i, j);
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
        covered += covers(row, everyFactor(), i, j);
    return covered;
  }

  void take(llvm::ArrayRef<unsigned> row) {
    for (size_t i = 0; i < row.size(); ++i)
      for (size_t j = i + 1; j < row.size(); ++j)
        if (covers(row, everyFactor(), i, j))
          set(i, j, row[i], row[j], false);
  }

private:
  bool isEmpty(size_t i, unsigned level) const {
    return empty[i] == static_cast<int>(level);
  }
  std::vector<size_t> everyFactor() const {
    std::vector<size_t> all(levels.size());
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = i;
    return all;
  }
  /// Whether the row, of which the factors `known` are chosen, covers a pair
  /// that is open.
  bool covers(llvm::ArrayRef<unsigned> row, llvm::ArrayRef<size_t> known,
              size_t i, size_t j) {
    if (!isOpen(i, j, row[i], row[j]))
      return false;
    return isEmpty(i, row[i]) || isEmpty(j, row[j]) ||
           llvm::none_of(known, [&](size_t k) { return isEmpty(k, row[k]); });
  }
  bool isOpen(size_t i, size_t j, unsigned a, unsigned b) {
    return open[first[i] + a][first[j] + b];
  }
  void set(size_t i, size_t j, unsigned a, unsigned b, bool value) {
    open[first[i] + a][first[j] + b] = open[first[j] + b][first[i] + a] = value;
  }

  llvm::ArrayRef<unsigned> levels;
  llvm::ArrayRef<int> empty;
  std::mt19937_64 random;
  std::vector<unsigned> first; // number of a factor's first level
  std::vector<std::vector<bool>> open;
  std::vector<Pair> openPairs;
};
} // namespace

std::vector<std::vector<unsigned>>
coverPairs(llvm::ArrayRef<unsigned> levels, llvm::ArrayRef<int> empty,
           uint64_t seed,
           llvm::function_ref<bool(llvm::ArrayRef<unsigned>)> permitted,
           std::vector<std::vector<unsigned>> rows) {
  Cover cover(levels, empty, seed);
  for (const std::vector<unsigned> &row : rows)
    cover.take(row);
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
