//===- SharedMemory.cpp - a block's shared memory with its hazards --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace attentile::test {
namespace {

llvm::APFloat toAPFloat(FloatType type, double value) {
  llvm::APFloat result(value);
  bool losesInfo;
  result.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return result;
}

unsigned sizeOf(Type type) {
  return type.isIndex() ? 8 : std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

uint64_t encode(Type type, double value) {
  if (auto real = dyn_cast<FloatType>(type))
    return toAPFloat(real, value).bitcastToAPInt().getZExtValue();
  // The largest integer is no double: its neighbour above stands for it.
  return value < 0x1p63 ? uint64_t(int64_t(value)) : uint64_t(INT64_MAX);
}

double decode(Type type, uint64_t bits) {
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
  if (auto real = dyn_cast<FloatType>(type))
    return real.isF32() ? double(float(value))
                        : toAPFloat(real, value).convertToDouble();
  return value;
}

SharedMemory::SharedMemory(size_t bytes, unsigned threads)
    : bytes(bytes), threads(threads), warpEpochs((threads + 31) / 32) {}

bool SharedMemory::isBehind(unsigned thread, int other, int64_t then,
                            int64_t warpThen) const {
  return then != epoch || other == int(thread) ||
         (unsigned(other) / 32 == thread / 32 &&
          warpThen != warpEpochs[thread / 32]);
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
    fail("write under a copy on its way", address, thread, byte.writer);
  if (!isBehind(thread, byte.writer, byte.writeEpoch, byte.writeWarpEpoch))
    fail("write after write without a barrier", address, thread, byte.writer);
  bool sharesReads =
      byte.manyWarps ||
      (byte.manyReaders && byte.readWarpEpoch == warpEpoch(thread));
  if (!isBehind(thread, byte.reader, byte.readEpoch, byte.readWarpEpoch) ||
      (byte.readEpoch == epoch && sharesReads))
    fail("write after read without a barrier", address, thread, byte.reader);
}

double SharedMemory::read(unsigned thread, size_t address, Type type) {
  unsigned size = sizeOf(type);
  if (!inBounds(address, size))
    return 0;
  uint64_t bits = 0;
  for (unsigned i = 0; i < size; ++i) {
    Byte &byte = bytes[address + i];
    if (byte.inFlight)
      fail("read of a copy on its way", address, thread, byte.writer);
    else if (!byte.written)
      fail("read of what nobody wrote", address, thread, -1);
    if (!isBehind(thread, byte.writer, byte.writeEpoch, byte.writeWarpEpoch))
      fail("read after write without a barrier", address, thread, byte.writer);
    if (byte.readEpoch != epoch)
      byte.manyReaders = byte.manyWarps = false;
    else if (byte.reader / 32 != int(thread) / 32)
      byte.manyWarps = true;
    else
      byte.manyReaders = byte.readWarpEpoch == warpEpoch(thread) &&
                         (byte.manyReaders || byte.reader != int(thread));
    byte.readEpoch = epoch;
    byte.readWarpEpoch = warpEpoch(thread);
    byte.reader = int(thread);
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
    byte.writer = int(thread);
    byte.writeEpoch = epoch;
    byte.writeWarpEpoch = warpEpoch(thread);
  }
}

void SharedMemory::copyAsync(unsigned thread, size_t address, Type type,
                             double value) {
  unsigned size = sizeOf(type);
  if (!inBounds(address, size))
    return;
  uint64_t bits = encode(type, value);
  Copy copy{address, {}};
  for (unsigned i = 0; i < size; ++i) {
    Byte &byte = bytes[address + i];
    checkWrite(thread, address, byte);
    ++byte.inFlight;
    byte.writer = int(thread);
    copy.bytes.push_back(uint8_t(bits >> (8 * i)));
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
    for (Copy &copy : groups.front())
      for (size_t i = 0; i < copy.bytes.size(); ++i) {
        Byte &byte = bytes[copy.address + i];
        --byte.inFlight;
        byte.value = copy.bytes[i];
        byte.written = true;
        byte.writer = int(thread);
        byte.writeEpoch = epoch;
        byte.writeWarpEpoch = warpEpoch(thread);
      }
}

void SharedMemory::finish() {
  for (unsigned thread = 0; thread < threads.size(); ++thread) {
    if (!threads[thread].open.empty())
      fail("copy never committed", threads[thread].open[0].address, thread, -1);
    for (auto &group : threads[thread].groups)
      if (!group.empty())
        fail("copy never waited for", group[0].address, thread, -1);
  }
}

} // namespace attentile::test
