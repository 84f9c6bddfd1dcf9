//===- EmitBallots.cpp - tile-to-warp: truths that lanes exchange ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BallotPlaces.h"
#include "WarpEmitter.h"

using namespace mlir;

namespace attentile {

Value WarpEmitter::exchangeTruths(Value vector, const tile::Layout &from,
                                  const tile::Layout &to) {
  std::optional<SmallVector<BallotPlace>> places = findBallotPlaces(from, to);
  if (!places)
    return {};
  Type word = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  Value part = threadPart(to, 0, ThreadUnits::Lane);
  if (part)
    part = arith::IndexCastOp::create(builder, loc, word, part);
  SmallVector<Value> words;
  for (Value truth : elements(vector)) {
    Value &ballot =
        words.emplace_back(warp::BallotOp::create(builder, loc, word, truth));
    if (part)
      ballot = arith::ShRUIOp::create(builder, loc, ballot, part);
  }
  SmallVector<Value> truths;
  for (BallotPlace place : *places) {
    Value bit = arith::AndIOp::create(builder, loc, words[place.word],
                                      number(int64_t(1) << place.bit));
    truths.push_back(arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, bit, number(0)));
  }
  return fromElements(truths);
}

} // namespace attentile
