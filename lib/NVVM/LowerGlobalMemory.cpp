//===- LowerGlobalMemory.cpp - each thread's accesses to tensors ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements outside a tensor are neither read nor written: instructions under a
// predicate. Several elements go together where the tensor permits, else one by
// one behind a branch, which accesses in a row share.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile::nvvm {

Value both(const Emitter &e, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return e.bitAnd(x, y);
}

Value insideDim(const Emitter &e, const TensorAccess &tensor, unsigned dim,
                Value index, std::optional<ArrayRef<bool>> known) {
  if (known && (*known)[dim])
    return {};
  Value size = tensor.sizes[dim];
  // Without a sign, so that what is below 0 is outside. An index that was
  // computed in 32 bits is compared there: sizes are below 2^31.
  if (auto cast = index.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getIn().getType().isInteger(32))
    return e.less(cast.getIn(), e.to32(size));
  return e.less(index, size);
}

Value globalAddress(const Emitter &e, const TensorAccess &tensor,
                    ValueRange indices) {
  // In bytes: with strides that a loop does not change, an index costs a
  // multiply-add and no shift.
  Type element = memoryType(tensor.type.getElementType());
  Value size = e.index(element.getIntOrFloatBitWidth() / 8);
  Value pointer = tensor.pointer;
  for (auto [index, stride] : llvm::zip_equal(indices, tensor.strides))
    pointer = e.at(pointer, e.mul(index, e.mul(stride, size)), e.b.getI8Type());
  return pointer;
}

namespace {
/// What the two operations have in common.
struct Access {
  const TensorAccess &tensor;
  SmallVector<Value> indices;
  std::optional<ArrayRef<bool>> known;
  Type type;
  int64_t count, dim;
  Value inside; ///< of all dimensions but `dim`, and what the op itself asks
};
} // namespace

template <typename Op>
static Access describe(const Emitter &e, KernelLowering &k, Op op, Type type,
                       Value predicate) {
  const TensorAccess &tensor = k.tensors.find(op.getTensor())->second;
  Access access{tensor,   llvm::to_vector(op.getIndices()), op.getInBounds(),
                type,     warp::getNumRegisters(type),      0,
                predicate};
  access.dim = op.getDim().value_or(tensor.type.getRank() - 1);
  for (int64_t dim = 0; dim < tensor.type.getRank(); ++dim)
    if (dim != access.dim)
      access.inside =
          both(e, access.inside,
               insideDim(e, tensor, dim, access.indices[dim], access.known));
  return access;
}

/// Whether all elements of one access are inside or all outside.
static bool isAllOrNothing(const Access &access) {
  if (access.count == 1 || (access.known && (*access.known)[access.dim]))
    return true;
  int64_t size = access.tensor.type.getDimSize(access.dim);
  return !ShapedType::isDynamic(size) && size % access.count == 0;
}

/// The address and condition of element `i` alone.
static std::pair<Value, Value> elementOf(const Emitter &e, const Access &access,
                                         int64_t i) {
  SmallVector<Value> indices = access.indices;
  if (access.tensor.type.getRank() == 0)
    return {access.tensor.pointer, access.inside};
  Value &index = indices[access.dim];
  if (i != 0) {
    if (auto cast = index.getDefiningOp<arith::IndexCastOp>();
        cast && cast.getIn().getType().isInteger(32)) {
      // Stays in 32 bits for the comparison; what overflows is outside.
      index = arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(),
                                         e.add(cast.getIn(), e.i32(i)));
    } else {
      index = e.add(index, e.index(i));
    }
  }
  Value inside =
      both(e, access.inside,
           insideDim(e, access.tensor, access.dim, index, access.known));
  // What is below 0 is outside and not accessed: a product without a sign is
  // two instructions less.
  for (Value &each : indices)
    if (auto cast = each.getDefiningOp<arith::IndexCastOp>();
        cast && cast.getIn().getType().isInteger(32))
      each = arith::IndexCastUIOp::create(e.b, e.loc, e.b.getIndexType(),
                                          cast.getIn());
  return {globalAddress(e, access.tensor, indices), inside};
}

