//===- Philox.h - counter-based random numbers ------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-7 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011), and what dropout takes of it (LANGUAGE, section
// 2). In plain C++, for the reference and the tests; compiled code has it from
// attn-expand-random.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_PHILOX_H
#define ATTENTILE_PHILOX_H

#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>

namespace attentile {

/// The constants of a round: multipliers, and what is added to the key.
inline constexpr uint32_t kPhiloxMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr unsigned kPhiloxRounds = 7;

/// Four random words for a counter under a key.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  for (unsigned round = 0; round < kPhiloxRounds; ++round) {
    uint64_t a = uint64_t(kPhiloxMultipliers[0]) * counter[0];
    uint64_t b = uint64_t(kPhiloxMultipliers[1]) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key = {key[0] + kPhiloxWeyl[0], key[1] + kPhiloxWeyl[1]};
  }
  return counter;
}

/// Four calls serve this many consecutive elements of a row.
inline constexpr int64_t kRandomSpan = 32;

/// Rows i and i + 8 of this many share a call.
inline constexpr int64_t kRandomRows = 16;

/// A number is two bytes without their top bits: what is added to two such
/// numbers side by side stays in its half.
inline constexpr uint32_t kRandomMask = 0x7f7f7f7f;

/// The number of attn.random: of one to four indices, the last one is j, the
/// one before it, if there is one, i.
inline uint32_t randomNumber(int64_t seed, llvm::ArrayRef<int64_t> indices) {
  std::array<uint32_t, 4> counter = {0, 0, 0, 0};
  size_t last = indices.size() - 1;
  for (size_t at = 0; at <= last; ++at)
    counter[at] = uint32_t(indices[at]);
  uint32_t j = counter[last], i = last ? counter[last - 1] : 0;
  counter[last] = j / 32 * 4 + j % 8 / 2;
  if (last)
    counter[last - 1] = i / 16 * 8 + i % 8;
  uint32_t word = philox(
      counter, {uint32_t(seed), uint32_t(uint64_t(seed) >> 32)})[j / 8 % 4];
  word &= kRandomMask;
  if (i / 8 % 2)
    word = word >> 8 | word << 24;
  return j % 2 ? word >> 16 : word & 0xffff;
}

} // namespace attentile

#endif
