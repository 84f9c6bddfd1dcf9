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

/// Adds the share of an output that could be compared, if it is less than half:
/// "39 % of O".
void addIfScarce(std::string &to, llvm::StringRef output, int64_t elements,
                 int64_t excluded);

/// Says, once, why little could be compared, and where it was nothing, for
/// which a check fails, what to do.
void explainLost(llvm::raw_ostream &os, llvm::ArrayRef<PassCheck> checks);

} // namespace attentile::checking

#endif
