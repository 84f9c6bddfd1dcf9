//===- ExplainReport.cpp - what attentile explain says --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace attentile {
namespace {

/// 1234567 as "1.23 M": three digits and a unit's prefix.
std::string amount(double number) {
  static constexpr const char *prefixes[] = {"", " k", " M", " G", " T", " P"};
  size_t prefix = 0;
  for (; std::abs(number) >= 1000 && prefix + 1 < std::size(prefixes); ++prefix)
    number /= 1000;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (prefix == 0 && number == std::floor(number))
    os << int64_t(number);
  else
    os << llvm::format("%.3g", number) << prefixes[prefix];
  return text;
}

double sum(llvm::ArrayRef<GridFigures> grids, double GridFigures::*member) {
  double total = 0;
  for (const GridFigures &grid : grids)
    total += grid.*member;
  return total;
}

double traffic(llvm::ArrayRef<GridFigures> grids) {
  return sum(grids, &GridFigures::readBytes) +
         sum(grids, &GridFigures::writtenBytes);
}

} // namespace

std::vector<std::pair<std::string, std::string>>
describe(const GridFigures &grid, const Explained &explained) {
  std::vector<std::pair<std::string, std::string>> lines;
  auto line = [&](const char *name, auto print) {
    llvm::raw_string_ostream os(lines.emplace_back(name, "").second);
    print(os);
  };
  using OS = llvm::raw_ostream;
  line("tiles", [&](OS &os) {
    llvm::interleave(
        grid.tiles, os,
        [&](const auto &tile) { os << tile.first << ' ' << tile.second; },
        ", ");
  });
  line("programs", [&](OS &os) { os << amount(grid.programs); });
  line("blocks", [&](OS &os) {
    os << (grid.isUpperBound ? "up to " : "") << amount(grid.blocks) << " of "
       << amount(grid.totalBlocks) << ", "
       << (grid.isUpperBound ? "up to " : "") << amount(grid.maskedBlocks)
       << " of them evaluate a mask";
  });
  line("matrix products", [&](OS &os) { os << amount(grid.flops) << "FLOP"; });
  line("exponentials", [&](OS &os) { os << amount(grid.exponentials); });
  line("asked of the cache", [&](OS &os) {
    os << amount(grid.readBytes) << "B read, " << amount(grid.writtenBytes)
       << "B written";
  });
  line("at least of memory",
       [&](OS &os) { os << amount(grid.leastBytes) << "B"; });
  if (grid.leastBytes > 0)
    line("intensity", [&](OS &os) {
      os << llvm::format("%.0f", grid.flops / grid.leastBytes)
         << " FLOP a byte of memory";
    });
  if (grid.threads == 0)
    return lines;
  const Machine *machine = explained.machine;
  line("a block takes", [&](OS &os) {
    os << grid.threads << " threads of " << grid.registers
       << " registers (predicted), " << grid.sharedBytes
       << " bytes of shared memory";
  });
  line("at a time", [&](OS &os) {
    Occupancy occupancy =
        occupancyOf(grid, *machine, explained.multiprocessors);
    os << occupancy.blocks << " on a multiprocessor, for its "
       << occupancy.limit << "; " << llvm::format("%.3g", occupancy.waves)
       << " waves on " << explained.multiprocessors;
  });
  line("least time", [&](OS &os) {
    Bound bound = boundOf(grid, *machine);
    os << llvm::format("%.3g", bound.seconds * 1e3) << " ms on "
       << machine->name << ", set by " << bound.limit;
  });
  return lines;
}

std::string compareUnfused(const Explained &explained) {
  double ours = traffic(explained.grids), theirs = traffic(explained.unfused);
  if (ours <= 0)
    return {};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "unfused, every block: " << amount(theirs) << "B asked of the cache, "
     << llvm::format("%.3g", theirs / ours) << " times as many";
  return text;
}

} // namespace attentile
