//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Npy.h"
#include "attentile/WriteFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace attentile {

static Error refuse(const Twine &reason) {
  return llvm::createStringError(reason);
}

/// A piece of a hostile text, short and printable, for an error message.
static std::string quoted(StringRef text) {
  std::string result = "'";
  llvm::raw_string_ostream os(result);
  os.write_escaped(text.take_front(40));
  os << (text.size() > 40 ? "...'" : "'");
  return result;
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

namespace {

/// The three entries of the header's dictionary.
struct Header {
  ElementType type = ElementType::F32;
  bool fortranOrder = false;
  std::vector<int64_t> sizes;
};

/// Reads the header's text: a Python dictionary of literals, of which only the
/// forms that the three entries can have are known.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  Expected<Header> parse();

private:
  /// NumPy's own limit is 32 (64 from NumPy 2 on).
  static constexpr size_t maxRank = 64;

  Error parseEntry(StringRef key, Header &header);
  Expected<StringRef> parseString(const Twine &what);
  Error parseType(ElementType &type);
  Error parseSizes(std::vector<int64_t> &sizes);

  bool consume(StringRef token) {
    rest = rest.ltrim(" \n");
    return rest.consume_front(token);
  }
  Error expected(const Twine &what) {
    rest = rest.trim(" \n");
    return refuse("expected " + what + " in the header, got " +
                  (rest.empty() ? std::string("its end") : quoted(rest)));
  }

  StringRef rest;
  bool seenType = false, seenOrder = false, seenShape = false;
};

Expected<Header> HeaderParser::parse() {
  Header header;
  if (!consume("{"))
    return expected("a dictionary");
  while (!consume("}")) {
    Expected<StringRef> key =
        parseString("'descr', 'fortran_order' or 'shape'");
    if (!key)
      return key.takeError();
    if (!consume(":"))
      return expected("':'");
    if (Error error = parseEntry(*key, header))
      return std::move(error);
    if (consume(","))
      continue;
    if (!consume("}"))
      return expected("',' or '}'");
    break;
  }
  if (!seenType || !seenOrder || !seenShape)
    return refuse(Twine("expected '") +
                  (!seenType    ? "descr"
                   : !seenOrder ? "fortran_order"
                                : "shape") +
                  "' in the header, got none");
  if (!rest.trim(" \n").empty())
    return expected("nothing after the dictionary");
  return header;
}

Error HeaderParser::parseEntry(StringRef key, Header &header) {
  bool *seen = key == "descr"           ? &seenType
               : key == "fortran_order" ? &seenOrder
               : key == "shape"         ? &seenShape
                                        : nullptr;
  if (!seen)
    return refuse("expected 'descr', 'fortran_order' or 'shape' in the header, "
                  "got " +
                  quoted(key));
  if (*seen)
    return refuse("expected '" + key + "' once in the header, got it twice");
  *seen = true;
  if (seen == &seenType)
    return parseType(header.type);
  if (seen == &seenShape)
    return parseSizes(header.sizes);
  header.fortranOrder = consume("True");
  if (!header.fortranOrder && !consume("False"))
    return expected("True or False");
  return Error::success();
}

Expected<StringRef> HeaderParser::parseString(const Twine &what) {
  for (StringRef quote : {"'", "\""}) {
    if (!consume(quote))
      continue;
    size_t end = rest.find(quote);
    if (end == StringRef::npos)
      return expected("the end of a string");
    StringRef text = rest.take_front(end);
    rest = rest.drop_front(end + 1);
    return text;
  }
  return expected(what);
}

Error HeaderParser::parseType(ElementType &type) {
  if (consume("["))
    return refuse("expected elements of one type, got a structured type");
  Expected<StringRef> descr = parseString("an element type");
  if (!descr)
    return descr.takeError();
  StringRef name = *descr;
  if (name.consume_front(">") && !name.ends_with("1"))
    return refuse("expected little-endian elements, got " + quoted(*descr) +
                  "; x.astype(x.dtype.newbyteorder('<')) converts them");
  if (!name.consume_front("<") && !name.consume_front("|"))
    name.consume_front("=");
  static constexpr std::pair<const char *, ElementType> known[] = {
      {"f4", ElementType::F32},    {"f2", ElementType::F16},
      {"V2", ElementType::BF16},   {"V1", ElementType::F8E4M3},
      {"f1", ElementType::F8E5M2}, {"i1", ElementType::I8},
      {"i4", ElementType::I32},    {"i8", ElementType::I64},
      {"b1", ElementType::Bool}};
  for (auto [spelling, candidate] : known)
    if (name == spelling) {
      type = candidate;
      return Error::success();
    }
  return refuse(
      "expected elements of f4, f2, V2 (bfloat16), V1 (float8_e4m3fn), f1 "
      "(float8_e5m2), i1, i4, i8 or b1, got " +
      quoted(*descr) +
      (name == "f8" ? "; x.astype(numpy.float32) converts them" : ""));
}

Error HeaderParser::parseSizes(std::vector<int64_t> &sizes) {
  if (!consume("("))
    return expected("a shape");
  while (!consume(")")) {
    rest = rest.ltrim(" \n");
    StringRef digits = rest.take_while(llvm::isDigit);
    int64_t size = 0;
    if (digits.empty())
      return expected("a size of at least 0");
    if (digits.getAsInteger(10, size) || size >= int64_t(1) << 31)
      return refuse("expected sizes below 2^31, got " +
                    StringRef(quoted(digits)).trim('\''));
    rest = rest.drop_front(digits.size());
    rest.consume_front("L"); // as Python 2 wrote it
    sizes.push_back(size);
    if (sizes.size() > maxRank)
      return refuse("expected at most " + Twine(maxRank) + " axes, got more");
    // Of one size without a comma, Python makes a number and no tuple.
    bool comma = consume(",");
    if (consume(")")) {
      if (!comma && sizes.size() == 1)
        return refuse("expected a shape, got a number in brackets");
      break;
    }
    if (!comma)
      return expected("',' or ')'");
  }
  return Error::success();
}

} // namespace

