//===- NpyTest.cpp - tests of attentile/Npy.h -----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace attentile;

/// A file of a version with the given header text and elements.
static std::string file(const std::string &header, const std::string &data,
                        int version = 1) {
  std::string result = "\x93NUMPY";
  result += char(version);
  result += '\0';
  size_t length = header.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    result += char(length >> (8 * i));
  return result + header + data;
}

static std::string dictionary(const std::string &descr,
                              const std::string &shape,
                              const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }   \n";
}

/// Why bytes are refused; empty if they are not.
static std::string reason(const std::string &bytes) {
  llvm::Expected<HostTensor> tensor = parseNpy(bytes);
  return tensor ? "" : llvm::toString(tensor.takeError());
}

static HostTensor read(const std::string &bytes) {
  llvm::Expected<HostTensor> tensor = parseNpy(bytes);
  if (tensor)
    return *tensor;
  ADD_FAILURE() << llvm::toString(tensor.takeError());
  return HostTensor::scalar(ElementType::F32, 0);
}

/// The bytes of an integer, little-endian.
static std::string bytesOf(uint64_t value, int size) {
  std::string result;
  for (int i = 0; i < size; ++i)
    result += char(value >> (8 * i));
  return result;
}

TEST(Npy, EveryTypeAndVersion) {
  struct Case {
    const char *descr;
    ElementType type;
    std::string bytes;
    double value;
  };
  for (const Case &c :
       {Case{"<f4", ElementType::F32, bytesOf(0xc0200000, 4), -2.5},
        Case{"<f2", ElementType::F16, bytesOf(0xc100, 2), -2.5},
        Case{"<V2", ElementType::BF16, bytesOf(0xc020, 2), -2.5},
        Case{"|V2", ElementType::BF16, bytesOf(0xc020, 2), -2.5},
        Case{"<V1", ElementType::F8E4M3, bytesOf(0xc2, 1), -2.5},
        Case{"|V1", ElementType::F8E4M3, bytesOf(0xc2, 1), -2.5},
        Case{"<f1", ElementType::F8E5M2, bytesOf(0xc1, 1), -2.5},
        Case{"|i1", ElementType::I8, bytesOf(0xf9, 1), -7},
        Case{"<i4", ElementType::I32, bytesOf(-7, 4), -7},
        Case{"<i8", ElementType::I64, bytesOf(-7, 8), -7},
        Case{"|b1", ElementType::Bool, bytesOf(2, 1), 1}})
    for (int version : {1, 2, 3}) {
      HostTensor tensor =
          read(file(dictionary(c.descr, "(1,)"), c.bytes, version));
      EXPECT_EQ(tensor.type, c.type);
      EXPECT_EQ(tensor.sizes, std::vector<int64_t>{1});
      EXPECT_EQ(tensor.at({0}), c.value) << c.descr;
    }
}

