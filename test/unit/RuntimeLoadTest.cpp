//===- RuntimeLoadTest.cpp - opening and loading kernels ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../../lib/Runtime/Sha256.h"
#include "RuntimeTesting.h"
#include "attentile/Seal.h"
#include "gtest/gtest.h"
#include <cstdio>
#include <fstream>

using namespace attentile::runtime;
using nlohmann::json;

namespace {
/// The message of opening a text as a manifest, with the example's cubin.
std::string whyNot(const std::string &text,
                   const std::string &cubin = exampleCubin()) {
  attentile_kernel *kernel = nullptr;
  if (attentile_open_memory(text.data(), text.size(), cubin.data(),
                            cubin.size(), nullptr, 0, &kernel))
    return attentile_error_message();
  attentile_close(kernel);
  return "";
}

/// The message of loading the example, compiled for `target`, on a device.
std::string load(int device, const char *target, const std::string &ptx = "") {
  attentile_kernel *kernel =
      openExample([&](json &m) { m["target"] = target; }, ptx);
  std::string message =
      attentile_prepare(kernel, device) ? attentile_error_message() : "";
  attentile_close(kernel);
  return message;
}
} // namespace

TEST(Sha256, KnownHashes) {
  EXPECT_EQ(sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991"
            "b7852b855");
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410"
            "ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // Around the ends of blocks.
  EXPECT_EQ(sha256(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
}

TEST(Manifest, RefusesBrokenTexts) {
  std::string good = finished(exampleManifest(), exampleCubin());
  EXPECT_EQ(whyNot(good), "");
  EXPECT_EQ(whyNot(""), "manifest: expected JSON, got a text that ends early, "
                        "after 0 bytes");
  EXPECT_EQ(whyNot(good.substr(0, 500)),
            "manifest: expected JSON, got a text that ends early, after 500 "
            "bytes");
  EXPECT_EQ(whyNot("{\"format\" 1}"),
            "manifest: expected JSON, got something else at byte 11");
  EXPECT_EQ(whyNot("[]"), "manifest: expected the format attentile-manifest");
  EXPECT_EQ(whyNot("{}"), "manifest: expected the format attentile-manifest");
  std::string altered = good;
  altered.replace(altered.find("65536"), 5, "65537");
  EXPECT_EQ(whyNot(altered), "manifest: expected the text that was sealed, got "
                             "one that was altered");
  EXPECT_EQ(whyNot(exampleManifest().dump()),
            "manifest: expected a seal at its end, got none");
  for (size_t bytes = 0; bytes + 3 < good.size(); bytes += 7)
    EXPECT_NE(whyNot(good.substr(0, bytes)), "") << bytes;
}

TEST(Manifest, RefusesUnknownVersions) {
  EXPECT_EQ(whyNotOpened([](json &m) { m["version"] = 3; }),
            "manifest: expected version 2, got 3; a newer runtime may know it");
  EXPECT_EQ(whyNotOpened([](json &m) { m.erase("version"); }),
            "manifest: expected version 2, got null; a newer runtime may know "
            "it");
}

TEST(Manifest, RefusesOtherImages) {
  std::string text = finished(exampleManifest(), exampleCubin());
  EXPECT_EQ(whyNot(text, exampleCubin() + "\n"),
            "cubin: expected 87 bytes, got 88");
  std::string other = exampleCubin();
  other.back() = ' ';
  EXPECT_EQ(whyNot(text, other),
            "cubin: expected the one that the manifest was written with, got "
            "one of another hash");
  attentile_kernel *kernel;
  EXPECT_EQ(attentile_open_memory(text.data(), text.size(), nullptr, 0, nullptr,
                                  0, &kernel),
            ATTENTILE_INVALID_IMAGE);
  EXPECT_STREQ(attentile_error_message(), "expected a cubin or PTX, got none");
  EXPECT_EQ(openExample(
                [](json &m) { m["ptx"]["sha256"] = sha256("of another PTX"); },
                "// fake PTX\n"),
            nullptr);
  EXPECT_STREQ(attentile_error_message(),
               "PTX: expected the one that the manifest was written with, got "
               "one of another hash");
}

TEST(Manifest, RefusesWhatDoesNotFit) {
  auto why = whyNotOpened;
  EXPECT_EQ(why([](json &m) { m["target"] = "gfx90"; }),
            "manifest: target: expected an architecture like sm_90, got "
            "'gfx90'");
  EXPECT_EQ(why([](json &m) { m["tensors"][1]["type"] = "f64"; }),
            "manifest: tensors[1].type: expected an element type, got 'f64'");
  EXPECT_EQ(why([](json &m) { m["tensors"][1]["role"] = "both"; }),
            "manifest: tensors[1].role: expected input or output, got 'both'");
  EXPECT_EQ(why([](json &m) { m["tensors"][0].erase("name"); }),
            "manifest: tensors[0].name: expected a text");
  EXPECT_EQ(why([](json &m) { m["tensors"][0]["shape"][1] = "X"; }),
            "manifest: tensors[0].shape: expected a size or scalar, got 'X'");
  EXPECT_EQ(why([](json &m) { m["tensors"] = 3; }),
            "manifest: tensors: expected a list of at most 32");
  EXPECT_EQ(why([](json &m) { m["sizes"].push_back("P"); }),
            "manifest: sizes: expected 'P' in a tensor's shape");
  EXPECT_EQ(why([](json &m) { m["sizes"].push_back("B"); }),
            "manifest: sizes: expected every name once, got 'B' twice");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["threads"] = 100; }),
            "manifest: launches[0].threads: expected a multiple of 32, got "
            "100");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["threads"] = -32; }),
            "manifest: launches[0].threads: expected a number from 0 to 1024");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["dependent"] = 1; }),
            "manifest: launches[0].dependent: expected true or false");
  EXPECT_EQ(why([](json &m) { m["launches"][1]["lists"] = "yes"; }),
            "manifest: launches[1].lists: expected true or false");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["arguments"][0]["kind"] = 1; }),
            "manifest: launches[0].arguments[0].kind: expected a text");
  EXPECT_EQ(
      why([](json &m) { m["launches"][0]["arguments"][0]["kind"] = "map"; }),
      "manifest: launches[0].arguments[0].kind: expected tensor, workspace, "
      "size, stride or scalar, got 'map'");
  EXPECT_EQ(
      why([](json &m) { m["launches"][0]["arguments"][0]["name"] = "Z"; }),
      "manifest: launches[0].arguments[0].name: expected a tensor, got 'Z'");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["arguments"][5]["dim"] = 4; }),
            "manifest: launches[0].arguments[5].dim: expected a number from 0 "
            "to 3");
  EXPECT_EQ(why([](json &m) {
              m["tensors"][0]["shape"] = json::array();
              m["launches"][0]["arguments"][5]["dim"] = 0;
            }),
            "manifest: launches[0].arguments[5].dim: expected a dimension of "
            "the tensor");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["requires"][0]["bytes"] = 0; }),
            "manifest: launches[0].requires[0].bytes: expected a number of "
            "bytes");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["requires"][0]["dims"] = {9}; }),
            "manifest: launches[0].requires[0].dims: expected dimensions of "
            "the tensor");
  EXPECT_EQ(why([](json &m) { m["launches"][0]["otherwise"] = "other"; }),
            "manifest: launches[0].otherwise: expected a function");
  EXPECT_EQ(
      why([](json &m) { m["launches"][0]["otherwise"]["threads"] = 100; }),
      "manifest: launches[0].otherwise.threads: expected a multiple of 32, got "
      "100");
  EXPECT_EQ(why([](json &m) { m["constraints"][0].erase("holds"); }),
            "manifest: constraints[0].holds: expected an expression");
  EXPECT_EQ(why([](json &m) { m["workspace"][0]["shape"][0] = 1.5; }),
            "manifest: workspace[0].shape: expected an integer expression");
  EXPECT_EQ(why([](json &m) {
              m.erase("image");
              m["image"] = nullptr;
            }),
            "manifest: image.cubin: expected a text");
}

