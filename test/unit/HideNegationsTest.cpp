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

// Where a is a constant that ptxas finds late, it takes a - b for b - a. One
// that stands there is right, and so are minima.
TEST(HideNegations, ofDifferencesOfMaxima) {
  EXPECT_EQ(hideNegations(".visible .entry a(\n"
                          "{\n"
                          "\tsub.s32 \t%r3, %r1, %r2;\n"
                          "\tmax.s32 \t%r4, %r3, 0;\n"
                          "\tsub.s32 \t%r5, %r5, %r2;\n"
                          "\tselp.b32 \t%r6, %r5, 0, %p1;\n"
                          "\tsub.s32 \t%r2, %r1, %r2;\n"
                          "\tmax.u32 \t%r7, %r6, %r2;\n"
                          "\tsub.s32 \t%r8, 5, %r2;\n"
                          "\tmax.s32 \t%r9, %r8, 0;\n"
                          "\tsub.s32 \t%r10, %r1, %r2;\n"
                          "\tmin.s32 \t%r11, %r10, 4;\n"
                          "}\n"),
            ".visible .entry a(\n"
            "{\n"
            "\tnot.b32 \t%r3, %r2;\n"
            "\tadd.s32 \t%r3, %r3, %r1;\n"
            "\tadd.s32 \t%r3, %r3, 1;\n"
            "\tmax.s32 \t%r4, %r3, 0;\n"
            "\tnot.b32 \t%r5, %r5;\n"
            "\tadd.s32 \t%r5, %r5, %r2;\n"
            "\tnot.b32 \t%r5, %r5;\n"
            "\tselp.b32 \t%r6, %r5, 0, %p1;\n"
            "\tnot.b32 \t%r2, %r2;\n"
            "\tadd.s32 \t%r2, %r2, %r1;\n"
            "\tadd.s32 \t%r2, %r2, 1;\n"
            "\tmax.u32 \t%r7, %r6, %r2;\n"
            "\tsub.s32 \t%r8, 5, %r2;\n"
            "\tmax.s32 \t%r9, %r8, 0;\n"
            "\tsub.s32 \t%r10, %r1, %r2;\n"
            "\tmin.s32 \t%r11, %r10, 4;\n"
            "}\n");
}

} // namespace