TEST(Npy, FortranOrderIsAStride) {
  std::string data;
  for (int i = 0; i < 6; ++i)
    data += bytesOf(i, 4);
  HostTensor tensor = read(file(dictionary("<i4", "(2, 3)", "True"), data));
  EXPECT_EQ(tensor.strides, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(tensor.intAt({1, 2}), 5);
  EXPECT_EQ(tensor.intAt({1, 0}), 1);
}

TEST(Npy, ScalarsAndEmptyTensors) {
  EXPECT_EQ(read(file(dictionary("<i4", "()"), bytesOf(9, 4))).intAt({}), 9);
  EXPECT_EQ(read(file(dictionary("<f4", "(3, 0, 2)"), "")).size(), 0);
  // Any order of entries, other quotes, Python 2's integers.
  EXPECT_EQ(read(file("{\"shape\":(2L,),\"fortran_order\":False,"
                      "\"descr\":\"<i4\"}",
                      bytesOf(3, 4) + bytesOf(4, 4)))
                .intAt({1}),
            4);
}

/// The file is NumPy's own; see test/Inputs/bf16.md.
TEST(Npy, BFloat16AsMLDtypesWritesIt) {
  llvm::Expected<HostTensor> tensor =
      readNpy(ATTENTILE_TEST_INPUTS "/bf16.npy");
  ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
  EXPECT_EQ(tensor->type, ElementType::BF16);
  EXPECT_EQ(tensor->sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor->at({0, 1}), -2);
  EXPECT_EQ(tensor->at({1, 0}), 3.140625);
  EXPECT_TRUE(std::isinf(tensor->at({1, 1})));
  EXPECT_NEAR(tensor->at({1, 2}), 1e-40, 1e-41);
}

/// Every pattern of both types, beside what the package that wrote them makes
/// of it; see test/Inputs/float8.md.
TEST(Npy, EightBitFloatsAsMLDtypesWritesThem) {
  for (ElementType type : {ElementType::F8E4M3, ElementType::F8E5M2}) {
    std::string name = std::string(ATTENTILE_TEST_INPUTS "/") + nameOf(type);
    llvm::Expected<HostTensor> tensor = readNpy(name + ".npy");
    ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
    llvm::Expected<HostTensor> values = readNpy(name + "-values.npy");
    ASSERT_TRUE(bool(values)) << llvm::toString(values.takeError());
    EXPECT_EQ(tensor->type, type);
    ASSERT_EQ(tensor->size(), 256);
    for (int64_t i = 0; i < 256; ++i) {
      double got = tensor->at({i}), expected = values->at({i});
      EXPECT_TRUE(std::isnan(got) ? std::isnan(expected) : got == expected)
          << nameOf(type) << " " << i;
    }
  }
}

TEST(Npy, RefusesWithAReason) {
  std::string four(4, '\0');
  const std::pair<std::string, const char *> cases[] = {
      {"", "expected a .npy file, got 0 bytes"},
      {"\x93NU", "expected a .npy file, got 3 bytes"},
      {"PK\x03\x04 a zip", "expected a .npy file, got one that begins with "
                           "'PK\\003\\004 a'"},
      {"\x93NUMPY", "the file is truncated: expected a version, got its end"},
      {std::string("\x93NUMPY\x04\x00\x00\x00", 10),
       "expected .npy version 1.0, 2.0 or 3.0, got 4.0"},
      {std::string("\x93NUMPY\x01\x00\x05", 9),
       "the file is truncated: expected a header, got its end"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13),
       "the file is truncated: expected a header of 4294967295 bytes, got 1"},
      {file("", four), "expected a dictionary in the header, got its end"},
      {file("[1, 2]", four), "expected a dictionary in the header, got "
                             "'[1, 2]'"},
      {file("{}", four), "expected 'descr' in the header, got none"},
      {file("{'descr': '<f4', 'shape': (1,)}", four),
       "expected 'fortran_order' in the header, got none"},
      {file("{'descr': '<f4', 'fortran_order': False}", four),
       "expected 'shape' in the header, got none"},
      {file("{'descr': '<f4', 'descr': '<f4'}", four),
       "expected 'descr' once in the header, got it twice"},
      {file("{'descr': '<f4', 'colour': 3}", four),
       "expected 'descr', 'fortran_order' or 'shape' in the header, got "
       "'colour'"},
      {file("{'descr': '<f4", four),
       "expected the end of a string in the header, got '<f4'"},
      {file("{'descr' '<f4'}", four),
       "expected ':' in the header, got ''<f4'}'"},
      {file("{'descr': '<f4' 'shape'}", four),
       "expected ',' or '}' in the header, got ''shape'}'"},
      {file("{'fortran_order': 0}", four),
       "expected True or False in the header, got '0}'"},
      {file("{'descr': [('a', '<f4')]}", four),
       "expected elements of one type, got a structured type"},
      {file(dictionary("<f8", "(1,)"), four + four),
       "expected elements of f4, f2, V2 (bfloat16), V1 (float8_e4m3fn), f1 "
       "(float8_e5m2), i1, i4, i8 or b1, got '<f8'; "
       "x.astype(numpy.float32) converts them"},
      {file(dictionary("|O", "(1,)"), four),
       "expected elements of f4, f2, V2 (bfloat16), V1 (float8_e4m3fn), f1 "
       "(float8_e5m2), i1, i4, i8 or b1, got '|O'"},
      {file(dictionary(">f4", "(1,)"), four),
       "expected little-endian elements, got '>f4'; "
       "x.astype(x.dtype.newbyteorder('<')) converts them"},
      {file(dictionary("<f4", "(1,)") + "x", four),
       "expected nothing after the dictionary in the header, got 'x'"},
      {file(dictionary("<f4", "1"), four),
       "expected a shape in the header, got '1, }'"},
      {file(dictionary("<f4", "(1)"), four),
       "expected a shape, got a number in brackets"},
      {file(dictionary("<f4", "(-1,)"), four),
       "expected a size of at least 0 in the header, got '-1,), }'"},
      {file(dictionary("<f4", "(1 1)"), four),
       "expected ',' or ')' in the header, got '1), }'"},
      {file(dictionary("<f4", "(2147483648,)"), four),
       "expected sizes below 2^31, got 2147483648"},
      {file(dictionary("<f4", "(99999999999999999999999,)"), four),
       "expected sizes below 2^31, got 99999999999999999999999"},
      {file(dictionary("<f4", "(2147483647, 2147483647, 2147483647)"), four),
       "expected a tensor of less than 2^63 bytes, got a shape of more"},
      {file(dictionary("<f4", "(2147483647, 2147483647, 2147483647, 0)"), ""),
       "expected a tensor of less than 2^63 bytes, got a shape of more"},
      {file(dictionary("<f4", "(2147483647, 2)"), four),
       "the file is truncated: expected 17179869176 bytes of "
       "elements, got 4"},
      {file(dictionary("<f4", "(2,)"), four),
       "the file is truncated: expected 8 bytes of elements, got 4"},
      {file(dictionary("<f4", "(0,)"), four),
       "the file is too long: expected 0 bytes of elements, got 4"},
  };
  for (const auto &[bytes, expected] : cases)
    EXPECT_EQ(reason(bytes), expected);
  std::string shape = "(";
  for (int i = 0; i < 65; ++i)
    shape += "1, ";
  EXPECT_EQ(reason(file(dictionary("<f4", shape + ")"), four)),
            "expected at most 64 axes, got more");
}

