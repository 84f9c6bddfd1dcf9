/*===- Lexer.ll - tokens of the attn language ------------------------------===

  Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
  SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

  The file was found to be UTF-8 text without NUL bytes before it comes here
  (Parse.cpp). Only comments may hold characters beyond ASCII.

===-----------------------------------------------------------------------===*/

%{
#include "ParseContext.h"
#include "Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>

using namespace attentile;
using namespace attentile::frontend;
using Token = Parser::token;

// Every match moves on; the token's range is what it moved over.
#define YY_USER_ACTION                                                         \
  range = {context.offset, context.offset + static_cast<uint32_t>(yyleng)};    \
  context.offset = range.end;

#define YY_DECL                                                                \
  int lexToken(yyscan_t yyscanner, Value &value, SourceRange &range,           \
               ParseContext &context)

/// A name or a string, as a slice of the source and not of the scanner's buffer.
static ast::Name nameAt(ParseContext &context, SourceRange range) {
  return {context.text.data() + (range.begin - context.begin), range};
}

static int64_t lexInteger(llvm::StringRef text, SourceRange range,
                          ParseContext &context) {
  int64_t result = 0;
  if (text.getAsInteger(10, result)) {
    // [L2.5]
    context.diagnostics
        .error(context.source, range,
               "expected an integer below 2^63, got '" +
                   (text.size() > 40 ? text.take_front(40).str() + "..."
                                     : text.str()) +
                   "'")
        .note("write it with a point if a float is meant");
    return 0;
  }
  return result;
}

static double lexFloat(llvm::StringRef text, SourceRange range,
                       ParseContext &context) {
  double result = 0;
  auto [end, error] = std::from_chars(text.begin(), text.end(), result);
  // Too large for a double or for f32; what is too small is 0.
  bool large = (error != std::errc() && result != 0) ||
               std::isinf(static_cast<float>(result)) ||
               (error == std::errc::result_out_of_range &&
                !text.contains_insensitive("e-"));
  if (large) {
    // [L2.5]
    context.diagnostics
        .error(context.source, range,
               "expected a number that f32 can hold, got '" +
                   text.take_front(40) + "'")
        .note("the largest is about 3.4e38; write inf for infinity");
    return 0;
  }
  return error == std::errc() ? result : 0;
}

/// What the language has in place of a character of other languages.
static llvm::StringRef insteadOf(llvm::StringRef text) {
  if (text == "?")
    return ": write where(condition, a, b)";
  if (text == "^")
    return ": write pow(x, y)";
  if (text == "~")
    return ": write ! for 'not'";
  if (text == "@")
    return ": a matrix product is a sum, sum[k](x * y)";
  if (text == ".")
    return ": functions are no methods, write f(x) for x.f()";
  if (text.front() == '\'')
    return ": there is no text, and infinity is inf";
  if (text.front() == '#')
    return ": a comment begins with //";
  return "";
}

#pragma clang diagnostic ignored "-Wunused-function"
%}

%option reentrant noyywrap nodefault never-interactive nounput noinput 8bit
%option noyyalloc noyyrealloc noyyfree
%option extra-type="attentile::frontend::ParseContext *"

digit [0-9]
exponent [eE][+-]?{digit}+

%%

[ \t\r\n]+
"//"[^\n]*

"type"        return Token::TYPE;
"kernel"      return Token::KERNEL;
"fn"          return Token::FN;
"import"      return Token::IMPORT;
"let"         return Token::LET;
"index"       return Token::INDEX;
"tile"        return Token::TILE;
"tiles"       return Token::TILES;
"for"         return Token::FOR;
"in"          return Token::IN;
"carry"       return Token::CARRY;
"next"        return Token::NEXT;
"schedule"    return Token::SCHEDULE;
"grad"        return Token::GRAD;
"where"       return Token::WHERE;
"inf"         return Token::INF;
"true"        return Token::TRUE;
"false"       return Token::FALSE;

