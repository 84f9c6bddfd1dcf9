//===- SyntaxErrors.cpp - what stands where another token should ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SyntaxErrors.h"
#include "OtherSyntax.h"
#include "OtherWords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace attentile;
using namespace attentile::frontend;
using llvm::StringRef;

bool frontend::isReserved(StringRef word) {
  static const llvm::StringSet<> words = {
      "type",   "kernel", "fn",   "import", "let",  "index",    "tile",
      "tiles",  "for",    "in",   "carry",  "next", "schedule", "grad",
      "where",  "inf",    "true", "false",  "f32",  "bf16",     "f16",
      "f8e4m3", "f8e5m2", "i8",   "i4",     "i32",  "i64",      "bool",
      "sum",    "max",    "min",  "any",    "all",  "softmax",  "logsumexp",
      "exp",    "exp2",   "log",  "log2",   "tanh", "sigmoid",  "sqrt",
      "rsqrt",  "sin",    "cos",  "abs",    "pow",  "clamp",    "floor",
      "extent", "dropout"};
  return words.contains(word);
}

/// True for tokens that may follow every expression: naming them all would
/// hide the one that is missing.
static bool continuesExpression(StringRef token) {
  static const llvm::StringSet<> tokens = {
      "'+'",  "'-'",  "'*'",  "'/'",  "'%'",  "'<'", "'>'", "'<='",
      "'>='", "'=='", "'!='", "'&&'", "'||'", "'['", "'('"};
  return tokens.contains(token);
}

/// True for words that are names everywhere but in one place each.
static bool isContextual(StringRef token) {
  static const llvm::StringSet<> tokens = {
      "'as'",   "'when'", "'of'",   "'wrt'",         "'split'",
      "'pack'", "'into'", "'auto'", "'materialize'", "'sink'"};
  return tokens.contains(token);
}

/// The expected tokens as a phrase, with classes instead of their members.
static std::string describe(llvm::ArrayRef<StringRef> expected) {
  bool expression = llvm::is_contained(expected, "an integer");
  bool name = llvm::is_contained(expected, "a name");
  bool statement = llvm::is_contained(expected, "'let'");
  bool afterExpression = llvm::is_contained(expected, "'*'");
  llvm::SmallVector<StringRef> shown;
  if (statement) {
    shown = {"a statement", "'}'"};
  } else if (expression) {
    shown.push_back("an expression");
    // Only a set and an argument list take more than an expression.
    if (llvm::is_contained(expected, "')'"))
      shown.push_back("')'");
  } else {
    for (StringRef token : expected) {
      if (name && isContextual(token))
        continue;
      if (!afterExpression || !continuesExpression(token))
        shown.push_back(token);
    }
    if (shown.empty())
      shown.append(expected.begin(), expected.end());
  }
  if (shown.size() > 5) // only at the top level of a file
    return "a declaration";
  std::string text;
  for (auto [i, token] : llvm::enumerate(shown)) {
    if (i > 0)
      text += i + 1 == shown.size() ? " or " : ", ";
    text += token;
  }
  return text;
}

/// The name in `NAME[...]` at the end of `text`; empty if it ends otherwise.
static StringRef indexedName(StringRef text) {
  text = text.rtrim();
  if (!text.ends_with("]"))
    return {};
  int depth = 0;
  do {
    if (text.empty())
      return {};
    depth += text.back() == ']' ? 1 : text.back() == '[' ? -1 : 0;
    text = text.drop_back();
  } while (depth > 0);
  return lastName(text);
}

/// A formula over n over the axis that is named right before, if one is.
static std::string overAxis(StringRef formula, StringRef before) {
  StringRef axis = before.rtrim().drop_back().rsplit('[').second.trim();
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (axis.empty() || !llvm::all_of(axis, isWord))
    return formula.str();
  std::string result;
  for (size_t i = 0; i < formula.size(); ++i) {
    bool isAxis = formula[i] == 'n' && (i == 0 || !isWord(formula[i - 1])) &&
                  (i + 1 == formula.size() || !isWord(formula[i + 1]));
    result += isAxis ? axis : formula.substr(i, 1);
  }
  return result;
}

/// Says of `NAME[n](`, which is no reduction, or of `sum(` what would be right.
static bool noteReduction(Diagnostic &error, StringRef before) {
  std::vector<StringRef> reductions;
  for (auto last = unsigned(ast::Reduction::Logsumexp), i = 0u; i <= last; ++i)
    reductions.push_back(ast::spelling(ast::Reduction(i)));
  if (StringRef name = lastName(before); !name.empty()) {
    if (!llvm::is_contained(reductions, name))
      return false;
    error.note("a reduction names its axes, as in sum[n](...)");
    return true;
  }
  StringRef name = indexedName(before);
  if (name.empty() || llvm::is_contained(reductions, name))
    return false;
  error.note("'" + name +
             "' is no reduction; these are sum, max, min, any, all, softmax "
             "and logsumexp");
  if (StringRef formula = reductionCalled(name); !formula.empty())
    error.note("write " + overAxis(formula, before));
  else if (StringRef nearest = nearestName(name, reductions); !nearest.empty())
    error.note("did you mean '" + nearest + "'?");
  return true;
}

/// Whether the statement that the text ends in begins with `index`.
static bool declaresIndex(StringRef before) {
  StringRef statement = before.drop_front(before.find_last_of(";{}") + 1);
  return statement.ltrim().starts_with("index ");
}

/// Whether the text ends in a comment that was meant as a division: it ends as
/// a statement does, and no two words of it stand side by side.
static bool endsInFloorDivision(StringRef before) {
  StringRef line = before.drop_front(before.rfind('\n') + 1);
  auto [code, comment] = line.split("//");
  static const llvm::Regex sideBySide("[A-Za-z0-9_] +[A-Za-z0-9_]");
  return !code.trim().empty() && comment.ends_with(";") &&
         !sideBySide.match(comment);
}