//===----------------------------------------------------------------------===//
// Files, cache, architectures
//===----------------------------------------------------------------------===//

TEST(Open, NamesTheFile) {
  attentile_kernel *kernel;
  EXPECT_EQ(attentile_open_file("/nowhere/x.cubin", &kernel),
            ATTENTILE_NO_FILE);
  EXPECT_STREQ(attentile_error_message(),
               "cannot read '/nowhere/x.json': No such file or directory");
  EXPECT_EQ(kernel, nullptr);
}

/// A manifest names what lies in its own folder.
TEST(Open, LeavesNoFolder) {
  json manifest = exampleManifest();
  manifest["image"]["cubin"] = "../example.cubin";
  std::string path = testing::TempDir() + "attentile-runtime-beside.json";
  std::ofstream(path) << finished(manifest, exampleCubin());
  attentile_kernel *kernel;
  EXPECT_EQ(attentile_open_file(path.c_str(), &kernel),
            ATTENTILE_INVALID_MANIFEST);
  EXPECT_EQ(attentile_error_message(),
            path + ": manifest: expected a file beside it, got "
                   "'../example.cubin'");
  std::remove(path.c_str());
}

TEST(Open, SharesByContent) {
  attentile_kernel *first = openExample(), *second = openExample();
  attentile_kernel *other =
      openExample([](json &m) { m["kernel"] = "another"; });
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  unsigned modules = fakeCudaModulesEver(), now = fakeCudaModules();
  EXPECT_EQ(attentile_prepare(first, 0), ATTENTILE_SUCCESS);
  EXPECT_EQ(attentile_prepare(second, 0), ATTENTILE_SUCCESS);
  EXPECT_EQ(attentile_prepare(second, 1), ATTENTILE_SUCCESS);
  EXPECT_EQ(fakeCudaModulesEver() - modules, 2u);
  attentile_close(first);
  EXPECT_EQ(attentile_prepare(second, 0), ATTENTILE_SUCCESS);
  EXPECT_EQ(fakeCudaModulesEver() - modules, 2u);
  attentile_close(second);
  attentile_close(other);
  attentile_close(nullptr);
  EXPECT_EQ(fakeCudaModules(), now);
}

