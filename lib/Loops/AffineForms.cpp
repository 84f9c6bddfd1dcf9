//===- AffineForms.cpp - integers as sums of what they are made of --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AffineForms.h"
#include "VisibilityFormula.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace attentile {

//===----------------------------------------------------------------------===//
// Affine forms
//===----------------------------------------------------------------------===//

bool AffineForm::add(const AffineForm &other, int64_t factor) {
  int64_t product;
  if (llvm::MulOverflow(other.constant, factor, product) ||
      llvm::AddOverflow(constant, product, constant))
    return false;
  for (auto [value, coefficient] : other.terms) {
    if (llvm::MulOverflow(coefficient, factor, product))
      return false;
    auto *known = llvm::find_if(terms, [value = value](const auto &term) {
      return term.first == value;
    });
    if (known == terms.end()) {
      if (product != 0)
        terms.push_back({value, product});
      continue;
    }
    if (llvm::AddOverflow(known->second, product, known->second))
      return false;
    if (known->second == 0)
      terms.erase(known);
  }
  return true;
}

/// What is known of the values that one is made of: there may be far more ways
/// to one of them than there are values.
template <typename T> using Known = llvm::SmallDenseMap<Value, T, 8>;

/// What `compute` makes of a value, once.
template <typename T>
static T once(Value value, Known<T> &known, T (*compute)(Value, Known<T> &)) {
  value = stripBroadcast(value);
  if (auto found = known.find(value); found != known.end())
    return found->second;
  T result = compute(value, known);
  return known[value] = result;
}

using Forms = Known<AffineForm>;

static AffineForm computeForm(Value value, Forms &known);

static AffineForm formOf(Value value, Forms &known) {
  return once(value, known, computeForm);
}

AffineForm getAffineForm(Value value) {
  Forms known;
  return formOf(value, known);
}

static AffineForm computeForm(Value value, Forms &known) {
  AffineForm atom{{{value, 1}}, 0};
  if (auto constant = getIntegerConstant(value))
    return {{}, constant->getSExtValue()};
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return atom;
  AffineForm form;
  bool fits = true;
  if (isa<arith::MulIOp>(op)) {
    auto factor = getIntegerConstant(op->getOperand(1));
    unsigned other = 0;
    if (!factor) {
      factor = getIntegerConstant(op->getOperand(0));
      other = 1;
    }
    if (!factor)
      return atom;
    fits =
        form.add(formOf(op->getOperand(other), known), factor->getSExtValue());
  } else {
    fits = form.add(formOf(op->getOperand(0), known), 1) &&
           form.add(formOf(op->getOperand(1), known),
                    isa<arith::SubIOp>(op) ? -1 : 1);
  }
  return fits ? form : atom;
}

//===----------------------------------------------------------------------===//
// Static ranges
//===----------------------------------------------------------------------===//

static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
static constexpr int64_t kLargestSize = (int64_t(1) << 31) - 1;

uint64_t StaticRange::magnitude() const {
  return std::max(lo < 0 ? 0 - uint64_t(lo) : uint64_t(lo),
                  hi < 0 ? 0 - uint64_t(hi) : uint64_t(hi));
}

static int64_t saturate(__int128 value) {
  return value < kLeast ? kLeast : value > kMost ? kMost : int64_t(value);
}

static StaticRange rangeOfType(Type type) {
  type = tile::getElementType(type);
  if (type.isIndex() || type.getIntOrFloatBitWidth() >= 64)
    return {kLeast, kMost};
  unsigned width = type.getIntOrFloatBitWidth();
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

static StaticRange add(StaticRange a, StaticRange b) {
  return {saturate(__int128(a.lo) + b.lo), saturate(__int128(a.hi) + b.hi)};
}

static StaticRange multiply(StaticRange a, StaticRange b) {
  __int128 corners[] = {__int128(a.lo) * b.lo, __int128(a.lo) * b.hi,
                        __int128(a.hi) * b.lo, __int128(a.hi) * b.hi};
  return {saturate(*llvm::min_element(corners)),
          saturate(*llvm::max_element(corners))};
}

static StaticRange join(StaticRange a, StaticRange b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

using Ranges = Known<StaticRange>;

static StaticRange computeRange(Value value, Ranges &known);

static StaticRange rangeOf(Value value, Ranges &known) {
  return once(value, known, computeRange);
}

StaticRange getStaticRange(Value value) {
  Ranges known;
  return rangeOf(value, known);
}

static StaticRange rangeOfArgument(BlockArgument argument, Ranges &known) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto program = dyn_cast<tile::ProgramOp>(parent)) {
    attn::SignatureOpInterface head = program;
    if (llvm::is_contained(head.getSizeArgs(), argument))
      return {0, kLargestSize};
  }
  Value bound;
  if (auto kernel = dyn_cast<tile::KernelOp>(parent))
    bound = kernel.getBounds()[argument.getArgNumber()];
  if (auto loop = dyn_cast<scf::ForOp>(parent);
      loop && argument == loop.getInductionVar())
    bound = loop.getUpperBound();
  if (!bound)
    return rangeOfType(argument.getType());
  return {0, std::max<int64_t>(0, rangeOf(bound, known).hi)};
}

/// A quotient, rounded in any direction. A divisor of 0 gives 0 or nothing.
static StaticRange divide(StaticRange a, StaticRange divisor) {
  if (a.lo >= 0 && divisor.lo >= 1)
    return {a.lo / divisor.hi, llvm::divideCeilSigned(a.hi, divisor.lo)};
  int64_t most = saturate(__int128(a.magnitude()));
  return {-most, most};
}

