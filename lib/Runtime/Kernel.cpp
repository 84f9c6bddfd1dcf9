//===- Kernel.cpp - opening kernels, and which are open -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"
#include "Error.h"
#include "Sha256.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

using namespace attentile::runtime;

/// The kernels that are open, by the hash of what they were opened from; never
/// destroyed, as others' destructors may close kernels.
static std::mutex &cacheMutex = *new std::mutex;
static auto &cache = *new std::map<std::string, attentile_kernel *>;

/// Whether the images are the ones that the manifest was written with.
static attentile_status checkImages(const attentile_kernel &kernel) {
  const Manifest &manifest = kernel.manifest;
  if (!kernel.cubin.empty()) {
    if (kernel.cubin.size() != manifest.cubinBytes)
      return fail(ATTENTILE_INVALID_IMAGE, "cubin: expected %zu bytes, got %zu",
                  manifest.cubinBytes, kernel.cubin.size());
    if (sha256(kernel.cubin) != manifest.cubinHash)
      return fail(ATTENTILE_INVALID_IMAGE,
                  "cubin: expected the one that the manifest was written with, "
                  "got one of another hash");
  }
  if (!kernel.ptx.empty() && !manifest.ptxHash.empty() &&
      sha256(kernel.ptx) != manifest.ptxHash)
    return fail(ATTENTILE_INVALID_IMAGE,
                "PTX: expected the one that the manifest was written with, got "
                "one of another hash");
  if (kernel.cubin.empty() && kernel.ptx.empty())
    return fail(ATTENTILE_INVALID_IMAGE, "expected a cubin or PTX, got none");
  return ATTENTILE_SUCCESS;
}

attentile_status attentile_open_memory(const char *manifest,
                                       size_t manifest_bytes, const void *cubin,
                                       size_t cubin_bytes, const char *ptx,
                                       size_t ptx_bytes,
                                       attentile_kernel **kernel) {
  if (!kernel || !manifest)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "expected a manifest and where to put the kernel, got null");
  *kernel = nullptr;
  auto opened = std::make_unique<attentile_kernel>();
  opened->text.assign(manifest, manifest_bytes);
  if (cubin)
    opened->cubin.assign(static_cast<const char *>(cubin), cubin_bytes);
  if (ptx)
    opened->ptx.assign(ptx, ptx_bytes);
  if (attentile_status status = parseManifest(opened->text, opened->manifest))
    return status;
  if (attentile_status status = checkImages(*opened))
    return status;
  // The manifest names the cubin's hash.
  opened->key = sha256(opened->text) + (opened->cubin.empty() ? "" : "c") +
                (opened->ptx.empty() ? "" : sha256(opened->ptx));
  std::lock_guard lock(cacheMutex);
  auto [entry, isNew] = cache.try_emplace(opened->key, opened.get());
  if (isNew)
    opened.release();
  else
    ++entry->second->uses;
  *kernel = entry->second;
  return ATTENTILE_SUCCESS;
}

static attentile_status readFile(const std::string &path, std::string &bytes) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return fail(ATTENTILE_NO_FILE, "cannot read '%s': %s", path.c_str(),
                std::strerror(errno));
  char buffer[65536];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file))
    bytes.append(buffer, count);
  bool failed = std::ferror(file);
  std::fclose(file);
  if (failed)
    return fail(ATTENTILE_NO_FILE, "cannot read '%s'", path.c_str());
  return ATTENTILE_SUCCESS;
}

/// Keeps the message with the file's name before it.
static attentile_status failIn(const std::string &path,
                               attentile_status status) {
  std::string why = message();
  return fail(status, "%s: %s", path.c_str(), why.c_str());
}

attentile_status attentile_open_file(const char *path,
                                     attentile_kernel **kernel) {
  if (!path || !kernel)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "expected a path and where to put the kernel, got null");
  *kernel = nullptr;
  std::string name = path;
  if (name.size() > 6 && name.ends_with(".cubin"))
    name.replace(name.size() - 6, 6, ".json");
  std::string text, cubin, ptx;
  if (attentile_status status = readFile(name, text))
    return status;
  Manifest manifest;
  if (attentile_status status = parseManifest(text, manifest))
    return failIn(name, status);
  size_t slash = name.rfind('/');
  std::string folder =
      slash == std::string::npos ? "" : name.substr(0, slash + 1);
  // A file name, not a path: a manifest names what lies beside it.
  for (const std::string &file : {manifest.cubinFile, manifest.ptxFile})
    if (file.find('/') != std::string::npos)
      return fail(ATTENTILE_INVALID_MANIFEST,
                  "%s: manifest: expected a file beside it, got '%s'",
                  name.c_str(), file.c_str());
  if (!manifest.cubinFile.empty())
    if (attentile_status status = readFile(folder + manifest.cubinFile, cubin))
      return status;
  if (!manifest.ptxFile.empty())
    if (attentile_status status = readFile(folder + manifest.ptxFile, ptx))
      return status;
  attentile_status status = attentile_open_memory(
      text.data(), text.size(), cubin.empty() ? nullptr : cubin.data(),
      cubin.size(), ptx.empty() ? nullptr : ptx.data(), ptx.size(), kernel);
  return status ? failIn(name, status) : status;
}

void attentile_close(attentile_kernel *kernel) {
  if (!kernel)
    return;
  {
    std::lock_guard lock(cacheMutex);
    if (--kernel->uses > 0)
      return;
    cache.erase(kernel->key);
  }
  unload(*kernel);
  delete kernel;
}

attentile_status attentile_prepare(attentile_kernel *kernel, int32_t device) {
  if (!kernel)
    return fail(ATTENTILE_INVALID_ARGUMENT, "expected a kernel, got null");
  attentile_status status = ATTENTILE_SUCCESS;
  load(*kernel, device, status);
  return status;
}

//===----------------------------------------------------------------------===//
// What a kernel says of itself
//===----------------------------------------------------------------------===//

static_assert(int(attentile::ElementType::Bool) == ATTENTILE_BOOL &&
                  int(attentile::ElementType::I32) == ATTENTILE_I32 &&
                  int(attentile::ElementType::F16) == ATTENTILE_F16,
              "one numbering of types");

const char *attentile_manifest(const attentile_kernel *kernel) {
  return kernel->text.c_str();
}

const char *attentile_name(const attentile_kernel *kernel) {
  return kernel->manifest.kernel.c_str();
}

size_t attentile_tensor_count(const attentile_kernel *kernel) {
  return kernel->manifest.tensors.size();
}

size_t attentile_scalar_count(const attentile_kernel *kernel) {
  return kernel->manifest.scalars.size();
}

int attentile_get_tensor(const attentile_kernel *kernel, size_t number,
                         attentile_tensor_info *info) {
  if (number >= kernel->manifest.tensors.size())
    return 0;
  const TensorParameter &tensor = kernel->manifest.tensors[number];
  *info = {tensor.name.c_str(), static_cast<attentile_type>(tensor.type),
           static_cast<int32_t>(tensor.shape.size()), tensor.isOutput};
  return 1;
}

int attentile_get_scalar(const attentile_kernel *kernel, size_t number,
                         attentile_scalar_info *info) {
  if (number >= kernel->manifest.scalars.size())
    return 0;
  const ScalarParameter &scalar = kernel->manifest.scalars[number];
  *info = {scalar.name.c_str(), static_cast<attentile_type>(scalar.type),
           scalar.hasDefault};
  return 1;
}
