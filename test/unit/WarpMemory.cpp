//===- WarpMemory.cpp - memory of running warps ---------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpMachine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attentile::test {

size_t Interpreter::bytesOf(warp::BufferType type) {
  return std::max<int64_t>(1, type.getStages()) * stageBytes(type);
}

size_t Interpreter::stageBytes(warp::BufferType type) {
  auto layout = cast<tile::SharedAttr>(type.getLayout()).getLayout();
  int64_t rows = type.getRank() == 1 ? 1 : type.getShape()[0];
  return rows * layout.pitch * warp::getElementBytes(type.getElementType());
}

size_t Interpreter::addressOf(Operation *op, const Buffer &buffer, int64_t row,
                              int64_t column) {
  ArrayRef<int64_t> shape = buffer.type.getShape();
  if (column < 0 || column >= shape.back() || row < 0 ||
      (shape.size() == 1 ? row != 0 : row >= shape[0]))
    fail(op, "an index outside its buffer");
  auto layout = cast<tile::SharedAttr>(buffer.type.getLayout()).getLayout();
  return buffer.address +
         layout.offsetOf(row, column) *
             warp::getElementBytes(buffer.type.getElementType());
}

bool Interpreter::runOp(warp::AllocOp) { return true; }

bool Interpreter::runOp(warp::StageOp op) {
  int64_t index;
  if (!uniform(op, op.getIndex(), index))
    return false;
  Buffer buffer = buffers.at(op.getBuffer());
  if (index < 0 || index >= buffer.type.getStages())
    return fail(op, "a stage outside its buffer");
  buffers[op] = {buffer.address + index * stageBytes(buffer.type),
                 buffer.type.withoutStages()};
  return true;
}

template <typename Visit>
bool Interpreter::forSharedElements(Operation *op, Value buffer,
                                    OperandRange indices, int width,
                                    Visit visit) {
  const Buffer &to = buffers.at(buffer);
  forActive([&](int t) {
    for (int e = 0; e < width; ++e) {
      int64_t column = int64_t(get(indices.back()).at(t)) + e;
      int64_t row = indices.size() == 1 ? 0 : int64_t(get(indices[0]).at(t));
      visit(t, e, addressOf(op, to, row, column), to.type.getElementType());
    }
  });
  return !failed;
}

bool Interpreter::runOp(warp::LoadSharedOp op) {
  Registers made(widthOf(op.getType()), threads);
  bool good = forSharedElements(op, op.getBuffer(), op.getIndices(), made.width,
                                [&](int t, int e, size_t address, Type type) {
                                  made.at(t, e) =
                                      memory->read(t, address, type);
                                });
  return good && set(op.getResult(), std::move(made));
}

bool Interpreter::runOp(warp::StoreSharedOp op) {
  Registers &value = get(op.getValue());
  return forSharedElements(op, op.getBuffer(), op.getIndices(), value.width,
                           [&](int t, int e, size_t address, Type type) {
                             if (!op.getPredicate() ||
                                 get(op.getPredicate()).at(t) != 0)
                               memory->write(t, address, type, value.at(t, e));
                           });
}

bool Interpreter::runOp(warp::CopyAsyncOp op) {
  const Buffer &to = buffers.at(op.getBuffer());
  const HostTensor &from = *tensors.at(op.getTensor());
  // Each warp copies its part, perhaps on another side of a branch than others
  // theirs (warp-skip-hidden).
  if (!warpsAreWhole(op))
    return false;
  SmallVector<int64_t> start;
  for (Value index : op.getIndices())
    if (!uniform(op, index, start.emplace_back()))
      return false;
  Type element = to.type.getElementType();
  int64_t chunk = 16 / warp::getElementBytes(element);
  int64_t columns = to.type.getShape().back();
  int64_t rows = to.type.getRank() == 1 ? 1 : to.type.getShape()[0];
  if (!op.getByElement() && start[op.getDims().back()] % chunk != 0)
    return fail(op, "a copy that does not start at 16 bytes");
  for (int64_t i = 0; i < rows * columns; ++i) {
    int64_t row = i / columns, column = i % columns;
    SmallVector<int64_t> at(start);
    at[op.getDims().back()] += column;
    if (to.type.getRank() == 2)
      at[op.getDims()[0]] += row;
    int64_t position = positionOf(op, from, at, op.getInBounds());
    double value = position < 0 ? 0 : from.data[position];
    int64_t chunks = llvm::divideCeil(columns, chunk);
    int thread = int((row * chunks + column / chunk) % threads);
    if (op.getOwnRows()) {
      int64_t own = rows * kLanes / threads;
      thread = int(row / own * kLanes +
                   (row % own * chunks + column / chunk) % kLanes);
    }
    if (!active[thread])
      continue;
    size_t address = addressOf(op, to, row, column);
    if (op.getByElement())
      memory->write(thread, address, element, value);
    else
      memory->copyAsync(thread, address, element, value);
  }
  return !failed;
}

