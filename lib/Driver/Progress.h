//===- Progress.h - a bar for what takes long -------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_PROGRESS_H
#define ATTENTILE_LIB_DRIVER_PROGRESS_H

#include <chrono>
#include <string>

namespace attentile {

/// A bar on standard error: only on a terminal, only after a second, gone when
/// the object is. For one thread.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();

  /// Shows the share of work that is done, 0 to 1.
  void update(double done);

private:
  using Clock = std::chrono::steady_clock;
  std::string what;
  Clock::time_point start = Clock::now(), lastShown;
  bool isTerminal, isShown = false;
};

} // namespace attentile

#endif
