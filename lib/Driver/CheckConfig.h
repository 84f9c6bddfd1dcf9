//===- CheckConfig.h - what a check tries -----------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_CHECKCONFIG_H
#define ATTENTILE_LIB_DRIVER_CHECKCONFIG_H

#include "attentile/EmitIR.h"
#include "attentile/Reference.h"
#include "attentile/TestData.h"
#include "llvm/ADT/StringMap.h"

namespace attentile::checking {

/// How tensors lie in memory.
enum class Strides : uint8_t {
  Contiguous,
  Permuted, // outer dimensions in the opposite order
  Padded,   // gaps after each row and between its elements
  Expanded, // inputs: stride 0 along the first dimension
  Reversed, // every stride negative
  Far       // elements past 2^31, in a sparse mapping
};
inline constexpr const char *stridesNames[] = {
    "contiguous", "permuted", "padded", "expanded", "reversed", "far"};

/// What floats are drawn.
enum class Values : uint8_t {
  Normal,
  Large,     // scores of about +-10^4
  Equal,     // all rows of a tensor the same
  Outlier,   // one element of 3 * 10^4
  Subnormal, // in the tensor's type
  NanRows,   // NaN and infinities in what the tiled rows (queries) index
  NanLoop,   // the same in what the loop (keys) indexes
  Outside    // normal, 5 % of integers outside what they index
};
inline constexpr const char *valuesNames[] = {
    "normal",    "large",    "equal",    "outlier",
    "subnormal", "nan-rows", "nan-loop", "outside"};

/// One run.
struct Config {
  std::vector<std::pair<std::string, ElementType>> types;
  std::vector<std::pair<std::string, int64_t>> heads; // bound when compiled
  std::vector<std::pair<std::string, int64_t>> sizes; // the others
  Strides strides = Strides::Contiguous;
  Values values = Values::Normal;
  uint64_t seed = 0;

  /// "T=bf16,D=64,...,M=65,N=64,strides=far,values=large,seed=17"
  std::string str() const;
  /// What it has in common with others: "T=bf16,D=64".
  std::string compileKey() const;
  /// That and the other sizes: what constraints speak of beside scalars.
  std::string sizeKey() const;
};

/// A kernel under types and head sizes, emitted, with what its sizes are.
struct Variant {
  std::unique_ptr<CheckedKernel> checked;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  attn::KernelOp kernel;
  /// Tile sizes by axis, as attn-to-tile chooses them.
  llvm::StringMap<int64_t> tiles;
};

/// What of a kernel can be varied, whatever its types and head sizes.
struct Space {
  const SourceFile *file; // where the kernel stands
  SourceRange range;
  std::vector<std::pair<std::string, std::vector<ElementType>>> types;
  std::vector<std::string> headNames;
  std::vector<std::vector<int64_t>> headChoices; // each one of all head sizes
  /// Sizes of tiled rows (M), of loops (N), and the others with their choices.
  std::vector<std::string> rowSizes, loopSizes, otherNames;
  unsigned step = 1; // between the levels of rowSizes, and of loopSizes
  std::vector<std::vector<int64_t>> otherChoices;
  std::vector<Values> values;
  /// How many sizes are multiplied where one stands in a shape: 2 for both of
  /// H * W, and W of W * W.
  llvm::StringMap<unsigned> degrees;
  /// Sizes that --bind fixes.
  std::vector<std::pair<std::string, int64_t>> fixed;
};

/// Access to the source for all parts of a check.
struct Source {
  const SyntaxTree &tree;
  const Bindings &bindings;
  std::string kernel, schedule;
  std::string target = "cpu"; // whose tile sizes are tried
};

/// The kernel with the types and head sizes of `config`; null if the kernel
/// does not permit them (`why` says so).
std::unique_ptr<Variant> makeVariant(const Source &source, const Config &config,
                                     std::string *why = nullptr);

/// What can be varied. Null after reporting to `diagnostics`.
std::unique_ptr<Space> makeSpace(const Source &source,
                                 Diagnostics &diagnostics);

/// The extents to try for an axis of tile size `tile`: 1, tile - 1, tile,
/// tile + 1, a prime and 0, in this order.
std::vector<int64_t> extentsToTry(int64_t tile);
inline constexpr unsigned numExtentsToTry = 6;

/// Adds the sizes of tiled rows and of loops, of levels below numExtentsToTry:
/// by their axes' tiles. An axis that is visited index by index has few, as the
/// reference visits all pairs.
void addTiledSizes(Config &config, Variant &variant, const Space &space,
                   unsigned rowLevel, unsigned loopLevel);

/// The variant's sizes, in the order of its kernel's, from a configuration.
std::vector<int64_t> sizesOf(Variant &variant, const Config &config);

/// Inputs and outputs of a run. Scalars and tensors are drawn by config.seed.
struct Data {
  std::vector<HostTensor> ins, outs;
  std::vector<Recipe> recipes; // how each input was drawn
  std::vector<int64_t> sizes;
  /// All keys are the same, drawn so or by a stride of 0.
  bool rowsAreAlike = false;
};

/// Whether some scalars keep the kernel's constraints at these sizes.
bool canDrawScalars(Variant &variant, const Config &config);

/// The data of a configuration whose scalars can be drawn.
Data makeData(Variant &variant, const Space &space, const Config &config);

/// Rows of a covering array: for factors of so many levels each, rows such
/// that every pair of levels of two factors stands in one, unless `permitted`
/// refuses all rows with it. `empty` has each factor's level at which a run
/// computes nothing (-1: none): such a row counts for that level's pairs only.
/// `rows` are the first ones.
std::vector<std::vector<unsigned>>
coverPairs(llvm::ArrayRef<unsigned> levels, llvm::ArrayRef<int> empty,
           uint64_t seed,
           llvm::function_ref<bool(llvm::ArrayRef<unsigned>)> permitted,
           std::vector<std::vector<unsigned>> rows = {});

} // namespace attentile::checking

#endif
