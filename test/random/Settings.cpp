//===- Settings.cpp - sizes, values and switches of random programs -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "llvm/ADT/STLExtras.h"

namespace attentile::random {

/// Runs of a program.
static constexpr unsigned kRuns = 3;

Program generate(uint64_t seed, const Purpose &purpose) {
  return Generator(seed, purpose).run();
}

Generator::Generator(uint64_t seed, const Purpose &purpose)
    : random{seed}, gpu(purpose.gpu), passes(purpose.passes) {
  program.seed = seed;
  random.state = random.next(); // neighbours' seeds give other programs
  onWarps = chance(purpose.onWarps) && gpu.empty();
}

Program Generator::run() {
  program.level = onWarps ? Level::Warps : Level::Native;
  chooseLayout();
  writeBody();
  chooseSwitches();
  chooseRuns();
  bindSome();
  return std::move(program);
}

void Generator::chooseLayout() {
  outer = (chance(0.6) ? axisB : 0) | (chance(0.7) ? axisH : 0);
  grouped = (outer & axisH) && chance(0.4);
  isSelf = chance(0.25);
  sharesSize = chance(0.3);
  program.type = pick<const char *>({"f32", "f32", "f16", "bf16"});
  if (chance(0.15)) {
    bytes = pick<const char *>({"KV", "KV", "K", "V"});
    program.byteType = pick<const char *>({"i8", "i8", "f8e4m3", "f8e5m2"});
  }
  if (grouped)
    program.constraints.push_back("H % G == 0");
  if (!chance(0.1))
    return;
  isIndexed = chance(0.7);
  gathered = isIndexed     ? read(Type::Int, "place", integerType(),
                                  (outer & axisB) | axisN)
             : chance(0.5) ? i("($ / 2)", {axis(axisN)})
                           : i("(($ * 3) % L)", {axis(axisN)});
}

void Generator::chooseSwitches() {
  PipelineOptions &switches = program.switches;
  double off = pick<double>({0, 0.1, 0.1, 0.5}), on = pick<double>({0, 0, 0.5});
  PipelineOptions defaults;
  defaults.forGpu = onWarps || !gpu.empty();
  for (llvm::StringRef pass : optimizingPasses()) {
    bool runs = defaults.isEnabled(pass);
    if (runs && chance(off))
      switches.disabledPasses.push_back(pass.str());
    else if (!runs && chance(on))
      switches.enabledPasses.push_back(pass.str());
  }
  // Sums over two axes element by element, and all elements at once, fit no
  // multiprocessor.
  if (defaults.forGpu &&
      llvm::is_contained(switches.disabledPasses, "attn-unroll-sums"))
    llvm::erase(switches.disabledPasses, "tile-slice-reductions");
  for (const std::string &pass : passes) {
    llvm::erase(switches.disabledPasses, pass);
    if (!llvm::is_contained(switches.enabledPasses, pass))
      switches.enabledPasses.push_back(pass);
  }
  switches.normalizeEachStep = chance(0.15);
  switches.programPerHead = chance(0.1);
  if (!gpu.empty()) {
    switches.forGpu = true;
    switches.target = gpu;
    return;
  }
  if (onWarps) {
    switches.forGpu = true;
    switches.target = pick<const char *>({"sm_80", "sm_86", "sm_89", "sm_90"});
    switches.splitReduced = chance(0.15);
    if (chance(0.2))
      switches = switches.forAnyStrides();
    return;
  }
  // Small tiles give small runs several blocks.
  if (chance(0.8))
    for (const char *axis : {"m", "n"})
      if (axis != std::string("n") || loopTile == 0)
        switches.tileSizes.push_back(
            axis +
            ("=" + std::to_string(pick<int>({8, 8, 16, 16, 24, 32, 64}))));
}

/// A size for rows or keys of tiles of `tile`.
static int64_t drawLength(Random &random, int64_t tile, int64_t most) {
  int64_t lengths[] = {tile - 1, tile,         tile + 1,
                       2 * tile, 2 * tile + 3, 3 * tile - 1};
  int64_t length;
  switch (random.below(10)) {
  case 0:
    length = random.below(4); // 0, 1, 2, 3
    break;
  case 1:
  case 2:
    length = 1 + 2 * random.below(tile); // odd
    break;
  case 3:
    length = 1 + random.below(3 * tile);
    break;
  default:
    length = lengths[random.below(6)];
  }
  return std::min(length, most);
}

void Generator::chooseRuns() {
  auto tileOf = [&](const char *axis) {
    for (llvm::StringRef tile : program.switches.tileSizes)
      if (tile.consume_front(axis) && tile.consume_front("="))
        return std::stoll(tile.str());
    return onWarps ? 16LL : 64LL;
  };
  auto width = [&] {
    int64_t small = pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 16, 16});
    return onWarps || chance(0.7) ? small
                                  : pick<int64_t>({20, 24, 32, 33, 40, 64, 64,
                                                   72, 80, 96, 128, 136});
  };
  int64_t D = width(), E = width(), R = 1 + random.below(12);
  if (!onWarps && chance(0.1))
    R = 1 + random.below(80);
  // Of all runs: an output's axis that no score has must be known.
  int64_t G = 1 + random.below(2);
  int64_t H = grouped ? G * (1 + random.below(3)) : 1 + random.below(3);
  if (onWarps)
    H = grouped ? 2 * G : 1;
  if (chance(0.03))
    H = 0;
  for (unsigned number = 0; number < kRuns; ++number) {
    RunShape run;
    // Threads take long: several blocks of keys seldom.
    int64_t most = onWarps && chance(0.95) ? 40 : 140;
    int64_t M = drawLength(random, tileOf("m"), most);
    int64_t N = drawLength(random, tileOf("n"), most);
    int64_t B = chance(0.03) ? 0 : 1 + random.below(onWarps ? 1 : 2);
    run.sizes = {{"B", B},
                 {"H", H},
                 {"G", G},
                 {"M", M},
                 {"N", N},
                 {"S", M},
                 {"D", D},
                 {"E", sharesSize ? D : E},
                 {"R", R},
                 {"P", 1 + random.below(20)},
                 {"L", 1 + random.below(40)}};
    if (!onWarps) {
      run.strides =
          pick<const char *>({"contiguous", "contiguous", "contiguous",
                              "permuted", "padded", "expanded", "reversed"});
      if (chance(0.02))
        run.strides = "far";
    }
    run.values = number == 0
                     ? "normal"
                     : pick<const char *>({"normal", "normal", "large", "equal",
                                           "outlier", "subnormal", "nan-rows",
                                           "nan-loop", "outside"});
    run.seed = random.next() >> 32;
    program.runs.push_back(std::move(run));
  }
}

/// Some sizes and scalars are constants of the code.
void Generator::bindSome() {
  // ptxas makes most of constants: where it runs there are more.
  double often = gpu.empty() ? pick<double>({0, 0, 0.2, 0.5})
                             : pick<double>({0, 0.3, 0.5, 0.8});
  for (const char *size : {"B", "M", "N", "S", "D"})
    // (An integer maximum over nothing is an error where that is known.)
    if (chance(often) && program.runs[0].sizes[size] > 0) {
      for (RunShape &run : program.runs)
        run.sizes[size] = program.runs[0].sizes[size];
      program.bound[size] = std::to_string(program.runs[0].sizes[size]);
    }
  for (const Param &param : program.params) {
    llvm::StringRef type = param.declaration;
    if (type.contains('[') || !chance(often))
      continue;
    // Often a multiple of a tile's size, which cuts no tile.
    int64_t number =
        chance(0.3) ? pick<int64_t>({16, 32, 64}) : 1 + random.below(20);
    program.bound[param.name] =
        type.starts_with("f32")    ? pick<const char *>({"0.5", "1.0", "3.0"})
        : type.starts_with("bool") ? pick<const char *>({"true", "false"})
                                   : std::to_string(number);
  }
}

} // namespace attentile::random
