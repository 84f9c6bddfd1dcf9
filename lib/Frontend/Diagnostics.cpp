//===- Diagnostics.cpp - errors with ranges, as text and as JSON ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace attentile;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// SourceFile
//===----------------------------------------------------------------------===//

SourceFile::SourceFile(std::string name, std::string text) {
  parts.push_back({std::move(name), std::move(text), 0, {}});
}

unsigned SourceFile::import(std::string name, std::string text) {
  const Part &last = parts.back();
  uint32_t begin = last.begin + last.text.size() + 1;
  parts.push_back({std::move(name), std::move(text), begin, {}});
  return parts.size() - 1;
}

unsigned SourceFile::partAt(uint32_t offset) const {
  auto next = std::upper_bound(
      parts.begin(), parts.end(), offset,
      [](uint32_t offset, const Part &part) { return offset < part.begin; });
  return next - parts.begin() - 1;
}

StringRef SourceFile::text(SourceRange range) const {
  const Part &part = parts[partAt(range.begin)];
  return StringRef(part.text).slice(range.begin - part.begin,
                                    range.end - part.begin);
}

const std::vector<uint32_t> &SourceFile::linesOf(const Part &part) const {
  if (part.lines.empty()) {
    part.lines.push_back(0);
    for (auto [i, c] : llvm::enumerate(part.text))
      if (c == '\n')
        part.lines.push_back(static_cast<uint32_t>(i + 1));
  }
  return part.lines;
}

/// True for every byte of UTF-8 text but the second to last of a character.
static bool startsCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

LineColumn SourceFile::lineColumn(uint32_t offset) const {
  const Part &part = parts[partAt(offset)];
  offset = std::min<uint32_t>(offset - part.begin, part.text.size());
  const std::vector<uint32_t> &lines = linesOf(part);
  auto it = std::upper_bound(lines.begin(), lines.end(), offset);
  unsigned line = it - lines.begin();
  unsigned start = lines[line - 1];
  unsigned column =
      1 + std::count_if(part.text.begin() + start, part.text.begin() + offset,
                        startsCharacter);
  return {line, column};
}

StringRef SourceFile::lineAt(uint32_t offset) const {
  const Part &part = parts[partAt(offset)];
  unsigned start = linesOf(part)[lineColumn(offset).line - 1];
  StringRef rest = StringRef(part.text).drop_front(start);
  return rest.take_until([](char c) { return c == '\n'; }).rtrim('\r');
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

Diagnostic &Diagnostic::note(const llvm::Twine &text) {
  notes.push_back({text.str()});
  return *this;
}

Diagnostic &Diagnostic::note(const SourceFile &where, SourceRange at,
                             const llvm::Twine &text) {
  notes.push_back({text.str(), &where, at});
  return *this;
}

Diagnostic &Diagnostics::add(Severity severity, const SourceFile *file,
                             SourceRange range, const llvm::Twine &message) {
  if (isFull() || list.size() >= 4 * maxErrors) {
    overflow = {severity, {}, file, range, {}};
    numErrors += severity == Severity::Error;
    return overflow;
  }
  numErrors += severity == Severity::Error;
  list.push_back({severity, message.str(), file, range, {}});
  return list.back();
}

Diagnostic &Diagnostics::error(const SourceFile &file, SourceRange range,
                               const llvm::Twine &message) {
  return add(Severity::Error, &file, range, message);
}
Diagnostic &Diagnostics::warning(const SourceFile &file, SourceRange range,
                                 const llvm::Twine &message) {
  return add(Severity::Warning, &file, range, message);
}
Diagnostic &Diagnostics::error(const llvm::Twine &message) {
  return add(Severity::Error, nullptr, {0, 0}, message);
}
Diagnostic &Diagnostics::warning(const llvm::Twine &message) {
  return add(Severity::Warning, nullptr, {0, 0}, message);
}

void Diagnostics::keep(std::shared_ptr<const SourceFile> file) {
  if (std::find(kept.begin(), kept.end(), file) == kept.end())
    kept.push_back(std::move(file));
}

void Diagnostics::clear() {
  list.clear();
  numErrors = 0;
}

/// Whether two neighbouring letters in another order are all that differs.
static bool isSwapped(StringRef a, StringRef b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i])
    ++i;
  return a.size() == b.size() && i + 1 < a.size() && a[i] == b[i + 1] &&
         a[i + 1] == b[i] && a.drop_front(i + 2) == b.drop_front(i + 2);
}

