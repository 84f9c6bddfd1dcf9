//===- IndexSums.h - indices as sums ----------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NVVM_INDEXSUMS_H
#define ATTENTILE_LIB_NVVM_INDEXSUMS_H

#include "Warp/Warp.h"
#include "mlir/IR/Builders.h"
#include <map>

namespace attentile {

/// An index as constant + sum of coefficient * value, by the values' place in
/// the program: what a loop does not change comes first. For two rows and two
/// columns of a fragment, with n = n0 + lane and m = m0 + row,
///
///   n - m + 0   n - m + 1          n0 and lane, m0 and row: one base,
///   n - m - 8   n - m - 7          computed once a tile
struct IndexSum {
  using Term = std::pair<mlir::Value, int64_t>;
  /// What sums that differ by constants have in common: places and factors.
  using Key = llvm::SmallVector<std::pair<unsigned, int64_t>>;
  std::map<unsigned, Term> terms;
  int64_t constant = 0;

  Key getKey() const {
    Key key;
    for (auto &[place, term] : terms)
      key.push_back({place, term.second});
    return key;
  }

  void add(unsigned place, mlir::Value value, int64_t factor) {
    auto &term = terms.try_emplace(place, value, 0).first->second;
    term.second += factor;
    if (term.second == 0)
      terms.erase(place);
  }
};

/// Behind a value's definition; at the kernel's top if that is outside.
void setInsertionPointAfter(mlir::OpBuilder &builder, mlir::Value value,
                            warp::KernelOp kernel);

/// The sums of one kernel's indices.
class IndexSums {
public:
  explicit IndexSums(warp::KernelOp kernel);

  /// `value` as a sum; false where that is too long to be worth it.
  bool collect(mlir::Value value, IndexSum &sum) {
    return collect(value, 1, sum, 0);
  }

  void add(IndexSum &sum, mlir::Value value, int64_t factor) {
    sum.add(places.lookup(value), value, factor);
  }

  /// In sums `value` stays whole, though it is one, or a product.
  void keepWhole(mlir::Value value) { whole.insert(value); }

  /// A value made of `from` alone, at the kernel's top or behind it, takes its
  /// place in sums.
  void addDerived(mlir::Value derived, mlir::Value from) {
    places[derived] = places.lookup(from) + 1;
  }
  void replace(IndexSum &sum, mlir::Value from, mlir::Value derived) {
    auto term = sum.terms.extract(places.lookup(from));
    sum.add(places.lookup(derived), derived, term.mapped().second);
  }

  /// The sum without its constant; null for one of constants. Each part stands
  /// behind the last value that it needs, and is made once.
  mlir::Value makeBase(const IndexSum &sum);

  void setInsertionPointAfter(mlir::OpBuilder &builder, mlir::Value value) {
    attentile::setInsertionPointAfter(builder, value, kernel);
  }

private:
  void number(mlir::Operation *op);
  bool collect(mlir::Value value, int64_t factor, IndexSum &sum,
               unsigned depth);

  warp::KernelOp kernel;
  llvm::DenseMap<mlir::Value, unsigned> places;
  llvm::DenseSet<mlir::Value> whole;
  /// Bases by the terms that they are made of.
  std::map<IndexSum::Key, mlir::Value> bases;
};

} // namespace attentile

#endif
