//===- LayoutTest.cpp - tests of Tile/Layout.h ----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragments are compared with the formulas of the PTX manual, element by
// element; shared layouts with the banks, access by access.
//
//===----------------------------------------------------------------------===//

#include "Tile/Layout.h"
#include "gtest/gtest.h"
#include <array>
#include <set>

using namespace attentile::tile;
using Digits = Layout::Digits;

/// The tile of Layout.h's comment.
static Layout scores() { return Layout::accumulator(64, 64, 4, 1); }

TEST(Layout, WorkedExample) {
  EXPECT_EQ(scores().str(),
            "[8 lane 4, 2 reg 2, 4 warp 1], [2 reg 1, 4 lane 1, 8 reg 4]");
  Place place = scores().placeOf({29, 13});
  EXPECT_EQ(place.warp, 1);
  EXPECT_EQ(place.lane, 22);
  EXPECT_EQ(place.reg, 7);
  EXPECT_EQ(scores().positionOf(place), (llvm::SmallVector<int64_t>{29, 13}));
  EXPECT_EQ(scores().registers(), 32);
  EXPECT_EQ(scores().slice(0).str(), "[8 lane 4, 2 reg 1, 4 warp 1]");
}

/// mma.m16n8's accumulators, from the PTX manual: register i of a lane.
static std::pair<int64_t, int64_t> accumulatorElement(int64_t i, int64_t lane) {
  int64_t group = lane / 4, inGroup = lane % 4;
  return {i < 2 ? group : group + 8, inGroup * 2 + i % 2};
}

/// mma.m16n8k16's left operand of 16-bit elements, from the PTX manual.
static std::pair<int64_t, int64_t> operandElement(int64_t i, int64_t lane) {
  int64_t group = lane / 4, inGroup = lane % 4;
  bool first = (i >= 0 && i < 2) || (i >= 4 && i < 6);
  return {first ? group : group + 8,
          i < 4 ? inGroup * 2 + i % 2 : inGroup * 2 + i % 2 + 8};
}

struct Shape {
  int64_t rows, columns, warpRows, warpColumns;
};
static const Shape shapes[] = {{16, 8, 1, 1},  {64, 64, 4, 1},  {128, 64, 4, 1},
                               {64, 80, 4, 1}, {64, 512, 4, 2}, {16, 96, 1, 4}};

TEST(Layout, AccumulatorIsThatOfTheManual) {
  for (const Shape &shape : shapes) {
    Layout layout = Layout::accumulator(shape.rows, shape.columns,
                                        shape.warpRows, shape.warpColumns);
    EXPECT_EQ(layout.size(0), shape.rows);
    EXPECT_EQ(layout.size(1), shape.columns);
    int64_t rowBlocks = shape.rows / 16 / shape.warpRows;
    int64_t columnBlocks = shape.columns / 8 / shape.warpColumns;
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t column = 0; column < shape.columns; ++column) {
        Place place = layout.placeOf({row, column});
        auto [inRow, inColumn] = accumulatorElement(place.reg % 4, place.lane);
        int64_t block = place.reg / 4;
        int64_t warpRow = place.warp % shape.warpRows;
        int64_t warpColumn = place.warp / shape.warpRows;
        EXPECT_EQ(row,
                  inRow + 16 * (block / columnBlocks + rowBlocks * warpRow));
        EXPECT_EQ(column, inColumn + 8 * (block % columnBlocks +
                                          columnBlocks * warpColumn));
      }
  }
}

TEST(Layout, AccumulatorIsTheNextLeftOperand) {
  for (const Shape &shape : shapes) {
    if (shape.columns % 16)
      continue;
    Layout layout = Layout::accumulator(shape.rows, shape.columns,
                                        shape.warpRows, shape.warpColumns);
    for (int64_t lane = 0; lane < Layout::kLanes; ++lane)
      for (int64_t reg = 0; reg < layout.registers(); ++reg) {
        llvm::SmallVector<int64_t> position =
            layout.positionOf({reg, lane, 0, 0});
        auto [row, column] = operandElement(reg % 8, lane);
        EXPECT_EQ(position[0] % 16, row);
        EXPECT_EQ(position[1] % 16, column);
      }
  }
}