/// The number of bytes of the elements, or an error if it does not fit.
static Expected<int64_t> dataSize(const Header &header) {
  // Sizes of 0 count as 1 here: strides are products of the others.
  int64_t bytes = sizeOf(header.type);
  bool isEmpty = false;
  for (int64_t size : header.sizes) {
    isEmpty |= size == 0;
    if (llvm::MulOverflow<int64_t>(bytes, size ? size : 1, bytes))
      return refuse("expected a tensor of less than 2^63 bytes, got a shape of "
                    "more");
  }
  return isEmpty ? 0 : bytes;
}

/// Splits the bytes of a file into the header's text and the elements.
static Error splitFile(StringRef bytes, StringRef &text, StringRef &data) {
  static constexpr StringRef magic("\x93NUMPY", 6);
  if (!bytes.starts_with(magic))
    return refuse(
        bytes.size() < magic.size() && magic.starts_with(bytes)
            ? Twine("expected a .npy file, got ") + Twine(bytes.size()) +
                  " bytes"
            : Twine("expected a .npy file, got one that begins with ") +
                  quoted(bytes.take_front(6)));
  if (bytes.size() < 8)
    return refuse("the file is truncated: expected a version, got its end");
  unsigned major = uint8_t(bytes[6]), minor = uint8_t(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    return refuse("expected .npy version 1.0, 2.0 or 3.0, got " + Twine(major) +
                  "." + Twine(minor));
  size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start)
    return refuse("the file is truncated: expected a header, got its end");
  uint64_t length = major == 1
                        ? llvm::support::endian::read16le(bytes.data() + 8)
                        : llvm::support::endian::read32le(bytes.data() + 8);
  if (length > bytes.size() - start)
    return refuse("the file is truncated: expected a header of " +
                  Twine(length) + " bytes, got " + Twine(bytes.size() - start));
  text = bytes.substr(start, length);
  data = bytes.drop_front(start + length);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<HostTensor> parseNpy(StringRef bytes) {
  StringRef text, data;
  if (Error error = splitFile(bytes, text, data))
    return std::move(error);
  Expected<Header> header = HeaderParser(text).parse();
  if (!header)
    return header.takeError();
  Expected<int64_t> expectedSize = dataSize(*header);
  if (!expectedSize)
    return expectedSize.takeError();
  if (data.size() != uint64_t(*expectedSize))
    return refuse(Twine(data.size() < uint64_t(*expectedSize)
                            ? "the file is truncated: "
                            : "the file is too long: ") +
                  "expected " + Twine(*expectedSize) +
                  " bytes of elements, got " + Twine(data.size()));

  HostTensor tensor = HostTensor::allocate(header->type, header->sizes);
  if (!data.empty())
    std::memcpy(tensor.data, data.data(), data.size());
  if (header->type == ElementType::Bool)
    for (size_t i = 0; i < data.size(); ++i)
      static_cast<uint8_t *>(tensor.data)[i] = data[i] != 0;
  if (header->fortranOrder) {
    int64_t stride = 1;
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      tensor.strides[i] = stride;
      stride *= tensor.sizes[i];
    }
  }
  return tensor;
}

