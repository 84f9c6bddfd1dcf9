//===- CheckSets.cpp - the runs of a check --------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckSets.h"

using namespace mlir;

namespace attentile::checking {

/// Draws, of other seeds, after which sizes count as refused.
static constexpr unsigned kMostRefusals = 3;

/// The level of the longest size to try, one and a half tiles.
static constexpr unsigned kLongest = 4;

Variant *ConfigSets::variantOf(const Config &config) {
  std::string key = config.compileKey();
  auto found = variants.find(key);
  if (found == variants.end())
    found = variants.emplace(key, makeVariant(source, config)).first;
  return found->second.get();
}

/// The factors: types, head sizes, rows, loops, other sizes, strides, values.
std::vector<unsigned> ConfigSets::levels() {
  unsigned types = 1;
  for (const auto &type : space.types)
    types *= type.second.size();
  return {types,
          unsigned(space.headChoices.size()),
          space.rowSizes.empty() ? 1 : numExtentsToTry,
          space.loopSizes.empty() ? 1 : numExtentsToTry,
          unsigned(space.otherChoices.size()),
          unsigned(std::size(stridesNames)),
          unsigned(space.values.size())};
}

Config ConfigSets::makeConfig(llvm::ArrayRef<unsigned> row) {
  Config config;
  unsigned type = row[0];
  for (const auto &[name, choices] : space.types) {
    config.types.push_back({name, choices[type % choices.size()]});
    type /= choices.size();
  }
  for (auto [name, size] :
       llvm::zip(space.headNames, space.headChoices[row[1]]))
    config.heads.push_back({name, size});
  if (Variant *variant = variantOf(config))
    addTiledSizes(config, *variant, space, row[2], row[3]);
  for (auto [name, size] :
       llvm::zip(space.otherNames, space.otherChoices[row[4]]))
    config.sizes.push_back({name, size});
  config.strides = static_cast<Strides>(row[5]);
  config.values = space.values[row[6]];
  config.seed = seed;
  for (unsigned level : row)
    config.seed = config.seed * 31 + level;
  return config;
}

bool ConfigSets::isPermitted(const Config &config) {
  Variant *variant = variantOf(config);
  if (!variant)
    return false;
  // A draw that fails tries many scalars: of constraints that none keep, this
  // would be asked for thousands of rows.
  unsigned &refused = refusals[config.sizeKey()];
  if (refused == kMostRefusals)
    return false;
  bool drawn = canDrawScalars(*variant, config);
  refused += !drawn;
  return drawn;
}

bool ConfigSets::isWanted(const Config &config) {
  if (!isPermitted(config))
    return false;
  Variant &variant = *variantOf(config);
  auto [known, isNew] = quick.try_emplace(config.sizeKey());
  if (isNew)
    known->second =
        isQuicklyEvaluated(variant.kernel, sizesOf(variant, config));
  return known->second;
}

/// Every combination; strides and values too, or else their next ones for each.
std::vector<Config> ConfigSets::product(bool ofStridesAndValues) {
  std::vector<unsigned> counts = levels();
  std::vector<int64_t> sizes(counts.begin(), counts.end());
  if (!ofStridesAndValues)
    sizes[5] = sizes[6] = 1;
  std::vector<int64_t> index(sizes.size());
  std::vector<Config> configs;
  do {
    std::vector<unsigned> row(index.begin(), index.end());
    if (!ofStridesAndValues) {
      row[5] = configs.size() % counts[5];
      row[6] = configs.size() / counts[5] % counts[6];
    }
    Config config = makeConfig(row);
    if (isWanted(config))
      configs.push_back(config);
  } while (nextIndex(index, sizes));
  return configs;
}

/// A plain run of each choice of types: normal values, more than a tile of rows
/// and of what loops go over.
std::vector<std::vector<unsigned>> ConfigSets::plainRows() {
  std::vector<unsigned> counts = levels();
  std::vector<std::vector<unsigned>> rows;
  for (unsigned type = 0; type < counts[0]; ++type) {
    // What a constraint refuses tries other sizes of loops.
    for (unsigned loop = std::min(counts[3], kLongest + 1); loop-- > 0;) {
      std::vector<unsigned> row{type,
                                type % counts[1],
                                std::min(counts[2] - 1, kLongest),
                                loop,
                                0,
                                unsigned(Strides::Contiguous),
                                unsigned(Values::Normal)};
      if (!isWanted(makeConfig(row)))
        continue;
      rows.push_back(row);
      break;
    }
  }
  return rows;
}

std::vector<Config> ConfigSets::coveringSet(Coverage coverage) {
  if (coverage != Coverage::Pairs)
    return product(coverage == Coverage::All);
  std::vector<Config> configs;
  // The last extent to try is 0.
  int zero = numExtentsToTry - 1;
  std::vector<int> empty{-1,
                         -1,
                         space.rowSizes.empty() ? -1 : zero,
                         space.loopSizes.empty() ? -1 : zero,
                         -1,
                         -1,
                         -1};
  std::vector<unsigned> counts = levels();
  auto permitted = [&](llvm::ArrayRef<unsigned> row) {
    return isWanted(makeConfig(row));
  };
  for (const std::vector<unsigned> &row :
       coverPairs(counts, empty, seed, permitted, plainRows()))
    configs.push_back(makeConfig(row));
  // Runs of one compilation follow each other.
  llvm::sort(configs, [](const Config &a, const Config &b) {
    return a.str() < b.str();
  });
  return configs;
}

/// Three head sizes, one of them drawn, each in one type, and no type left out;
/// every value of rows, loops and values once for each.
std::vector<Config> ConfigSets::passSet() {
  std::vector<unsigned> counts = levels();
  std::vector<unsigned> heads{0};
  if (counts[1] > 1)
    heads.push_back(1);
  if (counts[1] > 2)
    heads.push_back(2 + seed % (counts[1] - 2));
  unsigned runs = std::max({counts[2], counts[3], counts[6]});
  std::vector<Config> configs;
  unsigned groups = std::max<unsigned>(heads.size(), counts[0]);
  for (unsigned group = 0; group < groups; ++group) {
    unsigned head = heads[group % heads.size()];
    for (unsigned i = 0; i < runs; ++i) {
      // A row that a constraint refuses tries other loops' sizes.
      for (unsigned shift = 0; shift < counts[3]; ++shift) {
        // Normal values (i = 0) meet tile + 1 by tile, tile by tile + 1, ...
        Config config = makeConfig(
            {group % counts[0], head, (i + 3 + 5 * group) % counts[2],
             (5 * i + 2 + group + shift) % counts[3], (i + group) % counts[4],
             (i + 2 * group) % counts[5], i % counts[6]});
        if (!isWanted(config))
          continue;
        configs.push_back(config);
        break;
      }
    }
  }
  return configs;
}

llvm::Expected<Config> ConfigSets::parse(StringRef text) {
  Config config;
  auto fail = [&](const Twine &message) {
    return llvm::createStringError(message);
  };
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, false);
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    auto isNamed = [key = key](auto &entry) { return entry.first == key; };
    int64_t number = 0;
    if (key == "strides" || key == "values") {
      auto find = [value = value](auto names) -> int {
        for (const char *const &name : names)
          if (value == name)
            return &name - names.begin();
        return -1;
      };
      int found = key == "strides" ? find(llvm::ArrayRef(stridesNames))
                                   : find(llvm::ArrayRef(valuesNames));
      if (found < 0)
        return fail("expected a kind of " + key + ", got '" + value + "'");
      (key == "strides" ? (void)(config.strides = Strides(found))
                        : (void)(config.values = Values(found)));
    } else if (llvm::any_of(space.types, isNamed)) {
      std::optional<ElementType> type = parseElementType(value.str());
      if (!type)
        return fail("expected a type for " + key + ", got '" + value + "'");
      config.types.push_back({key.str(), *type});
    } else if (value.getAsInteger(10, number)) {
      return fail("expected NAME=NUMBER, got '" + part + "'");
    } else if (key == "seed") {
      config.seed = number;
    } else if (llvm::is_contained(space.headNames, key)) {
      config.heads.push_back({key.str(), number});
    } else if (llvm::is_contained(space.rowSizes, key) ||
               llvm::is_contained(space.loopSizes, key) ||
               llvm::is_contained(space.otherNames, key)) {
      config.sizes.push_back({key.str(), number});
    } else {
      return fail("expected a type or size of the kernel, got '" + key + "'");
    }
  }
  Variant *variant = variantOf(config);
  if (variant &&
      sizesOf(*variant, config).size() != variant->kernel.getSizeNames().size())
    return fail("expected every size of the kernel in '" + text + "'");
  return config;
}

} // namespace attentile::checking
