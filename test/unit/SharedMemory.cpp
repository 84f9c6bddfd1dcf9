//===- SharedMemory.cpp - a block's shared memory with its hazards --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace attentile::test {
namespace {

/// To nearest even; 8-bit floats saturate, as the language says.
llvm::APFloat toAPFloat(FloatType type, double value) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  llvm::APFloat result(value);
  bool losesInfo;
  result.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  bool isTooLarge = !result.isFinite() && !std::isnan(value);
  if (isTooLarge && type.getWidth() == 8)
    return llvm::APFloat::getLargest(semantics, std::signbit(value));
  return result;
}

unsigned sizeOf(Type type) {
  return type.isIndex() ? 8 : std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

// What is most frequent is asked first: a cast to FloatType looks an interface
// up, and an APFloat allocates.
uint64_t encode(Type type, double value) {
  if (type.isF32())
    return llvm::bit_cast<uint32_t>(float(value));
  if (auto real = dyn_cast<FloatType>(type))
    return toAPFloat(real, value).bitcastToAPInt().getZExtValue();
  // The largest integer is no double: its neighbour above stands for it.
  return value < 0x1p63 ? uint64_t(int64_t(value)) : uint64_t(INT64_MAX);
}

double decode(Type type, uint64_t bits) {
  if (type.isF32())
    return double(llvm::bit_cast<float>(uint32_t(bits)));
  if (auto real = dyn_cast<FloatType>(type)) {
    llvm::APFloat value(real.getFloatSemantics(),
                        llvm::APInt(real.getWidth(), bits));
    return value.convertToDouble();
  }
  unsigned width = 8 * sizeOf(type);
  return double(llvm::APInt(width, bits).getSExtValue());
}

} // namespace

double roundTo(Type type, double value) {
  if (type.isF32())
    return double(float(value));
  if (auto real = dyn_cast<FloatType>(type))
    return toAPFloat(real, value).convertToDouble();
  return value;
}

SharedMemory::SharedMemory(size_t bytes, unsigned threads)
    : bytes(bytes), threads(threads), warpEpochs((threads + 31) / 32),
      now(warpEpochs.size()), known(now.size(), now) {}

SharedMemory::Access SharedMemory::accessOf(unsigned thread) const {
  unsigned warp = thread / 32;
  return {int(thread), now[warp], warpEpochs[warp]};
}

bool SharedMemory::isBehind(unsigned thread, const Access &access) const {
  if (access.thread < 0)
    return true;
  unsigned warp = thread / 32, other = unsigned(access.thread) / 32;
  if (known[warp][other] > access.time)
    return true;
  bool isOwn = access.thread == int(thread) && !access.many;
  return warp == other && (isOwn || access.warpEpoch != warpEpochs[warp]);
}

bool SharedMemory::isBehindWrite(unsigned thread, const Byte &byte) const {
  return isBehind(thread, byte.write) ||
         (byte.mbarrier >= 0 &&
          mbarriers[byte.mbarrier].waited[thread / 32] >= byte.phase);
}

void SharedMemory::barrier() {
  for (int64_t &time : now)
    ++time;
  known.assign(now.size(), now);
  for (Thread &thread : threads)
    thread.landed.clear();
}

unsigned SharedMemory::makeMbarrier(unsigned arrivals) {
  Mbarrier made;
  made.needed = arrivals;
  made.pending = made.done = Times(now.size());
  made.waited.assign(now.size(), -1);
  mbarriers.push_back(std::move(made));
  return mbarriers.size() - 1;
}

void SharedMemory::countArrival(Mbarrier &mbarrier) {
  if (++mbarrier.arrived < mbarrier.needed)
    return;
  mbarrier.arrived = 0;
  ++mbarrier.phases;
  mbarrier.done = mbarrier.pending;
  mbarrier.doneCopies = std::move(mbarrier.pendingCopies);
  mbarrier.pendingCopies.clear();
}

void SharedMemory::arrive(unsigned mbarrier, unsigned warp) {
  sync(warp);
  ++now[warp];
  known[warp][warp] = now[warp];
  Mbarrier &at = mbarriers[mbarrier];
  for (size_t i = 0; i < now.size(); ++i)
    at.pending[i] = std::max(at.pending[i], known[warp][i]);
  countArrival(at);
}

void SharedMemory::arriveCopies(unsigned mbarrier, unsigned thread) {
  Mbarrier &at = mbarriers[mbarrier];
  auto add = [&](const Copies &copies) {
    for (const std::shared_ptr<Copy> &copy : copies)
      if (!copy->arrived)
        at.pendingCopies.push_back({thread, copy});
  };
  for (const Copies &group : threads[thread].groups)
    add(group);
  add(threads[thread].open);
  // All copies before, those too that the thread itself has waited for.
  for (const std::shared_ptr<Copy> &copy : threads[thread].landed)
    at.pendingCopies.push_back({thread, copy});
  countArrival(at);
}

void SharedMemory::waitPhase(unsigned mbarrier, unsigned parity,
                             unsigned warp) {
  Mbarrier &at = mbarriers[mbarrier];
  if (unsigned(at.phases % 2) == parity)
    return fail("wait for a phase that is not complete", 0, warp * 32, -1);
  for (auto &[thread, copy] : at.doneCopies)
    if (!copy->arrived)
      land(*copy, thread, int(mbarrier), at.phases - 1);
    else
      release(*copy, thread, int(mbarrier), at.phases - 1);
  at.waited[warp] = at.phases - 1;
  for (size_t i = 0; i < now.size(); ++i)
    known[warp][i] = std::max(known[warp][i], at.done[i]);
}

