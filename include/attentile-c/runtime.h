/*===- runtime.h - loading and launching compiled kernels ---------*- C -*-===*\
|*
|* Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What runs a cubin and its manifest (docs/manifest.md). It needs the CUDA
|* driver, which is opened when it is first used, and nothing else: no compiler,
|* no CUDA toolkit, no Python. C99 and C++.
|*
|*   attentile_kernel *kernel;
|*   if (attentile_open_file("causal.json", &kernel) != ATTENTILE_SUCCESS)
|*     return puts(attentile_error_message());
|*   attentile_tensor tensors[] = {{q, ATTENTILE_BF16, 4, qSizes, qStrides, 0},
|*                                 ...};                 inputs, then outputs
|*   attentile_arguments arguments = {tensors, 5, NULL, 0};
|*   attentile_launch(kernel, &arguments, stream, workspace, workspaceBytes);
|*   attentile_close(kernel);
|*
|* Every function may be called by several threads at once, on one kernel too.
|* What fails says why (attentile_error_message) and has done nothing.
|*
\*===----------------------------------------------------------------------===*/
#ifndef ATTENTILE_C_RUNTIME_H
#define ATTENTILE_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ATTENTILE_API __attribute__((visibility("default")))
#else
#define ATTENTILE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What a function returns. */
typedef enum attentile_status {
  ATTENTILE_SUCCESS = 0,
  ATTENTILE_INVALID_ARGUMENT = 1,   /**< a tensor, scalar, workspace or call */
  ATTENTILE_INVALID_MANIFEST = 2,   /**< truncated, altered, unknown version */
  ATTENTILE_INVALID_IMAGE = 3,      /**< a cubin or PTX that is not its own */
  ATTENTILE_WRONG_ARCHITECTURE = 4, /**< made for another GPU */
  ATTENTILE_NO_DRIVER = 5,          /**< no CUDA driver on this machine */
  ATTENTILE_NO_DEVICE = 6,          /**< no GPU of that number */
  ATTENTILE_NO_FILE = 7,            /**< a file that cannot be read */
  ATTENTILE_OUT_OF_MEMORY = 8,      /**< of the device */
  ATTENTILE_DRIVER_ERROR = 9        /**< what else the driver reported */
} attentile_status;

/** The types of elements and scalars. A bool is a byte that is 0 or 1. A value
    that is none of these is refused, so C++ must be able to hold it. */
