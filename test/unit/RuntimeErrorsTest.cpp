//===- RuntimeErrorsTest.cpp - null arguments, drivers that fail ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RuntimeTesting.h"
#include "gtest/gtest.h"

using namespace attentile::runtime;

/// The message of a call that must fail.
static std::string why(attentile_status status) {
  return status == ATTENTILE_SUCCESS ? "success" : attentile_error_message();
}

TEST(Errors, NullArguments) {
  attentile_kernel *kernel = openExample();
  attentile_arguments arguments = {};
  size_t bytes = 0;
  EXPECT_EQ(
      why(attentile_open_memory(nullptr, 0, nullptr, 0, nullptr, 0, nullptr)),
      "expected a manifest and where to put the kernel, got null");
  EXPECT_EQ(why(attentile_open_file(nullptr, nullptr)),
            "expected a path and where to put the kernel, got null");
  EXPECT_EQ(why(attentile_prepare(nullptr, 0)), "expected a kernel, got null");
  EXPECT_EQ(why(attentile_launch(kernel, nullptr, nullptr, nullptr, 0)),
            "expected a kernel and arguments, got null");
  EXPECT_EQ(why(attentile_workspace_bytes(kernel, &arguments, nullptr)),
            "expected a kernel, arguments and where to put a number, got null");
  EXPECT_EQ(why(attentile_workspace_bytes(nullptr, &arguments, &bytes)),
            "expected a kernel, arguments and where to put a number, got null");
  ExampleArguments given;
  arguments = given.arguments();
  arguments.scalars = nullptr;
  arguments.scalar_count = 2;
  EXPECT_EQ(why(attentile_workspace_bytes(kernel, &arguments, &bytes)),
            "expected 2 scalars, got null");
  attentile_close(kernel);
}

/// Every call on a device first makes its context current.
TEST(Errors, ContextsThatCannotBeUsed) {
  void *memory = nullptr;
  ASSERT_EQ(attentile_allocate(0, 64, &memory), ATTENTILE_SUCCESS);
  char bytes[64] = {};
  auto failing = [](auto call) {
    fakeCudaFail("cuCtxPushCurrent", 700);
    std::string text = why(call());
    return text.substr(0, text.find(':'));
  };
  EXPECT_EQ(failing([&] { return attentile_allocate(0, 8, &memory); }),
            "cannot allocate memory");
  ASSERT_EQ(attentile_allocate(0, 64, &memory), ATTENTILE_SUCCESS);
  EXPECT_EQ(failing([&] { return attentile_to_device(0, memory, bytes, 64); }),
            "cannot copy to the GPU");
  EXPECT_EQ(failing([&] { return attentile_to_host(0, bytes, memory, 64); }),
            "cannot copy from the GPU");
  EXPECT_EQ(failing([&] { return attentile_fill(0, memory, 1, 64); }),
            "cannot fill memory");
  EXPECT_EQ(failing([&] { return attentile_synchronize(0); }),
            "the kernel failed");
  EXPECT_EQ(failing([&] { return attentile_free(0, memory); }),
            "cannot free memory");
  attentile_kernel *kernel = openExample();
  EXPECT_EQ(failing([&] { return attentile_prepare(kernel, 0); }),
            "cannot use the GPU");
  attentile_close(kernel);
  EXPECT_EQ(attentile_free(0, memory), ATTENTILE_SUCCESS);
}

/// Sizes that the manifest makes larger than 64 bits hold.
TEST(Errors, SizesThatOverflow) {
  auto refused = [](auto change) {
    attentile_kernel *kernel = openExample(change);
    ExampleArguments given;
    std::string message = given.launch(kernel);
    attentile_close(kernel);
    return message;
  };
  EXPECT_EQ(refused([](nlohmann::json &m) {
              m["scalars"][1]["default"] = {"mul", "N", INT64_MAX};
            }),
            "'window': expected a default that fits 64 bits");
  EXPECT_EQ(refused([](nlohmann::json &m) {
              m["workspace"][0]["shape"][1] = {"mul", "M", INT64_MAX};
            }),
            "expected sizes whose workspace 'r' fits memory");
  EXPECT_EQ(refused([](nlohmann::json &m) {
              m["workspace"][1]["shape"][0] = {"sub", "N", 100};
            }),
            "expected sizes whose workspace 'w' fits memory");
}

TEST(Errors, WorkspaceThatCannotBeFreed) {
  attentile_kernel *kernel = openExample();
  ExampleArguments given;
  attentile_arguments arguments = given.arguments();
  fakeCudaFail("cuMemFreeAsync", 700);
  EXPECT_EQ(why(attentile_launch_allocating(kernel, &arguments, nullptr)),
            "cannot free the workspace: an illegal memory access was "
            "encountered (CUDA_ERROR_ILLEGAL_ADDRESS)");
  attentile_close(kernel);
}

TEST(Errors, LaunchesThatCannotBeTimed) {
  attentile_kernel *kernel = openExample();
  ExampleArguments given;
  attentile_arguments arguments = given.arguments();
  double seconds = 0;
  fakeCudaFail("cuEventRecord", 700);
  EXPECT_EQ(why(attentile_time(kernel, &arguments, given.workspace,
                               given.workspaceBytes, 3, &seconds)),
            "cannot time the kernel: an illegal memory access was encountered "
            "(CUDA_ERROR_ILLEGAL_ADDRESS)");
  attentile_close(kernel);
}

TEST(Errors, DevicesThatCannotBeCounted) {
  fakeCudaFail("cuDeviceGetCount", 999);
  EXPECT_EQ(attentile_device_count(), 0);
  EXPECT_STREQ(attentile_error_message(),
               "cannot count the GPUs: unknown error (CUDA_ERROR_UNKNOWN)");
}