StringRef attentile::nearestName(StringRef name,
                                 const std::vector<StringRef> &candidates) {
  // A third of the name may be wrong: `scal` is near `scale`, `x` is near none
  // but a name that differs in case.
  unsigned limit = name.size() / 3;
  StringRef best;
  for (StringRef candidate : candidates) {
    if (candidate.size() > 100 || name.size() > 100)
      continue;
    if (candidate.equals_insensitive(name))
      return candidate;
    unsigned distance = isSwapped(name, candidate)
                            ? 1
                            : name.edit_distance(candidate, true, limit);
    if (distance > limit)
      continue;
    if (distance < limit || best.empty())
      best = candidate;
    limit = distance;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// One source line as it is shown: characters a terminal cannot show are
/// replaced, one for one, and long lines are cut around the range.
struct Snippet {
  std::string line;
  std::string underline;
};
} // namespace

/// Longest part of a line that is shown.
static constexpr size_t maxShown = 160;

static Snippet makeSnippet(const SourceFile &file, SourceRange range) {
  StringRef line = file.lineAt(range.begin);
  unsigned part = file.partAt(range.begin);
  uint32_t start = file.begin(part) + (line.data() - file.text(part).data());
  size_t first = std::min<size_t>(range.begin - start, line.size());
  size_t last =
      std::clamp<size_t>(size_t(range.end) - start, first, line.size());

  size_t from = 0, to = line.size();
  if (line.size() > maxShown) {
    from = first > maxShown / 4 ? first - maxShown / 4 : 0;
    to = std::min(line.size(), from + maxShown);
    while (from < first && !startsCharacter(line[from]))
      ++from;
    while (to < line.size() && !startsCharacter(line[to]))
      ++to;
  }
  Snippet result;
  if (from > 0)
    result.line = result.underline = "...";
  std::fill(result.underline.begin(), result.underline.end(), ' ');
  result.line += line.slice(from, to);
  for (size_t i = from; i < to; ++i) {
    unsigned char c = line[i];
    if ((c < 0x20 && c != '\t') || c == 0x7F)
      result.line[result.line.size() - (to - i)] = '?';
    if (!startsCharacter(line[i]))
      continue;
    if (i < first)
      result.underline += c == '\t' ? '\t' : ' ';
    else if (i == first)
      result.underline += '^';
    else if (i < last)
      result.underline += '~';
  }
  if (to < line.size())
    result.line += "...";
  if (first >= to)
    result.underline += '^'; // just behind the line's last character
  return result;
}

static void printPlace(llvm::raw_ostream &os, const SourceFile *file,
                       SourceRange range) {
  if (!file)
    return;
  LineColumn at = file->lineColumn(range.begin);
  os << file->name(file->partAt(range.begin)) << ':' << at.line << ':'
     << at.column << ": ";
}

static void printSnippet(llvm::raw_ostream &os, const SourceFile *file,
                         SourceRange range) {
  if (!file)
    return;
  Snippet snippet = makeSnippet(*file, range);
  os << snippet.line << '\n' << snippet.underline << '\n';
}

void Diagnostics::print(llvm::raw_ostream &os) const {
  for (const Diagnostic &d : list) {
    printPlace(os, d.file, d.range);
    os << (d.severity == Severity::Error ? "error: " : "warning: ") << d.message
       << '\n';
    printSnippet(os, d.file, d.range);
    for (const DiagnosticNote &note : d.notes) {
      printPlace(os, note.file, note.range);
      os << "note: " << note.message << '\n';
      printSnippet(os, note.file, note.range);
    }
  }
  if (isFull())
    os << "error: too many errors, the rest is not shown\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writePlace(llvm::json::OStream &json, const SourceFile *file,
                       SourceRange range) {
  if (!file)
    return;
  json.attribute("file",
                 llvm::json::fixUTF8(file->name(file->partAt(range.begin))));
  json.attributeObject("range", [&] {
    for (bool isStart : {true, false}) {
      LineColumn at = file->lineColumn(isStart ? range.begin : range.end);
      json.attributeObject(isStart ? "start" : "end", [&] {
        json.attribute("line", at.line);
        json.attribute("column", at.column);
      });
    }
  });
}

void Diagnostics::printJSON(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const Diagnostic &d : list)
      json.object([&] {
        json.attribute("severity",
                       d.severity == Severity::Error ? "error" : "warning");
        json.attribute("message", llvm::json::fixUTF8(d.message));
        writePlace(json, d.file, d.range);
        json.attributeArray("notes", [&] {
          for (const DiagnosticNote &note : d.notes)
            json.object([&] {
              json.attribute("message", llvm::json::fixUTF8(note.message));
              writePlace(json, note.file, note.range);
            });
        });
      });
  });
  os << '\n';
}
