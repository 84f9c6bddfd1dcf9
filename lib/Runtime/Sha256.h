//===- Sha256.h - the hash of images and manifests --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_SHA256_H
#define ATTENTILE_LIB_RUNTIME_SHA256_H

#include <string>
#include <string_view>

namespace attentile::runtime {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace attentile::runtime

#endif
