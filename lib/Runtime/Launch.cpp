//===- Launch.cpp - from arguments to cuLaunchKernel ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "Error.h"
#include "Kernel.h"
#include <algorithm>

using namespace attentile::runtime;
using attentile::sizeOf;

namespace {
/// The grids of a launch: all, those that find lists of blocks, or the others.
enum class Part { All, Lists, Listed };

/// One grid, ready to go.
struct Grid {
  const Function *description;
  CUfunction function;
  unsigned cells;
};
} // namespace

static bool belongsTo(Part part, const Launch &launch) {
  return part == Part::All || launch.makesLists == (part == Part::Lists);
}

/// A bit for each tensor whose elements are looked at: what finds lists leaves
/// out most.
static uint64_t getUsedTensors(const Manifest &manifest, Part part) {
  static_assert(kMaxTensors < 64);
  if (part != Part::Lists)
    return (uint64_t(1) << manifest.tensors.size()) - 1;
  uint64_t used = 0;
  auto add = [&](const Function &function) {
    for (const Parameter &parameter : function.parameters)
      if (parameter.kind == Parameter::Tensor)
        used |= uint64_t(1) << parameter.index;
  };
  for (const Launch &launch : manifest.launches) {
    if (!launch.makesLists)
      continue;
    add(launch);
    if (launch.otherwise)
      add(*launch.otherwise);
  }
  return used;
}

/// Whether the memory of every tensor that is used is on the device. A managed
/// allocation is everywhere.
static attentile_status checkMemory(const CudaDriver &driver,
                                    const Arguments &arguments, uint64_t used) {
  const Manifest &manifest = *arguments.manifest;
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    const attentile_tensor &tensor = arguments.tensors[i];
    bool isSkipped = !(used >> i & 1);
    for (int32_t dim = 0; dim < tensor.rank; ++dim)
      isSkipped |= tensor.sizes[dim] == 0;
    if (isSkipped)
      continue;
    // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _IS_MANAGED, _DEVICE_ORDINAL
    int attributes[] = {2, 8, 9};
    unsigned type = 0, isManaged = 0;
    int ordinal = -1;
    void *values[] = {&type, &isManaged, &ordinal};
    CUresult result = driver.PointerGetAttributes(
        3, attributes, values, reinterpret_cast<uintptr_t>(tensor.data));
    const char *name = manifest.tensors[i].name.c_str();
    if (isManaged & 1)
      continue;
    if (result || type != 2) // CU_MEMORYTYPE_DEVICE
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "'%s': expected memory of device %d, got memory of the host",
                  name, tensor.device);
    if (ordinal != tensor.device)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "'%s': expected memory of device %d, got memory of device %d",
                  name, tensor.device, ordinal);
  }
  return ATTENTILE_SUCCESS;
}

namespace {
/// Why 16-byte copies of a tensor are not possible. Modulo 2^64 a product keeps
/// its remainder by a power of two.
struct Misfit {
  enum { None, Address, Contiguity, Stride } kind = None;
  unsigned dim = 0;
};
} // namespace

static Misfit findMisfit(const Arguments &arguments,
                         const Requirement &requirement) {
  const attentile_tensor &tensor = arguments.tensors[requirement.tensor];
  const int64_t *strides = arguments.strides[requirement.tensor];
  uint64_t elementBytes =
      sizeOf(arguments.manifest->tensors[requirement.tensor].type);
  if (reinterpret_cast<uintptr_t>(tensor.data) % requirement.bytes != 0)
    return {Misfit::Address};
  for (unsigned dim = 0; dim < unsigned(tensor.rank); ++dim) {
    // A single element is where its stride does not reach.
    if (tensor.sizes[dim] <= 1)
      continue;
    if (dim == requirement.last && strides[dim] != 1)
      return {Misfit::Contiguity, dim};
    if (dim != requirement.last &&
        uint64_t(strides[dim]) * elementBytes % requirement.bytes != 0)
      return {Misfit::Stride, dim};
  }
  return {};
}

