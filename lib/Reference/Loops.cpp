//===- Loops.cpp - loops over tiles, as they are written ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop's body is a program of its own, run for one tile after the other with
// what the tiles before left. What it uses from before the loop is computed
// there, for the whole axis, and each tile takes its part:
//
//   tile 1 of n in 0 .. 100 by 64     indices 64 to 127, of which 36 count
//
// Arrays are as long as a full tile; reductions over the tile stop where the
// axis does, and nothing else looks at the elements behind.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "Evaluator.h"

using namespace mlir;
using namespace attentile::attn;

namespace attentile::reference {

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

SmallVector<Value> neededBefore(ForOp loop) {
  SmallVector<Value> values = {loop.getLower(), loop.getUpper()};
  llvm::append_range(values, loop.getStarts());
  loop.getBody().walk([&](Operation *op) {
    for (Value value : neededBy(op))
      if (!loop.getBody().isAncestor(value.getParentRegion()) &&
          !isa<ShapedType>(value.getType()))
        values.push_back(value);
  });
  return values;
}

/// In the builder of a body: a value from before the loop.
void Builder::addOutside(Value value, LoopBody &body) {
  if (steps.contains(value))
    return;
  LoopBody::Outside outside{0, parent->steps.lookup(value)};
  const Step &source = parent->program.steps[outside.from];
  Step step;
  step.op = Op::Outside;
  step.kind = source.kind;
  step.tainted = source.tainted;
  auto at = llvm::find(source.arrayAxes, body.axis);
  if (at != source.arrayAxes.end()) {
    size_t place = at - source.arrayAxes.begin();
    outside.before = outside.behind = 1;
    outside.extent = source.extents[place];
    for (auto [i, extent] : llvm::enumerate(source.extents))
      if (i != place)
        (i < place ? outside.before : outside.behind) *= extent;
  }
  outside.step = steps[value] = push(std::move(step), axes.of(value));
  body.outside.push_back(outside);
}

void Builder::addLoop(ForOp op) {
  auto body = std::make_shared<LoopBody>();
  body->axis = axes.numberOf(op.getAxis());
  body->size = op.getSize();
  body->lower = steps.lookup(op.getLower());
  body->upper = steps.lookup(op.getUpper());
  for (unsigned bound : {body->lower, body->upper})
    if (!program.steps[bound].arrayAxes.empty()) {
      error =
          "a loop over tiles whose bounds depend on an axis that is reduced "
          "over behind it is not evaluated";
      return;
    }
  Step step;
  step.op = Op::Loop;
  step.kind = Kind::Bool;
  Axes used = axes.setOf({});
  SmallVector<Value> before = neededBefore(op);
  for (Value value : before) {
    used |= axes.of(value);
    if (unsigned operand = steps.lookup(value);
        !llvm::is_contained(step.operands, operand))
      step.operands.push_back(operand);
  }
  unsigned self = push(std::move(step), axes.setOf({}));
  // It depends on all that its body does, but is no array itself.
  program.steps[self].axes = used;

  Builder inner(*this, op);
  for (Value value : before)
    inner.addOutside(value, *body);
  for (auto [carried, start] :
       llvm::zip_equal(op.getCarried(), op.getStarts())) {
    Step value;
    value.op = Op::Carried;
    value.kind = kindOf(carried.getType());
    value.tainted = program.steps[self].tainted;
    unsigned number = inner.push(std::move(value), axes.of(carried));
    inner.steps[carried] = number;
    body->carried.push_back({number,
                             steps.lookup(start),
                             0,
                             seenFrom(program.steps[steps.lookup(start)],
                                      inner.program.steps[number].arrayAxes),
                             {}});
  }
  for (auto [carried, next] : llvm::zip_equal(body->carried, op.getNexts())) {
    carried.next = inner.add(next);
    if (inner.error.empty())
      carried.nextFrom =
          inner.seenFrom(inner.program.steps[carried.next],
                         inner.program.steps[carried.step].arrayAxes);
  }
  if (!inner.error.empty()) {
    error = inner.error;
    return;
  }
  body->program = inner.finish();
  program.work += body->program.work * (extentOf(body->axis) / body->size + 1);
  program.steps[self].loop = body;
  for (auto [number, value] : llvm::enumerate(op.getResults())) {
    Step result;
    result.op = Op::LoopResult;
    result.kind = kindOf(value.getType());
    result.whole = number;
    result.operands = {self};
    steps[value] = push(std::move(result), axes.of(value));
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

struct Evaluator::LoopState {
  LoopState(const Inputs &inputs, const Program &program)
      : body(inputs, program) {}
  Evaluator body;
  std::vector<Array> carried;
};

/// An array whose values, bounds and the like are copied from another's.
template <typename Copy> static Array copied(const Array &from, Copy copy) {
  Array to;
  auto each = [&](const auto &source, auto &target) {
    if (!source.empty())
      copy(source, target);
  };
  each(from.v, to.v);
  each(from.e, to.e);
  each(from.w, to.w);
  each(from.i, to.i);
  to.valid = true;
  return to;
}

/// `from` seen through `offsets`, `count` elements.
static Array repeat(const Array &from, const Offsets &offsets, int64_t count) {
  return copied(from, [&](const auto &source, auto &target) {
    target.resize(count);
    for (int64_t i = 0; i < count; ++i)
      target[i] = source[offsets[i]];
  });
}

/// A tile's part of an array: indices from `first` on, 0 behind the axis's end.
static Array part(const Array &from, const LoopBody::Outside &outside,
                  int64_t first, int64_t size) {
  int64_t count = std::clamp<int64_t>(outside.extent - first, 0, size);
  return copied(from, [&](const auto &source, auto &target) {
    target.resize(outside.before * size * outside.behind);
    for (int64_t i = 0; i < outside.before && count > 0; ++i)
      std::copy_n(
          source.begin() + (i * outside.extent + first) * outside.behind,
          count * outside.behind, target.begin() + i * size * outside.behind);
  });
}

const Array &Evaluator::resultOf(const Step &step) const {
  return loops.at(step.operands[0])->carried[step.whole];
}

/// Gives a body what it has from before the loop; `first` is its tile's first
/// index, or -1 for what is the same for all tiles.
void Evaluator::startTile(const LoopBody &body, Evaluator &outside,
                          int64_t first) {
  for (const LoopBody::Outside &value : body.outside) {
    const Array &from = outside.arrays[value.from];
    if (value.before != 0 && first >= 0)
      arrays[value.step] = part(from, value, first, body.size);
    else if (value.before == 0 && first < 0)
      arrays[value.step] = from;
  }
}

void Evaluator::loop(unsigned number) {
  const LoopBody &body = *program.steps[number].loop;
  std::shared_ptr<LoopState> &state = loops[number];
  if (!state)
    state = std::make_shared<LoopState>(inputs, body.program);
  Evaluator &inner = state->body;
  auto stepOf = [&](const LoopBody::Value &value) -> const Step & {
    return body.program.steps[value.step];
  };
  state->carried.clear();
  for (const LoopBody::Value &value : body.carried)
    state->carried.push_back(
        repeat(arrays[value.start], value.startFrom, stepOf(value).count));
  Whole lower = arrays[body.lower].whole(0),
        upper = arrays[body.upper].whole(0);
  inner.startTile(body, *this, -1);
  for (int64_t first = lower.v; first < upper.v; first += body.size) {
    inner.tileCount = std::min(body.size, upper.v - first);
    inner.startTile(body, *this, first);
    for (auto [value, array] : llvm::zip_equal(body.carried, state->carried))
      inner.arrays[value.step] = std::move(array);
    for (unsigned i = 0; i < body.program.steps.size(); ++i) {
      const Step &step = body.program.steps[i];
      if (step.op != Op::Outside && step.op != Op::Carried) {
        inner.arrays[i] = Array();
        inner.compute(step, inner.arrays[i]);
      }
    }
    for (auto [value, array] : llvm::zip_equal(body.carried, state->carried))
      array =
          repeat(inner.arrays[value.next], value.nextFrom, stepOf(value).count);
  }
  // With other bounds there might be other tiles.
  if (lower.e > 0 || upper.e > 0)
    for (auto [value, array] : llvm::zip_equal(body.carried, state->carried))
      array.e.assign(stepOf(value).count, kInf);
  emptyRows += std::exchange(inner.emptyRows, 0);
  arrays[number].valid = true;
}

} // namespace attentile::reference
