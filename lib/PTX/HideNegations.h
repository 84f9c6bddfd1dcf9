//===- HideNegations.h - a negation that ptxas must not lose ----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For sm_90 and later ptxas 13.0 makes one instruction of two minima or two
// maxima, and loses the sign of the inner one's second operand:
//
//     neg.s32 t, b;  max.s32 u, a, t;  max.s32 v, u, c
//     VIMNMX3 v, a, b, c, !PT                          // not -b
//
// So a negation that a minimum or maximum takes is written as ~b + 1; ptxas
// adds the 1 where it compares. Likewise one of a 64-bit magnitude, which ptxas
// takes for less than any negative constant that it meets:
//
//     abs.s64 t, b;  neg.s64 u, t;  max.s64 v, u, -5   // always -5
//
// And a difference that a maximum takes, whose first operand ptxas finds to be a
// constant late, as where it unrolls a loop or narrows 64 bits:
//
//     sub.s32 t, c, b;  max.s32 u, t, 0
//     VIADDMNMX u, b, -5, RZ, !PT                      // b - 5, where c is 5
//
// In the text, as code generation makes some of these of other subtractions.
// For all targets, as a driver may compile their PTX for later ones.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_PTX_HIDENEGATIONS_H
#define ATTENTILE_LIB_PTX_HIDENEGATIONS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attentile {

std::string hideNegations(llvm::StringRef ptx);

} // namespace attentile

#endif