Expected<HostTensor> readNpy(StringRef path) {
  // Read, not mapped: a file that shrinks meanwhile must not end the program.
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return refuse("cannot read '" + path + "': " + buffer.getError().message());
  Expected<HostTensor> tensor = parseNpy((*buffer)->getBuffer());
  if (!tensor)
    return refuse(path + ": " + llvm::toString(tensor.takeError()));
  return tensor;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static StringRef descrOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "<f4";
  case ElementType::F16:
    return "<f2";
  case ElementType::BF16:
    return "<V2"; // as NumPy writes the types of ml_dtypes
  case ElementType::F8E4M3:
    return "<V1";
  case ElementType::F8E5M2:
    return "<f1";
  case ElementType::I8:
    return "|i1";
  case ElementType::I32:
    return "<i4";
  case ElementType::I64:
    return "<i8";
  case ElementType::Bool:
    return "|b1";
  default:
    llvm_unreachable("expected a type of host tensors");
  }
}

std::string npyHeader(ElementType type, const std::vector<int64_t> &sizes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{'descr': '" << descrOf(type)
     << "', 'fortran_order': False, 'shape': (";
  llvm::interleaveComma(sizes, os);
  os << (sizes.size() == 1 ? ",), }" : "), }");
  text.append(63 - (text.size() + 10) % 64, ' ');
  text.push_back('\n');
  std::string result("\x93NUMPY\x01\x00", 8);
  result.push_back(char(text.size() & 0xff));
  result.push_back(char(text.size() >> 8));
  return result + text;
}

/// Writes the elements in row-major order, whatever their strides.
static void writeElements(llvm::raw_ostream &os, const HostTensor &tensor) {
  if (tensor.size() == 0)
    return;
  int64_t elementSize = sizeOf(tensor.type);
  const char *base = static_cast<const char *>(tensor.data);
  if (tensor.isContiguous()) {
    os.write(base + tensor.offset * elementSize, tensor.size() * elementSize);
    return;
  }
  std::vector<int64_t> index(tensor.sizes.size(), 0);
  do
    os.write(base + tensor.positionOf(index.data()) * elementSize, elementSize);
  while (nextIndex(index, tensor.sizes));
}

Error writeNpy(StringRef path, const HostTensor &tensor) {
  return writeFile(path, [&](llvm::raw_ostream &os) {
    os << npyHeader(tensor.type, tensor.sizes);
    writeElements(os, tensor);
  });
}

} // namespace attentile
