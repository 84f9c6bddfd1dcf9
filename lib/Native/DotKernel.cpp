//===- DotKernel.cpp - register-blocked products --------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An outer-product kernel: a block of rows x vectors of the result stays in
// registers while the summed axis runs; one factor gives vectors, the other
// scalars that are broadcast, straight from the caller's memory where they can
// be. S^T[n, m] = sum over d of K[n, d] * Q^T[d, m]:
//
//   for m in blocks of vectors, n in blocks of rows:
//     acc[r][v] = 0, or the accumulator, say o * alpha, computed here
//     for d:
//       q[v] = Q^T[d, m + v]
//       acc[r][v] += broadcast(K[n + r, d]) * q[v]
//     S^T[n + r, m + v] = acc[r][v]
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"

using namespace mlir;

namespace attentile::native {
namespace {

/// Rows of a block: with `parts` vectors across, the accumulators, one row of
/// vectors and one broadcast must fit the vector registers, and there must be
/// enough accumulators to cover the latency of a multiply-add on both pipes.
int64_t getBlockRows(unsigned vectorBits, unsigned parts) {
  unsigned accumulators = vectorBits >= 512 ? 16 : 8; // of 32 or 16 registers
  return accumulators / parts;
}

class DotEmitter {
public:
  DotEmitter(KernelEmitter &kernel, tile::DotOp dot, const DotPlan &plan,
             const ElementSource &source)
      : k(kernel), b(kernel.b), loc(kernel.loc), dot(dot), plan(plan),
        source(source), vector(k.plan.getVectorAxis(dot.getType())) {
    RankedTensorType type = dot.getTileType();
    for (auto [axis, size] :
         llvm::zip_equal(tile::getAxes(type), type.getShape())) {
      if (axis == vector) {
        vectorSize = size;
        continue;
      }
      outer.push_back({axis, size});
      // The last axis of the scalar factor alone is cut into blocks of rows.
      if (!tile::getAxisPosition(plan.vectorFactor.getType(), axis))
        rowAxis = outer.back();
    }
    llvm::erase(outer, rowAxis);
    auto factor = cast<RankedTensorType>(plan.vectorFactor.getType());
    for (Axis axis : dot.getOver().getAsRange<StringAttr>())
      over.push_back(
          {axis, factor.getDimSize(*tile::getAxisPosition(factor, axis))});
  }

  void emit() {
    lanes = k.plan.getLanes(vectorSize, /*wide=*/false);
    parts = k.plan.getStripe(vectorSize) / lanes;
    blockRows =
        std::min<int64_t>(getBlockRows(k.vectorBits, parts), rowAxis.size);
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(
        b, loc, k.index(0), k.index(vectorSize / (lanes * parts)), k.index(1));
    b.setInsertionPointToStart(loop.getBody());
    PointEmitter stripe(k, vector, loop.getInductionVar(), lanes, parts);
    point = &stripe;
    emitOuter(0);
  }

private:
  KernelEmitter &k;
  OpBuilder &b;
  Location loc;
  tile::DotOp dot;
  const DotPlan &plan;
  const ElementSource &source;
  Axis vector;
  int64_t vectorSize = 1;
  SmallVector<AxisLoop> outer, over;
  AxisLoop rowAxis{Axis(), 1};
  unsigned lanes = 1, parts = 1;
  int64_t blockRows = 1;
  PointEmitter *point = nullptr;
  /// Positions of the loops that are open.
  Coordinates at;

  scf::ForOp openLoop(AxisLoop axis, int64_t from, int64_t to, int64_t step,
                      ValueRange inits = {}) {
    auto loop = scf::ForOp::create(b, loc, k.index(from), k.index(to),
                                   k.index(step), inits);
    b.setInsertionPointToStart(loop.getBody());
    at[axis.axis] = loop.getInductionVar();
    return loop;
  }

  void emitOuter(unsigned depth) {
    if (depth == outer.size())
      return emitRows();
    OpBuilder::InsertionGuard guard(b);
    scf::ForOp loop = openLoop(outer[depth], 0, outer[depth].size, 1);
    point->push(outer[depth].axis, loop.getInductionVar(), loop);
    emitOuter(depth + 1);
    point->pop();
  }

  void emitRows() {
    if (!rowAxis.axis)
      return emitBlock(nullptr, 1);
    int64_t whole = rowAxis.size / blockRows * blockRows;
    {
      OpBuilder::InsertionGuard guard(b);
      scf::ForOp loop = openLoop(rowAxis, 0, whole, blockRows);
      emitBlock(loop, blockRows);
    }
    if (whole != rowAxis.size) {
      at[rowAxis.axis] = k.index(whole);
      emitBlock(nullptr, rowAxis.size - whole);
    }
  }