void SharedMemory::fail(const char *what, size_t address, unsigned thread,
                        int other) {
  if (!message.empty())
    return;
  message = std::string(what) + " at shared byte " + std::to_string(address) +
            ", thread " + std::to_string(thread);
  if (other >= 0)
    message += " against thread " + std::to_string(other);
}

bool SharedMemory::inBounds(size_t address, size_t size) {
  if (address % size == 0 && address + size <= bytes.size())
    return true;
  fail("misaligned access or one past the end", address, 0, -1);
  return false;
}

void SharedMemory::checkWrite(unsigned thread, size_t address, Byte &byte) {
  if (byte.inFlight)
    fail("write under a copy on its way", address, thread, byte.write.thread);
  if (!isBehindWrite(thread, byte))
    fail("write after write without a barrier", address, thread,
         byte.write.thread);
  for (const Access &read : byte.reads)
    if (!isBehind(thread, read))
      fail("write after read without a barrier", address, thread, read.thread);
}

double SharedMemory::read(unsigned thread, size_t address, Type type) {
  unsigned size = sizeOf(type);
  if (!inBounds(address, size))
    return 0;
  uint64_t bits = 0;
  for (unsigned i = 0; i < size; ++i) {
    Byte &byte = bytes[address + i];
    if (byte.inFlight)
      fail("read of a copy on its way", address, thread, byte.write.thread);
    else if (!byte.written)
      fail("read of what nobody wrote", address, thread, -1);
    if (!isBehindWrite(thread, byte))
      fail("read after write without a barrier", address, thread,
           byte.write.thread);
    byte.reads.resize(now.size());
    Access &last = byte.reads[thread / 32], next = accessOf(thread);
    bool isSameTime =
        last.time == next.time && last.warpEpoch == next.warpEpoch;
    next.many = isSameTime && (last.many || last.thread != next.thread);
    last = next;
    bits |= uint64_t(byte.value) << (8 * i);
  }
  return decode(type, bits);
}

void SharedMemory::write(unsigned thread, size_t address, Type type,
                         double value) {
  unsigned size = sizeOf(type);
  if (!inBounds(address, size))
    return;
  uint64_t bits = encode(type, value);
  for (unsigned i = 0; i < size; ++i) {
    Byte &byte = bytes[address + i];
    checkWrite(thread, address, byte);
    byte.value = uint8_t(bits >> (8 * i));
    byte.written = true;
    byte.write = accessOf(thread);
    byte.copied = false;
    byte.mbarrier = -1;
  }
}

void SharedMemory::copyAsync(unsigned thread, size_t address, Type type,
                             double value) {
  unsigned size = sizeOf(type);
  if (!inBounds(address, size))
    return;
  uint64_t bits = encode(type, value);
  auto copy = std::make_shared<Copy>(Copy{address, {}});
  for (unsigned i = 0; i < size; ++i) {
    Byte &byte = bytes[address + i];
    checkWrite(thread, address, byte);
    ++byte.inFlight;
    byte.write = accessOf(thread);
    byte.copied = false;
    byte.mbarrier = -1;
    copy->bytes.push_back(uint8_t(bits >> (8 * i)));
  }
  threads[thread].open.push_back(std::move(copy));
}

void SharedMemory::commitGroup(unsigned thread) {
  threads[thread].groups.push_back(std::move(threads[thread].open));
  threads[thread].open.clear();
}

void SharedMemory::waitGroup(unsigned thread, unsigned pending) {
  auto &groups = threads[thread].groups;
  for (; groups.size() > pending; groups.pop_front())
    for (std::shared_ptr<Copy> &copy : groups.front())
      if (!copy->arrived) {
        land(*copy, thread, -1, -1);
        threads[thread].landed.push_back(copy);
      }
}

void SharedMemory::land(Copy &copy, unsigned thread, int mbarrier,
                        int64_t phase) {
  copy.arrived = true;
  for (size_t i = 0; i < copy.bytes.size(); ++i) {
    Byte &byte = bytes[copy.address + i];
    --byte.inFlight;
    byte.value = copy.bytes[i];
    byte.written = true;
    byte.write = accessOf(thread);
    byte.copied = true;
    byte.mbarrier = mbarrier;
    byte.phase = phase;
  }
  copy.time = now[thread / 32];
}

void SharedMemory::release(const Copy &copy, unsigned thread, int mbarrier,
                           int64_t phase) {
  for (size_t i = 0; i < copy.bytes.size(); ++i) {
    Byte &byte = bytes[copy.address + i];
    // Unless it arrived elsewhere, or something else was written since.
    if (!byte.copied || byte.mbarrier >= 0 || byte.inFlight > 0 ||
        byte.write.thread != int(thread) || byte.write.time != copy.time)
      continue;
    byte.mbarrier = mbarrier;
    byte.phase = phase;
  }
}

void SharedMemory::finish() {
  auto check = [&](const Copies &copies, unsigned thread, const char *what) {
    for (const std::shared_ptr<Copy> &copy : copies)
      if (!copy->arrived)
        return fail(what, copy->address, thread, -1);
  };
  for (unsigned thread = 0; thread < threads.size(); ++thread) {
    check(threads[thread].open, thread, "copy never committed");
    for (const Copies &group : threads[thread].groups)
      check(group, thread, "copy never waited for");
  }
}

} // namespace attentile::test
