//===- SharedMemory.h - a block's shared memory with its hazards -*- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads run in step here, so a forgotten barrier would change no result. It
// is found by what each byte remembers: who wrote and who read it since the
// last barrier. Two accesses of different threads with no barrier between, one
// of them a write, are a race; of threads of one warp, without the warp's
// meeting either. A byte that an asynchronous copy is bringing
// holds nothing until the copying thread has waited for it, and is that
// thread's alone until the barrier after.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_SHAREDMEMORY_H
#define ATTENTILE_TEST_UNIT_SHAREDMEMORY_H

#include "mlir/IR/Types.h"
#include <deque>
#include <string>
#include <vector>

namespace attentile::test {

/// `value` rounded to `type`; integers wrap, i1 is 0 or 1.
double roundTo(mlir::Type type, double value);

class SharedMemory {
public:
  SharedMemory(size_t bytes, unsigned threads);

  /// One element, `type` at byte `address`. Errors are kept, the first wins.
  double read(unsigned thread, size_t address, mlir::Type type);
  void write(unsigned thread, size_t address, mlir::Type type, double value);

  /// The same write, which arrives when `thread` waits for its group.
  void copyAsync(unsigned thread, size_t address, mlir::Type type,
                 double value);
  void commitGroup(unsigned thread);
  /// Until at most `pending` groups of this thread are on their way.
  void waitGroup(unsigned thread, unsigned pending);

  /// All threads have arrived.
  void barrier() { ++epoch; }
  /// All threads of a warp have arrived.
  void sync(unsigned warp) { ++warpEpochs[warp]; }
  /// At the kernel's end nothing may still be on its way.
  void finish();

  const std::string &error() const { return message; }

private:
  struct Byte {
    uint8_t value = 0;
    bool written = false;
    unsigned inFlight = 0; ///< copies on their way
    int writer = -1, reader = -1;
    bool manyReaders = false,
         manyWarps = false; ///< of the reader's warp; of all
    int64_t writeEpoch = -1, readEpoch = -1;
    int64_t writeWarpEpoch = -1, readWarpEpoch = -1; ///< the threads' warps'
  };
  struct Copy {
    size_t address;
    std::vector<uint8_t> bytes;
  };
  struct Thread {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
  };

  /// Whether `thread` comes behind what `other` did then.
  bool isBehind(unsigned thread, int other, int64_t then,
                int64_t warpThen) const;
  int64_t &warpEpoch(unsigned thread) { return warpEpochs[thread / 32]; }
  bool inBounds(size_t address, size_t size);
  void checkWrite(unsigned thread, size_t address, Byte &byte);
  void fail(const char *what, size_t address, unsigned thread, int other);

  std::vector<Byte> bytes;
  std::vector<Thread> threads;
  int64_t epoch = 0;
  std::vector<int64_t> warpEpochs;
  std::string message;
};

} // namespace attentile::test

#endif
