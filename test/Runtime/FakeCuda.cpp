//===- FakeCuda.cpp - a CUDA driver in host memory, for tests -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"
#include "FakeCudaState.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <vector>

// One lock for all, as nothing here is fast but launches.
static std::recursive_mutex &mutex = *new std::recursive_mutex;
static std::map<uint64_t, Block> &memory = *new std::map<uint64_t, Block>;
static std::vector<FakeLaunch> &launches = *new std::vector<FakeLaunch>;
static std::set<const void *> &captured = *new std::set<const void *>;
static std::atomic<bool> recording = false, failing = false, capturing = false;
static std::map<std::string, int> &failures = *[] {
  auto *failures = new std::map<std::string, int>;
  const char *text = std::getenv("FAKE_CUDA_FAIL");
  std::stringstream stream(text ? text : "");
  for (std::string part; std::getline(stream, part, ',');) {
    size_t equals = part.find('=');
    (*failures)[part.substr(0, equals)] = std::atoi(part.c_str() + equals + 1);
  }
  failing = !failures->empty();
  return failures;
}();
static std::atomic<uint64_t> launchCount = 0;
static unsigned modulesNow = 0, modulesEver = 0;
static thread_local Context *current = nullptr;

static const std::vector<int> &architectures() {
  static std::vector<int> *list = [] {
    auto *list = new std::vector<int>;
    const char *text = std::getenv("FAKE_CUDA_DEVICES");
    std::stringstream stream(text ? text : "90,80");
    for (std::string part; std::getline(stream, part, ',');)
      list->push_back(std::atoi(part.c_str()));
    return list;
  }();
  return *list;
}

static Context *contextOf(int device) {
  static Context contexts[64];
  contexts[device].device = device;
  return &contexts[device];
}

/// The result that a test wants of this call, else 0.
static int failureOf(const char *function) {
  if (!failing)
    return 0;
  std::lock_guard lock(mutex);
  auto found = failures.find(function);
  if (found == failures.end())
    return 0;
  int result = found->second;
  failures.erase(found);
  failing = !failures.empty();
  return result;
}

/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED for what a capture forbids.
static int unsafe(const char *function) {
  if (capturing)
    return 900;
  return current ? failureOf(function) : 201; // no context
}

