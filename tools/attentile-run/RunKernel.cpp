//===- RunKernel.cpp - one run, launched and compared ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunKernel.h"
#include "attentile/DeviceTensor.h"
#include <cmath>
#include <cstdio>
#include <cstring>

namespace attentile {
namespace {
/// Memory of the device for as long as the object lives.
struct DeviceMemory {
  ~DeviceMemory() { attentile_free(device, data); }
  int32_t device;
  void *data = nullptr;
};
} // namespace

static std::string formatted(const char *format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

static Outcome outcomeOf(attentile_status status) {
  auto kind = status == ATTENTILE_OUT_OF_MEMORY  ? Outcome::NoMemory
              : status == ATTENTILE_DRIVER_ERROR ? Outcome::Lost
                                                 : Outcome::Failed;
  return {kind, attentile_error_message(), 0};
}

/// What is wrong with an output; empty if nothing.
static std::string compareOutput(const PreparedTensor &output,
                                 const Expectation &expected, bool isNormal,
                                 Tally &tally) {
  const HostTensor &tensor = output.tensor;
  const char *name = output.name.c_str();
  int64_t failed = 0;
  double error = 0, norm = 0;
  std::string first;
  for (size_t i = 0; i < expected.numbers.size(); ++i) {
    ++tally.elements;
    if (!(expected.allowed[i] < INFINITY)) {
      ++tally.excluded;
      continue;
    }
    std::vector<int64_t> index = indexOf(expected.numbers[i], tensor.sizes);
    double got = tensor.readDouble(tensor.positionOf(index.data()));
    double wanted = expected.values[i];
    double ratio = errorRatio(got, wanted, expected.allowed[i]);
    if (std::isfinite(ratio))
      tally.worstRatio = std::max(tally.worstRatio, ratio);
    if (ratio > 1 && failed++ == 0) {
      std::string at;
      for (int64_t k : index)
        at += (at.empty() ? "" : ", ") + std::to_string(k);
      first = formatted("%s[%s]: expected %.9g, got %.9g, allowed %.3g", name,
                        at.c_str(), wanted, got, double(expected.allowed[i]));
    }
    if (std::isfinite(wanted) && std::isfinite(got)) {
      error += (got - wanted) * (got - wanted);
      norm += wanted * wanted;
    }
  }
  error = std::sqrt(error);
  norm = std::sqrt(norm);
  if (isNormal) {
    Tally::Norms &norms = tally.norms[tensor.type];
    norms.error = std::hypot(norms.error, error);
    norms.reference = std::hypot(norms.reference, norm);
  }
  if (failed > 0)
    return formatted("%s: %lld of %zu elements are wrong, first %s", name,
                     static_cast<long long>(failed), expected.numbers.size(),
                     first.c_str());
  if (expected.hasNorm &&
      error > std::hypot(1.5 * expected.roundedNorm, expected.arithmeticNorm))
    return formatted(
        "%s: expected an error norm of at most 1.5 times %.3g (the "
        "formula rounded) and %.3g (f32 arithmetic), got %.3g",
        name, expected.roundedNorm, expected.arithmeticNorm, error);
  return "";
}

/// Of lists and what uses them in two launches, if wanted.
static attentile_status launch(attentile_kernel *kernel,
                               const attentile_arguments &arguments,
                               size_t inputs, void *workspace, size_t bytes,
                               bool listed) {
  if (!listed)
    return attentile_launch(kernel, &arguments, nullptr, workspace, bytes);
  std::vector<attentile_tensor> tensors(
      arguments.tensors, arguments.tensors + arguments.tensor_count);
  for (size_t i = inputs; i < tensors.size(); ++i)
    tensors[i].data = nullptr;
  attentile_arguments withoutOutputs = arguments;
  withoutOutputs.tensors = tensors.data();
  if (attentile_status status = attentile_list_blocks(
          kernel, &withoutOutputs, nullptr, workspace, bytes))
    return status;
  return attentile_launch_listed(kernel, &arguments, nullptr, workspace, bytes);
}

Outcome runKernel(const PreparedRun &run, attentile_kernel *kernel,
                  const RunOptions &options, Tally &tally) {
  int32_t device = options.device;
  std::vector<PreparedTensor> tensors = run.tensors;
  std::vector<DeviceTensor> onDevice;
  std::vector<attentile_tensor> descriptors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    HostTensor &tensor = tensors[i].tensor;
    // A far tensor takes address space for what it spans.
    int64_t reach = 0;
    for (size_t dim = 0; dim < tensor.sizes.size(); ++dim)
      reach += std::abs(tensor.strides[dim]) *
               std::max<int64_t>(tensor.sizes[dim] - 1, 0);
    giveMemory(tensor, reach > (int64_t(1) << 28));
    if (!tensor.data)
      return {Outcome::NoMemory, {}, 0};
    poison(tensor);
    if (i < run.inputs())
      draw(tensor, tensors[i].recipe);
    if (attentile_status status =
            onDevice.emplace_back(device, tensor).upload())
      return outcomeOf(status);
  }
  for (const DeviceTensor &tensor : onDevice)
    descriptors.push_back(tensor.descriptor());
  std::vector<attentile_scalar> scalars;
  for (const PreparedScalar &scalar : run.scalars) {
    scalars.push_back(scalar.scalar);
    scalars.back().name = scalar.name.c_str();
  }
  attentile_arguments arguments{descriptors.data(), descriptors.size(),
                                scalars.data(), scalars.size()};
  DeviceMemory workspace{device};
  size_t bytes = 0;
  attentile_status status =
      attentile_workspace_bytes(kernel, &arguments, &bytes);
  if (!status && bytes)
    status = attentile_allocate(device, bytes, &workspace.data);
  if (!status && bytes)
    status = attentile_fill(device, workspace.data, kPoison, bytes);
  if (!status)
    status = launch(kernel, arguments, run.inputs(), workspace.data, bytes,
                    options.listed);
  if (!status)
    status = attentile_synchronize(device);
  Outcome outcome;
  if (!status && options.launches > 0)
    status = attentile_time(kernel, &arguments, workspace.data, bytes,
                            options.launches, &outcome.seconds);
  if (status)
    return outcomeOf(status);
  bool isNormal = run.name.find("values=normal") != std::string::npos;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool isOutput = i >= run.inputs(), isUntouched = true;
    std::string wrong;
    if (isOutput) {
      if (attentile_status status = onDevice[i].download(isUntouched))
        return outcomeOf(status);
      wrong = compareOutput(tensors[i], run.expectations[i - run.inputs()],
                            isNormal, tally);
    }
    if (wrong.empty() && !isUntouched)
      wrong = tensors[i].name + ": wrote outside its elements";
    if (!wrong.empty())
      outcome.message += (outcome.message.empty() ? "" : "; ") + wrong;
  }
  if (!outcome.message.empty())
    outcome.kind = Outcome::Failed;
  return outcome;
}

} // namespace attentile
