//===- ExplainReport.h - figures as text and as a page ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_EXPLAINREPORT_H
#define ATTENTILE_LIB_DRIVER_EXPLAINREPORT_H

#include "attentile/Explain.h"

namespace attentile {

/// The figures of a program and those of the same without fusion, skipping and
/// guard: one entry a grid.
struct Explained {
  std::vector<GridFigures> grids, unfused;
  const Machine *machine = nullptr; ///< of a GPU target
  int64_t multiprocessors = 0;
};

/// A grid's figures, each with its name.
std::vector<std::pair<std::string, std::string>>
describe(const GridFigures &grid, const Explained &explained);

/// How much more the unfused program asks of the cache; empty without traffic.
std::string compareUnfused(const Explained &explained);

/// One page that needs no other file: the blocks as a picture, the figures and
/// the source.
void printHtml(llvm::raw_ostream &os, llvm::StringRef kernel,
               llvm::StringRef source, const Explained &explained);

} // namespace attentile

#endif
