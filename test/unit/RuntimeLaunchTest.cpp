//===- RuntimeLaunchTest.cpp - launches through a fake driver -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RuntimeTesting.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

using namespace attentile::runtime;

// Every allocation of the process is counted: a launch makes none.
static std::atomic<uint64_t> allocations = 0;
void *operator new(size_t bytes) {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

/// The text up to the number of an address.
static std::string withoutAddress(const std::string &text) {
  size_t at = text.find("0x");
  return at == std::string::npos ? text : text.substr(0, at + 2);
}

namespace {
class Launch : public testing::Test {
protected:
  void SetUp() override {
    kernel = openExample();
    ASSERT_NE(kernel, nullptr) << attentile_error_message();
    fakeCudaRecord(true);
  }
  void TearDown() override {
    fakeCudaRecord(false);
    attentile_close(kernel);
  }
  /// Refused, with nothing launched.
  void expectRefused(const std::string &message) {
    EXPECT_EQ(given.launch(kernel), message);
    EXPECT_EQ(fakeCudaRecorded(), 0u);
  }
  attentile_kernel *kernel;
  ExampleArguments given;
};
} // namespace

TEST_F(Launch, PassesWhatTheManifestSays) {
  auto *stream = reinterpret_cast<attentile_stream>(0x77);
  ASSERT_EQ(given.launch(kernel, stream), "");
  ASSERT_EQ(fakeCudaRecorded(), 2u);
  const FakeLaunch &first = *fakeCudaLaunch(0);
  EXPECT_STREQ(first.function, "example_0");
  EXPECT_EQ(first.grid, 2u * 4 * 2);
  EXPECT_EQ(first.threads, 128u);
  EXPECT_EQ(first.shared, 65536u);
  EXPECT_EQ(first.stream, stream);
  auto address = [](void *data) { return reinterpret_cast<int64_t>(data); };
  EXPECT_EQ(first.values[0], address(given.tensors[0].data));
  EXPECT_EQ(first.values[1], address(given.tensors[1].data));
  EXPECT_EQ(first.values[2], address(given.workspace));
  // 2 * 34 floats, to the next 256 bytes
  EXPECT_EQ(first.values[3], address(given.workspace) + 512);
  EXPECT_EQ(first.values[4], 33);
  EXPECT_EQ(first.values[5], 64);
  float scale;
  std::memcpy(&scale, &first.values[6], 4);
  EXPECT_EQ(scale, 0.125f);
  const FakeLaunch &second = *fakeCudaLaunch(1);
  EXPECT_STREQ(second.function, "example_1");
  EXPECT_EQ(second.grid, 8u);
  EXPECT_EQ(second.values[2], 140);
}

TEST_F(Launch, DependentsStartEarly) {
  attentile_close(kernel);
  kernel = openExample([](nlohmann::json &manifest) {
    manifest["launches"][0]["dependent"] = true;
    manifest["launches"][0]["otherwise"]["dependent"] = false;
  });
  ASSERT_NE(kernel, nullptr) << attentile_error_message();
  ASSERT_EQ(given.launch(kernel), "");
  ASSERT_EQ(fakeCudaRecorded(), 2u);
  EXPECT_TRUE(fakeCudaLaunch(0)->isDependent);
  EXPECT_EQ(fakeCudaLaunch(0)->grid, 2u * 4 * 2);
  EXPECT_EQ(fakeCudaLaunch(0)->shared, 65536u);
  EXPECT_FALSE(fakeCudaLaunch(1)->isDependent);
}

TEST_F(Launch, FindsListsOnceForManyLaunches) {
  attentile_arguments arguments = given.arguments();
  auto list = [&] {
    return attentile_list_blocks(kernel, &arguments, nullptr, given.workspace,
                                 given.workspaceBytes);
  };
  auto launchListed = [&] {
    return attentile_launch_listed(kernel, &arguments, nullptr, given.workspace,
                                   given.workspaceBytes);
  };
  // Without lists: nothing, then everything.
  EXPECT_EQ(list(), ATTENTILE_SUCCESS);
  EXPECT_EQ(fakeCudaRecorded(), 0u);
  EXPECT_EQ(launchListed(), ATTENTILE_SUCCESS);
  EXPECT_EQ(fakeCudaRecorded(), 2u);
  attentile_close(kernel);
  kernel =
      openExample([](nlohmann::json &m) { m["launches"][0]["lists"] = true; });
  ASSERT_NE(kernel, nullptr) << attentile_error_message();
  fakeCudaRecord(true);
  // Outputs need not be there: these lists read Q and K.
  void *output = std::exchange(given.tensors[2].data, nullptr);
  EXPECT_EQ(list(), ATTENTILE_SUCCESS) << attentile_error_message();
  ASSERT_EQ(fakeCudaRecorded(), 1u);
  EXPECT_STREQ(fakeCudaLaunch(0)->function, "example_0");
  EXPECT_EQ(launchListed(), ATTENTILE_INVALID_ARGUMENT);
  EXPECT_STREQ(attentile_error_message(), "'O': expected an address, got null");
  given.tensors[2].data = output;
  EXPECT_EQ(launchListed(), ATTENTILE_SUCCESS);
  ASSERT_EQ(fakeCudaRecorded(), 2u);
  EXPECT_STREQ(fakeCudaLaunch(1)->function, "example_1");
  ASSERT_EQ(given.launch(kernel), "");
  EXPECT_EQ(fakeCudaRecorded(), 4u);
  given.tensors[2].device = 1;
  EXPECT_EQ(list(), ATTENTILE_INVALID_ARGUMENT);
  EXPECT_STREQ(attentile_error_message(),
               "'O': expected a tensor on device 0, as 'Q' is, got one on "
               "device 1");
  given.tensors[2].device = 0;
  given.tensors[1].data = nullptr;
  EXPECT_EQ(list(), ATTENTILE_INVALID_ARGUMENT);
  EXPECT_STREQ(attentile_error_message(), "'K': expected an address, got null");
  EXPECT_EQ(attentile_list_blocks(kernel, nullptr, nullptr, nullptr, 0),
            ATTENTILE_INVALID_ARGUMENT);
}

TEST_F(Launch, ScalarsByNameAndPosition) {
  given.scalars = {{"window", ATTENTILE_I32, {.integer = 7}},
                   {"scale", ATTENTILE_F32, {.real = 0.1}}};
  ASSERT_EQ(given.launch(kernel), "");
  float scale;
  std::memcpy(&scale, &fakeCudaLaunch(0)->values[6], 4);
  EXPECT_EQ(scale, 0.1f);
  EXPECT_EQ(fakeCudaLaunch(1)->values[2], 7);
  given.scalars = {{nullptr, ATTENTILE_F32, {.real = 2}}};
  ASSERT_EQ(given.launch(kernel), "");
  std::memcpy(&scale, &fakeCudaLaunch(2)->values[6], 4);
  EXPECT_EQ(scale, 2.0f);
}

TEST_F(Launch, ChoosesTheKernelThatStridesPermit) {
  given.strides[0][2] = 65; // 130 bytes
  given.sizes[0][1] = given.sizes[2][1] = given.sizes[3][1] = 2;
  ASSERT_EQ(given.launch(kernel), "");
  // Its own grid, block and arguments.
  const FakeLaunch &launch = *fakeCudaLaunch(0);
  EXPECT_STREQ(launch.function, "example_by_element_0");
  unsigned rows = unsigned(given.sizes[0][2]);
  EXPECT_EQ(launch.grid, 2 * given.sizes[0][0] * ((rows + 15) / 16));
  EXPECT_EQ(launch.threads, 64u);
  EXPECT_EQ(launch.shared, 8192u);
  EXPECT_EQ(launch.parameters, 5u);
  EXPECT_EQ(launch.values[2], 1);
  EXPECT_EQ(launch.values[3], rows);
  EXPECT_STREQ(fakeCudaLaunch(1)->function, "example_1");
  given.strides[0][2] = 64;
  given.tensors[0].data = static_cast<char *>(given.tensors[0].data) + 2;
  ASSERT_EQ(given.launch(kernel), "");
  EXPECT_STREQ(fakeCudaLaunch(2)->function, "example_by_element_0");
}

TEST_F(Launch, TakesAnyInputStridesAndEmptyTensors) {
  given.strides[1][0] = 0;
  given.strides[1][2] = -64;
  given.tensors[1].data = static_cast<char *>(given.tensors[1].data) + 69 * 128;
  EXPECT_EQ(given.launch(kernel), "");
  // No rows: nothing to launch, addresses may be null.
  for (int t : {0, 2, 3}) {
    given.sizes[t][2] = 0;
    given.tensors[t].data = nullptr;
  }
  fakeCudaRecord(true);
  EXPECT_EQ(given.launch(kernel), "");
  EXPECT_EQ(fakeCudaRecorded(), 1u); // the second grid has B * H programs
}

TEST_F(Launch, NullStridesAreRowMajor) {
  given.tensors[0].strides = nullptr;
  ASSERT_EQ(given.launch(kernel), "");
  EXPECT_EQ(fakeCudaLaunch(0)->values[5], 64);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(Launch, RefusesWrongHeads) {
  attentile_arguments few = given.arguments();
  few.tensor_count = 3;
  EXPECT_EQ(attentile_launch(kernel, &few, nullptr, nullptr, 0),
            ATTENTILE_INVALID_ARGUMENT);
  EXPECT_STREQ(attentile_error_message(),
               "expected 4 inputs and outputs of 'example', got 3");
  given.tensors[0].type = ATTENTILE_F16;
  expectRefused("'Q': expected type bf16, got f16");
  given.tensors[0].type = ATTENTILE_F8E4M3;
  expectRefused("'Q': expected type bf16, got f8e4m3");
  given.tensors[0].type = ATTENTILE_F8E5M2;
  expectRefused("'Q': expected type bf16, got f8e5m2");
  given.tensors[0].type = ATTENTILE_I8;
  expectRefused("'Q': expected type bf16, got i8");
  given.tensors[0].type = static_cast<attentile_type>(77);
  expectRefused("'Q': expected type bf16, got no type");
  given.tensors[0].type = ATTENTILE_BF16;
  given.tensors[0].rank = 3;
  expectRefused("'Q': expected 4 dimensions, [B, H, M, 64], got 3");
  given.tensors[0].rank = 4;
  given.tensors[0].sizes = nullptr;
  expectRefused("'Q': expected sizes, got null");
}

TEST_F(Launch, RefusesWrongSizes) {
  given.sizes[1][0] = 3;
  expectRefused("'K': expected size 2 in dimension 0 (B of 'Q'), got 3");
  given.sizes[1][0] = 2;
  given.sizes[1][3] = 32;
  expectRefused("'K': expected size 64 in dimension 3 (64), got 32");
  given.sizes[1][3] = 64;
  given.sizes[0][2] = -1;
  expectRefused("'Q': expected a size from 0 to 2147418111 in dimension 2 (M), "
                "got -1");
  given.sizes[0][2] = 2147418112;
  expectRefused("'Q': expected a size from 0 to 2147418111 in dimension 2 (M), "
                "got 2147418112");
}

TEST_F(Launch, RefusesBrokenConstraints) {
  given.sizes[1][1] = 3;
  expectRefused("expected H % G == 0, got H = 4, G = 3");
  given.sizes[1][1] = 2;
  given.scalars = {{"scale", ATTENTILE_F32, {.real = -0.5}}};
  expectRefused("expected scale > 0, got scale = -0.5");
  given.scalars = {{"scale", ATTENTILE_F32, {.real = NAN}}};
  expectRefused("expected scale > 0, got scale = nan");
}

TEST_F(Launch, RefusesWrongScalars) {
  given.scalars = {{"zoom", ATTENTILE_F32, {.real = 1}}};
  expectRefused("expected a scalar of 'example', got 'zoom'");
  given.scalars = {{"scale", ATTENTILE_I64, {.integer = 1}}};
  expectRefused("'scale': expected type f32, got i64");
  given.scalars = {{"window", ATTENTILE_I64, {.integer = int64_t(1) << 31}}};
  expectRefused("'window': expected a value of type i32, got 2147483648");
  given.scalars = {{"scale", ATTENTILE_F32, {.real = 1}},
                   {"scale", ATTENTILE_F32, {.real = 1}}};
  expectRefused("'scale': expected one value, got two");
  given.scalars = {{"scale", ATTENTILE_F32, {.real = 1}},
                   {"window", ATTENTILE_I32, {.integer = 1}},
                   {nullptr, ATTENTILE_F32, {.real = 1}}};
  expectRefused("expected at most 2 scalars of 'example', got 3");
  attentile_close(kernel);
  kernel = openExample([](auto &m) { m["scalars"][0]["default"] = nullptr; });
  given.scalars.clear();
  expectRefused("'scale': expected a value, got none; it has no default");
}

TEST_F(Launch, RefusesWrongAddresses) {
  void *data = given.tensors[0].data;
  given.tensors[0].data = nullptr;
  expectRefused("'Q': expected an address, got null");
  given.tensors[0].data = static_cast<char *>(data) + 1;
  EXPECT_EQ(withoutAddress(given.launch(kernel)),
            "'Q': expected an address that is a multiple of 2, "
            "got 0x");
  given.tensors[0].data = data;
  given.strides[0][0] = int64_t(1) << 62;
  expectRefused("'Q': expected elements within 64-bit addresses, got strides "
                "that leave them");
  given.strides[0][0] = -(int64_t(1) << 61);
  expectRefused("'Q': expected elements within 64-bit addresses, got strides "
                "that leave them");
}

TEST_F(Launch, RefusesWrongDevices) {
  given.tensors[1].device = 1;
  expectRefused("'K': expected a tensor on device 0, as 'Q' is, got one on "
                "device 1");
  given.tensors[1].device = 0;
  void *data = given.tensors[1].data;
  attentile_allocate(1, 1 << 16, &given.tensors[1].data);
  expectRefused("'K': expected memory of device 0, got memory of device 1");
  alignas(16) static char host[1 << 16];
  given.tensors[1].data = host;
  expectRefused("'K': expected memory of device 0, got memory of the host");
  given.tensors[1].data = data;
  for (attentile_tensor &tensor : given.tensors)
    tensor.device = 9;
  expectRefused("expected a device from 0 to 2, got device 9");
}

TEST_F(Launch, RefusesOverlaps) {
  given.strides[2][1] = 0;
  expectRefused("'O': expected a stride other than 0 in dimension 1 of an "
                "output");
  given.strides[2][1] = 64;
  expectRefused("'O': expected strides that keep the elements of an output "
                "apart");
  given.strides[2][1] = 33 * 64;
  void *data = given.tensors[2].data;
  given.tensors[2].data = given.tensors[0].data;
  expectRefused("'O': expected an output apart from 'Q', got memory that they "
                "share");
  given.tensors[2].data = given.tensors[3].data;
  EXPECT_EQ(
      withoutAddress(given.launch(kernel)),
      "'L': expected an output apart from 'O', got memory that they share");
  given.tensors[2].data = data;
}

TEST_F(Launch, RefusesWrongWorkspace) {
  given.workspaceBytes -= 1;
  expectRefused("workspace: expected 768 bytes, got 767");
  given.workspaceBytes += 1;
  void *workspace = given.workspace;
  given.workspace = nullptr;
  expectRefused("workspace: expected an address, got null");
  given.workspace = static_cast<char *>(workspace) + 128;
  EXPECT_EQ(withoutAddress(given.launch(kernel)),
            "workspace: expected an address that is a multiple of 256, "
            "got 0x");
  given.workspace = given.tensors[0].data;
  expectRefused("workspace: expected memory apart from 'Q', got memory that "
                "they share");
  size_t bytes = 0;
  attentile_arguments arguments = given.arguments();
  EXPECT_EQ(attentile_workspace_bytes(kernel, &arguments, &bytes), 0);
  EXPECT_EQ(bytes, 768u);
}

TEST_F(Launch, RefusesHugeGrids) {
  attentile_close(kernel);
  kernel = openExample(
      [](auto &m) { m["launches"][1]["cells"] = {"B", "H", 1 << 30}; });
  expectRefused("expected at most 2147483647 programs of 'example_1', got "
                "more");
  attentile_close(kernel);
  kernel = openExample([](auto &m) {
    m["launches"][1]["cells"] = {{"mul", int64_t(1) << 62, "H"}};
  });
  expectRefused("expected at most 2147483647 programs of 'example_1', got "
                "more");
}

TEST_F(Launch, RefusesWhatOnlyCopiesWouldDo) {
  attentile_close(kernel);
  kernel = openExample([](auto &m) { m["launches"][0].erase("otherwise"); });
  given.strides[0][2] = 65;
  given.sizes[0][1] = given.sizes[2][1] = given.sizes[3][1] = 2;
  expectRefused("'Q': expected a stride of a multiple of 16 bytes in dimension "
                "2, got 65 elements");
  given.strides[0][2] = 64;
  given.strides[0][3] = 2;
  expectRefused("'Q': expected stride 1 in dimension 3, got 2");
  given.strides[0][3] = 1;
  given.tensors[0].data = static_cast<char *>(given.tensors[0].data) + 2;
  EXPECT_EQ(withoutAddress(given.launch(kernel)),
            "'Q': expected an address that is a multiple of 16, "
            "got 0x");
}

TEST_F(Launch, ReportsTheDriver) {
  ASSERT_EQ(attentile_prepare(kernel, 0), ATTENTILE_SUCCESS);
  fakeCudaFail("cuLaunchKernel", 700);
  EXPECT_EQ(given.launch(kernel),
            "cannot launch the kernel: an illegal memory access was "
            "encountered (CUDA_ERROR_ILLEGAL_ADDRESS)");
  fakeCudaFail("cuMemAllocAsync", 2);
  attentile_arguments arguments = given.arguments();
  EXPECT_EQ(attentile_launch_allocating(kernel, &arguments, nullptr),
            ATTENTILE_OUT_OF_MEMORY);
  EXPECT_STREQ(attentile_error_message(),
               "cannot allocate the workspace: out of memory "
               "(CUDA_ERROR_OUT_OF_MEMORY)");
}

//===----------------------------------------------------------------------===//
// Capture, threads, time
//===----------------------------------------------------------------------===//

TEST_F(Launch, CapturesWhatIsLoaded) {
  auto *stream = reinterpret_cast<attentile_stream>(0x99);
  fakeCudaCapture(stream, true);
  EXPECT_EQ(given.launch(kernel, stream),
            "expected 'example' to be loaded before its launch is captured "
            "(attentile_prepare)");
  fakeCudaCapture(stream, false);
  ASSERT_EQ(attentile_prepare(kernel, 0), ATTENTILE_SUCCESS);
  fakeCudaCapture(stream, true);
  EXPECT_EQ(given.launch(kernel, stream), "");
  attentile_arguments arguments = given.arguments();
  EXPECT_EQ(attentile_launch_allocating(kernel, &arguments, stream),
            ATTENTILE_SUCCESS);
  fakeCudaCapture(stream, false);
}

TEST_F(Launch, ManyThreadsShareAKernel) {
  fakeCudaRecord(false);
  uint64_t before = fakeCudaLaunched();
  unsigned modules = fakeCudaModulesEver();
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      attentile_kernel *own = openExample(); // the same one, by its content
      failures += own != kernel;
      ExampleArguments mine;
      for (int k = 0; k < 500; ++k)
        failures += !mine.launch(own).empty();
      // Messages are of the thread that failed.
      mine.sizes[0][2] = 100 + i;
      std::string message = mine.launch(own);
      failures += message.find(std::to_string(100 + i)) == std::string::npos;
      attentile_close(own);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(fakeCudaLaunched() - before, 8u * 500 * 2);
  EXPECT_EQ(fakeCudaModulesEver() - modules, 1u);
}

TEST_F(Launch, TakesLessThanFiveMicroseconds) {
  fakeCudaRecord(false);
  ASSERT_EQ(given.launch(kernel), "");
  attentile_arguments arguments = given.arguments();
  uint64_t before = allocations;
  double best = 1;
  for (int round = 0; round < 20; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i)
      attentile_launch(kernel, &arguments, nullptr, given.workspace,
                       given.workspaceBytes);
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count() / 1000);
  }
  EXPECT_EQ(allocations, before);
  std::printf("host time of a launch of two grids: %.2f us\n", best * 1e6);
#if !__has_feature(address_sanitizer)
  EXPECT_LT(best, 5e-6);
#endif
}
