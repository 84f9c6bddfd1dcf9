//===- EmitReductions.cpp - tile-to-warp: reductions ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An axis that is reduced away takes its digits with it: those of registers
// are combined within the thread, those of lanes by shuffles, those of warps
// through shared memory. Lanes and warps that no digit names hold copies and
// take no part, so nothing is counted twice.
//
//===----------------------------------------------------------------------===//

#include "WarpEmitter.h"
#include <numeric>

using namespace mlir;

namespace attentile {

Value WarpEmitter::combine(attn::ReduceKind kind, Value a, Value b) {
  bool isFloat = isa<FloatType>(warp::getElementType(a.getType()));
  switch (kind) {
  case attn::ReduceKind::Sum:
    if (isFloat)
      return arith::AddFOp::create(builder, loc, a, b);
    return arith::AddIOp::create(builder, loc, a, b);
  case attn::ReduceKind::Max:
    if (isFloat)
      return arith::MaximumFOp::create(builder, loc, a, b);
    return arith::MaxSIOp::create(builder, loc, a, b);
  case attn::ReduceKind::Min:
    if (isFloat)
      return arith::MinimumFOp::create(builder, loc, a, b);
    return arith::MinSIOp::create(builder, loc, a, b);
  case attn::ReduceKind::Ref:
    return arith::MaxNumFOp::create(builder, loc, a, b);
  case attn::ReduceKind::Any:
    return arith::OrIOp::create(builder, loc, a, b);
  case attn::ReduceKind::All:
    return arith::AndIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("unknown reduction");
}

Value WarpEmitter::combineAll(attn::ReduceKind kind,
                              SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> half;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      half.push_back(combine(kind, values[i], values[i + 1]));
    if (values.size() % 2)
      half.push_back(values.back());
    values = std::move(half);
  }
  return values.front();
}

/// Over the lanes of a digit, both powers of two.
Value WarpEmitter::reduceOverLanes(attn::ReduceKind kind, Value value,
                                   const tile::Digit &digit) {
  for (int64_t mask = digit.stride; mask < digit.stride * digit.extent;
       mask *= 2)
    value = combine(kind, value,
                    warp::ShuffleXorOp::create(builder, loc, value.getType(),
                                               value, mask));
  return value;
}

LogicalResult WarpEmitter::emitReduce(tile::ReduceOp reduce) {
  RankedTensorType type = reduce.getOperand().getType();
  if (!tile::getFragment(type))
    return reduce.emitError("expected an operand in registers, got ") << type;
  tile::Layout layout = layoutOf(type);
  SmallVector<unsigned> kept;
  SmallVector<tile::Digit> dropped;
  for (auto [i, axis] : llvm::enumerate(tile::getAxes(type)))
    if (llvm::is_contained(reduce.getOver(), Attribute(axis)))
      llvm::append_range(dropped, layout.digits(i));
    else
      kept.push_back(i);
  tile::Layout result = layout.slice(kept);

  // Within the thread.
  SmallVector<SmallVector<Value>> groups(result.registers());
  for (auto [reg, element] :
       llvm::enumerate(elements(get(reduce.getOperand())))) {
    SmallVector<int64_t> whole = layout.positionOf({.reg = int64_t(reg)}), part;
    for (unsigned axis : kept)
      part.push_back(whole[axis]);
    groups[result.placeOf(part).reg].push_back(element);
  }
  SmallVector<Value> partial;
  for (SmallVector<Value> &group : groups)
    partial.push_back(combineAll(reduce.getKind(), std::move(group)));
  Value vector = fromElements(partial);

  SmallVector<tile::Digit> overWarps;
  for (const tile::Digit &digit : dropped) {
    if (digit.unit == tile::Unit::Warp)
      overWarps.push_back(digit);
    if (digit.unit != tile::Unit::Lane)
      continue;
    if (!llvm::isPowerOf2_64(digit.extent) ||
        !llvm::isPowerOf2_64(digit.stride))
      return reduce.emitError("expected lanes in powers of two, got ") << type;
    vector = reduceOverLanes(reduce.getKind(), vector, digit);
  }
  if (!overWarps.empty())
    vector = reduceOverWarps(reduce.getKind(), vector, result, overWarps);
  // A tile's layout is that slice, as tile.reduce's verifier has checked.
  set(reduce, kept.empty() ? elements(vector).front() : vector);
  return success();
}

/// The rows of a warp decide together: all of its lanes have a row or a copy of
/// one, and no other warp has them, or one that holds the same values does.
LogicalResult WarpEmitter::emitVote(tile::VoteOp vote) {
  Value operand = get(vote.getOperand());
  Value all = isa<VectorType>(operand.getType())
                  ? combineAll(attn::ReduceKind::All, elements(operand))
                  : operand;
  set(vote, warp::VoteAllOp::create(builder, loc, all));
  return success();
}

/// The same rows: those that the warp's lanes have. Of their own indices the
/// first and the last are known.
LogicalResult WarpEmitter::emitReduceGroup(tile::ReduceGroupOp reduce) {
  tile::Layout layout = layoutOf(reduce.getOperand().getType());
  ArrayRef<tile::Digit> digits = layout.digits(0);
  auto index = reduce.getOperand().getDefiningOp<tile::IndexOp>();
  bool isMax = reduce.getKind() == attn::ReduceKind::Max;
  if (index && (isMax || reduce.getKind() == attn::ReduceKind::Min)) {
    int64_t last = 0, worth = 1;
    for (const tile::Digit &digit : digits) {
      if (digit.unit != tile::Unit::Warp)
        last += (digit.extent - 1) * worth;
      worth *= digit.extent;
    }
    Value first =
        sum(get(index.getBase()), threadPart(digits, ThreadUnits::Warp));
    set(reduce, isMax ? sum(first, constant(last)) : first);
    return success();
  }
  Value value =
      combineAll(reduce.getKind(), elements(get(reduce.getOperand())));
  for (const tile::Digit &digit : digits)
    if (digit.unit == tile::Unit::Lane)
      value = reduceOverLanes(reduce.getKind(), value, digit);
  // Equal in all lanes, as ptxas sees of a value that one lane hands out: it
  // then has registers of its own for it, one for all lanes.
  set(reduce, warp::ShuffleFromOp::create(builder, loc, value.getType(), value,
                                          constant(0)));
  return success();
}

WarpEmitter::Peers WarpEmitter::peersOf(ArrayRef<tile::Digit> digits) {
  Peers peers;
  peers.base = warp;
  for (const tile::Digit &digit : digits) {
    Value own = threadPart(digit, ThreadUnits::Warp);
    own = arith::MulIOp::create(builder, loc, own, constant(digit.stride));
    peers.base = arith::SubIOp::create(builder, loc, peers.base, own);
    SmallVector<int64_t> next;
    for (int64_t value = 0; value < digit.extent; ++value)
      for (int64_t offset : peers.offsets)
        next.push_back(offset + value * digit.stride);
    peers.offsets = std::move(next);
  }
  return peers;
}

/// How many registers go through shared memory side by side: 16 bytes where
/// that can be.
static int64_t packetOf(Type element, int64_t registers) {
  if (!element.isF32())
    return 1;
  return registers % 4 == 0 ? 4 : registers % 2 == 0 ? 2 : 1;
}

Value WarpEmitter::reduceOverWarps(attn::ReduceKind kind, Value vector,
                                   const tile::Layout &layout,
                                   ArrayRef<tile::Digit> digits) {
  // Registers go in portions, so that the buffer stays small.
  constexpr int64_t kPortion = 32;
  Type element = warp::getElementType(vector.getType());
  int64_t registers = warp::getNumRegisters(vector.getType());
  int64_t portion = std::min(registers, kPortion);
  int64_t packet = packetOf(element, std::gcd(registers, portion));
  Type packetType = packet == 1 ? element : VectorType::get({packet}, element);
  // Of lanes that hold copies one writes, and all read what it wrote.
  SmallVector<tile::Digit> ofLanes;
  int64_t lanes = 1;
  bool isOfWarps = false;
  for (const tile::Layout::Digits &axis : layout.allDigits())
    for (const tile::Digit &digit : axis) {
      isOfWarps |= digit.unit == tile::Unit::Warp;
      if (digit.unit == tile::Unit::Lane) {
        ofLanes.push_back(digit);
        lanes *= digit.extent;
      }
    }
  Value own = threadPart(ofLanes, ThreadUnits::Lane);
  if (own && packet != 1)
    own = arith::MulIOp::create(builder, loc, own, constant(packet));
  Value writes = isFirstHolder(layout, ThreadUnits::Lane);
  int64_t chunk = 16 / warp::getElementBytes(element);
  Value buffer = makeWarpRows(llvm::alignTo(portion * lanes, chunk), element);
  Peers peers = peersOf(digits);
  // Where all warps have the result they read what the first ones wrote, those
  // with copies too: what is made of it is seen to be the same for all.
  if (!isOfWarps)
    peers.base = constant(0);
  SmallVector<Value> values = elements(vector);
  for (int64_t first = 0; first < registers; first += portion) {
    int64_t last = std::min(registers, first + portion);
    // What the buffer held before, in an earlier portion or iteration, has been
    // read by all.
    if (first != 0 || isInLoop())
      warp::BarrierOp::create(builder, loc);
    auto place = [&](int64_t reg) {
      Value result = offset(own, (reg - first) * lanes);
      return result ? result : constant(0);
    };
    for (int64_t reg = first; reg < last; reg += packet) {
      ArrayRef<Value> own = ArrayRef(values).slice(reg, packet);
      warp::StoreSharedOp::create(
          builder, loc, packet == 1 ? own.front() : fromElements(own), buffer,
          ValueRange{warp, place(reg)}, writes);
    }
    warp::BarrierOp::create(builder, loc); // all have written
    for (int64_t reg = first; reg < last; reg += packet) {
      Value result;
      for (int64_t peer : peers.offsets) {
        Value part = warp::LoadSharedOp::create(
            builder, loc, packetType, buffer,
            ValueRange{offset(peers.base, peer), place(reg)});
        result = result ? combine(kind, result, part) : part;
      }
      if (packet == 1)
        values[reg] = result;
      else
        llvm::copy(elements(result), values.begin() + reg);
    }
  }
  return fromElements(values);
}

} // namespace attentile
