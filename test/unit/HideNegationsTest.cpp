//===- HideNegationsTest.cpp - negations that ptxas must not lose ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../lib/PTX/HideNegations.h"
#include "gtest/gtest.h"

using namespace attentile;

namespace {

TEST(HideNegations, ofMinimaAndMaximaAlone) {
  EXPECT_EQ(hideNegations(".version 9.0\n"
                          "\n"
                          ".visible .entry a(\n"
                          "{\n"
                          "\tneg.s32 \t%r2, %r1;\n"
                          "\tneg.s32 \t%r3, %r1;\n"
                          "\tmax.s32 \t%r4, %r5, %r2;\n"
                          "\tsetp.gt.s32 \t%p1, %r3, %r4;\n"
                          "}\n"
                          ".visible .entry b(\n"
                          "{\n"
                          "\tneg.s32 \t%r2, %r1;\n"
                          "\tneg.s32 \t%r13, %r1;\n"
                          "\tmin.s32 \t%r2, %r13, %r4;\n"
                          "\tadd.s32 \t%r5, %r2, 1;\n"
                          "}\n"),
            ".version 9.0\n"
            "\n"
            ".visible .entry a(\n"
            "{\n"
            "\tnot.b32 \t%r2, %r1;\n"
            "\tadd.s32 \t%r2, %r2, 1;\n"
            "\tneg.s32 \t%r3, %r1;\n"
            "\tmax.s32 \t%r4, %r5, %r2;\n"
            "\tsetp.gt.s32 \t%p1, %r3, %r4;\n"
            "}\n"
            ".visible .entry b(\n"
            "{\n"
            "\tneg.s32 \t%r2, %r1;\n"
            "\tnot.b32 \t%r13, %r1;\n"
            "\tadd.s32 \t%r13, %r13, 1;\n"
            "\tmin.s32 \t%r2, %r13, %r4;\n"
            "\tadd.s32 \t%r5, %r2, 1;\n"
            "}\n");
}

TEST(HideNegations, ofLongMagnitudes) {
  EXPECT_EQ(hideNegations(".visible .entry a(\n"
                          "{\n"
                          "\tabs.s64 \t%rd2, %rd1;\n"
                          "\tneg.s64 \t%rd3, %rd2;\n"
                          "\tneg.s64 \t%rd4, %rd1;\n"
                          "\tmax.s64 \t%rd5, %rd3, -5;\n"
                          "}\n"),
            ".visible .entry a(\n"
            "{\n"
            "\tabs.s64 \t%rd2, %rd1;\n"
            "\tnot.b64 \t%rd3, %rd2;\n"
            "\tadd.s64 \t%rd3, %rd3, 1;\n"
            "\tneg.s64 \t%rd4, %rd1;\n"
            "\tmax.s64 \t%rd5, %rd3, -5;\n"
            "}\n");
}

} // namespace
