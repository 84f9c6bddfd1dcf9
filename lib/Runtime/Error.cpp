//===- Error.cpp - why something failed -----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Error.h"
#include <cstdarg>
#include <cstdio>

namespace attentile::runtime {

static thread_local char text[1024];

attentile_status fail(attentile_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return status;
}

const char *message() { return text; }

} // namespace attentile::runtime

const char *attentile_error_message(void) {
  return attentile::runtime::message();
}

const char *attentile_runtime_version(void) { return ATTENTILE_VERSION; }