"as"          value.name = nameAt(context, range); return Token::AS;
"when"        value.name = nameAt(context, range); return Token::WHEN;
"of"          value.name = nameAt(context, range); return Token::OF;
"wrt"         value.name = nameAt(context, range); return Token::WRT;
"split"       value.name = nameAt(context, range); return Token::SPLIT;
"pack"        value.name = nameAt(context, range); return Token::PACK;
"into"        value.name = nameAt(context, range); return Token::INTO;
"auto"        value.name = nameAt(context, range); return Token::AUTO;
"materialize" value.name = nameAt(context, range); return Token::MATERIALIZE;
"sink"        value.name = nameAt(context, range); return Token::SINK;

"f32"         value.element = ElementType::F32; return Token::ELEMENT;
"bf16"        value.element = ElementType::BF16; return Token::ELEMENT;
"f16"         value.element = ElementType::F16; return Token::ELEMENT;
"f8e4m3"      value.element = ElementType::F8E4M3; return Token::ELEMENT;
"f8e5m2"      value.element = ElementType::F8E5M2; return Token::ELEMENT;
"i8"          value.element = ElementType::I8; return Token::ELEMENT;
"i4"          value.element = ElementType::I4; return Token::ELEMENT;
"i32"         value.element = ElementType::I32; return Token::ELEMENT;
"i64"         value.element = ElementType::I64; return Token::ELEMENT;
"bool"        value.element = ElementType::Bool; return Token::ELEMENT;

"sum"         value.reduction = ast::Reduction::Sum; return Token::REDUCTION;
"any"         value.reduction = ast::Reduction::Any; return Token::REDUCTION;
"all"         value.reduction = ast::Reduction::All; return Token::REDUCTION;
"softmax"     value.reduction = ast::Reduction::Softmax; return Token::REDUCTION;
"logsumexp"   value.reduction = ast::Reduction::Logsumexp; return Token::REDUCTION;
"max"         return Token::MAX;
"min"         return Token::MIN;

"exp"         value.function = ast::Function::Exp; return Token::FUNCTION;
"exp2"        value.function = ast::Function::Exp2; return Token::FUNCTION;
"log"         value.function = ast::Function::Log; return Token::FUNCTION;
"log2"        value.function = ast::Function::Log2; return Token::FUNCTION;
"tanh"        value.function = ast::Function::Tanh; return Token::FUNCTION;
"sigmoid"     value.function = ast::Function::Sigmoid; return Token::FUNCTION;
"sqrt"        value.function = ast::Function::Sqrt; return Token::FUNCTION;
"rsqrt"       value.function = ast::Function::Rsqrt; return Token::FUNCTION;
"sin"         value.function = ast::Function::Sin; return Token::FUNCTION;
"cos"         value.function = ast::Function::Cos; return Token::FUNCTION;
"abs"         value.function = ast::Function::Abs; return Token::FUNCTION;
"pow"         value.function = ast::Function::Pow; return Token::FUNCTION;
"clamp"       value.function = ast::Function::Clamp; return Token::FUNCTION;
"floor"       value.function = ast::Function::Floor; return Token::FUNCTION;
"extent"      value.function = ast::Function::Extent; return Token::FUNCTION;
"dropout"     value.function = ast::Function::Dropout; return Token::FUNCTION;

[A-Za-z_][A-Za-z_0-9]*  value.name = nameAt(context, range); return Token::NAME;