/// Whether the text ends in `NAME: TYPE[`.
static bool isEmptyShape(StringRef before) {
  if (!before.consume_back("["))
    return false;
  before = before.rtrim();
  return before.drop_back(lastName(before).size()).rtrim().ends_with(":");
}

/// Where the bracket that encloses the end of `text` opens, if it is `open`.
static std::optional<unsigned> findOpen(StringRef text, char open) {
  llvm::SmallVector<unsigned> opened;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("//"))
      i = std::min(text.find('\n', i), text.size());
    else if (StringRef("([{").contains(text[i]))
      opened.push_back(i);
    else if (StringRef(")]}").contains(text[i]) && !opened.empty())
      opened.pop_back();
  }
  return opened.empty() || text[opened.back()] != open
             ? std::nullopt
             : std::optional(opened.back());
}

void frontend::reportSyntaxError(ParseContext &context, SourceRange range,
                                 bool atEnd,
                                 llvm::ArrayRef<StringRef> expected) {
  if (context.lexicalError <= range.begin &&
      !context.source.text({context.lexicalError, range.begin}).contains('\n'))
    return;
  StringRef got = context.source.text(range);
  StringRef before = context.source.text({0, range.begin}).rtrim();
  // Of an `if` that has been reported.
  if (got == "else" || lastName(before) == "else" || lastName(before) == "elif")
    if (context.diagnostics.hasErrors())
      return;
  StringRef after = context.text.drop_front(range.end - context.begin);
  std::string wanted = describe(expected);
  std::string shown =
      atEnd
          ? "end of file"
          : ("'" + got.take_front(40) + (got.size() > 40 ? "...'" : "'")).str();
  // [L8.3]
  Diagnostic &error = context.diagnostics.error(
      context.source, range, "expected " + wanted + ", got " + shown);
  bool name = llvm::is_contained(expected, "a name") &&
              !llvm::is_contained(expected, "an integer");
  if (name && isReserved(got))
    error.note("'" + got + "' is a reserved word; choose another name");
  else if (StringRef type = elementTypeCalled(got);
           wanted == "an element type" && !type.empty())
    error.note("write " + type);
  else if (wanted == "an element type")
    error.note("the types are f32, bf16, f16, f8e4m3, f8e5m2, i8, i4, i32, i64 "
               "and bool");
  else if (got == "(" && noteReduction(error, before))
    return;
  else if (endsInFloorDivision(before))
    error.note("what follows // is a comment; / of integers rounds down");
  else if (std::string note =
               noteOtherSyntax({got, before, after, expected, wanted});
           !note.empty())
    error.note(note);
  else if (got == "=" && wanted == "'['")
    error.note("a value has a name by 'let NAME = ...', an output its indices, "
               "one at least, as in O[m] = ... (one number is O: f32[1] with "
               "O[i] = ...); what a loop carries goes on by "
               "next (NAME = ...)");
  else if (got == "[" && before.drop_back(lastName(before).size())
                             .rtrim()
                             .ends_with("kernel"))
    error.note("sizes are not declared: the tensors name them, as in "
               "kernel NAME(Q: f32[M, D])");
  else if (wanted == "'tiles'" || lastName(before) == "while")
    error.note("what is computed for each index needs no loop; one over tiles "
               "is for n in tiles(0 .. N, 64) carry (x = 0) { ... }");
  else if (wanted == "'('" &&
           (lastName(before) == "carry" || lastName(before) == "next"))
    error.note("what a loop carries stands in brackets, as in carry (x = 0) "
               "and next (x = x + 1)");
  else if (wanted == "'..'" && declaresIndex(before))
    error.note("an index variable needs no declaration: it has the range of "
               "the dimension in which it stands");
  else if (wanted == "'..'")
    error.note("bounds are written FROM .. TO, as in tiles(0 .. N, 64)");
  else if (wanted == "'->'" || (wanted == "'('" && before.ends_with("->")))
    error.note("outputs have names, as in -> (O: f32[M, D])");
  else if (wanted == "'sink'")
    error.note("a mask is in the value, as in where(n <= m, x, -inf); beside "
               "it stands 'sink = ...' alone");
  else if (got == ":" && (llvm::is_contained(expected, "an integer") ||
                          llvm::is_contained(expected, "']'")))
    error.note("there are no slices: each dimension has an index, as in "
               "Q[m, d]");
  else if (auto open = findOpen(before, '(');
           open && llvm::is_contained(expected, "')'") &&
           (atEnd || got == ";" || got == "}"))
    error.note(context.source, {*open, *open + 1}, "this '(' was not closed");
  else if ((got == ")" && !findOpen(before, '(')) ||
           (got == "]" && !findOpen(before, '[')))
    error.note(got == ")" ? "no '(' is open here" : "no '[' is open here");
  else if (got == "[" && before.ends_with(")"))
    error.note("only a tensor takes indices; K[n, d] names each axis, so that "
               "nothing is transposed");
  else if (got == "]" && isEmptyShape(before))
    error.note("a tensor has a dimension at least; a scalar input stands "
               "without brackets, as in x: f32");
  else if (wanted == "':'" && (got == "," || got == ")"))
    error.note("a parameter has a type, as in Q: f32[M, D] or scale: f32");
  else if (atEnd && llvm::is_contained(expected, "'}'"))
    error.note("a '{' was not closed");
  else if (wanted == "a declaration")
    error.note("a file has import, type, fn, kernel and schedule declarations, "
               "as in kernel NAME(Q: f32[M, D]) -> (O: f32[M]) { ... }");
  else if (llvm::is_contained(expected, "';'"))
    error.note("a statement ends with ';'");
}