/// Every element has one place, and every place, taken back, its element.
static void checkInverse(const Layout &layout) {
  std::set<std::array<int64_t, 4>> seen;
  for (int64_t row = 0; row < layout.size(0); ++row)
    for (int64_t column = 0; column < layout.size(1); ++column) {
      Place place = layout.placeOf({row, column});
      EXPECT_TRUE(seen.insert({place.reg, place.lane, place.warp, place.offset})
                      .second);
      EXPECT_LT(place.reg, layout.registers());
      EXPECT_EQ(layout.positionOf(place),
                (llvm::SmallVector<int64_t>{row, column}));
    }
}

TEST(Layout, PlacesAreInverse) {
  for (const Shape &shape : shapes)
    checkInverse(Layout::accumulator(shape.rows, shape.columns, shape.warpRows,
                                     shape.warpColumns));
  checkInverse(Layout::rowMajor(16, 80, 88));
}

TEST(Layout, SlicesOfDifferentTilesAreEqual) {
  Layout scores = Layout::accumulator(128, 64, 4, 1);
  Layout output = Layout::accumulator(128, 80, 4, 1);
  EXPECT_EQ(scores.slice(0), output.slice(0));
  EXPECT_EQ(scores.slice(0).registers(), 4);
  EXPECT_EQ(scores.slice(0).str(),
            "[8 lane 4, 4 reg 1, 4 warp 1]"); // both row halves, both blocks
  EXPECT_EQ(scores.slice(1).str(), "[2 reg 1, 4 lane 1, 8 reg 2]");
  EXPECT_FALSE(scores.slice(0) == Layout::accumulator(64, 64, 4, 1).slice(0));
  // Columns of which each warp has a part leave rows that all have.
  EXPECT_EQ(Layout::accumulator(64, 512, 4, 2).slice(0),
            Layout::accumulator(64, 32, 4, 1).slice(0));
}

TEST(Layout, CopiesHaveOneElement) {
  Layout rows = scores().slice(0);
  EXPECT_EQ(rows.distinct(Unit::Lane), 8);
  EXPECT_EQ(rows.distinct(Unit::Warp), 4);
  for (int64_t lane = 0; lane < Layout::kLanes; ++lane)
    EXPECT_EQ(rows.positionOf({0, lane, 2, 0})[0], 32 + lane / 4);
  Layout columns = scores().slice(1);
  EXPECT_EQ(columns.distinct(Unit::Lane), 4);
  EXPECT_EQ(columns.distinct(Unit::Warp), 1);
  EXPECT_EQ(columns.positionOf({1, 22, 3, 0})[0], 5);
}

TEST(Layout, NormalForm) {
  Layout merged({Digits{{32, Unit::Lane, 1}}});
  EXPECT_EQ(Layout({Digits{{4, Unit::Lane, 1}, {8, Unit::Lane, 4}}}), merged);
  EXPECT_EQ(Layout({Digits{{32, Unit::Lane, 1}, {1, Unit::Warp, 1}}}), merged);
  EXPECT_FALSE(Layout({Digits{{8, Unit::Lane, 4}, {4, Unit::Lane, 1}}}) ==
               merged);
  // Registers without a name are not kept.
  EXPECT_EQ(Layout({Digits{{2, Unit::Register, 2}}, Digits{}}),
            Layout({Digits{{2, Unit::Register, 1}}, Digits{}}));
  EXPECT_EQ(
      hash_value(merged),
      hash_value(Layout({Digits{{4, Unit::Lane, 1}, {8, Unit::Lane, 4}}})));
}

