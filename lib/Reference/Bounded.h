//===- Bounded.h - float64 values with what f32 may lose --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Num is an exact value v and e >= |what an f32 kernel has - v|, to first
// order (DESIGN section 3). Say x = 3 with e = 1e-6 and y = 0.1, exact; then
//
//   mul(x, y)   v = 0.3, e = 0.1 * 1e-6 (through the derivative)
//                          + 2^-24 * 0.3 (the multiplication's own rounding)
//
// Second-order terms are kept where they cost nothing and bounds are not small
// (exp of a score known to 0.4): dropping them would fail right kernels. An e
// of infinity says that nothing can be told: the element is taken out.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_REFERENCE_BOUNDED_H
#define ATTENTILE_REFERENCE_BOUNDED_H

#include "attentile/Tensor.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace attentile::reference {

inline constexpr double kU = 0x1p-24;     // half a unit of f32, relative
inline constexpr double kTiny = 0x1p-126; // below it f32 is subnormal
inline constexpr double kMax = std::numeric_limits<float>::max();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// The bound of what underflows float64: small, and no 0 after a product.
inline constexpr double kUnderflow = 1e-300;

/// What a function of the mathematics library adds, relative.
inline constexpr double kFunction = 4 * kU;

struct Num {
  double v = 0;
  double e = 0;
};

inline bool isOut(Num x) { return !(x.e < kInf); }

/// NaN in every kernel: then so is a sum that it is a term of, whatever can be
/// told of the other terms.
inline bool isCertainNaN(Num x) { return std::isnan(x.v) && !isOut(x); }

/// What taking a subnormal operand or result as 0 adds.
inline double flushed(Num x) {
  double magnitude = std::fabs(x.v);
  return magnitude - x.e < kTiny ? std::min(magnitude, kTiny) : 0;
}

/// The bound of an operand with its flush.
inline double ofOperand(Num x) { return x.e + flushed(x); }

/// A result: adds its flush, and takes out what f32 cannot hold. An infinity
/// or NaN is certain unless an operand was out.
inline Num finish(double v, double e, bool out) {
  if (!std::isfinite(v))
    return {v, out ? kInf : 0};
  e += flushed({v, e});
  return {v, std::fabs(v) + e <= kMax ? e : kInf};
}

/// `tainted` says that an operand may come from an infinite or NaN element of
/// a tensor: then -inf plus it, and 0 times it, may be either (DESIGN section
/// 4, tails), so the element is taken out.
inline Num add(Num a, Num b, bool tainted = false) {
  double v = a.v + b.v;
  bool free = tainted && std::isnan(v) && (a.v == -kInf || b.v == -kInf);
  return finish(v, ofOperand(a) + ofOperand(b) + kU * std::fabs(v),
                isOut(a) || isOut(b) || free);
}

inline Num neg(Num a) { return {-a.v, a.e}; }

inline Num sub(Num a, Num b, bool tainted = false) {
  return add(a, neg(b), tainted);
}

/// The argument of a softmax's exp, s - ref: what ref loses cancels later, and
/// three roundings of s and ref are granted, folded to base 2 or not; where ref
/// is so far from 0 that these could make anything of a weight, instead of them
/// half of the difference (tile-fold-exp2), which is 0 or 88 at least.
inline Num subRef(Num s, Num ref) {
  constexpr double kFar = 0x1.02p31 * M_LN2;
  double v = s.v - ref.v;
  return finish(v,
                s.e + (std::fabs(ref.v) > kFar
                           ? std::fabs(v) / 2
                           : 3 * kU * (std::fabs(s.v) + std::fabs(ref.v))),
                isOut(s));
}

/// The same where a loop over tiles keeps the maximum by hand, and fusion makes
/// it anew: three roundings are granted, but it may be used for something else
/// too, where what it loses does not cancel.
inline Num subRunning(Num s, Num ref) {
  Num x = sub(s, ref);
  if (!std::isfinite(x.v))
    return x;
  return finish(x.v, x.e + 3 * kU * (std::fabs(s.v) + std::fabs(ref.v)),
                isOut(x));
}

/// Whether the kernel's value may be 0 where v is not, or the reverse.
inline bool mayBeZero(Num x) {
  return ofOperand(x) > 0 && std::fabs(x.v) <= ofOperand(x);
}

