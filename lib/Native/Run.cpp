//===- Run.cpp - running a program on host tensors ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "NativeProgram.h"
#include <chrono>
#include <cstring>

using namespace llvm;

namespace attentile {

namespace {
/// 64-byte aligned memory, or none for 0 bytes.
struct Aligned {
  explicit Aligned(int64_t bytes)
      : data(bytes ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr) {
  }
  Aligned(Aligned &&other) : data(std::exchange(other.data, nullptr)) {}
  ~Aligned() { std::free(data); }
  void *data;
};
} // namespace

/// A scalar's bits as its slot holds them.
static int64_t scalarBits(const HostTensor &scalar) {
  int64_t bits = 0;
  const void *data = scalar.origin();
  switch (scalar.type) {
  case ElementType::I32: {
    int32_t value;
    std::memcpy(&value, data, sizeof value);
    return value;
  }
  case ElementType::I8:
    return *static_cast<const int8_t *>(data);
  case ElementType::Bool:
    return *static_cast<const uint8_t *>(data) != 0;
  default:
    std::memcpy(&bits, data, sizeOf(scalar.type));
    return bits;
  }
}

/// What a default's function returns, as a slot holds it.
static int64_t defaultBits(void *function, ElementType type,
                           const int64_t *slots) {
  if (!isFloat(type))
    return reinterpret_cast<int64_t (*)(const int64_t *)>(function)(slots);
  float value = reinterpret_cast<float (*)(const int64_t *)>(function)(slots);
  return scalarBits(HostTensor::scalar(type, value));
}

/// Checks the arguments against the head and fills the slots of all but
/// workspaces and counters.
static Expected<std::vector<int64_t>>
packSlots(const ProgramInfo &info, const std::vector<void *> &defaults,
          const RunArguments &arguments) {
  if (arguments.tensors.size() != info.parameters.size())
    return createStringError("expected %zu inputs and outputs of '%s', got %zu",
                             info.parameters.size(), info.name.c_str(),
                             arguments.tensors.size());
  std::vector<const HostTensor *> tensors;
  for (auto [parameter, tensor] :
       zip_equal(info.parameters, arguments.tensors)) {
    tensors.push_back(&tensor);
    bool isLeftOut = !parameter.isTensor && !tensor.data;
    if (isLeftOut && !parameter.hasDefault)
      return createStringError("expected a value of '%s', which has no default",
                               parameter.name.c_str());
    if (!isLeftOut && tensor.type != parameter.type)
      return createStringError("expected '%s' of type %s, got %s",
                               parameter.name.c_str(), nameOf(parameter.type),
                               nameOf(tensor.type));
  }
  for (auto [parameter, tensor] : zip_equal(info.parameters, arguments.tensors))
    for (auto [dim, size, stride] : enumerate(tensor.sizes, tensor.strides))
      if (parameter.isOutput && size > 1 && stride == 0)
        return createStringError("expected a stride other than 0 in dimension "
                                 "%zu of '%s', which is written",
                                 dim, parameter.name.c_str());
  std::vector<int64_t> sizes;
  std::string error;
  if (!info.deduceSizes(tensors, sizes, error))
    return createStringError(error);
  if (!arguments.sizes.empty() && arguments.sizes != sizes)
    return createStringError("expected the sizes that the tensors have");

  std::vector<int64_t> slots(info.slotCount);
  llvm::copy(sizes, slots.begin() + info.sizeSlot);
  for (auto [parameter, tensor, function] :
       zip_equal(info.parameters, arguments.tensors, defaults)) {
    int64_t *slot = &slots[parameter.slot];
    if (parameter.isTensor) {
      *slot++ = reinterpret_cast<intptr_t>(tensor.origin());
      slot = llvm::copy(tensor.sizes, slot);
      llvm::copy(tensor.strides, slot);
    } else if (tensor.data) {
      *slot = scalarBits(tensor);
    } else { // may use sizes and the scalars before it
      *slot = defaultBits(function, parameter.type, slots.data());
    }
  }
  return slots;
}

Expected<RunStats> NativeProgram::run(const RunArguments &arguments,
                                      const RunOptions &options) const {
  const ProgramInfo &info = impl->info;
  Expected<std::vector<int64_t>> packed =
      packSlots(info, impl->defaults, arguments);
  if (!packed)
    return packed.takeError();
  std::vector<int64_t> &slots = *packed;
  if (int64_t broken = impl->check(slots.data()))
    return createStringError("constraint does not hold: %s",
                             info.constraints[broken - 1].c_str());

  RunStats stats;
  std::vector<Aligned> workspaces;
  for (auto [workspace, elements] :
       zip_equal(info.workspaces, impl->workspaces)) {
    int64_t bytes = elements(slots.data()) * sizeOf(workspace.type);
    void *data = workspaces.emplace_back(bytes).data;
    if (bytes && !data)
      return createStringError("expected %lld bytes of memory for '%s'",
                               static_cast<long long>(bytes),
                               workspace.name.c_str());
    slots[workspace.slot] = reinterpret_cast<intptr_t>(data);
    stats.workspaceBytes += bytes;
  }

  std::vector<int64_t> cells;
  int64_t total = 0, before = 0;
  for (Impl::HostFunction *function : impl->cells)
    total += cells.emplace_back(function(slots.data()));

  // Each thread has its own scratch and counters, so its own slots.
  unsigned threads = options.threads ? options.threads : availableThreads();
  threads = std::clamp<int64_t>(total, 1, threads);
  std::vector<Aligned> scratch;
  struct alignas(64) Counters {
    int64_t value[2] = {0, 0};
  };
  std::vector<Counters> counters(threads);
  std::vector<std::vector<int64_t>> slotsOf(threads, slots);
  for (unsigned t = 0; t < threads; ++t) {
    if (!scratch.emplace_back(info.scratchBytes()).data && info.scratchBytes())
      return createStringError("expected %lld bytes of memory for scratch",
                               static_cast<long long>(info.scratchBytes()));
    slotsOf[t][info.counterSlot] =
        reinterpret_cast<intptr_t>(counters[t].value);
  }
  stats.scratchBytes = info.scratchBytes() * threads;

  auto start = std::chrono::steady_clock::now();
  for (auto [kernel, count] : zip_equal(impl->kernels, cells)) {
    native::Grid grid;
    grid.cells = count;
    grid.threads = threads;
    grid.cancel = options.cancel;
    grid.run = [&, kernel = kernel](unsigned thread, int64_t begin,
                                    int64_t end) {
      kernel(slotsOf[thread].data(), begin, end, scratch[thread].data);
    };
    if (options.progress)
      grid.progress = [&](int64_t begun) {
        options.progress(double(before + begun) / double(total));
      };
    if (!native::runGrid(grid)) {
      stats.cancelled = true;
      break;
    }
    before += count;
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  stats.seconds = elapsed.count();
  for (const Counters &counter : counters) {
    stats.blocks += counter.value[0];
    stats.maskedBlocks += counter.value[1];
  }
  return stats;
}

} // namespace attentile