/// The elements' words one by one.
static SmallVector<Value> loadElements(const Emitter &e, const Access &access) {
  Type element = warp::getElementType(access.type);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < access.count; ++i) {
    auto [pointer, inside] = elementOf(e, access, i);
    llvm::append_range(
        registers,
        fromWords(e.b, e.loc, element,
                  loadWords(e, pointer, wordTypes(element), inside)));
  }
  if (access.count == 1 || !isPaired(element))
    return registers;
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < access.count; i += 2)
    pairs.push_back(vector::FromElementsOp::create(
        e.b, e.loc, VectorType::get({2}, element),
        ValueRange{registers[i], registers[i + 1]}));
  return pairs;
}

static SmallVector<Value> loadPacket(const Emitter &e, const Access &access) {
  auto [pointer, inside] = elementOf(e, access, 0);
  return fromWords(e.b, e.loc, access.type,
                   loadWords(e, pointer, wordTypes(access.type), inside));
}

/// Moves what `value` is computed from before `op`, if that is arithmetic.
static bool hoist(Value value, Operation *op) {
  Operation *source = value.getDefiningOp();
  if (!source || source->getBlock() != op->getBlock() ||
      source->isBeforeInBlock(op))
    return true;
  if (!isMemoryEffectFree(source) || source->getNumRegions() != 0 ||
      isa<warp::LoadOp>(source) ||
      !llvm::all_of(source->getOperands(),
                    [&](Value operand) { return hoist(operand, op); }))
    return false;
  source->moveBefore(op);
  return true;
}

/// The loads behind `first` that one branch can serve with it: packets of the
/// same tensor, with arithmetic between them.
static SmallVector<warp::LoadOp> findRun(warp::LoadOp first) {
  SmallVector<warp::LoadOp> run = {first};
  for (Operation *next = first->getNextNode(); next;) {
    Operation *op = next;
    next = op->getNextNode();
    if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
      break;
    auto load = dyn_cast<warp::LoadOp>(op);
    if (load && load.getTensor() == first.getTensor() &&
        load.getType() == first.getType() && load.getDim() == first.getDim() &&
        llvm::all_of(load.getIndices(),
                     [&](Value index) { return hoist(index, first); }))
      run.push_back(load);
  }
  return run;
}

/// Whether a packet's elements can be moved together: null if that is certain.
static Value fitsPacket(KernelLowering &k, Value tensor, const Access &access) {
  int64_t bytes = warp::getElementBytes(warp::getElementType(access.type));
  return access.count == 1
             ? Value()
             : k.takesPackets(tensor, access.dim, access.count * bytes);
}

static void lowerLoad(KernelLowering &k, warp::LoadOp load) {
  OpBuilder b(load);
  Emitter e(b, load.getLoc());
  Type type = load.getType();
  Access access = describe(e, k, load, type, {});
  bool together = isAllOrNothing(access);
  Value fits = together ? fitsPacket(k, load.getTensor(), access) : Value();
  auto finish = [&](warp::LoadOp op, ValueRange registers) {
    OpBuilder at(op);
    op.getResult().replaceAllUsesWith(
        joinRegisters(at, op.getLoc(), type, registers));
    k.done.insert(op);
    op->erase();
  };
  if (!fits)
    return finish(load,
                  together ? loadPacket(e, access) : loadElements(e, access));
  SmallVector<warp::LoadOp> run = findRun(load);
  SmallVector<Access> accesses;
  for (warp::LoadOp op : run)
    accesses.push_back(describe(e, k, op, type, {}));
  size_t each = registerTypes(type).size();
  SmallVector<Type> types;
  for (size_t i = 0; i < run.size(); ++i)
    llvm::append_range(types, registerTypes(type));
  auto branch =
      scf::IfOp::create(b, e.loc, types, fits, /*withElseRegion=*/true);
  for (bool packets : {true, false}) {
    b.setInsertionPointToEnd(packets ? branch.thenBlock() : branch.elseBlock());
    SmallVector<Value> all;
    for (const Access &one : accesses)
      llvm::append_range(all,
                         packets ? loadPacket(e, one) : loadElements(e, one));
    scf::YieldOp::create(b, e.loc, all);
  }
  ValueRange results = branch.getResults();
  for (warp::LoadOp op : run) {
    finish(op, results.take_front(each));
    results = results.drop_front(each);
  }
}