TEST(Layout, Problems) {
  auto problem = [](Digits digits) {
    return Layout::findProblem({digits}).value_or("");
  };
  EXPECT_EQ(problem({{8, Unit::Lane, 4}}), "");
  EXPECT_EQ(problem({{0, Unit::Lane, 1}}),
            "expected a positive extent and stride, got 0 lane 1");
  EXPECT_EQ(problem({{8, Unit::Lane, 8}}), "expected lanes up to 32, got 64");
  EXPECT_EQ(problem({{8, Unit::Lane, 1}, {2, Unit::Lane, 4}}),
            "expected each digit to step over those of smaller stride, 8, got "
            "2 lane 4");
  EXPECT_EQ(problem({{8, Unit::Lane, 1}, {2, Unit::Offset, 1}}),
            "expected offsets alone or registers, lanes and warps, got both");
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The 16-byte columns of the banks that hold the chunks, no one twice?
static bool isFreeOfConflicts(const std::set<int64_t> &chunks) {
  std::set<int64_t> banks;
  for (int64_t chunk : chunks)
    if (!banks.insert(chunk % 8).second)
      return false;
  return true;
}

TEST(SharedLayout, LdmatrixMeetsEveryBankOnce) {
  for (int64_t bytes : {2, 4})
    for (int64_t columns = 16; columns <= 512; columns += 8) {
      SharedLayout layout = SharedLayout::forRows(columns, bytes);
      EXPECT_EQ(layout.findProblem(columns, bytes), std::nullopt) << columns;
      // One matrix of ldmatrix: a chunk of each of 8 rows below each other.
      for (int64_t row = 0; row < 64; row += 8)
        for (int64_t column = 0; column < columns; column += layout.chunk) {
          std::set<int64_t> chunks;
          for (int64_t i = 0; i < 8; ++i)
            chunks.insert(layout.offsetOf(row + i, column) / layout.chunk);
          EXPECT_TRUE(isFreeOfConflicts(chunks))
              << columns << " columns of " << bytes << " bytes";
        }
    }
}

TEST(SharedLayout, ThreadsReadScoresFromEveryBankOnce) {
  for (int64_t columns = 8; columns <= 256; columns += 8) {
    SharedLayout layout = SharedLayout::forScores(columns, 4);
    EXPECT_EQ(layout.findProblem(columns, 4), std::nullopt) << columns;
    // Half a warp reads two elements of 32 bits a lane: of four rows below each
    // other 32 bytes.
    for (int64_t row = 0; row < 16; row += 4)
      for (int64_t column = 0; column < columns; column += 8) {
        std::set<int64_t> banks;
        for (int64_t i = 0; i < 4; ++i)
          for (int64_t element = 0; element < 8; ++element)
            EXPECT_TRUE(
                banks.insert(layout.offsetOf(row + i, column + element) % 32)
                    .second)
                << columns << " columns";
        // What memory reads at once, 32 bytes, is written to such 32.
        EXPECT_EQ(layout.offsetOf(row, column) % 8, 0) << columns;
        EXPECT_EQ(layout.offsetOf(row + 1, column) % 8, 0) << columns;
      }
  }
  for (int64_t columns : {16, 48, 64})
    EXPECT_EQ(SharedLayout::forScores(columns, 2),
              SharedLayout::forRows(columns, 2));
}

TEST(SharedLayout, EveryElementHasItsOwnPlace) {
  for (int64_t bytes : {2, 4})
    for (int64_t columns : {8, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256}) {
      SharedLayout layout = SharedLayout::forRows(columns, bytes);
      std::set<int64_t> offsets;
      for (int64_t row = 0; row < 32; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          int64_t offset = layout.offsetOf(row, column);
          EXPECT_TRUE(offsets.insert(offset).second);
          EXPECT_EQ(offset / layout.pitch, row);
          // A chunk stays together, for copies of 16 bytes.
          EXPECT_EQ(offset % layout.chunk, column % layout.chunk);
        }
    }
}

TEST(SharedLayout, Problems) {
  auto problem = [](SharedLayout layout) {
    return layout.findProblem(64, 2).value_or("");
  };
  EXPECT_EQ(problem({64, 8, 1, 8}), "");
  EXPECT_EQ(problem({64, 4, 1, 8}), "expected chunks of 16 bytes, got 8");
  EXPECT_EQ(problem({32, 8, 1, 1}),
            "expected a pitch of whole chunks of at least 64 elements, got 32");
  EXPECT_EQ(problem({72, 8, 1, 2}),
            "expected a row's 9 chunks to be a multiple of the period, a power "
            "of two, got 2");
}
