//===- NaturalLayouts.cpp - where a kernel's tiles lie by themselves ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaturalLayouts.h"
#include <numeric>

using namespace mlir;

namespace attentile {

using tile::Layout;

/// Of what mma.m16n8 makes.
static constexpr int64_t kBlockRows = 16;

/// Over how many warps a column axis is spread.
int64_t NaturalLayouts::warpsOf(StringAttr column) const {
  if (axes.isReducedColumn(column))
    return warps.getSplitReduced();
  return axes.isKeptColumn(column) ? warps.getSplitColumns() : 1;
}

StringAttr NaturalLayouts::rowsOf(RankedTensorType type) const {
  if (tile::getAxisPosition(type, warps.getRows()))
    return warps.getRows();
  // Of few keys and many columns the columns: a block has 16 rows.
  for (auto [axis, size] :
       llvm::zip_equal(tile::getAxes(type), type.getShape()))
    if (size % kBlockRows == 0)
      return axis;
  return tile::getAxes(type).front();
}

/// A tile of too few rows and columns for a matrix instruction's block.
static tile::FragmentAttr wholeInEachLane(RankedTensorType type) {
  SmallVector<Layout::Digits> digits(type.getRank());
  int64_t registers = 1;
  for (unsigned axis = type.getRank(); axis-- > 0;) {
    digits[axis].push_back(
        {type.getDimSize(axis), tile::Unit::Register, registers});
    registers *= type.getDimSize(axis);
  }
  return tile::FragmentAttr::get(type.getContext(), Layout(digits));
}

tile::FragmentAttr NaturalLayouts::get(RankedTensorType type) const {
  MLIRContext *context = type.getContext();
  ArrayRef<StringAttr> names = tile::getAxes(type);
  bool hasRows = llvm::is_contained(names, warps.getRows());
  int64_t rowWarps = warps.getSplitRows();
  if (names.size() == 1) {
    int64_t size = type.getDimSize(0);
    Layout layout = hasRows
                        ? Layout::accumulator(size, 8, rowWarps, 1)
                        : Layout::accumulator(kBlockRows * rowWarps, size,
                                              rowWarps, warpsOf(names.front()));
    return tile::FragmentAttr::get(context, layout.slice(hasRows ? 0 : 1));
  }

  StringAttr rowAxis = rowsOf(type);
  unsigned row = *tile::getAxisPosition(type, rowAxis);
  unsigned column = row == 0 ? 1 : 0;
  int64_t rows = type.getDimSize(row), columns = type.getDimSize(column);
  int64_t columnWarps = hasRows ? warpsOf(names[column]) : 1;
  if (rows % kBlockRows != 0)
    return wholeInEachLane(type);
  if (!hasRows) // every warp a part, as far as there are blocks
    for (rowWarps = warps.getCount(); rows % (kBlockRows * rowWarps) != 0;)
      rowWarps /= 2;
  Layout block = Layout::accumulator(rows, columns, rowWarps, columnWarps);

  SmallVector<Layout::Digits> digits(type.getRank());
  digits[row].assign(block.digits(0).begin(), block.digits(0).end());
  digits[column].assign(block.digits(1).begin(), block.digits(1).end());
  int64_t registers = block.registers();
  for (auto [axis, size] : llvm::enumerate(type.getShape()))
    if (axis != row && axis != column) {
      digits[axis].push_back({size, tile::Unit::Register, registers});
      registers *= size;
    }
  return tile::FragmentAttr::get(context, Layout(digits));
}

tile::FragmentAttr NaturalLayouts::packets(MLIRContext *context, int64_t rows,
                                           int64_t columns, int64_t warps) {
  constexpr int64_t packet = 8, lanes = tile::Layout::kLanes;
  int64_t across = columns / packet;
  if (columns % packet || across > lanes || lanes % across)
    return {};
  int64_t down = lanes / across;
  if (rows % (down * warps))
    return {};
  tile::Layout::Digits row = {
      {down, tile::Unit::Lane, across},
      {rows / (down * warps), tile::Unit::Register, packet},
      {warps, tile::Unit::Warp, 1}};
  tile::Layout::Digits column = {{packet, tile::Unit::Register, 1},
                                 {across, tile::Unit::Lane, 1}};
  return tile::FragmentAttr::get(context, tile::Layout({row, column}));
}

tile::FragmentAttr NaturalLayouts::pieces(RankedTensorType type,
                                          int64_t warps) {
  constexpr int64_t packet = 8, lanes = tile::Layout::kLanes;
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  if (columns % packet)
    return {};
  int64_t across = std::gcd(columns / packet, lanes), down = lanes / across;
  if (rows % down)
    return {};
  int64_t part = std::gcd(rows / down, warps);
  int64_t right = columns / (packet * across);
  tile::Layout::Digits row = {
      {down, tile::Unit::Lane, across},
      {part, tile::Unit::Warp, 1},
      {rows / (down * part), tile::Unit::Register, packet * right}};
  tile::Layout::Digits column = {{packet, tile::Unit::Register, 1},
                                 {across, tile::Unit::Lane, 1},
                                 {right, tile::Unit::Register, packet}};
  return tile::FragmentAttr::get(type.getContext(),
                                 tile::Layout({row, column}));
}

tile::FragmentAttr NaturalLayouts::lanes(RankedTensorType type) {
  int64_t size = type.getDimSize(0);
  int64_t across = std::gcd(size, tile::Layout::kLanes);
  tile::Layout::Digits digits = {{across, tile::Unit::Lane, 1},
                                 {size / across, tile::Unit::Register, 1}};
  return tile::FragmentAttr::get(type.getContext(), tile::Layout({digits}));
}

tile::SharedAttr NaturalLayouts::shared(RankedTensorType type) {
  return tile::SharedAttr::get(
      type.getContext(),
      tile::SharedLayout::forRows(type.getShape().back(),
                                  type.getElementTypeBitWidth() / 8));
}

tile::SharedAttr NaturalLayouts::sharedForScores(RankedTensorType type) {
  return tile::SharedAttr::get(
      type.getContext(),
      tile::SharedLayout::forScores(type.getShape().back(),
                                    type.getElementTypeBitWidth() / 8));
}

std::optional<unsigned> rowsOfAccumulator(const Layout &result) {
  constexpr tile::Digit rows = {8, tile::Unit::Lane, 4};
  for (unsigned axis : {0, 1})
    if (!result.digits(axis).empty() && result.digits(axis).front() == rows)
      return axis;
  return std::nullopt;
}

bool isReadAsLeft(RankedTensorType left, RankedTensorType result) {
  const Layout of = tile::getFragment(result).getLayout();
  const Layout layout = tile::getFragment(left).getLayout();
  std::optional<unsigned> rows = rowsOfAccumulator(of);
  if (!rows)
    return false;
  unsigned row = *tile::getAxisPosition(left, tile::getAxes(result)[*rows]);
  ArrayRef<tile::Digit> columns = layout.digits(1 - row);
  return layout.slice(row) == of.slice(*rows) && columns.size() >= 2 &&
         columns[0] == tile::Digit{2, tile::Unit::Register, 1} &&
         columns[1] == tile::Digit{4, tile::Unit::Lane, 1};
}

} // namespace attentile
