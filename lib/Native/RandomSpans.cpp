//===- RandomSpans.cpp - random bits of a row, many from a call -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four calls of Philox give 32 elements of 16 bits of a row, and of the one
// eight below. With rows along vectors, in which each lane has a counter of its
// own, the elements of a tile are
//
//   for stretches of n that lie in one span of 32, for call in 0 .. 3:
//     w0, w1, w2, w3 = philox(b, h, pair of m in lanes, 4 * (n / 32) + call)
//     bits[8 * word + 2 * call + half, m] = half of word, turned for m
//
// so that lanes of rows that share a call make it each.
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"
#include "attentile/Native/Random.h"
#include "attentile/Philox.h"

using namespace mlir;

namespace attentile::native {

/// One call for the stretch at the point, and the elements that it gives.
static void emitCall(KernelEmitter &k, PointEmitter &point, const Root &root,
                     Axis axis, Value call, int64_t together) {
  OpBuilder &b = k.b;
  Location loc = k.loc;
  auto random = root.value.getDefiningOp<attn::RandomOp>();
  Value first = point.get(random.getIndices().back()).base;
  Value span = k.index(kRandomSpan);
  Value within = arith::RemUIOp::create(b, loc, first, span);
  Value counter = k.add(
      k.mul(arith::DivUIOp::create(b, loc, first, span), k.index(4)), call);
  SmallVector<SmallVector<Value, 4>> words; // of each part
  for (unsigned part = 0; part < point.getParts(); ++part) {
    SmallVector<Value, 4> indices;
    for (Value index : random.getIndices().drop_back())
      indices.push_back(point.word(point.get(index), part));
    Value row = indices.empty() ? Value() : indices.back();
    if (row)
      indices.back() = pairedRow(b, loc, row);
    std::array<Value, 2> keys =
        keyWords(b, loc, point.get(random.getSeed()).base);
    for (Value &key : keys)
      key = point.word(point.uniform(key), part);
    words.push_back(makeCall(b, loc, indices,
                             point.word(point.uniform(counter), part), keys));
    if (row)
      for (Value &word : words[part])
        word = turnForRow(b, loc, word, row);
    // A stretch in the middle of a span: its words move up.
    for (int64_t by : {2, 1}) {
      if (8 * by < together || together == kRandomSpan)
        continue;
      Value half = arith::AndIOp::create(b, loc, within, k.index(8 * by));
      Value moves = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                          half, k.index(0));
      for (int64_t i = 0; i + by < 4; ++i)
        words[part][i] = arith::SelectOp::create(
            b, loc, moves, words[part][i + by], words[part][i]);
    }
  }
  Value pair = k.add(point.position(axis), k.mul(call, k.index(2)));
  for (int64_t word = 0; word < together / 8; ++word)
    for (unsigned half : {0, 1}) {
      Lanes bits;
      for (auto &own : words)
        bits.parts.push_back(halfOf(b, loc, own[word], half));
      if (!point.getVector())
        bits = point.uniform(bits.parts.front());
      point.push(axis, k.add(pair, k.index(8 * word + half)), nullptr);
      point.store(root.buffer, bits, b.getI32Type());
      point.pop();
    }
}

void emitRandomSpans(KernelEmitter &k, PointEmitter &point, const Root &root,
                     ArrayRef<AxisLoop> loops) {
  auto [axis, together] = k.plan.getSpans(root.value);
  OpBuilder::InsertionGuard guard(k.b);
  auto loop = [&](int64_t size, int64_t step) {
    auto made = scf::ForOp::create(k.b, k.loc, k.index(0), k.index(size),
                                   k.index(step));
    k.b.setInsertionPointToStart(made.getBody());
    return made;
  };
  int64_t size = 0;
  unsigned depth = 1;
  for (AxisLoop other : loops) {
    if (other.axis == axis) {
      size = other.size;
      continue;
    }
    auto around = loop(other.size, 1);
    point.push(other.axis, around.getInductionVar(), around);
    ++depth;
  }
  auto stretches = loop(size, together);
  point.push(axis, stretches.getInductionVar(), stretches);
  auto calls = loop(4, 1);
  emitCall(k, point, root, axis, calls.getInductionVar(), together);
  for (; depth > 0; --depth)
    point.pop();
}

} // namespace attentile::native
