//===- Trend.h - how an index changes with another one ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TREND_H
#define ATTENTILE_TREND_H

namespace attentile {

/// How a value changes as another one grows.
enum class Trend { Constant, Rises, Falls, Unknown };

inline Trend negate(Trend trend) {
  return trend == Trend::Rises   ? Trend::Falls
         : trend == Trend::Falls ? Trend::Rises
                                 : trend;
}

/// Of a function that rises with both operands.
inline Trend join(Trend a, Trend b) {
  if (a == Trend::Constant || a == b)
    return b;
  return b == Trend::Constant ? a : Trend::Unknown;
}

} // namespace attentile

#endif