extern "C" {

void fakeCudaRecord(bool on) {
  std::lock_guard lock(mutex);
  recording = on;
  if (on)
    launches.clear();
}
unsigned fakeCudaRecorded() {
  std::lock_guard lock(mutex);
  return launches.size();
}
uint64_t fakeCudaLaunched() { return launchCount; }
const FakeLaunch *fakeCudaLaunch(unsigned number) {
  return &launches.at(number);
}
unsigned fakeCudaModules() { return modulesNow; }
unsigned fakeCudaModulesEver() { return modulesEver; }
void fakeCudaCapture(const void *stream, bool on) {
  std::lock_guard lock(mutex);
  on ? (void)captured.insert(stream) : (void)captured.erase(stream);
  capturing = !captured.empty();
}
void fakeCudaFail(const char *function, int result) {
  std::lock_guard lock(mutex);
  failures[function] = result;
  failing = true;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

int cuInit(unsigned) { return failureOf("cuInit"); }
int cuGetErrorName(int result, const char **name) {
  *name = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == 200 ? "CUDA_ERROR_INVALID_IMAGE"
          : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == 900 ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
                          : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int result, const char **text) {
  *text = result == 2     ? "out of memory"
          : result == 200 ? "device kernel image is invalid"
          : result == 700 ? "an illegal memory access was encountered"
          : result == 900 ? "operation not permitted when stream is capturing"
                          : "unknown error";
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = static_cast<int>(architectures().size());
  return failureOf("cuDeviceGetCount");
}
int cuDeviceGet(int *device, int number) {
  *device = number;
  return 0;
}
int cuDeviceGetName(char *name, int bytes, int device) {
  std::snprintf(name, bytes, "Fake GPU %d", device);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75   ? architectures()[device] / 10
           : attribute == 76 ? architectures()[device] % 10
           : attribute == 97 ? 227 << 10
                             : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(Context **context, int device) {
  *context = contextOf(device);
  return failureOf("cuDevicePrimaryCtxRetain");
}
int cuCtxGetCurrent(Context **context) {
  *context = current;
  return 0;
}
static thread_local std::vector<Context *> contextStack;
int cuCtxPushCurrent_v2(Context *context) {
  if (int failure = failureOf("cuCtxPushCurrent"))
    return failure;
  contextStack.push_back(current);
  current = context;
  return 0;
}
int cuCtxPopCurrent_v2(Context **context) {
  *context = current;
  current = contextStack.back();
  contextStack.pop_back();
  return 0;
}
int cuCtxSynchronize() { return unsafe("cuCtxSynchronize"); }

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

} // extern "C"

template <class T> static T at(const std::string &bytes, size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The bytes of each parameter of a function, from a real cubin's section
/// .nv.info.NAME: entries of attribute 0x17 with number, offset and size.
static bool readParameters(const std::string &image, Function &function) {
  auto sections = at<uint64_t>(image, 40);
  auto size = at<uint16_t>(image, 58), count = at<uint16_t>(image, 60);
  auto names = at<uint64_t>(
      image, sections + uint64_t(size) * at<uint16_t>(image, 62) + 24);
  std::string wanted = ".nv.info." + function.name;
  for (unsigned i = 0; i < count; ++i) {
    uint64_t header = sections + uint64_t(size) * i;
    uint64_t name = names + at<uint32_t>(image, header);
    if (name >= image.size() || image.c_str() + name != wanted)
      continue;
    auto begin = at<uint64_t>(image, header + 24);
    uint64_t end = begin + at<uint64_t>(image, header + 32);
    while (begin + 4 <= end) {
      auto format = at<uint8_t>(image, begin);
      auto attribute = at<uint8_t>(image, begin + 1);
      auto bytes = at<uint16_t>(image, begin + 2);
      if (format == 4 && attribute == 0x17) {
        auto ordinal = at<uint16_t>(image, begin + 8);
        if (function.parameters.size() <= ordinal)
          function.parameters.resize(ordinal + 1);
        function.parameters[ordinal] = at<uint32_t>(image, begin + 12) >> 18;
      }
      begin += 4 + (format == 4 ? bytes : 0);
    }
    return true;
  }
  return false;
}

/// The image's length, which a text has by its end and ELF by its headers.
static std::string copyImage(const char *image) {
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) != 0 ||
      image[4] == ' ')
    return image;
  uint64_t sections;
  uint16_t size, count;
  std::memcpy(&sections, image + 40, 8);
  std::memcpy(&size, image + 58, 2);
  std::memcpy(&count, image + 60, 2);
  uint64_t end = sections + uint64_t(size) * count;
  for (unsigned i = 0; i < count; ++i) {
    uint32_t type;
    uint64_t offset, bytes;
    const char *header = image + sections + uint64_t(size) * i;
    std::memcpy(&type, header + 4, 4);
    std::memcpy(&offset, header + 24, 8);
    std::memcpy(&bytes, header + 32, 8);
    if (type != 8) // no bytes in the file
      end = std::max(end, offset + bytes);
  }
  return std::string(image, end);
}

extern "C" {
int cuModuleLoadDataEx(Module **result, const void *data, unsigned options,
                       int *, void **values) {
  if (int failure = unsafe("cuModuleLoadDataEx"))
    return failure;
  std::lock_guard lock(mutex);
  std::string text = copyImage(static_cast<const char *>(data));
  bool isCubin = text.rfind("\x7f"
                            "ELF",
                            0) == 0;
  bool isFake = text.rfind("\x7f"
                           "ELF fake\n",
                           0) == 0 ||
                text.rfind("// fake PTX\n", 0) == 0;
  if (!isCubin && !isFake && text.find(".version") == std::string::npos) {
    if (options == 2)
      std::snprintf(static_cast<char *>(values[0]),
                    reinterpret_cast<size_t>(values[1]),
                    "ptxas fatal: expected .version");
    return options == 2 ? 218 : 200;
  }
  auto module = std::make_unique<Module>();
  module->isReal = !isFake;
  module->image = text;
  std::stringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (isFake && std::getline(lines, line)) {
    std::stringstream words(line);
    std::string name;
    words >> name;
    if (name.rfind("sm_", 0) == 0) {
      int wanted = std::atoi(name.c_str() + 3);
      int mine = architectures()[current->device];
      if (isCubin ? wanted / 10 != mine / 10 || wanted > mine : wanted > mine)
        return 209;
      continue;
    }
    auto *function = new Function{name, {}};
    for (std::string word; words >> word;)
      if (word[0] == '<')
        function->threads = std::atoi(word.c_str() + 1);
      else
        function->parameters.push_back(std::atoi(word.c_str()));
    module->functions.push_back(function);
  }
  ++modulesNow, ++modulesEver;
  *result = module.release();
  return 0;
}
int cuModuleUnload(Module *module) {
  std::lock_guard lock(mutex);
  --modulesNow;
  for (Function *function : module->functions)
    delete function;
  delete module;
  return 0;
}
int cuModuleGetFunction(Function **result, Module *module, const char *name) {
  std::lock_guard lock(mutex);
  for (Function *function : module->functions)
    if (function->name == name) {
      *result = function;
      return 0;
    }
  if (!module->isReal)
    return 500;
  auto function = std::make_unique<Function>(Function{name, {}});
  if (module->image[0] == 0x7f && !readParameters(module->image, *function))
    return 500;
  module->functions.push_back(function.release());
  *result = module->functions.back();
  return 0;
}
int cuFuncGetAttribute(int *value, int, Function *function) {
  *value = function->threads;
  return 0;
}
int cuFuncSetAttribute(Function *function, int, int value) {
  if (value > 227 << 10)
    return 1;
  function->shared = std::max<unsigned>(function->shared, value);
  return 0;
}
int cuFuncGetParamInfo(Function *function, size_t number, size_t *offset,
                       size_t *bytes) {
  if (number >= function->parameters.size())
    return 1;
  *offset = 8 * number;
  *bytes = function->parameters[number];
  return 0;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static int launch(Function *function, unsigned x, unsigned y, unsigned z,
                  unsigned threads, unsigned shared, void *stream,
                  void **parameters, bool isDependent) {
  if (int failure = current ? failureOf("cuLaunchKernel") : 201)
    return failure;
  if (shared > function->shared || x == 0 || y != 1 || z != 1)
    return 1;
  ++launchCount;
  if (function->name.rfind("copy", 0) == 0)
    runCopy(function->name, parameters);
  if (!recording)
    return 0;
  std::lock_guard lock(mutex);
  FakeLaunch launch = {};
  std::snprintf(launch.function, sizeof launch.function, "%s",
                function->name.c_str());
  launch.grid = x;
  launch.threads = threads;
  launch.shared = shared;
  launch.stream = stream;
  launch.isDependent = isDependent;
  launch.parameters = function->parameters.size();
  for (size_t i = 0; i < function->parameters.size(); ++i)
    std::memcpy(&launch.values[i], parameters[i], function->parameters[i]);
  launches.push_back(launch);
  return 0;
}
int cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z,
                   unsigned threads, unsigned, unsigned, unsigned shared,
                   void *stream, void **parameters, void **) {
  return launch(function, x, y, z, threads, shared, stream, parameters, false);
}

int cuLaunchKernelEx(const LaunchConfig *config, Function *function,
                     void **parameters, void **) {
  bool isDependent = false;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    if (config->attributes[i].id != 6)
      return 1;
    isDependent = config->attributes[i].value.number;
  }
  return launch(function, config->gridX, config->gridY, config->gridZ,
                config->blockX, config->shared, config->stream, parameters,
                isDependent);
}

int cuStreamIsCapturing(void *stream, int *status) {
  std::lock_guard lock(mutex);
  *status = captured.count(stream);
  return 0;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int allocate(uint64_t *address, size_t bytes) {
  void *block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED)
    return 2;
  std::lock_guard lock(mutex);
  *address = reinterpret_cast<uint64_t>(block);
  memory[*address] = {bytes, current->device};
  return 0;
}
static int release(uint64_t address) {
  std::lock_guard lock(mutex);
  auto found = memory.find(address);
  if (found == memory.end())
    return 1;
  munmap(reinterpret_cast<void *>(address), found->second.bytes);
  memory.erase(found);
  return 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (int failure = unsafe("cuMemAlloc"))
    return failure;
  return allocate(address, bytes);
}
int cuMemFree_v2(uint64_t address) {
  if (int failure = unsafe("cuMemFree"))
    return failure;
  return release(address);
}
int cuMemAllocAsync(uint64_t *address, size_t bytes, void *) {
  if (int failure = failureOf("cuMemAllocAsync"))
    return failure;
  return allocate(address, bytes);
}
int cuMemFreeAsync(uint64_t address, void *) {
  if (int failure = failureOf("cuMemFreeAsync"))
    return failure;
  return release(address);
}
int cuPointerGetAttributes(unsigned count, int *attributes, void **values,
                           uint64_t pointer) {
  std::lock_guard lock(mutex);
  auto found = memory.upper_bound(pointer);
  bool known =
      found != memory.begin() &&
      pointer < std::prev(found)->first + std::prev(found)->second.bytes;
  for (unsigned i = 0; i < count; ++i)
    *static_cast<int *>(values[i]) = !known               ? 0
                                     : attributes[i] == 2 ? 2
                                     : attributes[i] == 9
                                         ? std::prev(found)->second.device
                                         : 0;
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  if (int failure = unsafe("cuMemcpyHtoD"))
    return failure;
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  if (int failure = unsafe("cuMemcpyDtoH"))
    return failure;
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
  if (int failure = unsafe("cuMemsetD8"))
    return failure;
  // A sparse block stays sparse.
  if (bytes <= size_t(1) << 30)
    std::memset(reinterpret_cast<void *>(to), value, bytes);
  return 0;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

int cuEventCreate(void **event, unsigned) {
  *event = new int;
  return 0;
}
int cuEventDestroy_v2(void *event) {
  delete static_cast<int *>(event);
  return 0;
}
int cuEventRecord(void *, void *) { return failureOf("cuEventRecord"); }
int cuEventSynchronize(void *) { return 0; }
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 1;
  return 0;
}
}
