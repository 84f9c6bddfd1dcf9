//===- Diagnostics.h - errors with ranges, without MLIR ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lexer, the parser and the checker report through this class, which needs
// no MLIR context, so that they can be fuzzed fast. A diagnostic has a range in
// a source file and notes; the text form is
//
//   file:line:column: error: what is wrong
//   the source line
//       ^~~~~ the range, underlined
//   note: what would be right
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_DIAGNOSTICS_H
#define ATTENTILE_DIAGNOSTICS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace attentile {

/// A half-open range of byte offsets in a source file and what it imports.
/// Trivial on purpose: it is a member of the parser's union of semantic values.
struct SourceRange {
  uint32_t begin;
  uint32_t end;
};

/// A place a reader can go to. Both count from 1; columns count characters
/// (UTF-8 code points), not bytes.
struct LineColumn {
  unsigned line;
  unsigned column;
};

/// A source file: its text, and the texts that it imports. One space of offsets
/// spans them all, the file's own text first, so that a range says by itself
/// which text it lies in. Ranges, names in the syntax tree and diagnostics
/// point into it, so it must outlive them and is not copied.
class SourceFile {
public:
  SourceFile(std::string name, std::string text);
  SourceFile(const SourceFile &) = delete;
  SourceFile &operator=(const SourceFile &) = delete;

  /// Name and text of the file itself.
  llvm::StringRef name() const { return parts.front().name; }
  llvm::StringRef text() const { return parts.front().text; }

  /// Adds an imported text behind those that are there; its number.
  unsigned import(std::string name, std::string text);

  /// The texts by number; 0 is the file itself.
  unsigned count() const { return parts.size(); }
  llvm::StringRef name(unsigned part) const { return parts[part].name; }
  llvm::StringRef text(unsigned part) const { return parts[part].text; }
  /// The offset of a text's first byte, and the number of the text that holds
  /// an offset; one past a text's end belongs to it.
  uint32_t begin(unsigned part) const { return parts[part].begin; }
  unsigned partAt(uint32_t offset) const;

  /// The text of a range, clipped to the text that it begins in.
  llvm::StringRef text(SourceRange range) const;

  /// Line and column of an offset in its text.
  LineColumn lineColumn(uint32_t offset) const;

  /// The text of the line that holds `offset`, without its line end.
  llvm::StringRef lineAt(uint32_t offset) const;

private:
  struct Part {
    std::string name, text;
    uint32_t begin;
    /// Where in the text each line begins, found when first asked for.
    mutable std::vector<uint32_t> lines;
  };
  const std::vector<uint32_t> &linesOf(const Part &part) const;

  std::deque<Part> parts; // never moved: names are slices of the texts
};

enum class Severity : uint8_t { Error, Warning };

/// What would be right, or the other place that an error is about. Without a
/// file it stands alone, below the diagnostic it belongs to.
struct DiagnosticNote {
  std::string message;
  const SourceFile *file = nullptr;
  SourceRange range = {0, 0};
};

struct Diagnostic {
  Severity severity;
  std::string message;
  /// Null for a diagnostic that no source text has caused.
  const SourceFile *file;
  SourceRange range;
  std::vector<DiagnosticNote> notes;

  Diagnostic &note(const llvm::Twine &message);
  Diagnostic &note(const SourceFile &file, SourceRange range,
                   const llvm::Twine &message);
};

/// The diagnostics of one run, in the order they were reported.
class Diagnostics {
public:
  /// No more errors than this are kept: after that many, what follows is
  /// hardly of use, and a hostile input could make the list grow without end.
  static constexpr unsigned maxErrors = 20;

  /// Reports an error. The reference is valid until the next report.
  Diagnostic &error(const SourceFile &file, SourceRange range,
                    const llvm::Twine &message);
  Diagnostic &warning(const SourceFile &file, SourceRange range,
                      const llvm::Twine &message);
  /// An error that no place in a text has caused (a missing binding, say).
  Diagnostic &error(const llvm::Twine &message);
  Diagnostic &warning(const llvm::Twine &message);

  bool hasErrors() const { return numErrors != 0; }
  unsigned errorCount() const { return numErrors; }
  /// True once `maxErrors` were reported: checkers stop early then.
  bool isFull() const { return numErrors >= maxErrors; }
  const std::vector<Diagnostic> &all() const { return list; }
  void clear();

  /// Keeps a text that diagnostics point into for as long as they live.
  void keep(std::shared_ptr<const SourceFile> file);

  /// The text form, for people.
  void print(llvm::raw_ostream &os) const;

  /// The form for tools (`--diagnostics=json`): one JSON array, an object for
  /// each diagnostic with `severity`, `message`, `file`, `range` and `notes`; a
  /// range has `start` and `end`, each with `line` and `column` as above, the
  /// end exclusive.
  void printJSON(llvm::raw_ostream &os) const;

private:
  Diagnostic &add(Severity severity, const SourceFile *file, SourceRange range,
                  const llvm::Twine &message);

  std::vector<Diagnostic> list;
  std::vector<std::shared_ptr<const SourceFile>> kept;
  Diagnostic overflow; // receives what is reported beyond maxErrors
  unsigned numErrors = 0;
};

/// The candidate nearest to `name` by edit distance, for "did you mean"; empty
/// if none is near enough to be a likely slip.
llvm::StringRef nearestName(llvm::StringRef name,
                            const std::vector<llvm::StringRef> &candidates);

} // namespace attentile

#endif // ATTENTILE_DIAGNOSTICS_H
