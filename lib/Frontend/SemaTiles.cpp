//===- SemaTiles.cpp - loops over tiles -----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for n in tiles(0 .. N, 64) carry (l = 0) { ...; next (l = l + sum[n](p)); }
//
// Within the loop `l` is what the tiles before left (TypedExpr::Carried), and a
// reduction over n binds the indices of one tile; behind it `l` is what the
// last tile left (LoopResult). Everything else is as outside: `n` is the index
// variable that it is everywhere, and values that depend on it have that axis.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "attentile/WholeExtent.h"

using namespace attentile;
using namespace attentile::frontend;
using llvm::StringRef;
using llvm::Twine;

std::optional<int64_t> Sema::checkLoopTile(const ast::TileLoop &loop) {
  const TypedExpr *value = visit(*loop.size, {Scope::Head});
  if (!value)
    return std::nullopt;
  auto size = value->constant();
  if (size && *size >= 1 && *size <= largestTile)
    return size;
  // [L5.1]
  error(loop.size->range,
        "expected tiles of a known size from 1 to " + Twine(largestTile) +
            ", got " +
            (size ? Twine(*size)
                  : Twine(spelling(value->type)) + " that is not known"))
      .note("the size is part of the code: write a number, or a size that "
            "--bind gives");
  return std::nullopt;
}

bool Sema::checkBounds(const ast::TileLoop &loop, unsigned axis,
                       llvm::SmallVectorImpl<const TypedExpr *> &operands) {
  bool failed = false;
  for (const ast::Expr *written : {loop.lower, loop.upper}) {
    const TypedExpr *bound = visit(*written, {Scope::Body});
    if (bound && bound->type != ValueType::Int) {
      // [L5.2]
      error(written->range,
            Twine("expected an integer as a loop's bound, got ") +
                spelling(bound->type));
      bound = nullptr;
    } else if (bound && bound->axes >> axis & 1) {
      // [L5.2]
      error(written->range, "expected a bound that is one for the loop, got "
                            "one that depends on '" +
                                loop.axis.str() + "'")
          .note("hide elements within the loop: where(..., s, -inf)");
      bound = nullptr;
    }
    operands.push_back(bound);
    failed |= !bound;
  }
  if (failed)
    return false;
  // What lies outside the axis's range is no element.
  const SizeExpr &extent = *kernel.indices[axis].extent;
  const TypedExpr *&lower = operands[0], *&upper = operands[1];
  if (lower->low < 0)
    lower = make(TypedExpr::Max, ValueType::Int, lower->range,
                 {lower, intConst(0, lower->range)});
  bool isExtent =
      upper->op == TypedExpr::Size && sameSize(*upper->size, extent);
  if (!isExtent)
    upper = make(TypedExpr::Min, ValueType::Int, upper->range,
                 {upper, sizeValue(&extent, upper->range)});
  return lower && upper;
}

/// The `next` that ends the loop, if it gives each carried value once.
const ast::Statement *Sema::findNext(const ast::Statement &statement) {
  const ast::TileLoop &loop = *statement.loop;
  const ast::Statement *next = nullptr;
  for (const ast::Statement &inner : loop.body) {
    if (next) {
      // [L5.3]
      error(inner.range, "expected the loop to end with 'next', got another "
                         "statement behind it")
          .note(file, next->target, "it stands here");
      return nullptr;
    }
    if (inner.kind == ast::Statement::Next)
      next = &inner;
  }
  if (!next) {
    // [L5.3]
    error(statement.target, "expected 'next' at the end of the loop, got none")
        .note("write next (" + loop.carried.front().name.str() +
              " = ...); it says what the next tile gets");
    return nullptr;
  }
  llvm::DenseMap<StringRef, SourceRange> given;
  bool failed = false;
  for (const ast::Carried &carried : next->carried) {
    StringRef name = carried.name.str();
    bool isNew = given.try_emplace(name, carried.name.range).second;
    bool isCarried = llvm::any_of(loop.carried, [&](const ast::Carried &start) {
      return start.name.str() == name;
    });
    if (isCarried && isNew)
      continue;
    failed = true;
    // [L5.3]
    Diagnostic &e = error(
        carried.name.range,
        isCarried ? "expected each carried value once, got '" + name + "' twice"
                  : "expected a carried value, got '" + name +
                        "', which the loop does not carry");
    if (!isCarried)
      e.note(file, statement.target, "give it a start in carry (...) here");
  }
  for (const ast::Carried &start : loop.carried)
    if (given.try_emplace(start.name.str()).second) { // once
      failed = true;
      // [L5.3]
      error(next->target, "expected a next value for each carried one, got "
                          "none for '" +
                              start.name.str() + "'")
          .note("write " + start.name.str() + " = " + start.name.str() +
                " where it stays as it is");
    }
  return failed ? nullptr : next;
}

