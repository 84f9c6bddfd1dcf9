//===- Philox.h - counter-based random numbers ------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
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
inline constexpr unsigned kPhiloxRounds = 10;

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

/// The 16 bits of attn.random: of one to four indices, the last one is j.
inline uint32_t randomBits(int64_t seed, llvm::ArrayRef<int64_t> indices) {
  std::array<uint32_t, 4> counter = {0, 0, 0, 0};
  for (size_t i = 0; i < indices.size(); ++i)
    counter[i] = uint32_t(indices[i]);
  uint32_t j = counter[indices.size() - 1];
  counter[indices.size() - 1] = j / 32 * 4 + j % 8 / 2;
  uint32_t word = philox(
      counter, {uint32_t(seed), uint32_t(uint64_t(seed) >> 32)})[j / 8 % 4];
  return j % 2 ? word >> 16 : word & 0xffff;
}

} // namespace attentile

#endif
