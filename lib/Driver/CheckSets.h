//===- CheckSets.h - the runs of a check ------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_CHECKSETS_H
#define ATTENTILE_LIB_DRIVER_CHECKSETS_H

#include "CheckConfig.h"
#include "attentile/Check.h"
#include <map>

namespace attentile::checking {

/// Which runs a check of one kernel makes.
class ConfigSets {
public:
  ConfigSets(const Source &source, const Space &space, uint64_t seed)
      : source(source), space(space), seed(seed) {}

  /// Every pair of levels of two factors, or every combination.
  std::vector<Config> coveringSet(Coverage coverage);
  /// The smaller set that is run after each pass.
  std::vector<Config> passSet();
  /// The configuration that a failure printed; the kernel may not permit it.
  llvm::Expected<Config> parse(llvm::StringRef text);
  /// Whether the kernel's constraints hold of it, for some scalars.
  bool isPermitted(const Config &config);

  /// Whether sizes were left out for being too large for the reference.
  bool hasTooLarge() const {
    return llvm::any_of(quick, [](const auto &sizes) { return !sizes.second; });
  }

  /// The kernel of a configuration, made once; null: not permitted.
  Variant *variantOf(const Config &config);

private:
  /// Whether it is one to draw: permitted, and not too large for the reference.
  bool isWanted(const Config &config);
  std::vector<Config> product(bool ofStridesAndValues);
  std::vector<std::vector<unsigned>> plainRows();
  Config makeConfig(llvm::ArrayRef<unsigned> row);
  std::vector<unsigned> levels();

  const Source &source;
  const Space &space;
  uint64_t seed;
  std::map<std::string, std::unique_ptr<Variant>> variants;
  /// How often no scalars were found that keep the constraints, by
  /// Config::sizeKey().
  std::map<std::string, unsigned> refusals;
  /// Whether the reference evaluates a configuration in time, likewise.
  std::map<std::string, bool> quick;
};

} // namespace attentile::checking

#endif
