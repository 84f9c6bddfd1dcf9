//===- WarpMachine.h - the state of a running warp kernel -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_WARPMACHINE_H
#define ATTENTILE_TEST_UNIT_WARPMACHINE_H

#include "SharedMemory.h"
#include "TileInterpreter.h"
#include "Warp/Warp.h"
#include <set>

namespace attentile::test {

using namespace mlir;

constexpr int kLanes = 32;

/// A value in all threads: `width` numbers each, or once if all have the same.
struct Registers {
  int width = 1;
  bool uniform = true;
  std::vector<double> data;

  Registers() = default;
  Registers(int width, int threads)
      : width(width), uniform(false), data(size_t(width) * threads) {}
  static Registers scalar(double value) {
    Registers result;
    result.data = {value};
    return result;
  }
  double &at(int thread, int element = 0) {
    return data[(uniform ? 0 : size_t(thread) * width) + element];
  }
};

struct Buffer {
  size_t address;
  warp::BufferType type;
};

inline int widthOf(Type type) { return int(warp::getNumRegisters(type)); }

/// Runs operations for all threads of a block at a time.
class Interpreter {
public:
  explicit Interpreter(std::map<std::string, HostTensor> &values)
      : values(values) {}

  bool runProgram(tile::ProgramOp program);

private:
  // WarpInterpreter.cpp: the program, control flow.
  HostTensor allocate(AffineMap shape);
  bool runBlock(Block &block);
  bool run(Operation *op);
  bool runOp(warp::KernelOp kernel);
  bool runOp(scf::ForOp loop);
  /// Threads that do not take a branch are inactive in it.
  bool runOp(scf::IfOp branch);

  // WarpRegisters.cpp: what happens in registers and between lanes.
  bool runElementwise(Operation *op);
  bool runPhilox(attn::PhiloxOp op);
  /// The result's element e is element from[e] of the operand.
  bool permute(Value result, Value operand, ArrayRef<int64_t> from);
  bool runOp(vector::BroadcastOp op);
  bool runOp(vector::ShuffleOp op);
  bool runOp(vector::ExtractStridedSliceOp op);
  bool runOp(vector::InsertStridedSliceOp op);
  bool runOp(vector::FromElementsOp op);
  bool runOp(vector::ToElementsOp op);
  bool runOp(vector::ExtractOp op);
  /// Registers joined to a fragment, or taken apart.
  bool runOp(UnrealizedConversionCastOp op);
  bool runOp(warp::ShuffleXorOp op);
  bool runOp(warp::ShuffleFromOp op);
  bool runOp(warp::SplitTf32Op op);
  bool runOp(warp::MmaOp op);

  // WarpMemory.cpp: shared memory and tensors.
  static size_t bytesOf(warp::BufferType type);
  static size_t stageBytes(warp::BufferType type);
  /// The byte of an element; out of bounds is an error.
  size_t addressOf(Operation *op, const Buffer &buffer, int64_t row,
                   int64_t column);
  bool runOp(warp::AllocOp);
  bool runOp(warp::StageOp op);
  template <typename Visit>
  bool forSharedElements(Operation *op, Value buffer, OperandRange indices,
                         int width, Visit visit);
  bool runOp(warp::LoadSharedOp op);
  bool runOp(warp::StoreSharedOp op);
  bool runOp(warp::CopyAsyncOp op);
  /// Of each matrix of 8 rows of 16 bytes a lane gets 4 bytes; lane l reads row
  /// l % 8 of matrix l / 8, which is whose access it is.
  bool runOp(warp::LdmatrixOp op);
  /// Where an element is; -1 for one outside, which must not be declared
  /// inside.
  int64_t positionOf(Operation *op, const HostTensor &tensor,
                     ArrayRef<int64_t> index,
                     std::optional<ArrayRef<bool>> inside);
  template <typename Op, typename Visit>
  bool forElements(Op op, Type value, Visit visit);
  bool runOp(warp::LoadOp op);
  bool runOp(warp::StoreOp op);

  Registers &get(Value value) {
    auto found = env.find(value);
    if (found == env.end())
      llvm::report_fatal_error("expected a value that has been computed");
    return found->second;
  }

  bool set(Value value, Registers registers) {
    if (auto type = dyn_cast<FloatType>(warp::getElementType(value.getType())))
      for (double &x : registers.data)
        x = roundTo(type, x);
    env[value] = std::move(registers);
    return true;
  }

  template <typename Visit> void forActive(Visit visit) {
    for (int t = 0; t < threads; ++t)
      if (active[t])
        visit(t);
  }

  bool uniform(Operation *op, Value value, int64_t &result) {
    Registers &registers = get(value);
    bool first = true;
    forActive([&](int t) {
      int64_t own = int64_t(registers.at(t));
      if (!first && own != result)
        fail(op, "expected a value that is the same in all threads");
      result = own;
      first = false;
    });
    return !failed;
  }

  bool warpsAreWhole(Operation *op) {
    for (int t = 0; t < threads; ++t)
      if (active[t] != active[t / kLanes * kLanes])
        return fail(op, "an instruction of the warp in a branch that parts it");
    return true;
  }

  /// Calls `visit` with each warp that is active.
  template <typename Visit> bool forWarps(Operation *op, Visit visit) {
    if (!warpsAreWhole(op))
      return false;
    for (int t = 0; t < threads; t += kLanes)
      if (active[t])
        visit(t / kLanes);
    return true;
  }

  bool fail(Operation *op, const std::string &what) {
    if (!failed)
      op->emitError(what);
    failed = true;
    return false;
  }

  std::map<std::string, HostTensor> &values;
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> shuffled;
  DenseMap<Value, Registers> env;
  DenseMap<Value, HostTensor *> tensors;
  DenseMap<Value, Buffer> buffers;
  DenseMap<Value, unsigned> mbarriers;
  std::vector<std::unique_ptr<HostTensor>> owned;
  std::set<std::pair<HostTensor *, int64_t>> stored;
  std::unique_ptr<SharedMemory> memory;
  int threads = 1;
  std::vector<char> active = {true};
  bool failed = false;
  bool startsEarly = false; ///< and has not waited for the kernel before
};

} // namespace attentile::test

#endif