const TypedExpr *Sema::checkNext(const ast::Carried &next,
                                 const TypedExpr &carried) {
  const TypedExpr *value = visit(*next.value, {Scope::Body});
  if (!value)
    return nullptr;
  if ((value->type == ValueType::Bool) != (carried.type == ValueType::Bool)) {
    // [L5.5]
    error(next.value->range, Twine("expected ") + spelling(carried.type) +
                                 " as the next value of '" + next.name.str() +
                                 "', got " + spelling(value->type))
        .note(file, carried.range, "it starts with this");
    return nullptr;
  }
  unsigned axis = currentLoop->axis;
  if (value->axes >> axis & 1) {
    // [L5.4]
    error(next.value->range, "expected a value for all of a tile, got one "
                             "with axis '" +
                                 kernel.indices[axis].name + "'")
        .note("reduce over it, as in sum[" + kernel.indices[axis].name +
              "](...)" +
              (currentLoop->size == 1 ? ", which is the value of its one index"
                                      : ""));
    return nullptr;
  }
  return carried.type == ValueType::Float ? toFloat(value) : value;
}

/// Checks what stands in the loop; `nexts` in the order of what it carries,
/// null where one is wrong.
void Sema::checkLoopBody(const ast::Statement &statement,
                         const CheckedLoop &loop,
                         llvm::SmallVectorImpl<const TypedExpr *> &nexts) {
  currentLoop = &loop;
  const ast::TileLoop &written = *statement.loop;
  auto before = lets; // what they are behind the loop
  for (auto [start, carried] : llvm::zip_equal(written.carried, loop.carried)) {
    LetName &let = lets[names.lookup(start.name.str()).id];
    let = {let.last, true, checkedStatements - 1, carried, {}};
  }
  checkStatements(written.body);
  nexts.assign(loop.carried.size(), nullptr);
  currentUses = &uses[checkedStatements - 1];
  for (const ast::Carried &next : written.body.back().carried)
    for (auto [i, start] : llvm::enumerate(written.carried))
      if (start.name.str() == next.name.str())
        nexts[i] = checkNext(next, *loop.carried[i]);
  for (auto [now, outside] : llvm::zip_equal(lets, before)) {
    if (!outside.isDefined && now.isDefined)
      outside.loop = statement.target;
  }
  lets = std::move(before);
  currentLoop = nullptr;
}

