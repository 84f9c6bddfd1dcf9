//===- GpuTileTable.cpp - GPUs, and the tiles to try first ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data only: a row for each head size and element size. Keys a tile are given
// for multiprocessors of 164 KB and more of shared memory, where two blocks of
// 80 KB fit, and for those of 100 KB.
//
//===----------------------------------------------------------------------===//

#include "GpuTileTable.h"
#include "attentile/Loops/Targets.h"
#include "llvm/ADT/STLExtras.h"

namespace attentile {

static constexpr int64_t KB = 1024;

static constexpr GpuTarget targets[] = {
    // name, shared memory a block and a multiprocessor, threads, mbarriers,
    // dependent launches
    {"sm_80", 163 * KB, 164 * KB, 2048, false, false},
    {"sm_86", 99 * KB, 100 * KB, 1536, false, false},
    {"sm_89", 99 * KB, 100 * KB, 1536, false, false},
    {"sm_90", 227 * KB, 228 * KB, 2048, true, true},
};

const GpuTarget *findGpuTarget(llvm::StringRef name) {
  const GpuTarget *found = llvm::find_if(
      targets, [&](const GpuTarget &target) { return target.name == name; });
  return found == std::end(targets) ? nullptr : found;
}

int64_t mostSharedBytes(llvm::StringRef name) {
  if (const GpuTarget *target = findGpuTarget(name))
    return target->sharedPerBlock;
  return std::max_element(std::begin(targets), std::end(targets),
                          [](const GpuTarget &a, const GpuTarget &b) {
                            return a.sharedPerBlock < b.sharedPerBlock;
                          })
      ->sharedPerBlock;
}

bool waitsAtMbarriers(llvm::StringRef name) {
  const GpuTarget *target = findGpuTarget(name);
  return target && target->waitsAtMbarriers;
}

bool launchesDependents(llvm::StringRef name) {
  const GpuTarget *target = findGpuTarget(name);
  return target && target->launchesDependents;
}

namespace {
struct Row {
  int64_t bytes, columns; ///< up to
  int64_t rowsPerWarp, warps, warpsAtMbarriers;
  int64_t loop, loopIfSmall;
  bool keepLeft;
};
} // namespace

// One buffer for each operand of a loop; two where they leave as many blocks
// (Chooser::bufferTwice), as fewer blocks measured worse. At head size 256 one
// block of 8 warps has room for two, which two blocks of 4 have not: where its
// warps meet at mbarriers that is 16 % faster.
static constexpr Row rows[] = {
    // no product
    {0, 1 << 30, 16, 4, 4, 64, 64, false},
    // f16, bf16
    {2, 64, 32, 4, 4, 64, 64, false},
    {2, 128, 32, 4, 4, 64, 32, false},
    {2, 256, 16, 4, 8, 64, 64, false},
    {2, 1 << 30, 16, 4, 4, 32, 16, false},
    // f32: three products of tf32 parts
    {4, 64, 16, 4, 4, 32, 32, false},
    {4, 128, 16, 4, 4, 16, 16, false},
    {4, 1 << 30, 16, 2, 2, 16, 16, false},
};

GpuTiles getPreferredTiles(const GpuTarget &target, int64_t columns,
                           int64_t bytes, bool atMbarriers) {
  const Row *row = llvm::find_if(rows, [&](const Row &row) {
    return row.bytes == bytes && columns <= row.columns;
  });
  bool isSmall = target.sharedPerMultiprocessor < 128 * KB;
  return {row->rowsPerWarp, atMbarriers ? row->warpsAtMbarriers : row->warps,
          isSmall ? row->loopIfSmall : row->loop,
          /*stages=*/1, row->keepLeft};
}

GpuTiles getSmallTiles(int64_t columns, int64_t bytes) {
  bool isNarrow = columns <= 128 && bytes == 2;
  // Half the warps where the columns go over two.
  int64_t warps = columns <= 256 && (bytes == 2 || columns <= 128) ? 4 : 2;
  return {/*rowsPerWarp=*/16, warps, /*loop=*/isNarrow ? 32 : 16, /*stages=*/1,
          /*keepLeft=*/false};
}

} // namespace attentile
