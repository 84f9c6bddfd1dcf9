//===- Progress.cpp - a bar for what takes long ---------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace std::chrono_literals;

namespace attentile {

Progress::Progress(std::string what)
    : what(std::move(what)),
      isTerminal(llvm::sys::Process::StandardErrIsDisplayed()) {}

Progress::~Progress() {
  if (isShown)
    llvm::errs() << "\r\x1b[K"; // back to an empty line
}

void Progress::update(double done) {
  Clock::time_point now = Clock::now();
  if (!isTerminal || now - start < 1s || (isShown && now - lastShown < 100ms))
    return;
  isShown = true;
  lastShown = now;
  constexpr int width = 30;
  int filled = std::clamp(static_cast<int>(done * width), 0, width);
  double seconds = std::chrono::duration<double>(now - start).count();
  llvm::errs() << "\r" << what << " [" << std::string(filled, '#')
               << std::string(width - filled, '.') << "] "
               << llvm::format("%3.0f %%, %.0f s", done * 100, seconds)
               << "\x1b[K";
}

} // namespace attentile