static attentile_status failMisfit(const Arguments &arguments,
                                   const Requirement &requirement,
                                   Misfit misfit) {
  const char *name =
      arguments.manifest->tensors[requirement.tensor].name.c_str();
  auto stride =
      static_cast<long long>(arguments.strides[requirement.tensor][misfit.dim]);
  if (misfit.kind == Misfit::Address)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected an address that is a multiple of %u, got %p",
                name, requirement.bytes,
                arguments.tensors[requirement.tensor].data);
  if (misfit.kind == Misfit::Contiguity)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected stride 1 in dimension %u, got %lld", name,
                misfit.dim, stride);
  return fail(ATTENTILE_INVALID_ARGUMENT,
              "'%s': expected a stride of a multiple of %u bytes in dimension "
              "%u, got %lld elements",
              name, requirement.bytes, misfit.dim, stride);
}

static attentile_status chooseGrid(const Arguments &arguments,
                                   const Launch &launch,
                                   const LoadedModule::Functions &functions,
                                   Grid &grid) {
  grid.description = &launch;
  grid.function = functions.first;
  for (const Requirement &requirement : launch.requirements) {
    Misfit misfit = findMisfit(arguments, requirement);
    if (misfit.kind == Misfit::None)
      continue;
    if (!launch.otherwise)
      return failMisfit(arguments, requirement, misfit);
    grid.description = &*launch.otherwise;
    grid.function = functions.otherwise;
    break;
  }
  int64_t cells = 1;
  bool fits = true;
  for (const Expression &count : grid.description->cells) {
    Value value;
    fits = fits && count.evaluate(arguments.slots, value);
    if (!fits)
      break;
    fits = !__builtin_mul_overflow(cells, std::max<int64_t>(value.integer, 0),
                                   &cells);
  }
  // Of factors whose product overflows one may still be 0.
  if (!fits || cells > INT32_MAX)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "expected at most 2147483647 programs of '%s', got more",
                grid.description->kernel.c_str());
  grid.cells = static_cast<unsigned>(cells);
  return ATTENTILE_SUCCESS;
}

static CUresult launchGrid(const CudaDriver &driver, const Arguments &arguments,
                           const Grid &grid, CUstream stream, void *workspace) {
  const Function &launch = *grid.description;
  int64_t values[kMaxParameters];
  void *parameters[kMaxParameters];
  size_t count = launch.parameters.size();
  for (size_t i = 0; i < count; ++i) {
    const Parameter &parameter = launch.parameters[i];
    parameters[i] = &values[i];
    switch (parameter.kind) {
    case Parameter::Tensor:
      values[i] =
          reinterpret_cast<intptr_t>(arguments.tensors[parameter.index].data);
      break;
    case Parameter::Workspace:
      values[i] = reinterpret_cast<intptr_t>(workspace) +
                  arguments.workspaceOffsets[parameter.index];
      break;
    case Parameter::Size:
      values[i] = arguments.slots[parameter.index].integer;
      break;
    case Parameter::Stride:
      values[i] = arguments.strides[parameter.index][parameter.dim];
      break;
    case Parameter::Scalar:
      values[i] = arguments.scalarBits[parameter.index];
      break;
    }
  }
  if (launch.isDependent && driver.LaunchKernelEx) {
    CUlaunchAttribute attribute = {kProgrammaticSerialization, 0, {1}};
    CUlaunchConfig config = {{grid.cells, 1, 1}, {launch.threads, 1, 1},
                             launch.shared,      stream,
                             &attribute,         1};
    return driver.LaunchKernelEx(&config, grid.function, parameters, nullptr);
  }
  return driver.LaunchKernel(grid.function, grid.cells, 1, 1, launch.threads, 1,
                             1, launch.shared, stream, parameters, nullptr);
}

