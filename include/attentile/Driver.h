//===- Driver.h - the attentile command -------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DRIVER_H
#define ATTENTILE_DRIVER_H

namespace attentile {

/// The command `attentile`: parses the arguments and runs the command they
/// name. The result is the exit code: 0; 1 for a wrong program, a broken
/// constraint or a failed check; 2 for a wrong call.
int driverMain(int argc, char **argv);

} // namespace attentile

#endif
