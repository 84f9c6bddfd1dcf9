//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format, from NumPy's own description (numpy/lib/format.py):
//
//   "\x93NUMPY"  major minor  header length (2 bytes; 4 from version 2 on)
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   padded
//   the elements, without gaps
//
// The header is Python text, and the file may come from anywhere: everything
// in it is checked, and what does not fit is refused with a reason.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NPY_H
#define ATTENTILE_NPY_H

#include "attentile/Tensor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace attentile {

/// Reads a tensor from the bytes of a .npy file of version 1.0, 2.0 or 3.0 into
/// memory of its own. Elements are f2, f4, i4, i8, b1, or V2, which is how
/// NumPy writes the bfloat16 of ml_dtypes; all little-endian. A bool that is
/// neither 0 nor 1 becomes 1. Fortran order becomes strides. The error says
/// what was expected and what was found, and names no file.
llvm::Expected<HostTensor> parseNpy(llvm::StringRef bytes);

/// The same from a file; errors begin with its name.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path);

/// The bytes before the elements of a tensor in row-major order: version 1.0,
/// padded so that the elements start at a multiple of 64.
std::string npyHeader(ElementType type, const std::vector<int64_t> &sizes);

/// Writes a tensor, of any strides, in row-major order. The file appears whole
/// or not at all, on an interrupt too.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace attentile

#endif
