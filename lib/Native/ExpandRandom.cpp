//===- ExpandRandom.cpp - Philox in arith ---------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: attn.philox, on scalars and vectors, to the seven rounds of
// multiplications and exclusive ors; attn.random to a call of it, of whose
// words it takes one. Expects: any program. Leaves: arith. Does not handle:
// calls that elements could share; who makes the elements shares them
// (warp-share-random, tile-to-loops).
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "attentile/Native/Passes.h"
#include "attentile/Native/Random.h"
#include "attentile/Philox.h"
#include "attentile/Splat.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNEXPANDRANDOM
#include "Native/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile::native {

static Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

static Value constant(OpBuilder &b, Location loc, Type type, uint64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute =
      b.getIntegerAttr(element, APInt(element.getIntOrFloatBitWidth(), value));
  return arith::ConstantOp::create(b, loc, splat(type, attribute));
}

Value lowWord(OpBuilder &b, Location loc, Value index) {
  return b.createOrFold<arith::IndexCastOp>(
      loc, withElement(index.getType(), b.getI32Type()), index);
}

std::array<Value, 2> keyWords(OpBuilder &b, Location loc, Value seed) {
  Type wide = withElement(seed.getType(), b.getI64Type());
  Type word = withElement(seed.getType(), b.getI32Type());
  Value whole = arith::IndexCastOp::create(b, loc, wide, seed);
  Value high =
      arith::ShRUIOp::create(b, loc, whole, constant(b, loc, wide, 32));
  return {arith::TruncIOp::create(b, loc, word, whole),
          arith::TruncIOp::create(b, loc, word, high)};
}

SmallVector<Value, 4> makeCall(OpBuilder &b, Location loc, ValueRange indices,
                               Value call, std::array<Value, 2> key) {
  SmallVector<Value, 6> operands(indices);
  operands.push_back(call);
  while (operands.size() < 4)
    operands.push_back(constant(b, loc, call.getType(), 0));
  operands.append({key[0], key[1]});
  auto words = attn::PhiloxOp::create(
      b, loc, SmallVector<Type, 4>(4, call.getType()), operands);
  SmallVector<Value, 4> result;
  Value mask = constant(b, loc, call.getType(), kRandomMask);
  for (Value word : words.getResults())
    result.push_back(arith::AndIOp::create(b, loc, word, mask));
  return result;
}

Value halfOf(OpBuilder &b, Location loc, Value word, unsigned half) {
  Type type = word.getType();
  if (half)
    return arith::ShRUIOp::create(b, loc, word, constant(b, loc, type, 16));
  return arith::AndIOp::create(b, loc, word, constant(b, loc, type, 0xffff));
}

Value pairedRow(OpBuilder &b, Location loc, Value i) {
  Type type = i.getType();
  Value group = arith::ShRUIOp::create(b, loc, i, constant(b, loc, type, 4));
  group = arith::ShLIOp::create(b, loc, group, constant(b, loc, type, 3));
  return arith::OrIOp::create(
      b, loc, group,
      arith::AndIOp::create(b, loc, i, constant(b, loc, type, 7)));
}

Value turn(OpBuilder &b, Location loc, Value word) {
  Type type = word.getType();
  return arith::OrIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, word, constant(b, loc, type, 8)),
      arith::ShLIOp::create(b, loc, word, constant(b, loc, type, 24)));
}

Value turnForRow(OpBuilder &b, Location loc, Value word, Value i) {
  Value bit =
      arith::AndIOp::create(b, loc, i, constant(b, loc, i.getType(), 8));
  Value odd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit,
                                    constant(b, loc, i.getType(), 0));
  return arith::SelectOp::create(b, loc, odd, turn(b, loc, word), word);
}

