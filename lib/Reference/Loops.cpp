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
#include <set>

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
    auto seen = [&](unsigned step) {
      return seenFrom(program.steps[step],
                      inner.program.steps[number].arrayAxes);
    };
    unsigned first = steps.lookup(start);
    body->carried.push_back({number,
                             first,
                             0,
                             seen(first),
                             {},
                             seen(body->lower),
                             seen(body->upper)});
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
  int64_t runs = std::max(program.steps[body->lower].count,
                          program.steps[body->upper].count);
  program.work +=
      runs * body->program.work * (extentOf(body->axis) / body->size + 1);
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

/// The tiles from one bound to another, for all elements of what is carried.
std::vector<Array> Evaluator::runTiles(const LoopBody &body, Evaluator &inner,
                                       int64_t lower, int64_t upper) {
  auto countOf = [&](const LoopBody::Value &value) {
    return body.program.steps[value.step].count;
  };
  std::vector<Array> carried;
  for (const LoopBody::Value &value : body.carried)
    carried.push_back(
        repeat(arrays[value.start], value.startFrom, countOf(value)));
  for (int64_t first = lower; first < upper; first += body.size) {
    inner.tileCount = std::min(body.size, upper - first);
    inner.startTile(body, *this, first);
    for (auto [value, array] : llvm::zip_equal(body.carried, carried))
      inner.arrays[value.step] = std::move(array);
    for (unsigned i = 0; i < body.program.steps.size(); ++i) {
      const Step &step = body.program.steps[i];
      if (step.op != Op::Outside && step.op != Op::Carried) {
        inner.arrays[i] = Array();
        inner.compute(step, inner.arrays[i]);
      }
    }
    for (auto [value, array] : llvm::zip_equal(body.carried, carried))
      array = repeat(inner.arrays[value.next], value.nextFrom, countOf(value));
  }
  return carried;
}

/// Puts elements of `from` where `isMine` says so.
static void merge(Array &to, const Array &from, int64_t count,
                  llvm::function_ref<bool(int64_t)> isMine) {
  auto each = [&](auto &target, const auto &source, auto get) {
    if (target.empty() && source.empty())
      return;
    target.resize(count);
    for (int64_t i = 0; i < count; ++i)
      if (isMine(i))
        target[i] = get(i);
  };
  if (to.w.empty() && !from.w.empty())
    to.w = to.v;
  each(to.w, from.w, [&](int64_t i) { return from.roundedAt(i); });
  each(to.v, from.v, [&](int64_t i) { return from.v[i]; });
  each(to.i, from.i, [&](int64_t i) { return from.i[i]; });
  each(to.e, from.e, [&](int64_t i) { return from.e.empty() ? 0 : from.e[i]; });
  to.valid = true;
}

/// Where bounds depend on what the program has as an array, all of it is run
/// for each pair of bounds, and those elements that have them are taken.
void Evaluator::loop(unsigned number) {
  const LoopBody &body = *program.steps[number].loop;
  std::shared_ptr<LoopState> &state = loops[number];
  if (!state)
    state = std::make_shared<LoopState>(inputs, body.program);
  const Array &lower = arrays[body.lower], &upper = arrays[body.upper];
  auto boundsAt = [&](const LoopBody::Value &value, int64_t i) {
    return std::pair(lower.i[value.lowerFrom[i]], upper.i[value.upperFrom[i]]);
  };
  auto countOf = [&](const LoopBody::Value &value) {
    return body.program.steps[value.step].count;
  };
  std::set<std::pair<int64_t, int64_t>> runs;
  for (const LoopBody::Value &value : body.carried)
    for (int64_t i = 0; i < countOf(value); ++i)
      runs.insert(boundsAt(value, i));
  if (runs.empty()) // of no elements
    runs.insert({0, 0});
  state->carried.assign(body.carried.size(), {});
  state->body.startTile(body, *this, -1);
  for (auto bounds : runs) {
    std::vector<Array> ended =
        runTiles(body, state->body, bounds.first, bounds.second);
    for (auto [value, to, from] :
         llvm::zip_equal(body.carried, state->carried, ended)) {
      const LoopBody::Value &carried = value;
      if (runs.size() == 1)
        to = std::move(from);
      else
        merge(to, from, countOf(carried),
              [&](int64_t i) { return boundsAt(carried, i) == bounds; });
    }
  }
  // With other bounds there might be other tiles.
  for (auto [value, array] : llvm::zip_equal(body.carried, state->carried))
    for (int64_t i = 0; i < countOf(value); ++i)
      if (lower.whole(value.lowerFrom[i]).e > 0 ||
          upper.whole(value.upperFrom[i]).e > 0) {
        array.e.resize(countOf(value));
        array.e[i] = kInf;
      }
  emptyRows += std::exchange(state->body.emptyRows, 0);
  arrays[number].valid = true;
}

} // namespace attentile::reference