{digit}+ {
  value.intValue = lexInteger(yytext, range, context);
  return Token::INT;
}
{digit}+"."{digit}+{exponent}? |
{digit}+{exponent} {
  value.floatValue = lexFloat(yytext, range, context);
  return Token::FLOAT;
}
  /* `0..N` is a number and a range, so a point before a point is no mistake. */
{digit}+/".." {
  value.intValue = lexInteger(yytext, range, context);
  return Token::INT;
}
{digit}+"."{exponent}? |
"."{digit}+{exponent}? {
  // [L8.2]
  context.diagnostics
      .error(context.source, range,
             llvm::Twine("expected digits on both sides of the point, got '") +
                 llvm::StringRef(yytext, yyleng).take_front(40) + "'")
      .note(yytext[0] == '.' ? "write 0.5, not .5" : "write 1.0, not 1.");
  value.floatValue = 0;
  return Token::FLOAT;
}
{digit}+[A-Za-z_][A-Za-z_0-9]* |
{digit}+"."{digit}+[A-Za-z_][A-Za-z_0-9]* {
  // [L8.2]
  context.diagnostics
      .error(context.source, range,
             llvm::Twine("expected a number or a name, got '") +
                 llvm::StringRef(yytext, yyleng).take_front(40) + "'")
      .note("a name begins with a letter, and a number has no suffix");
  value.intValue = 0;
  return Token::INT;
}

\"[^"\n]*\"   value.name = nameAt(context, range); return Token::STRING;
\"[^"\n]* {
  // [L8.2]
  context.diagnostics
      .error(context.source, range, "expected '\"' at the end of the file name")
      .note("a string ends on the line on which it begins");
  value.name = nameAt(context, range);
  return Token::STRING;
}

"->"          return Token::ARROW;
".."          return Token::DOTDOT;
"=="          return Token::EQ;
"!="          return Token::NE;
"<="          return Token::LE;
">="          return Token::GE;
"&&"          return Token::AND;
"||"          return Token::OR;
[-+*/%<>!=()\[\]{},;:|]  return yytext[0];

  /* One error for a run of what no token begins with, or for a text. */
\'[^'\n]*\' |
[^ \t\r\n_A-Za-z0-9"\-+*/%<>!=()\[\]{},;:|&.]+ |
[&.] {
  llvm::StringRef text(yytext, yyleng);
  std::string shown;
  for (char c : text.take_front(32))
    if (llvm::isPrint(c) || static_cast<unsigned char>(c) >= 0x80)
      shown += c;
    else
      shown += "\\x" + llvm::utohexstr(static_cast<unsigned char>(c), true, 2);
  if (text.size() > 32) { // do not cut a character in two
    while (!shown.empty() && (shown.back() & 0xC0) == 0x80)
      shown.pop_back();
    if (!shown.empty() && (shown.back() & 0x80))
      shown.pop_back();
    shown += "...";
  }
  context.lexicalError = range.end;
  // [L8.3]
  Diagnostic &error = context.diagnostics.error(
      context.source, range, "unexpected '" + shown + "'");
  if (text == "&")
    error.note("write && between conditions, and x / 4 % 2 for bit 2 of x");
  else if (text.front() & 0x80)
    error.note("only comments may hold characters beyond ASCII");
  else
    error.note("the language has no '" + shown + "'" + insteadOf(text));
}

<<EOF>> {
  // Where the next token would have to follow, not behind trailing comments.
  range = {context.lastEnd, context.lastEnd};
  return Token::END;
}

%%

void *yyalloc(size_t size, yyscan_t) { return malloc(size); }
void *yyrealloc(void *data, size_t size, yyscan_t) { return realloc(data, size); }
void yyfree(void *data, yyscan_t) { free(data); }

namespace attentile::frontend {

int parseTokens(ParseContext &context) {
  yyscan_t scanner;
  if (yylex_init(&scanner)) // no memory
    llvm::report_bad_alloc_error("scanner");
  // The scanner writes into its input and wants two NUL bytes behind it.
  std::string buffer = context.text.str();
  buffer.append(2, '\0');
  yy_scan_buffer(buffer.data(), buffer.size(), scanner);
  Parser parser(scanner, context);
  int result = parser.parse();
  yylex_destroy(scanner);
  return result;
}

} // namespace attentile::frontend