Value makeRandom(OpBuilder &b, Location loc, ValueRange indices,
                 std::array<Value, 2> key) {
  Value j = indices.back();
  Type type = j.getType();
  auto number = [&](uint64_t n) { return constant(b, loc, type, n); };
  auto bits = [&](Value value, unsigned from, uint64_t mask) -> Value {
    value = arith::ShRUIOp::create(b, loc, value, number(from));
    return arith::AndIOp::create(b, loc, value, number(mask));
  };
  // 4 * (j / 32) + (j % 8) / 2
  Value call = arith::OrIOp::create(
      b, loc,
      arith::ShLIOp::create(
          b, loc, arith::ShRUIOp::create(b, loc, j, number(5)), number(2)),
      bits(j, 1, 3));
  SmallVector<Value, 4> others(indices.drop_back());
  Value i = others.empty() ? Value() : others.back();
  if (i)
    others.back() = pairedRow(b, loc, i);
  SmallVector<Value, 4> words = makeCall(b, loc, others, call, key);
  auto isSet = [&](uint64_t bit) -> Value {
    Value masked = arith::AndIOp::create(b, loc, j, number(bit));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked,
                                 number(0));
  };
  auto choose = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  };
  Value odd = isSet(8);
  Value word = choose(isSet(16), choose(odd, words[3], words[2]),
                      choose(odd, words[1], words[0]));
  if (i)
    word = turnForRow(b, loc, word, i);
  return choose(isSet(1), halfOf(b, loc, word, 1), halfOf(b, loc, word, 0));
}

} // namespace attentile::native

namespace attentile {
namespace {

struct ExpandRandom : OpRewritePattern<attn::RandomOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(attn::RandomOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value, 4> words;
    for (Value index : op.getIndices())
      words.push_back(native::lowWord(rewriter, op.getLoc(), index));
    auto key = native::keyWords(rewriter, op.getLoc(), op.getSeed());
    rewriter.replaceOp(op,
                       native::makeRandom(rewriter, op.getLoc(), words, key));
    return success();
  }
};

struct ExpandPhilox : OpRewritePattern<attn::PhiloxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(attn::PhiloxOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Type type = op.getW0().getType();
    Value c[4] = {op.getC0(), op.getC1(), op.getC2(), op.getC3()};
    Value key[2] = {op.getK0(), op.getK1()};
    Value multipliers[2];
    for (unsigned i : {0, 1})
      multipliers[i] = native::constant(b, loc, type, kPhiloxMultipliers[i]);
    for (unsigned round = 0; round < kPhiloxRounds; ++round) {
      // What is added to the key is known, so that a key is one addition.
      Value keys[2];
      for (unsigned i : {0, 1})
        keys[i] = b.createOrFold<arith::AddIOp>(
            loc, key[i],
            native::constant(b, loc, type, uint32_t(round * kPhiloxWeyl[i])));
      auto first = arith::MulUIExtendedOp::create(b, loc, c[0], multipliers[0]);
      auto second =
          arith::MulUIExtendedOp::create(b, loc, c[2], multipliers[1]);
      auto mix = [&](Value high, Value word, Value key) -> Value {
        word = arith::XOrIOp::create(b, loc, word, key);
        return arith::XOrIOp::create(b, loc, high, word);
      };
      Value next[4] = {mix(second.getHigh(), c[1], keys[0]), second.getLow(),
                       mix(first.getHigh(), c[3], keys[1]), first.getLow()};
      std::copy(std::begin(next), std::end(next), c);
    }
    b.replaceOp(op, ValueRange(c));
    return success();
  }
};

struct AttnExpandRandom : impl::AttnExpandRandomBase<AttnExpandRandom> {
  void runOnOperation() override {
    // One after the other: what the first makes, the second lowers.
    for (bool calls : {false, true}) {
      RewritePatternSet patterns(&getContext());
      if (calls)
        patterns.add<ExpandPhilox>(&getContext());
      else
        patterns.add<ExpandRandom>(&getContext());
      walkAndApplyPatterns(getOperation(), std::move(patterns));
    }
  }
};

} // namespace
} // namespace attentile
