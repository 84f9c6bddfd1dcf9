//===- IntegerElements.cpp - integer operations, computed -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerElements.h"
#include "Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attentile {

using Unsigned = unsigned __int128;

unsigned widthOf(Type type) {
  type = getElementTypeOrSelf(type);
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

Integer wrap(Integer x, unsigned width) {
  if (width == 1)
    return x & 1;
  return width >= 128 ? x
                      : Integer(Unsigned(x) << (128 - width)) >> (128 - width);
}

static Unsigned withoutSign(Integer x, unsigned width) {
  return width >= 128 ? Unsigned(x)
                      : Unsigned(x) & ((Unsigned(1) << width) - 1);
}

/// Toward minus infinity; by 0 it is 0.
static Integer floorDivide(Integer x, Integer y) {
  if (y == 0)
    return 0;
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static bool compare(arith::CmpIPredicate predicate, Integer x, Integer y,
                    unsigned width) {
  using P = arith::CmpIPredicate;
  if (predicate >= P::ult) {
    Unsigned a = withoutSign(x, width), b = withoutSign(y, width);
    return predicate == P::ult   ? a < b
           : predicate == P::ule ? a <= b
           : predicate == P::ugt ? a > b
                                 : a >= b;
  }
  if (width == 1) // true is -1
    x = -x, y = -y;
  return predicate == P::eq    ? x == y
         : predicate == P::ne  ? x != y
         : predicate == P::slt ? x < y
         : predicate == P::sle ? x <= y
         : predicate == P::sgt ? x > y
                               : x >= y;
}

Combine combineOf(Operation *op) {
  auto signedly = [](auto of) -> Combine {
    return [of](const Integer *x, unsigned) { return of(x[0], x[1]); };
  };
  auto unsignedly = [](auto of) -> Combine {
    return [of](const Integer *x, unsigned width) -> Integer {
      return of(withoutSign(x[0], width), withoutSign(x[1], width));
    };
  };
  using I = Integer;
  using U = Unsigned;
  return llvm::TypeSwitch<Operation *, Combine>(op)
      .Case([&](arith::AddIOp) {
        return signedly([](I x, I y) { return I(U(x) + U(y)); });
      })
      .Case([&](arith::SubIOp) {
        return signedly([](I x, I y) { return I(U(x) - U(y)); });
      })
      .Case([&](arith::MulIOp) {
        return signedly([](I x, I y) { return I(U(x) * U(y)); });
      })
      .Case<attn::FloorDivOp, arith::FloorDivSIOp>(
          [&](auto) { return signedly(floorDivide); })
      .Case([&](attn::FloorModOp) {
        return signedly(
            [](I x, I y) { return y == 0 ? 0 : x - floorDivide(x, y) * y; });
      })
      .Case([&](arith::CeilDivSIOp) {
        return signedly([](I x, I y) { return -floorDivide(-x, y); });
      })
      .Case([&](arith::DivSIOp) {
        return signedly([](I x, I y) { return y == 0 ? 0 : x / y; });
      })
      .Case([&](arith::RemSIOp) {
        return signedly([](I x, I y) { return y == 0 ? 0 : x % y; });
      })
      .Case([&](arith::DivUIOp) {
        return unsignedly([](U x, U y) { return y == 0 ? 0 : x / y; });
      })
      .Case([&](arith::RemUIOp) {
        return unsignedly([](U x, U y) { return y == 0 ? 0 : x % y; });
      })
      .Case([&](arith::CeilDivUIOp) {
        return unsignedly(
            [](U x, U y) { return y == 0 ? 0 : x / y + (x % y != 0); });
      })
      .Case([&](arith::MaxSIOp) {
        return signedly([](I x, I y) { return std::max(x, y); });
      })
      .Case([&](arith::MinSIOp) {
        return signedly([](I x, I y) { return std::min(x, y); });
      })
      .Case([&](arith::MaxUIOp) {
        return unsignedly([](U x, U y) { return std::max(x, y); });
      })
      .Case([&](arith::MinUIOp) {
        return unsignedly([](U x, U y) { return std::min(x, y); });
      })
      .Case([&](arith::AndIOp) {
        return signedly([](I x, I y) { return x & y; });
      })
      .Case([&](arith::OrIOp) {
        return signedly([](I x, I y) { return x | y; });
      })
      .Case([&](arith::XOrIOp) {
        return signedly([](I x, I y) { return x ^ y; });
      })
      .Case([&](arith::CmpIOp op) -> Combine {
        return [predicate = op.getPredicate()](const I *x, unsigned width) {
          return compare(predicate, x[0], x[1], width);
        };
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp>([](auto) -> Combine {
        return [](const I *x, unsigned width) {
          return width == 1 ? -x[0] : x[0];
        };
      })
      .Case<arith::IndexCastUIOp, arith::ExtUIOp, arith::TruncIOp>(
          [](auto) -> Combine {
            return [](const I *x, unsigned width) -> I {
              return withoutSign(x[0], width);
            };
          })
      .Case([](math::AbsIOp) -> Combine {
        return [](const I *x, unsigned) { return x[0] < 0 ? -x[0] : x[0]; };
      })
      .Default(nullptr);
}

} // namespace attentile