bool Interpreter::runOp(warp::LdmatrixOp op) {
  if (!warpsAreWhole(op))
    return false;
  const Buffer &from = buffers.at(op.getBuffer());
  Type element = from.type.getElementType();
  int each = element.isF32() ? 1 : 2, width = 4 * each;
  Registers made(widthOf(op.getType()), threads);
  for (int first = 0; first < threads; first += kLanes) {
    if (!active[first])
      continue;
    int64_t row = int64_t(get(op.getRow()).at(first));
    int64_t column = int64_t(get(op.getCol()).at(first));
    for (int lane = 0; lane < kLanes; ++lane)
      if (get(op.getRow()).at(first + lane) != row ||
          get(op.getCol()).at(first + lane) != column)
        return fail(op, "expected indices that are uniform in the warp");
    for (int matrix = 0; matrix < int(op.getNum()); ++matrix) {
      bool byRows = op.getOrder() == warp::MatrixOrder::Rows;
      int below = byRows ? matrix % 2 : matrix / 2;
      int beside = byRows ? matrix / 2 : matrix % 2;
      double values[8][8];
      for (int r = 0; r < 8; ++r)
        for (int c = 0; c < width; ++c)
          values[r][c] = memory->read(first + 8 * matrix + r,
                                      addressOf(op, from, row + 8 * below + r,
                                                column + width * beside + c),
                                      element);
      for (int lane = 0; lane < kLanes; ++lane)
        for (int e = 0; e < each; ++e) {
          int r = lane / 4, c = each * (lane % 4) + e;
          made.at(first + lane, matrix * each + e) =
              op.getTranspose() ? values[c][r] : values[r][c];
        }
    }
  }
  return !failed && set(op.getResult(), std::move(made));
}

int64_t Interpreter::positionOf(Operation *op, const HostTensor &tensor,
                                ArrayRef<int64_t> index,
                                std::optional<ArrayRef<bool>> inside) {
  int64_t position = 0;
  bool outside = false;
  for (auto [dim, at] : llvm::enumerate(index)) {
    bool isOut = at < 0 || at >= tensor.shape[dim];
    if (isOut && inside && (*inside)[dim])
      fail(op, "an index outside that is declared in bounds");
    outside |= isOut;
    position = position * tensor.shape[dim] + at;
  }
  return outside ? -1 : position;
}

template <typename Op, typename Visit>
bool Interpreter::forElements(Op op, Type value, Visit visit) {
  const HostTensor &tensor = *tensors.at(op.getTensor());
  int64_t dim = op.getDim().value_or(tensor.shape.size() - 1);
  forActive([&](int t) {
    SmallVector<int64_t> at;
    for (Value index : op.getIndices())
      at.push_back(int64_t(get(index).at(t)));
    int width = widthOf(value);
    if (width > 1 && !op.getByElement() && at[dim] % width != 0)
      fail(op, "a packet that does not start at a multiple of its width");
    for (int e = 0; e < width; ++e) {
      visit(t, e, positionOf(op, tensor, at, op.getInBounds()));
      if (!at.empty())
        ++at[dim];
    }
  });
  return !failed;
}

bool Interpreter::runOp(warp::LoadOp op) {
  const HostTensor &tensor = *tensors.at(op.getTensor());
  Registers made(widthOf(op.getType()), threads);
  bool good = forElements(op, op.getType(), [&](int t, int e, int64_t at) {
    made.at(t, e) = at < 0 ? 0 : tensor.data[at];
  });
  // Scalar loads of uniform indices stay uniform: bounds may come from them.
  if (made.width == 1 && llvm::all_of(op.getIndices(), [&](Value index) {
        return get(index).uniform;
      })) {
    int first = llvm::find(active, true) - active.begin();
    made = Registers::scalar(made.at(first));
  }
  return good && set(op.getResult(), std::move(made));
}

bool Interpreter::runOp(warp::StoreOp op) {
  HostTensor &tensor = *tensors.at(op.getTensor());
  Registers &value = get(op.getValue());
  return forElements(
      op, op.getValue().getType(), [&](int t, int e, int64_t at) {
        if (at < 0 || (op.getPredicate() && get(op.getPredicate()).at(t) == 0))
          return;
        if (!stored.insert({&tensor, at}).second)
          fail(op, "an element that is stored twice");
        tensor.data[at] = value.at(t, e);
      });
}

} // namespace attentile::test