static StaticRange computeRange(Value value, Ranges &known) {
  if (auto constant = getIntegerConstant(value)) {
    int64_t number = constant->getSExtValue();
    return {number, number};
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return rangeOfArgument(argument, known);
  Operation *op = value.getDefiningOp();
  StaticRange all = rangeOfType(value.getType());
  auto operand = [&](unsigned i) { return rangeOf(op->getOperand(i), known); };
  return llvm::TypeSwitch<Operation *, StaticRange>(op)
      .Case<arith::AddIOp>([&](auto) { return add(operand(0), operand(1)); })
      .Case<arith::SubIOp>(
          [&](auto) { return add(operand(0), multiply({-1, -1}, operand(1))); })
      .Case<arith::MulIOp>(
          [&](auto) { return multiply(operand(0), operand(1)); })
      .Case<arith::MinSIOp>([&](auto) {
        StaticRange a = operand(0), b = operand(1);
        return StaticRange{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
      })
      .Case<arith::MaxSIOp>([&](auto) {
        StaticRange a = operand(0), b = operand(1);
        return StaticRange{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
      })
      .Case<arith::SelectOp>([&](auto) { return join(operand(1), operand(2)); })
      .Case<math::AbsIOp>([&](auto) {
        return StaticRange{0, saturate(__int128(operand(0).magnitude()))};
      })
      .Case<attn::FloorDivOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
            arith::DivSIOp>(
          [&](auto) { return divide(operand(0), operand(1)); })
      .Case<arith::DivUIOp>([&](auto) {
        StaticRange a = operand(0);
        return a.lo >= 0 ? divide(a, operand(1)) : all;
      })
      .Case<attn::FloorModOp>([&](auto) {
        StaticRange divisor = operand(1);
        int64_t most = saturate(__int128(divisor.magnitude()));
        return StaticRange{divisor.lo >= 0 ? 0 : -most,
                           divisor.hi <= 0 ? 0 : most};
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp>([&](auto) {
        StaticRange from = operand(0);
        return StaticRange{std::max(all.lo, from.lo),
                           std::min(all.hi, from.hi)};
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) {
        Type from = tile::getElementType(op->getOperand(0).getType());
        unsigned width = from.isIndex() ? 64 : from.getIntOrFloatBitWidth();
        return width >= 63 ? all : StaticRange{0, int64_t((1ull << width) - 1)};
      })
      .Case<tile::IndexOp>([&](auto index) {
        int64_t last = index.getType().getDimSize(0) - 1;
        return add(operand(0), {0, last});
      })
      .Case<tile::ReduceOp>([&](auto reduce) {
        return reduce.getKind() == attn::ReduceKind::Max ||
                       reduce.getKind() == attn::ReduceKind::Min
                   ? operand(0)
                   : all;
      })
      .Default([&](auto) { return all; });
}

static StaticRange rangeOf(const AffineForm &form, Ranges &known) {
  StaticRange sum = {form.constant, form.constant};
  for (auto [value, coefficient] : form.terms)
    sum = add(sum, multiply({coefficient, coefficient}, rangeOf(value, known)));
  return sum;
}

StaticRange getStaticRange(const AffineForm &form) {
  Ranges known;
  return rangeOf(form, known);
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

/// Bounds are a few minima and maxima deep; each level may double the work, and
/// there are proofs for each pair of bounds.
static constexpr unsigned kMaxDepth = 10, kMostSteps = 64;

static bool isNonNegative(const AffineForm &form, unsigned depth,
                          unsigned &steps, Ranges &known) {
  StaticRange range = rangeOf(form, known);
  if (range.lo >= 0)
    return true;
  if (range.hi < 0 || depth == kMaxDepth || ++steps > kMostSteps)
    return false;
  // A minimum is least, a maximum at least, each of its operands. What needs
  // both operands is opened first: the choice of one may depend on it.
  Operation *chosen = nullptr;
  bool chosenNeedsBoth = false;
  int64_t coefficient = 0;
  for (auto [value, factor] : form.terms) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp, arith::SelectOp>(op) ||
        isa<ShapedType>(value.getType()))
      continue;
    bool needsBoth =
        isa<arith::SelectOp>(op) || isa<arith::MinSIOp>(op) == (factor > 0);
    if (chosen && (chosenNeedsBoth || !needsBoth))
      continue;
    chosen = op;
    chosenNeedsBoth = needsBoth;
    coefficient = factor;
  }
  if (!chosen)
    return false;
  auto holdsWith = [&](Value operand) {
    AffineForm other = form;
    return other.add({{{chosen->getResult(0), 1}}, 0}, -coefficient) &&
           other.add(getAffineForm(operand), coefficient) &&
           isNonNegative(other, depth + 1, steps, known);
  };
  unsigned first = isa<arith::SelectOp>(chosen) ? 1 : 0;
  bool holds = holdsWith(chosen->getOperand(first));
  if (holds != chosenNeedsBoth)
    return holds;
  return holdsWith(chosen->getOperand(first + 1));
}

bool isProvablyAtLeast(Value a, Value b, int64_t distance) {
  AffineForm difference = getAffineForm(a);
  unsigned steps = 0;
  Ranges known;
  return difference.add(getAffineForm(b), -1) &&
         difference.add({{}, distance}, -1) &&
         isNonNegative(difference, 0, steps, known);
}

bool isMultiple(Value value, int64_t size) {
  if (auto constant = getIntegerConstant(value))
    return constant->getSExtValue() % size == 0;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(),
                        [&](Value x) { return isMultiple(x, size); });
  if (isa_and_nonnull<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return llvm::all_of(op->getOperands(),
                        [&](Value x) { return isMultiple(x, size); });
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isMultiple(select.getTrueValue(), size) &&
           isMultiple(select.getFalseValue(), size);
  return false;
}

} // namespace attentile