TEST(Open, TellsTheHead) {
  attentile_kernel *kernel = openExample();
  EXPECT_STREQ(attentile_name(kernel), "example");
  ASSERT_EQ(attentile_tensor_count(kernel), 4u);
  attentile_tensor_info tensor;
  ASSERT_TRUE(attentile_get_tensor(kernel, 3, &tensor));
  EXPECT_STREQ(tensor.name, "L");
  EXPECT_EQ(tensor.type, ATTENTILE_F32);
  EXPECT_EQ(tensor.rank, 3);
  EXPECT_TRUE(tensor.is_output);
  EXPECT_FALSE(attentile_get_tensor(kernel, 4, &tensor));
  attentile_scalar_info scalar;
  ASSERT_TRUE(attentile_get_scalar(kernel, 1, &scalar));
  EXPECT_STREQ(scalar.name, "window");
  EXPECT_EQ(scalar.type, ATTENTILE_I32);
  EXPECT_TRUE(scalar.has_default);
  EXPECT_FALSE(attentile_get_scalar(kernel, 2, &scalar));
  attentile_close(kernel);
}

TEST(Load, WantsItsArchitecture) {
  EXPECT_EQ(load(0, "sm_90"), "");
  EXPECT_EQ(load(2, "sm_90"), "expected a kernel for sm_80 (Fake GPU 2), got "
                              "one for sm_90 without PTX");
  EXPECT_EQ(load(0, "sm_80"), "expected a kernel for sm_90 (Fake GPU 0), got "
                              "one for sm_80 without PTX");
  EXPECT_EQ(load(0, "sm_100a"), "expected a kernel for sm_90 (Fake GPU 0), got "
                                "one for sm_100a without PTX");
}

