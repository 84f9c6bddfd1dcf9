//===- SharedMemory.h - a block's shared memory with its hazards -*- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads run in step here, so a forgotten barrier would change no result. It
// is found by what each byte remembers: who wrote it and who of each warp read
// it, at which of the warp's times. A warp's time goes on where it meets others
// or arrives somewhere; each warp knows up to which time of the others what
// they did is done. Two accesses of different warps, one of them a write, of
// which the later does not know the earlier are a race; of threads of one warp,
// without the warp's meeting either. A byte that an asynchronous copy is
// bringing holds nothing until the copying thread has waited for it, and is
// that thread's alone until the barrier after; or until its arrival has been
// waited for at an mbarrier, which says nothing of what else the thread did.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_SHAREDMEMORY_H
#define ATTENTILE_TEST_UNIT_SHAREDMEMORY_H

#include "mlir/IR/Types.h"
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace attentile::test {

/// `value` rounded to `type`; 8-bit floats saturate, integers wrap, i1 is 0
/// or 1.
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
  void barrier();
  /// An mbarrier's number.
  unsigned makeMbarrier(unsigned arrivals);
  void arrive(unsigned mbarrier, unsigned warp);
  void arriveCopies(unsigned mbarrier, unsigned thread);
  /// Nobody can arrive while threads run in step: the phase must be complete.
  void waitPhase(unsigned mbarrier, unsigned parity, unsigned warp);
  /// All threads of a warp have arrived.
  void sync(unsigned warp) { ++warpEpochs[warp]; }
  /// At the kernel's end nothing may still be on its way.
  void finish();

  const std::string &error() const { return message; }

private:
  using Times = std::vector<int64_t>; ///< of each warp
  struct Access {
    int thread = -1;
    int64_t time = -1, warpEpoch = -1; ///< its warp's, then
    bool many = false;                 ///< several of the warp's threads
  };
  struct Byte {
    uint8_t value = 0;
    bool written = false;
    unsigned inFlight = 0; ///< copies on their way
    Access write;
    bool copied = false; ///< the last write was a copy
    int mbarrier = -1;   ///< at which a copy arrived, and in which phase
    int64_t phase = -1;
    std::vector<Access> reads; ///< the last of each warp
  };
  struct Copy {
    size_t address;
    std::vector<uint8_t> bytes;
    bool arrived = false;
    int64_t time = -1; ///< of its thread's warp, when it arrived
  };
  using Copies = std::vector<std::shared_ptr<Copy>>;
  struct Thread {
    Copies open;
    std::deque<Copies> groups;
    Copies landed; ///< that it waited for since the last barrier
  };
  struct Mbarrier {
    unsigned needed, arrived = 0;
    int64_t phases = 0; ///< complete
    Times pending, done;
    std::vector<std::pair<unsigned, std::shared_ptr<Copy>>> pendingCopies,
        doneCopies;              ///< with their threads
    std::vector<int64_t> waited; ///< of each warp, the last phase
  };

  /// Whether `thread` comes behind that access.
  bool isBehind(unsigned thread, const Access &access) const;
  bool isBehindWrite(unsigned thread, const Byte &byte) const;
  Access accessOf(unsigned thread) const;
  void countArrival(Mbarrier &mbarrier);
  void land(Copy &copy, unsigned thread, int mbarrier, int64_t phase);
  /// The mbarrier's phase tells others of a copy that its thread waited for.
  void release(const Copy &copy, unsigned thread, int mbarrier, int64_t phase);
  bool inBounds(size_t address, size_t size);
  void checkWrite(unsigned thread, size_t address, Byte &byte);
  void fail(const char *what, size_t address, unsigned thread, int other);

  std::vector<Byte> bytes;
  std::vector<Thread> threads;
  Times warpEpochs, now;
  std::vector<Times> known; ///< by each warp
  std::vector<Mbarrier> mbarriers;
  std::string message;
};

} // namespace attentile::test

#endif