static void storeElements(const Emitter &e, const Access &access,
                          ValueRange registers) {
  Type element = warp::getElementType(access.type);
  for (int64_t i = 0; i < access.count; ++i) {
    auto [pointer, inside] = elementOf(e, access, i);
    Value value =
        isa<VectorType>(registers.front().getType())
            ? vector::ExtractOp::create(e.b, e.loc, registers[i / 2], i % 2)
            : registers[i];
    storeWords(e, pointer, toWords(e.b, e.loc, element, value), inside);
  }
}

/// The same of a packet of words in a loop, which has few instructions: the
/// element to be written is always the first word's low end.
static void storeRolled(const Emitter &outer, const Access &access,
                        ValueRange words) {
  OpBuilder &b = outer.b;
  OpBuilder::InsertionGuard guard(b);
  Type element = warp::getElementType(access.type);
  int64_t bits = 8 * warp::getElementBytes(element);
  auto [pointer, inside] = elementOf(outer, access, 0);
  SmallVector<Value> carried = {pointer};
  llvm::append_range(carried, words);
  auto loop =
      scf::ForOp::create(b, outer.loc, outer.i32(0), outer.i32(access.count),
                         outer.i32(1), carried);
  keepRolled(loop);
  b.setInsertionPointToStart(loop.getBody());
  Emitter e(b, outer.loc);
  Value place = loop.getRegionIterArg(0), word = loop.getRegionIterArg(1);
  Value low =
      bits == 32
          ? word
          : arith::TruncIOp::create(b, e.loc, b.getIntegerType(bits), word);
  storeWords(e, place, low, inside);
  SmallVector<Value> next = {
      e.at(place, access.tensor.strides[access.dim], memoryType(element))};
  for (size_t i = 1; i <= words.size(); ++i) {
    Value above =
        i < words.size() ? Value(loop.getRegionIterArg(i + 1)) : e.i32(0);
    if (bits < 32)
      above = arith::OrIOp::create(
          b, e.loc,
          arith::ShRUIOp::create(b, e.loc, loop.getRegionIterArg(i),
                                 e.i32(bits)),
          arith::ShLIOp::create(b, e.loc, above, e.i32(32 - bits)));
    next.push_back(above);
  }
  scf::YieldOp::create(b, e.loc, next);
}

/// The branch for a store: that of the store before it if only arithmetic lies
/// between, so that packets that are written in a row need one.
static scf::IfOp branchFor(KernelLowering &k, Operation *op, Value fits) {
  auto last = dyn_cast_or_null<scf::IfOp>(k.lastStores);
  if (last && last.getCondition() == fits &&
      last->getBlock() == op->getBlock()) {
    bool isNear = true;
    for (Operation *between = last->getNextNode(); between != op;
         between = between->getNextNode())
      isNear &= isMemoryEffectFree(between) && between->getNumRegions() == 0;
    if (isNear) {
      last->moveBefore(op);
      return last;
    }
  }
  OpBuilder b(op);
  auto made = scf::IfOp::create(b, op->getLoc(), fits, /*withElseRegion=*/true);
  k.lastStores = made;
  return made;
}

static void lowerStore(KernelLowering &k, warp::StoreOp store) {
  OpBuilder b(store);
  Location loc = store.getLoc();
  Emitter e(b, loc);
  Type type = store.getValue().getType();
  Access access = describe(e, k, store, type, store.getPredicate());
  SmallVector<Value> registers = splitRegisters(b, loc, store.getValue());
  if (!isAllOrNothing(access)) {
    storeElements(e, access, registers);
  } else {
    Value fits = fitsPacket(k, store.getTensor(), access);
    SmallVector<Value> words = toWords(b, loc, type, registers);
    auto [pointer, inside] = elementOf(e, access, 0);
    if (!fits) {
      storeWords(e, pointer, words, inside);
    } else {
      scf::IfOp branch = branchFor(k, store, fits);
      b.setInsertionPoint(branch.thenYield());
      storeWords(e, pointer, words, inside);
      b.setInsertionPoint(branch.elseYield());
      if (words.size() < 2 || words.size() == size_t(access.count))
        storeElements(e, access, registers);
      else
        storeRolled(e, access, words);
    }
  }
  store.erase();
}

void lowerGlobalMemory(KernelLowering &k, Operation *op) {
  if (auto load = dyn_cast<warp::LoadOp>(op))
    lowerLoad(k, load);
  else
    lowerStore(k, cast<warp::StoreOp>(op));
}

} // namespace attentile::nvvm