/// Whatever the bytes: a tensor that fits them, or a reason. (The sanitizers'
/// preset sees what this alone would not.)
TEST(Npy, NoBytesCrashIt) {
  std::string good = file(dictionary("<i4", "(2, 3)"), std::string(24, 7));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(reason(good.substr(0, length)), "") << length;
  std::mt19937 random(1);
  const std::string alphabet("{}()[],:'\"0123456789LTrueFals<>|fVib \n\0\xff",
                             41);
  for (int run = 0; run < 200000; ++run) {
    std::string bytes = good;
    for (unsigned i = 0, n = 1 + random() % 4; i < n; ++i) {
      size_t at = 6 + random() % (bytes.size() - 6);
      switch (random() % 3) {
      case 0:
        bytes[at] = alphabet[random() % alphabet.size()];
        break;
      case 1:
        bytes.erase(at, random() % 4);
        break;
      default:
        bytes.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    llvm::Expected<HostTensor> tensor = parseNpy(bytes);
    if (!tensor)
      EXPECT_NE(llvm::toString(tensor.takeError()), "");
    else
      EXPECT_LE(tensor->size(), 30);
  }
}

TEST(Npy, WritesWhatItReads) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("npy-test", folder));
  llvm::SmallString<128> path = folder;
  llvm::sys::path::append(path, "x.npy");
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16,
        ElementType::F8E4M3, ElementType::F8E5M2, ElementType::I8,
        ElementType::I32, ElementType::I64, ElementType::Bool})
    for (const std::vector<int64_t> &sizes :
         {std::vector<int64_t>{}, {5}, {0}, {2, 3, 4}}) {
      HostTensor tensor = HostTensor::allocate(type, sizes);
      for (int64_t i = 0; i < tensor.size(); ++i)
        tensor.writeInt(i, i % 2);
      ASSERT_FALSE(writeNpy(path, tensor));
      llvm::Expected<HostTensor> again = readNpy(path);
      ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
      EXPECT_EQ(again->type, type);
      EXPECT_EQ(again->sizes, sizes);
      for (int64_t i = 0; i < tensor.size(); ++i)
        EXPECT_EQ(again->readInt(i), i % 2);
      EXPECT_EQ(npyHeader(type, sizes).size() % 64, 0u);
    }
  // Other strides are written in row-major order.
  int32_t data[] = {0, 1, 2, 3, 4, 5};
  ASSERT_FALSE(writeNpy(
      path, HostTensor::borrow(ElementType::I32, data, {3, 2}, {-1, 3}, 2)));
  llvm::Expected<HostTensor> again = readNpy(path);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_TRUE(again->isContiguous());
  EXPECT_EQ(again->intAt({0, 0}), 2);
  EXPECT_EQ(again->intAt({2, 1}), 3);
  llvm::sys::fs::remove_directories(folder);
}

TEST(Npy, FilesThatCannotBeReadOrWritten) {
  llvm::Expected<HostTensor> tensor = readNpy("/no/such.npy");
  ASSERT_FALSE(bool(tensor));
  EXPECT_EQ(llvm::toString(tensor.takeError()),
            "cannot read '/no/such.npy': No such file or directory");
  tensor = readNpy("/");
  ASSERT_FALSE(bool(tensor));
  EXPECT_EQ(llvm::toString(tensor.takeError()),
            "cannot read '/': Is a directory");
  llvm::Error error = writeNpy("/no/such/folder/x.npy",
                               HostTensor::scalar(ElementType::F32, 1));
  EXPECT_TRUE(llvm::StringRef(llvm::toString(std::move(error)))
                  .starts_with("cannot write '/no/such/folder/x.npy': "));
}