#ifdef __cplusplus
typedef enum attentile_type : int {
#else
typedef enum attentile_type {
#endif
  ATTENTILE_F32 = 0,
  ATTENTILE_BF16 = 1,
  ATTENTILE_F16 = 2,
  ATTENTILE_F8E4M3 = 3,
  ATTENTILE_F8E5M2 = 4,
  ATTENTILE_I8 = 5,
  ATTENTILE_I4 = 6,
  ATTENTILE_I32 = 7,
  ATTENTILE_I64 = 8,
  ATTENTILE_BOOL = 9
} attentile_type;

/** The stream of the CUDA driver (CUstream, cudaStream_t); NULL is the default
    stream. */
typedef struct CUstream_st *attentile_stream;

/** A compiled kernel: its manifest, its images, and what is loaded of them. */
typedef struct attentile_kernel attentile_kernel;

/** A tensor in device memory. `data` is the address of element 0, 0, ...;
    strides are counted in elements and may be 0 (inputs) or negative. A null
    `strides` is row-major without gaps. `data` may be null where the tensor has
    no elements. */
typedef struct attentile_tensor {
  void *data;
  attentile_type type;
  int32_t rank;
  const int64_t *sizes;
  const int64_t *strides;
  int32_t device; /**< the number of the GPU */
} attentile_tensor;

/** A scalar, by name, or the one of its position if `name` is null. Floats are
    given as a double and rounded to the scalar's type; integers and bools as an
    integer. `type` says which member holds: ATTENTILE_F32 (or any float type)
    the first, any other the second. */
typedef struct attentile_scalar {
  const char *name;
  attentile_type type;
  union {
    double real;
    int64_t integer;
  } value;
} attentile_scalar;

/** What a launch is given: one tensor for each input and output, in the order
    of the kernel's head, and the scalars that are not to take their default. */
typedef struct attentile_arguments {
  const attentile_tensor *tensors;
  size_t tensor_count;
  const attentile_scalar *scalars;
  size_t scalar_count;
} attentile_arguments;

/** Why the last function of this thread that failed did: one line, which begins
    with the argument's name in quotes where it is about one. Valid until the
    next call of this thread that fails. */
ATTENTILE_API const char *attentile_error_message(void);

/** The version of this library, "0.1.0". */
ATTENTILE_API const char *attentile_runtime_version(void);

/*===-- Kernels -----------------------------------------------------------===*/

/** Opens a manifest (x.json; of x.cubin the x.json beside it) and the images it
    names, from its folder. All of it is checked here, and no GPU is needed. A
    kernel that is open already, by its content, is shared. */
ATTENTILE_API attentile_status attentile_open_file(const char *path,
                                                   attentile_kernel **kernel);

/** The same from memory, which is copied. `cubin` or `ptx` may be null. */
ATTENTILE_API attentile_status
attentile_open_memory(const char *manifest, size_t manifest_bytes,
                      const void *cubin, size_t cubin_bytes, const char *ptx,
                      size_t ptx_bytes, attentile_kernel **kernel);

/** Gives a kernel back, once for each time it was opened. Null is permitted.
    What was launched must have ended. */
ATTENTILE_API void attentile_close(attentile_kernel *kernel);

/** Loads the kernel on a device: the cubin if that is of its architecture, else
    the PTX, which the driver compiles. A launch does so by itself, unless its
    stream is being captured. */
ATTENTILE_API attentile_status attentile_prepare(attentile_kernel *kernel,
                                                 int32_t device);

/** The manifest, as JSON text; valid until the kernel is closed. */
ATTENTILE_API const char *attentile_manifest(const attentile_kernel *kernel);

/** The name of the kernel, and how many tensors and scalars it takes. */
ATTENTILE_API const char *attentile_name(const attentile_kernel *kernel);
ATTENTILE_API size_t attentile_tensor_count(const attentile_kernel *kernel);
ATTENTILE_API size_t attentile_scalar_count(const attentile_kernel *kernel);

/** What the head says of a tensor; `rank` is that of its shape. False if there
    is none of that number. */
typedef struct attentile_tensor_info {
  const char *name;
  attentile_type type;
  int32_t rank;
  int32_t is_output;
} attentile_tensor_info;
ATTENTILE_API int attentile_get_tensor(const attentile_kernel *kernel,
                                       size_t number,
                                       attentile_tensor_info *info);

/** The same of a scalar. */
typedef struct attentile_scalar_info {
  const char *name;
  attentile_type type;
  int32_t has_default;
} attentile_scalar_info;
ATTENTILE_API int attentile_get_scalar(const attentile_kernel *kernel,
                                       size_t number,
                                       attentile_scalar_info *info);

/*===-- Launches ----------------------------------------------------------===*/

/** The bytes of workspace that a launch with these arguments needs; often 0.
    Only types, sizes and scalars are looked at: data may be null. */
ATTENTILE_API attentile_status
attentile_workspace_bytes(attentile_kernel *kernel,
                          const attentile_arguments *arguments, size_t *bytes);

/** Launches the kernel on a stream and returns at once. Everything is checked
    first: count, types, ranks and sizes of tensors, constraints, alignment,
    device, outputs that overlap themselves or another tensor, workspace (256
    bytes aligned, at least what attentile_workspace_bytes gives; null if that
    is 0). It allocates nothing and may be captured into a graph if the kernel
    was loaded before (attentile_prepare). */
ATTENTILE_API attentile_status attentile_launch(
    attentile_kernel *kernel, const attentile_arguments *arguments,
    attentile_stream stream, void *workspace, size_t workspace_bytes);

/** The first part of a launch: finds the lists of blocks that masks leave (of
    packed documents, a neighbourhood, a table of blocks), into the workspace.
    Only the tensors that decide them are looked at; the others' data may be
    null. Without lists, as of causal masks, it launches nothing. */
ATTENTILE_API attentile_status attentile_list_blocks(
    attentile_kernel *kernel, const attentile_arguments *arguments,
    attentile_stream stream, void *workspace, size_t workspace_bytes);

/** The rest of it, as often as wanted, for the layers of a model say: with
    workspace that attentile_list_blocks has filled, for the same sizes and
    scalars and the same elements of the tensors that decide the lists. Lists of
    others leave out what they leave out, but nothing outside of tensors is
    accessed. Launches that share workspace must follow each other. */
ATTENTILE_API attentile_status attentile_launch_listed(
    attentile_kernel *kernel, const attentile_arguments *arguments,
    attentile_stream stream, void *workspace, size_t workspace_bytes);

/** The same as attentile_launch with workspace that is allocated and freed on
    the stream. */
ATTENTILE_API attentile_status attentile_launch_allocating(
    attentile_kernel *kernel, const attentile_arguments *arguments,
    attentile_stream stream);

/*===-- Devices -----------------------------------------------------------===*/
/* For programs that use no other CUDA library. Memory is of the device's
   primary context, as that of the CUDA runtime and of PyTorch. */

/** How many GPUs there are; 0 without a driver (the message then says why). */
ATTENTILE_API int32_t attentile_device_count(void);

/** 90 for sm_90, and the GPU's name (null: not wanted). */
ATTENTILE_API attentile_status attentile_device_info(int32_t device,
                                                     int32_t *architecture,
                                                     char *name,
                                                     size_t name_bytes);

ATTENTILE_API attentile_status attentile_allocate(int32_t device, size_t bytes,
                                                  void **memory);
ATTENTILE_API attentile_status attentile_free(int32_t device, void *memory);

/** Copies and fills that have ended when they return, in the default stream. */
ATTENTILE_API attentile_status attentile_to_device(int32_t device, void *to,
                                                   const void *from,
                                                   size_t bytes);
ATTENTILE_API attentile_status attentile_to_host(int32_t device, void *to,
                                                 const void *from,
                                                 size_t bytes);
ATTENTILE_API attentile_status attentile_fill(int32_t device, void *to,
                                              uint8_t value, size_t bytes);

/** Waits until all that was launched on a device has ended; says what went
    wrong there. */
ATTENTILE_API attentile_status attentile_synchronize(int32_t device);

/** The seconds that one of `count` launches in a row takes on the default
    stream, after a first one that is not counted. */
ATTENTILE_API attentile_status attentile_time(
    attentile_kernel *kernel, const attentile_arguments *arguments,
    void *workspace, size_t workspace_bytes, int32_t count, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
