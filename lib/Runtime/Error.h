//===- Error.h - why something failed ---------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_ERROR_H
#define ATTENTILE_LIB_RUNTIME_ERROR_H

#include "attentile-c/runtime.h"

namespace attentile::runtime {

/// Keeps the message for attentile_error_message of this thread; allocates
/// nothing. Gives `status` back.
[[gnu::format(printf, 2, 3)]] attentile_status fail(attentile_status status,
                                                    const char *format, ...);

/// The message that is kept now.
const char *message();

} // namespace attentile::runtime

#endif