inline Num mul(Num a, Num b, bool tainted = false) {
  double v = a.v * b.v, ea = ofOperand(a), eb = ofOperand(b);
  bool out = isOut(a) || isOut(b);
  if (!std::isfinite(v)) {
    bool zero =
        (std::isinf(a.v) && mayBeZero(b)) || (std::isinf(b.v) && mayBeZero(a));
    bool free = tainted && std::isnan(v) && (a.v == 0 || b.v == 0);
    return {v, out || zero || free ? kInf : 0};
  }
  return finish(v,
                std::fabs(a.v) * eb + std::fabs(b.v) * ea + ea * eb +
                    kU * std::fabs(v),
                out);
}

inline Num div(Num a, Num b) {
  double v = a.v / b.v, ea = ofOperand(a), eb = ofOperand(b);
  // A divisor that overflows f32 but not float64: the quotient is 0 or v.
  if (std::isfinite(b.v) && std::fabs(b.v) > kMax && !isOut(a))
    return finish(v, std::fabs(v) + ea / kMax, false);
  if (b.v == 0 && mayBeZero(a)) // 0 / 0, or an infinity of either sign
    return {v, kInf};
  double room = std::fabs(b.v) - eb;
  if (eb > 0 && !(room > 0))
    return {v, kInf};
  if (std::isinf(b.v))
    return {v, isOut(a) || isOut(b) ? kInf : 0};
  return finish(v, (ea + std::fabs(v) * eb) / room + kU * std::fabs(v),
                isOut(a) || isOut(b));
}

inline Num abs(Num a) { return {std::fabs(a.v), a.e}; }

/// The larger: anywhere between the larger ends of both intervals. NaN goes
/// through, or with `ignoreNaN` gives way to the other.
inline Num max(Num a, Num b, bool ignoreNaN = false) {
  if (std::isnan(a.v) || std::isnan(b.v)) {
    if (!ignoreNaN)
      return {NAN, isCertainNaN(a) || isCertainNaN(b) ? 0 : kInf};
    return std::isnan(a.v) ? b : a;
  }
  double v = std::max(a.v, b.v);
  if (isOut(a) || isOut(b) || std::isinf(v))
    return {v, isOut(a) || isOut(b) ? kInf : 0};
  return {v, std::max(std::max(a.v + a.e, b.v + b.e) - v,
                      v - std::max(a.v - a.e, b.v - b.e))};
}

inline Num min(Num a, Num b, bool ignoreNaN = false) {
  return neg(max(neg(a), neg(b), ignoreNaN));
}

inline Num exp(Num a) {
  double v = std::exp(a.v), d = ofOperand(a);
  if (isOut(a) || (v == kInf && a.v - d < 89 && d > 0))
    return {v, kInf};
  // Below what float64 holds, but no 0: its logarithm need not be -inf, as a
  // kernel knows that does not go by way of it.
  if (v == 0 && std::isfinite(a.v))
    return finish(v, std::max(kUnderflow, std::exp(a.v + d)), false);
  double spread = d < 0x1p-20 ? v * d : std::exp(a.v + d) - v;
  return finish(v, (std::isnan(spread) ? 0 : spread) + kFunction * v, false);
}

inline Num exp2(Num a) {
  double v = std::exp2(a.v);
  Num natural = exp({a.v * M_LN2, ofOperand(a) * M_LN2});
  return {v, natural.e};
}

/// ln a, scaled; out where the kernel's operand may be 0 or negative.
inline Num log(Num a, double scale = 1) {
  double v = std::log(a.v) * scale, d = ofOperand(a);
  if (isOut(a) || (d > 0 && !(std::fabs(a.v) > d)))
    return {v, kInf};
  double spread = a.v > 0 && std::isfinite(a.v) ? -std::log1p(-d / a.v) : 0;
  return finish(v, spread * scale + kFunction * std::fabs(v), false);
}

inline Num sqrt(Num a) {
  double v = std::sqrt(a.v), d = ofOperand(a);
  if (isOut(a) || (d > 0 && !(std::fabs(a.v) > d)))
    return {v,
            a.v >= 0 && d < kInf && a.v + d <= kTiny ? v + std::sqrt(d) : kInf};
  double spread = a.v > 0 ? v - std::sqrt(a.v - d) : 0;
  return finish(v, (std::isfinite(a.v) ? spread : 0) + kU * v, false);
}

inline Num rsqrt(Num a) {
  double v = 1 / std::sqrt(a.v), d = ofOperand(a);
  if (isOut(a) || (d > 0 && !(std::fabs(a.v) > d)))
    return {v, kInf};
  double spread =
      a.v > 0 && std::isfinite(a.v) ? 1 / std::sqrt(a.v - d) - v : 0;
  return finish(v, spread + kFunction * std::fabs(v), false);
}

