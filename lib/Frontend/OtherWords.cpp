//===- OtherWords.cpp - what other languages call things ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OtherWords.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attentile;
using llvm::StringRef;

StringRef frontend::elementTypeCalled(StringRef word) {
  return llvm::StringSwitch<StringRef>(word.lower())
      .Cases({"float32", "float", "fp32", "single"}, "f32")
      .Cases({"float64", "double", "fp64", "f64"}, "f32") // the widest
      .Cases({"float16", "half", "fp16"}, "f16")
      .Cases({"bfloat16", "bfloat"}, "bf16")
      .Cases({"float8_e4m3", "float8_e4m3fn", "fp8", "e4m3"}, "f8e4m3")
      .Cases({"float8_e5m2", "e5m2"}, "f8e5m2")
      .Cases({"int8", "char", "byte"}, "i8")
      .Cases({"int", "int32", "integer"}, "i32")
      .Cases({"i16", "int16", "short", "u8", "uint8", "u16", "uint16"}, "i32")
      .Cases({"int64", "long", "u32", "uint32"}, "i64")
      .Cases({"boolean", "i1"}, "bool")
      .Default("");
}

StringRef frontend::functionCalled(StringRef word) {
  return llvm::StringSwitch<StringRef>(word.lower())
      .Cases({"maximum", "fmax"}, "max(x, y)")
      .Cases({"minimum", "fmin"}, "min(x, y)")
      .Case("clip", "clamp(x, low, high)")
      .Case("power", "pow(x, y)")
      .Case("square", "x * x")
      .Case("reciprocal", "1.0 / x")
      .Cases({"fmod", "remainder", "mod"},
             "x % y of integers, x - y * floor(x / y) of floats")
      .Case("ceil", "-floor(-x)")
      .Cases({"round", "rint"}, "floor(x + 0.5)")
      .Case("sign", "where(x > 0, 1, where(x < 0, -1, 0))")
      .Cases({"exp10", "log10", "log1p", "expm1"},
             "it by exp and log, as in log(1 + x)")
      .Case("tan", "sin(x) / cos(x)")
      .Case("ln", "log(x)")
      .Case("isnan", "x != x")
      .Case("isinf", "abs(x) == inf")
      .Cases({"relu", "gelu", "softplus", "erf"},
             "it in lower case and import \"activations.attn\"")
      .Case("leaky_relu", "where(x > 0, x, 0.01 * x)")
      .Case("elu", "where(x > 0, x, exp(x) - 1)")
      .Cases({"silu", "swish"}, "silu(x) and import \"activations.attn\"")
      .Cases({"logsigmoid", "log_sigmoid"}, "min(x, 0) - log(1 + exp(-abs(x)))")
      .Cases({"not", "logical_not"}, "!x")
      .Case("logical_and", "x && y")
      .Case("logical_or", "x || y")
      .Cases({"select", "if", "ifelse", "cond"}, "where(condition, x, y)")
      .Case("masked_fill", "where(mask, value, x)")
      .Case("tril", "where(n <= m, x, 0), of scores where(n <= m, x, -inf)")
      .Case("triu", "where(n >= m, x, 0), of scores where(n >= m, x, -inf)")
      .Cases({"dot", "matmul", "mm", "bmm", "einsum", "inner"},
             "a sum over the axis they share, as in sum[d](A[m, d] * B[n, d])")
      .Cases({"transpose", "permute"}, "its indices in another order: A[n, m]")
      .Cases({"len", "size", "shape"}, "extent(n)")
      .Cases({"arange", "range", "iota"},
             "the index variable, which is its own number")
      .Default("");
}

StringRef frontend::reductionCalled(StringRef word) {
  return llvm::StringSwitch<StringRef>(word.lower())
      .Cases({"mean", "avg", "average"}, "(sum[n](x) / extent(n))")
      .Cases({"amax", "maximum"}, "max[n](x)")
      .Cases({"amin", "minimum"}, "min[n](x)")
      .Case("norm", "sqrt(sum[n](x * x))")
      .Case("count", "sum[n](where(x, 1, 0))")
      .Cases({"var", "variance", "std"},
             "sum[n](y * y) / extent(n), with let y = x - sum[n](x) / "
             "extent(n); its square root is the deviation")
      .Case("argmax", "min[n](where(x == max[n](x), n, extent(n)))")
      .Case("argmin", "min[n](where(x == min[n](x), n, extent(n)))")
      .Case("lse", "logsumexp[n](x)")
      .Cases({"log_softmax", "logsoftmax"}, "x - logsumexp[n](x)")
      .Case("softmin", "softmax[n](-x)")
      .Cases({"prod", "product"}, "exp(sum[n](log(x))), of what is positive")
      .Case("cumsum", "sum[j](where(j <= n, x, 0)), with x at j")
      .Case("topk", "where(sum[j](where(y > x, 1, 0)) < k, x, -inf), with x "
                    "at j for y")
      .Default("");
}