/// Checks and launches; with `allocates`, the workspace comes from the stream.
static attentile_status launchPart(attentile_kernel *kernel, Part part,
                                   const attentile_arguments *given,
                                   attentile_stream stream, void *workspace,
                                   size_t workspaceBytes, bool allocates) {
  if (!kernel || !given)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "expected a kernel and arguments, got null");
  const Manifest &manifest = kernel->manifest;
  Arguments arguments;
  if (attentile_status status = bindArguments(manifest, *given, arguments))
    return status;
  size_t needed = arguments.workspaceBytes;
  if (allocates)
    arguments.workspaceBytes = 0; // none to check
  uint64_t used = getUsedTensors(manifest, part);
  if (attentile_status status =
          checkAddresses(arguments, used, workspace, workspaceBytes))
    return status;
  attentile_status status = ATTENTILE_SUCCESS;
  int32_t device = given->tensor_count ? given->tensors[0].device : 0;
  const LoadedModule *loaded = load(*kernel, device, status, &stream);
  if (!loaded)
    return status;
  const CudaDriver &driver = *openDriver(status);
  CurrentContext current(driver, loaded->device->context);
  if (current.result)
    return failDriver(driver, current.result, "cannot use the GPU");
  if (attentile_status status = checkMemory(driver, arguments, used))
    return status;
  Grid grids[kMaxLaunches];
  size_t count = 0;
  for (size_t i = 0; i < manifest.launches.size(); ++i)
    if (belongsTo(part, manifest.launches[i]))
      if (attentile_status status =
              chooseGrid(arguments, manifest.launches[i], loaded->functions[i],
                         grids[count++]))
        return status;
  CUdeviceptr allocated = 0;
  if (allocates && needed > 0) {
    if (CUresult result = driver.MemAllocAsync(&allocated, needed, stream))
      return failDriver(driver, result, "cannot allocate the workspace");
    workspace = reinterpret_cast<void *>(allocated);
  }
  CUresult result = 0;
  for (size_t i = 0; i < count && !result; ++i)
    if (grids[i].cells > 0)
      result = launchGrid(driver, arguments, grids[i], stream, workspace);
  CUresult freed = allocated ? driver.MemFreeAsync(allocated, stream) : 0;
  if (result)
    return failDriver(driver, result, "cannot launch the kernel");
  if (freed)
    return failDriver(driver, freed, "cannot free the workspace");
  return ATTENTILE_SUCCESS;
}

attentile_status attentile_workspace_bytes(attentile_kernel *kernel,
                                           const attentile_arguments *given,
                                           size_t *bytes) {
  if (!kernel || !given || !bytes)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "expected a kernel, arguments and where to put a number, got "
                "null");
  Arguments arguments;
  if (attentile_status status =
          bindArguments(kernel->manifest, *given, arguments))
    return status;
  *bytes = arguments.workspaceBytes;
  return ATTENTILE_SUCCESS;
}

attentile_status attentile_launch(attentile_kernel *kernel,
                                  const attentile_arguments *arguments,
                                  attentile_stream stream, void *workspace,
                                  size_t workspace_bytes) {
  return launchPart(kernel, Part::All, arguments, stream, workspace,
                    workspace_bytes, false);
}

attentile_status attentile_list_blocks(attentile_kernel *kernel,
                                       const attentile_arguments *arguments,
                                       attentile_stream stream, void *workspace,
                                       size_t workspace_bytes) {
  return launchPart(kernel, Part::Lists, arguments, stream, workspace,
                    workspace_bytes, false);
}

attentile_status attentile_launch_listed(attentile_kernel *kernel,
                                         const attentile_arguments *arguments,
                                         attentile_stream stream,
                                         void *workspace,
                                         size_t workspace_bytes) {
  return launchPart(kernel, Part::Listed, arguments, stream, workspace,
                    workspace_bytes, false);
}

attentile_status
attentile_launch_allocating(attentile_kernel *kernel,
                            const attentile_arguments *arguments,
                            attentile_stream stream) {
  return launchPart(kernel, Part::All, arguments, stream, nullptr, 0, true);
}