inline Num tanh(Num a) {
  double v = std::tanh(a.v), d = ofOperand(a);
  if (isOut(a)) // may be NaN, which no slope bounds
    return {v, kInf};
  // The steepest slope within reach: that of the point nearest to 0.
  double near = d < 0x1p-10 ? v : std::tanh(std::max(0.0, std::fabs(a.v) - d));
  double spread = d == 0 ? 0 : std::min(d * (1 - near * near), 2.0);
  return finish(v, spread + kFunction * std::fabs(v), false);
}

/// sin or cos: `v` its value, `slope` that of the other.
inline Num wave(Num a, double v, double slope) {
  double d = ofOperand(a);
  if (isOut(a))
    return {v, kInf};
  double spread = std::min(d * std::fabs(slope) + d * d / 2, 2.0);
  return finish(v, spread + 0x1p-23, false);
}
inline Num sin(Num a) { return wave(a, std::sin(a.v), std::cos(a.v)); }
inline Num cos(Num a) { return wave(a, std::cos(a.v), std::sin(a.v)); }

inline Num pow(Num a, Num b) {
  double v = std::pow(a.v, b.v), ea = ofOperand(a), eb = ofOperand(b);
  bool out = isOut(a) || isOut(b);
  if (!std::isfinite(v) || (ea == 0 && eb == 0))
    return finish(v, kFunction * std::fabs(v), out || (ea > 0 && ea >= a.v));
  if (!(std::fabs(a.v) > ea))
    return {v, kInf};
  double spread = std::fabs(b.v) * ea / (std::fabs(a.v) - ea) +
                  std::fabs(std::log(std::fabs(a.v))) * eb;
  return finish(v, std::fabs(v) * (std::expm1(spread) + kFunction), out);
}

/// floor, ceil, trunc ...: a step within reach may be taken or not, that from a
/// subnormal to 0 among them.
template <typename Step> Num steps(Num a, Step step) {
  double v = step(a.v), e = ofOperand(a);
  if (e == 0 || !std::isfinite(v))
    return {v, isOut(a) ? kInf : 0};
  return {v, std::max(step(a.v + e) - v, v - step(a.v - e))};
}

/// The largest finite number of a float type.
inline double largest(ElementType type) {
  return type == ElementType::F16      ? 65504
         : type == ElementType::BF16   ? 0x1.FEp127
         : type == ElementType::F8E4M3 ? 448
         : type == ElementType::F8E5M2 ? 57344
                                       : kMax;
}

/// Whether a rounding to the type makes the largest number of what is larger.
inline bool saturates(ElementType type) {
  return type == ElementType::F8E4M3 || type == ElementType::F8E5M2;
}

/// A rounding to 16 or 8 bits. One that may overflow takes the element out.
inline Num round(ElementType type, Num a) {
  double v = roundTo(type, a.v), e = ofOperand(a);
  if (!std::isfinite(a.v))
    return {v, isOut(a) ? kInf : 0};
  e += e > 0 ? halfUnit(type, v) : 0;
  return {v, saturates(type) || std::fabs(a.v) + e <= largest(type) ? e : kInf};
}

/// An integer or bool with what it may be off by; a bool that is uncertain has
/// e = 1.
struct Whole {
  int64_t v = 0;
  double e = 0;
};

inline Num toNum(Whole a) {
  double v = static_cast<double>(a.v);
  return {v, a.e + (std::fabs(v) > 0x1p24 ? kU * std::fabs(v) : 0)};
}

/// Whether a comparison's sides are closer than their bounds: either branch
/// counts then.
inline bool isClose(Num a, Num b) {
  if (isOut(a) || isOut(b))
    return true;
  double reach = ofOperand(a) + ofOperand(b);
  return reach > 0 && std::fabs(a.v - b.v) <= reach;
}

/// The branch that counts is `chosen`; with an uncertain condition it may be
/// the other.
inline Num select(bool uncertain, Num chosen, Num other) {
  if (!uncertain)
    return chosen;
  if (std::isfinite(chosen.v) && std::isfinite(other.v))
    return {chosen.v,
            std::max(chosen.e, std::fabs(other.v - chosen.v) + other.e)};
  bool same =
      chosen.v == other.v || (std::isnan(chosen.v) && std::isnan(other.v));
  return {chosen.v, same ? std::max(chosen.e, other.e) : kInf};
}

} // namespace attentile::reference

#endif