void Sema::checkLoop(const ast::Statement &statement, unsigned number) {
  const ast::TileLoop &written = *statement.loop;
  auto axis = indexVariable({Scope::Body}, written.axis);
  const ast::Statement *next = findNext(statement);
  auto size = checkLoopTile(written);
  llvm::SmallVector<const TypedExpr *> operands, nexts;
  bool failed =
      !next || !size || !axis || !checkBounds(written, *axis, operands);

  llvm::SmallVector<ValueShape> shapes;
  llvm::SmallVector<const TypedExpr *> starts;
  llvm::DenseMap<StringRef, SourceRange> seen;
  for (const ast::Carried &start : written.carried) {
    auto [it, isNew] = seen.try_emplace(start.name.str(), start.name.range);
    if (!isNew)
      // [L5.5]
      error(start.name.range, "expected a new name, got '" + start.name.str() +
                                  "', which the loop carries already")
          .note(file, it->second, "it is declared here");
    const TypedExpr *value = visit(*start.value, {Scope::Body});
    if (value && axis && (value->axes >> *axis & 1))
      // [L5.4]
      error(start.value->range, "expected a start that is one for the loop, "
                                "got one with axis '" +
                                    written.axis.str() + "'");
    starts.push_back(value);
    failed |=
        !isNew || !value || names.lookup(start.name.str()).kind != Entity::Let;
    if (value)
      shapes.push_back({value->axes, value->type, value->reads16});
  }
  auto isKnown = [&](const ast::Carried &start) {
    return names.lookup(start.name.str()).kind == Entity::Let;
  };
  if (failed) { // what it carries is known behind it all the same
    checkedStatements += written.body.size();
    for (const ast::Statement &inner : written.body)
      if (inner.kind == ast::Statement::Let)
        if (Entity let = names.lookup(inner.name.str());
            let.kind == Entity::Let)
          lets[let.id].loop = statement.target;
    for (const ast::Carried &start : written.carried)
      if (isKnown(start))
        lets[names.lookup(start.name.str()).id].isDefined = true;
    return;
  }
  for (const TypedExpr *bound : operands) // rows may differ in where they end
    for (ValueShape &shape : shapes)
      shape.axes |= bound->axes;
  inferCarried(written, *next, shapes);

  llvm::SmallVector<const TypedExpr *> carried;
  auto *loop =
      new (arena.Allocate<CheckedLoop>()) CheckedLoop{*axis, *size, {}};
  for (auto [i, shape] : llvm::enumerate(shapes)) {
    if (shape.type == ValueType::Float)
      starts[i] = toFloat(starts[i]);
    TypedExpr value{};
    value.op = TypedExpr::Carried;
    value.type = shape.type;
    value.range = written.carried[i].range;
    value.id = i;
    value.name = written.carried[i].name.str();
    value.axes = shape.axes & ~(AxisSet(1) << *axis);
    value.reads16 = shape.reads16;
    value.reduced = AxisSet(1) << *axis;
    value.loop = loop;
    carried.push_back(node(value, {}));
  }
  if (llvm::is_contained(carried, nullptr) ||
      llvm::is_contained(starts, nullptr))
    return; // too large
  loop->carried = llvm::ArrayRef(carried).copy(arena);
  kernel.loops.push_back({written.axis.str(), *size, statement.target});

  checkLoopBody(statement, *loop, nexts);
  const TypedExpr *made = nullptr;
  if (!llvm::is_contained(nexts, nullptr)) {
    operands.append(starts);
    operands.append(nexts);
    TypedExpr op{};
    op.op = TypedExpr::Loop;
    op.type = ValueType::Bool; // none
    op.range = statement.target;
    op.loop = loop;
    made = node(op, operands);
  }
  for (auto [i, start] : llvm::enumerate(written.carried)) {
    LetName &let = lets[names.lookup(start.name.str()).id];
    TypedExpr result{};
    result.op = TypedExpr::LoopResult;
    result.type = carried[i]->type;
    result.range = start.name.range;
    result.id = i;
    result.axes = carried[i]->axes;
    let = {let.last, true, number, made ? node(result, made) : nullptr, {}};
  }
}

/// Loops and `tile` must agree: an axis has one tile size in a kernel.
void Sema::checkLoopTiles() {
  llvm::DenseMap<StringRef, const CheckedKernel::Loop *> first;
  for (const CheckedKernel::Loop &loop : kernel.loops) {
    auto [it, isNew] = first.try_emplace(loop.axis, &loop);
    if (!isNew && it->second->size != loop.size)
      // [L5.1]
      error(loop.range, "expected tiles of one size for all loops over '" +
                            loop.axis + "', got " + Twine(it->second->size) +
                            " and " + Twine(loop.size))
          .note(file, it->second->range, "the other loop stands here");
    for (const CheckedTile &tile : kernel.tiles)
      if (isNew && tile.axis == loop.axis)
        // [L5.1]
        error(loop.range, "expected the loop over '" + loop.axis +
                              "' alone to say its tiles' size, got 'tile " +
                              loop.axis + " = " + Twine(tile.size) + "' too")
            .note("the size is part of what the loop means");
  }
}