  /// Calls `body` with the point and `at` on each row of the block.
  void forRows(scf::ForOp loop, unsigned rows,
               function_ref<void(unsigned)> body) {
    if (!rowAxis.axis)
      return body(0);
    Value first = at[rowAxis.axis];
    for (unsigned r = 0; r < rows; ++r) {
      at[rowAxis.axis] = k.add(first, k.index(r));
      point->push(rowAxis.axis, at[rowAxis.axis], loop);
      body(r);
      point->pop();
    }
    at[rowAxis.axis] = first;
  }

  Value offsetAlong(ArrayRef<AxisLoop> axes) {
    Value offset;
    for (AxisLoop axis : axes)
      if (Value stride = source.strides.lookup(axis.axis)) {
        Value step = k.mul(at[axis.axis], stride);
        offset = offset ? k.add(offset, step) : step;
      }
    return offset;
  }

  Value advance(Value pointer, Value offset) {
    return offset ? k.advance(pointer, b.getF32Type(), offset) : pointer;
  }

  /// Each register block asks for a share of what comes next.
  void askForNext(scf::ForOp rowLoop) {
    int64_t blocks = rowAxis.size / blockRows;
    int64_t stripes = vectorSize / (lanes * parts);
    Value number = arith::DivUIOp::create(b, loc, rowLoop.getInductionVar(),
                                          k.index(blockRows));
    number = k.add(number, k.mul(point->getStripe(), k.index(blocks)));
    for (const NextTile &next : k.nextTiles)
      k.askForShare(next, number, blocks * stripes);
    k.nextTiles.clear();
  }

  void emitBlock(scf::ForOp rowLoop, unsigned rows) {
    int result = k.plan.getBuffer(dot.getResult());
    SmallVector<Value> accumulators;
    SmallVector<Value> rowPointers;
    SmallVector<AxisLoop> resultAxes(outer);
    if (rowAxis.axis)
      resultAxes.push_back(rowAxis);
    forRows(rowLoop, rows, [&](unsigned) {
      if (source.pointer)
        rowPointers.push_back(advance(source.pointer, offsetAlong(resultAxes)));
      if (dot.getAcc()) {
        Lanes acc = point->get(dot.getAcc());
        for (unsigned v = 0; v < parts; ++v)
          accumulators.push_back(point->part(acc, v, b.getF32Type()));
      } else {
        Type type = point->vectorOf(b.getF32Type());
        accumulators.append(
            parts, arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
      }
    });
    if (rowLoop && outer.empty())
      askForNext(rowLoop);
    accumulators = emitSum(0, accumulators, rowPointers, rowLoop, rows);
    forRows(rowLoop, rows, [&](unsigned r) {
      Lanes value;
      value.parts.assign(accumulators.begin() + r * parts,
                         accumulators.begin() + (r + 1) * parts);
      point->store(result, value, b.getF32Type());
    });
  }

  /// Emits the summed loops from `depth` on; returns the accumulators after.
  SmallVector<Value> emitSum(unsigned depth, SmallVector<Value> accumulators,
                             ArrayRef<Value> rowPointers, scf::ForOp rowLoop,
                             unsigned rows) {
    if (depth == over.size()) {
      int vectors = k.plan.getBuffer(plan.vectorFactor);
      Lanes line = point->load(vectors, b.getF32Type());
      Value offset = source.pointer ? offsetAlong(over) : Value();
      forRows(rowLoop, rows, [&](unsigned r) {
        Value element;
        if (source.pointer)
          element = LLVM::LoadOp::create(b, loc, b.getF32Type(),
                                         advance(rowPointers[r], offset), 4);
        else
          element = memref::LoadOp::create(b, loc, k.buffer(source.buffer),
                                           k.indicesOf(source.buffer, at));
        Value all = vector::BroadcastOp::create(
            b, loc, point->vectorOf(b.getF32Type()), element);
        for (unsigned v = 0; v < parts; ++v) {
          Value &acc = accumulators[r * parts + v];
          acc = vector::FMAOp::create(b, loc, all, line.parts[v], acc);
        }
      });
      return accumulators;
    }
    OpBuilder::InsertionGuard guard(b);
    scf::ForOp loop =
        openLoop(over[depth], 0, over[depth].size, 1, accumulators);
    point->push(over[depth].axis, loop.getInductionVar(), loop);
    SmallVector<Value> inside(loop.getRegionIterArgs());
    inside = emitSum(depth + 1, inside, rowPointers, rowLoop, rows);
    scf::YieldOp::create(b, loc, inside);
    point->pop();
    return SmallVector<Value>(loop.getResults());
  }
};

} // namespace

void KernelEmitter::emitDot(tile::DotOp dot) {
  const DotPlan &dotPlan = *plan.getDotPlan(dot);
  ElementSource source;
  if (auto view = viewSources.find(dotPlan.scalarFactor);
      view != viewSources.end())
    source = view->second;
  else
    source.buffer = plan.getBuffer(dotPlan.scalarFactor);
  DotEmitter(*this, dot, dotPlan, source).emit();
}

} // namespace attentile::native
