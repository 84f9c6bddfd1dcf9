//===- Layout.cpp - where each element of a tile is -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace llvm;

namespace attentile::tile {

StringRef stringifyUnit(Unit unit) {
  switch (unit) {
  case Unit::Register:
    return "reg";
  case Unit::Lane:
    return "lane";
  case Unit::Warp:
    return "warp";
  case Unit::Offset:
    return "offset";
  }
  llvm_unreachable("unknown unit");
}

std::optional<Unit> symbolizeUnit(StringRef name) {
  return StringSwitch<std::optional<Unit>>(name)
      .Case("reg", Unit::Register)
      .Case("lane", Unit::Lane)
      .Case("warp", Unit::Warp)
      .Case("offset", Unit::Offset)
      .Default(std::nullopt);
}

static constexpr Unit kUnits[] = {Unit::Register, Unit::Lane, Unit::Warp,
                                  Unit::Offset};

/// The digits of one unit over all axes, by stride.
template <typename Axes> static auto collect(Axes &&axes, Unit unit) {
  SmallVector<decltype(&axes[0][0])> result;
  for (auto &axis : axes)
    for (auto &digit : axis)
      if (digit.unit == unit && digit.extent > 1)
        result.push_back(&digit);
  llvm::sort(result, [](const Digit *a, const Digit *b) {
    return a->stride < b->stride;
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

std::optional<std::string> Layout::findProblem(ArrayRef<Digits> axes) {
  bool offsets = false, registers = false;
  for (const Digits &axis : axes)
    for (const Digit &digit : axis) {
      if (digit.extent < 1 || digit.stride < 1)
        return ("expected a positive extent and stride, got " +
                Twine(digit.extent) + " " + stringifyUnit(digit.unit) + " " +
                Twine(digit.stride))
            .str();
      (digit.unit == Unit::Offset ? offsets : registers) = true;
    }
  if (offsets && registers)
    return "expected offsets alone or registers, lanes and warps, got both";
  for (Unit unit : kUnits) {
    int64_t end = 1; // what the digits so far tell apart
    for (const Digit *digit : collect(axes, unit)) {
      // Elements share a place unless each digit steps over all lesser ones.
      if (digit->stride < end || (unit != Unit::Offset && digit->stride % end))
        return ("expected each digit to step over those of smaller stride, " +
                Twine(end) + ", got " + Twine(digit->extent) + " " +
                stringifyUnit(unit) + " " + Twine(digit->stride))
            .str();
      end = digit->stride * digit->extent;
    }
    if (unit == Unit::Lane && end > kLanes)
      return ("expected lanes up to " + Twine(kLanes) + ", got " + Twine(end))
          .str();
  }
  return std::nullopt;
}

Layout::Layout(ArrayRef<Digits> given) : axes(given) {
  assert(!findProblem(given) && "expected digits that make a layout");
  int64_t next = 1;
  for (Digit *digit : collect(axes, Unit::Register)) {
    digit->stride = next;
    next *= digit->extent;
  }
  for (Digits &axis : axes) {
    Digits merged;
    for (const Digit &digit : axis) {
      if (digit.extent == 1)
        continue;
      if (!merged.empty() && merged.back().unit == digit.unit &&
          merged.back().stride * merged.back().extent == digit.stride)
        merged.back().extent *= digit.extent;
      else
        merged.push_back(digit);
    }
    axis = std::move(merged);
  }
}

Layout Layout::accumulator(int64_t rows, int64_t columns, int64_t warpRows,
                           int64_t warpColumns) {
  assert(rows % (16 * warpRows) == 0 && columns % (8 * warpColumns) == 0 &&
         "expected whole blocks of 16 x 8 for every warp");
  int64_t rowBlocks = rows / (16 * warpRows);
  int64_t columnBlocks = columns / (8 * warpColumns);
  Digits rowDigits = {{8, Unit::Lane, 4},
                      {2, Unit::Register, 2},
                      {rowBlocks, Unit::Register, 4 * columnBlocks},
                      {warpRows, Unit::Warp, 1}};
  Digits columnDigits = {{2, Unit::Register, 1},
                         {4, Unit::Lane, 1},
                         {columnBlocks, Unit::Register, 4},
                         {warpColumns, Unit::Warp, warpRows}};
  return Layout({rowDigits, columnDigits});
}

Layout Layout::rowMajor(int64_t rows, int64_t columns, int64_t pitch) {
  assert(pitch >= columns && "expected rows that do not overlap");
  return Layout({Digits{{rows, Unit::Offset, pitch}},
                 Digits{{columns, Unit::Offset, 1}}});
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

int64_t Layout::size(unsigned axis) const {
  int64_t product = 1;
  for (const Digit &digit : axes[axis])
    product *= digit.extent;
  return product;
}

int64_t Layout::size(unsigned axis, Unit unit) const {
  int64_t product = 1;
  for (const Digit &digit : axes[axis])
    if (digit.unit == unit)
      product *= digit.extent;
  return product;
}

int64_t Layout::registers() const { return distinct(Unit::Register); }

int64_t Layout::distinct(Unit unit) const {
  int64_t product = 1;
  for (unsigned axis = 0; axis < rank(); ++axis)
    product *= size(axis, unit);
  return product;
}

llvm::SmallVector<Digit> Layout::copies(Unit unit, int64_t end) const {
  SmallVector<std::pair<int64_t, int64_t>> named; // stride, extent
  for (const Digits &axis : axes)
    for (const Digit &digit : axis)
      if (digit.unit == unit)
        named.push_back({digit.stride, digit.extent});
  named.push_back({end, 1});
  llvm::sort(named);
  SmallVector<Digit> result;
  int64_t covered = 1;
  for (auto [stride, extent] : named) {
    if (stride > covered)
      result.push_back({stride / covered, unit, covered});
    covered = stride * extent;
  }
  return result;
}

static int64_t &fieldOf(Place &place, Unit unit) {
  switch (unit) {
  case Unit::Register:
    return place.reg;
  case Unit::Lane:
    return place.lane;
  case Unit::Warp:
    return place.warp;
  case Unit::Offset:
    return place.offset;
  }
  llvm_unreachable("unknown unit");
}

Place Layout::placeOf(ArrayRef<int64_t> position) const {
  assert(position.size() == rank() && "expected a number for each axis");
  Place place;
  for (auto [axis, rest] : llvm::zip_equal(axes, position)) {
    int64_t value = rest;
    for (const Digit &digit : axis) {
      fieldOf(place, digit.unit) += value % digit.extent * digit.stride;
      value /= digit.extent;
    }
    assert(value == 0 && "expected a position within the axis");
  }
  return place;
}

/// The least stride of that unit above `stride`, or nothing.
static std::optional<int64_t> strideAbove(ArrayRef<Layout::Digits> axes,
                                          Unit unit, int64_t stride) {
  std::optional<int64_t> least;
  for (const Layout::Digits &axis : axes)
    for (const Digit &digit : axis)
      if (digit.unit == unit && digit.stride > stride)
        least = std::min(least.value_or(digit.stride), digit.stride);
  return least;
}

SmallVector<int64_t> Layout::positionOf(const Place &place) const {
  Place from = place;
  SmallVector<int64_t> position;
  for (const Digits &axis : axes) {
    int64_t value = 0, worth = 1;
    for (const Digit &digit : axis) {
      int64_t rest = fieldOf(from, digit.unit);
      if (auto above = strideAbove(axes, digit.unit, digit.stride))
        rest %= *above;
      value += rest / digit.stride % digit.extent * worth;
      worth *= digit.extent;
    }
    position.push_back(value);
  }
  return position;
}

Layout Layout::slice(ArrayRef<unsigned> kept) const {
  assert(llvm::is_sorted(kept) && "expected axes in their order");
  return permute(kept);
}

Layout Layout::permute(ArrayRef<unsigned> order) const {
  SmallVector<Digits> result;
  for (unsigned axis : order)
    result.push_back(axes[axis]);
  return Layout(result);
}

std::string Layout::str() const {
  std::string text;
  raw_string_ostream os(text);
  llvm::interleaveComma(axes, os, [&](const Digits &axis) {
    os << '[';
    llvm::interleaveComma(axis, os, [&](const Digit &digit) {
      os << digit.extent << ' ' << stringifyUnit(digit.unit) << ' '
         << digit.stride;
    });
    os << ']';
  });
  return text;
}

hash_code hash_value(const Digit &digit) {
  return hash_combine(digit.extent, digit.unit, digit.stride);
}

hash_code hash_value(const Layout &layout) {
  hash_code code = hash_combine(layout.rank());
  for (const Layout::Digits &axis : layout.allDigits())
    code = hash_combine(code, hash_combine_range(axis.begin(), axis.end()));
  return code;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// What all banks together deliver at a time, and what ldmatrix reads of a row.
static constexpr int64_t kBankBytes = 128, kChunkBytes = 16;

SharedLayout SharedLayout::forRows(int64_t columns, int64_t bytes) {
  int64_t rowBytes = llvm::alignTo(columns * bytes, kChunkBytes);
  SharedLayout layout;
  layout.chunk = kChunkBytes / bytes;
  // Factors of 32 bits are read element by element where k is not contiguous.
  // Without a permutation a thread's elements lie constants apart: one address
  // serves all, where a permuted row needs nearly one for each.
  bool permute = bytes < 4;
  if (permute && rowBytes % kBankBytes == 0) {
    layout.period = kBankBytes / kChunkBytes;
  } else if (permute && llvm::isPowerOf2_64(rowBytes)) {
    layout.rows = kBankBytes / rowBytes;
    layout.period = rowBytes / kChunkBytes;
  } else if (rowBytes / kChunkBytes % 2 == 0) {
    rowBytes += kChunkBytes;
  }
  layout.pitch = rowBytes / bytes;
  return layout;
}

SharedLayout SharedLayout::forScores(int64_t columns, int64_t bytes) {
  SharedLayout layout = forRows(columns, bytes);
  if (bytes == 4)
    while (layout.pitch / layout.chunk % 4 != 2)
      layout.pitch += layout.chunk;
  return layout;
}

std::optional<std::string> SharedLayout::findProblem(int64_t columns,
                                                     int64_t bytes) const {
  if (chunk * bytes != kChunkBytes)
    return ("expected chunks of 16 bytes, got " + Twine(chunk * bytes)).str();
  if (pitch < columns || pitch % chunk)
    return ("expected a pitch of whole chunks of at least " + Twine(columns) +
            " elements, got " + Twine(pitch))
        .str();
  if (rows < 1 || period < 1 || !llvm::isPowerOf2_64(period) ||
      pitch / chunk % period)
    return ("expected a row's " + Twine(pitch / chunk) +
            " chunks to be a multiple of the period, a power of two, got " +
            Twine(period))
        .str();
  return std::nullopt;
}

int64_t SharedLayout::offsetOf(int64_t row, int64_t column) const {
  int64_t permuted = (column / chunk) ^ (row / rows % period);
  return row * pitch + permuted * chunk + column % chunk;
}

} // namespace attentile::tile