TEST(Load, TakesPtxWhereTheCubinIsOfAnother) {
  std::string ptx = "// fake PTX\nsm_80\n" +
                    exampleCubin().substr(exampleCubin().find("example_0"));
  EXPECT_EQ(load(0, "sm_80", ptx), "");
  EXPECT_EQ(load(2, "sm_90", ptx), "expected a kernel for sm_80 (Fake GPU 2), "
                                   "got one for sm_90");
  EXPECT_EQ(load(0, "sm_80", "no PTX at all"),
            "the driver cannot compile the PTX: ptxas fatal: expected "
            ".version");
  fakeCudaFail("cuModuleLoadDataEx", 200);
  EXPECT_EQ(load(0, "sm_80", ptx),
            "cannot load the PTX: device kernel image is invalid "
            "(CUDA_ERROR_INVALID_IMAGE)");
}

TEST(Load, ComparesFunctionsWithTheManifest) {
  auto why = [](auto change) {
    attentile_kernel *kernel = openExample(change);
    EXPECT_EQ(attentile_prepare(kernel, 0), ATTENTILE_INVALID_IMAGE);
    attentile_close(kernel);
    return std::string(attentile_error_message());
  };
  EXPECT_EQ(why([](json &m) { m["launches"][1]["kernel"] = "missing"; }),
            "expected a function 'missing' in the image, got none");
  EXPECT_EQ(why([](json &m) {
              json &arguments = m["launches"][1]["arguments"];
              arguments.push_back(arguments[2]);
            }),
            "expected 'example_1' to take the manifest's 4 parameters, got "
            "another number 3");
  EXPECT_EQ(why([](json &m) { m["launches"][1]["arguments"].erase(0); }),
            "expected 'example_1' to take the manifest's 2 parameters, got "
            "another number 1");
}

/// As where a kernel's registers leave no room for its threads.
TEST(Load, TellsOfTooManyThreads) {
  std::string cubin = exampleCubin();
  cubin.insert(cubin.find("\nexample_by_element_0"), " <96");
  std::string text = finished(exampleManifest(), cubin);
  attentile_kernel *kernel = nullptr;
  ASSERT_EQ(attentile_open_memory(text.data(), text.size(), cubin.data(),
                                  cubin.size(), nullptr, 0, &kernel),
            ATTENTILE_SUCCESS);
  EXPECT_EQ(attentile_prepare(kernel, 0), ATTENTILE_INVALID_IMAGE);
  EXPECT_STREQ(attentile_error_message(),
               "expected 'example_0' to run with 128 threads on Fake GPU 0, "
               "got at most 96");
  attentile_close(kernel);
}

TEST(Load, TellsOfTooMuchSharedMemory) {
  attentile_kernel *kernel =
      openExample([](json &m) { m["launches"][0]["shared"] = 240000; });
  EXPECT_EQ(attentile_prepare(kernel, 0), ATTENTILE_WRONG_ARCHITECTURE);
  EXPECT_STREQ(attentile_error_message(),
               "expected 240000 bytes of shared memory for 'example_0', got "
               "232448 on Fake GPU 0");
  attentile_close(kernel);
}

TEST(Load, SurvivesFailures) {
  attentile_kernel *kernel = openExample();
  fakeCudaFail("cuModuleLoadDataEx", 200);
  EXPECT_EQ(attentile_prepare(kernel, 0), ATTENTILE_INVALID_IMAGE);
  EXPECT_STREQ(attentile_error_message(),
               "cannot load the cubin: device kernel image is invalid "
               "(CUDA_ERROR_INVALID_IMAGE)");
  EXPECT_EQ(attentile_prepare(kernel, 0), ATTENTILE_SUCCESS);
  attentile_close(kernel);
}
