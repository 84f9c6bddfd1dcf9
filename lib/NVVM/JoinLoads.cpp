//===- JoinLoads.cpp - what a program reads of one row, at once -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: of what a program loads from one row of a workspace at constant places,
//   such as the head of a list of blocks and its first entry, asks for all
//   where it asks for the first, and for those of 16 bytes by one load.
// Expects: registers, no fragments.
// Leaves: equal loads in branches and loops behind (CSE merges them).
// Does not handle: elements of other widths than 32 bits; tensors of a caller,
//   whose rows start at any address.
//
// ptxas moves a load down to where its value is used, behind the copies whose
// addresses wait for the first: a list then costs three times the time that
// memory takes to answer. It cannot part what one instruction loads.
//
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPJOINLOADS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Elements of 32 bits that one load has.
constexpr int64_t kPacket = 4;

/// The loads of one row, by their places in it.
using Row = std::map<int64_t, SmallVector<warp::LoadOp>>;

/// The place of a load in its workspace's row, if it is a constant.
std::optional<int64_t> placeOf(warp::LoadOp load) {
  Type type = load.getType();
  if (load.getDim() || load.getIndices().size() < 2 || load.getByElement() ||
      isa<BlockArgument>(load.getTensor()) ||
      !(type.isInteger(32) || type.isF32()))
    return std::nullopt;
  APInt place;
  if (!matchPattern(load.getIndices().back(), m_ConstantInt(&place)) ||
      place.isNegative())
    return std::nullopt;
  return place.getSExtValue();
}

/// The load of `count` elements from `place` on, made like `first`.
warp::LoadOp loadFrom(OpBuilder &builder, warp::LoadOp first, int64_t place,
                      int64_t count) {
  Value at = arith::ConstantIndexOp::create(builder, first.getLoc(), place);
  auto load = cast<warp::LoadOp>(builder.clone(*first));
  load.getIndicesMutable()[first.getIndices().size() - 1].assign(at);
  if (count > 1)
    load.getResult().setType(VectorType::get({count}, first.getType()));
  return load;
}

void join(const Row &row) {
  warp::LoadOp first;
  for (auto &[place, loads] : row)
    for (warp::LoadOp load : loads)
      if (!first || load->isBeforeInBlock(first))
        first = load;
  OpBuilder builder(first);
  for (auto from = row.begin(); from != row.end();) {
    int64_t start = from->first / kPacket * kPacket;
    auto to = row.lower_bound(start + kPacket);
    bool isOne = std::next(from) == to;
    warp::LoadOp load = loadFrom(builder, first, isOne ? from->first : start,
                                 isOne ? 1 : kPacket);
    SmallVector<Value> registers =
        nvvm::splitRegisters(builder, load.getLoc(), load.getResult());
    for (; from != to; ++from)
      for (warp::LoadOp old : from->second) {
        old.replaceAllUsesWith(registers[isOne ? 0 : from->first - start]);
        if (old != first)
          old.erase();
      }
  }
  first.erase();
}

struct WarpJoinLoads : impl::WarpJoinLoadsBase<WarpJoinLoads> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) {
      // By the row and what is known of it.
      llvm::MapVector<std::pair<SmallVector<Value>, Attribute>, Row> rows;
      for (auto load : kernel.getBody().getOps<warp::LoadOp>())
        if (std::optional<int64_t> place = placeOf(load)) {
          SmallVector<Value> row = {load.getTensor()};
          llvm::append_range(row, load.getIndices().drop_back());
          rows[{row, load.getInBoundsAttr()}][*place].push_back(load);
        }
      for (auto &[key, row] : rows)
        if (row.size() > 1)
          join(row);
    });
  }
};

} // namespace
} // namespace attentile
