//===- CheckReport.h - what a check prints ----------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_CHECKREPORT_H
#define ATTENTILE_LIB_DRIVER_CHECKREPORT_H

#include "CheckConfig.h"
#include "attentile/Check.h"

namespace attentile::checking {

/// One line for the runs after one pass, of which `planned` were to be made;
/// more for those that failed, with the command that repeats each.
void report(llvm::raw_ostream &os, const PassCheck &check, size_t planned,
            const Source &source, const RunCheckOptions &options);

/// Says, once, why a check failed that could compare nothing, and what to do.
void explainLost(llvm::raw_ostream &os, llvm::ArrayRef<PassCheck> checks);

} // namespace attentile::checking

#endif
