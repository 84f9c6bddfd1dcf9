#!/usr/bin/env python3
"""Holds every message the source can print against the texts that tests quote.

    scripts/messages.py            fails if a message has no test
    scripts/messages.py --list     every message, with the file that it stands in

A message is a string of the source with words in it. It is read as the
expression it stands in: of "expected " + name + ", got " + got the words must
stand in a test in that order, on one line; of c ? "a" : "b" each must, once.
A test quotes with a line of FileCheck, an expected-error and the like, or a
string of a unit test. What is text but no message (help, what explain prints,
code that is generated) is named below by its file or by the call it stands in.
"""
import argparse
import ast
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Text that is no message: what is generated, and what is a page of its own.
NO_MESSAGES = {
    "lib/Driver/CommandLine.cpp": "help",
    "lib/Driver/ExplainHtml.cpp": "a page of figures",
    "lib/Driver/ExplainReport.cpp": "a page of figures",
    "lib/Explain/Machines.cpp": "a page of figures",
    "lib/Frontend/AST.cpp": "the syntax tree, as --emit=ast prints it",
    "lib/Native/Header.cpp": "a C header",
    "lib/PTX/Header.cpp": "a C header",
}
NO_MESSAGE_TEXTS = {
    "...?[K  all passes .../...",  # progress, on a terminal alone
    "See every step (MLIR's own; --help-hidden has more)",  # help
    "Where to run: cpu or gpu; default: the GPU if there is one",
    "Where to run: cpu (default) or gpu; with --prepare sm_80, sm_86, sm_89 or sm_90",
    "Compiling entry function '([^']+)'",  # what ptxas says
    "([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads",
    "...{'descr': '...', 'fortran_order': False, 'shape': (",  # of a .npy file
    "from loops and vectors to the LLVM dialect",  # descriptions of passes
    "from warp kernels to the LLVM dialect",
}
# Calls whose strings nobody reads in a program's output.
SILENT_CALLS = {"assert", "static_assert", "llvm_unreachable", "desc", "LLVM_DEBUG"}
# Calls that pass their text on, so that the message goes on around them.
TRANSPARENT = {"Twine", "StringRef", "string", "StringLiteral", "str", "concat"}
# Calls that return a stream: the message goes on behind them.
STREAMS = re.compile(r"^(emit\w*|error|warning|note|remark|attachNote|\w*[eE]rror|fail\w*|WithColor)$")

TOKEN = re.compile(r"""
  (?P<comment>//[^\n]*|/\*.*?\*/)
| (?P<raw>R"(?P<delim>[^\s()\\]{0,16})\(.*?\)(?P=delim)")
| (?P<string>(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*")
| (?P<char>'(?:\\.|[^'\\\n])+')
| (?P<include>^[ \t]*\#[ \t]*(?:include|pragma|error)[^\n]*)
| (?P<word>[A-Za-z_]\w*)
| (?P<number>\.?\d(?:[\w.']|[eEpP][+-])*)
| (?P<punct><<=|>>=|<=>|->|::|<<|\+\+|--|\+=|-=|==|!=|<=|>=|&&|\|\||\S)
""", re.X | re.S | re.M)

Token = collections.namedtuple("Token", "kind text line")
CLOSERS = {"(": ")", "[": "]", "{": "}"}
HOLE = None


def unescape(text):
    """The characters of a C++ string's inside."""
    simple = {"n": "\n", "t": "\t", "r": "", "0": "\0"}
    return re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)",
                  lambda m: simple.get(m[1], m[1] if len(m[1]) == 1 else "?"), text, flags=re.S)


def without_patterns(text):
    """A Flex file without the patterns of its rules, which are no C++."""
    head, rules, tail = re.split(r"^%%$", text, flags=re.M)
    pattern = r'^(?:\[(?:\\.|[^\]\\])*\]|"(?:\\.|[^"\\])*"|\\.|[^\s\["\\])+'
    return head + "\n" + re.sub(pattern, "", rules, flags=re.M) + tail


def tokens_of(text):
    """The tokens of a C++ text; neighbouring strings are one."""
    tokens = []
    line, at = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        kind = match.lastgroup if match.lastgroup != "delim" else "raw"
        if match["raw"] is not None:
            kind = "raw"
        value = match[0]
        if kind in ("comment", "include"):
            continue
        if kind == "raw":
            kind, value = "string", re.sub(r'^R"[^(]*\(|\)[^)"]*"$', "", value)
        elif kind == "string":
            value = unescape(value[value.index('"') + 1:-1])
        if kind == "string" and tokens and tokens[-1].kind == "string":
            tokens[-1] = Token("string", tokens[-1].text + value, tokens[-1].line)
        else:
            tokens.append(Token(kind, value, line))
    return tokens


def partners(tokens):
    """For each bracket the place of the other one."""
    other, open_ = {}, []
    for i, token in enumerate(tokens):
        if token.kind != "punct":
            continue
        if token.text in CLOSERS:
            open_.append(i)
        elif token.text in CLOSERS.values():
            while open_ and CLOSERS[tokens[open_[-1]].text] != token.text:
                open_.pop()  # a bracket of a grammar
            if open_:
                other[i] = open_.pop()
                other[other[i]] = i
    return other


class Expressions:
    """The expressions of a C++ text that strings stand in."""

    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.other = partners(self.tokens)

    def is_(self, i, *texts):
        return 0 <= i < len(self.tokens) and self.tokens[i].kind != "string" and self.tokens[i].text in texts

    def callee(self, opener):
        """The name before a bracket, if it is one."""
        before = opener - 1
        if self.is_(opener, "(") and before >= 0 and self.tokens[before].kind == "word":
            return self.tokens[before].text
        return ""

    def bounds(self, i):
        """First and last token of the expression around a string."""
        left = i
        while left > 0 and not self.is_(left - 1, ",", ";", "=", "return", "{", "[", "(", "+=", "}"):
            left -= 1
            if left in self.other and self.other[left] < left:
                left = self.other[left]
        right = self.other.get(i, i)
        while right + 1 < len(self.tokens) and not self.is_(right + 1, ",", ";", "}", "]", ")", "{"):
            right += 1
            if right in self.other and self.other[right] > right:
                right = self.other[right]
        opener = left - 1
        if self.is_(opener, "(") and self.is_(right + 1, ")"):
            name = self.callee(opener)
            grouping = not name and not (self.tokens[opener - 1].kind == "word" or self.is_(opener - 1, ">", "]", ")"))
            after = right + 2
            if name in TRANSPARENT or grouping or name == "return" or \
                    (self.is_(after, "<<") and (STREAMS.match(name) or self.is_(opener - 1, ")"))):
                return self.bounds(opener)
        return left, right

    def silent(self, i):
        """Whether a string stands in a call whose text nobody reads."""
        depth = i
        while depth > 0:
            depth -= 1
            if depth in self.other and self.other[depth] < depth:
                depth = self.other[depth]
            elif self.is_(depth, "("):
                if self.callee(depth) in SILENT_CALLS:
                    return True
            elif self.is_(depth, ";"):
                return False
        return False

    def find(self, first, last, *texts):
        """Places of these tokens between two others, outside of brackets."""
        i, found = first, []
        while i <= last:
            if self.is_(i, *texts):
                found.append(i)
            if i in self.other and self.other[i] > i:
                i = self.other[i]
            i += 1
        return found

    def parse(self, first, last):
        """A list of parts: a string, HOLE, or a tuple of such lists to choose from."""
        if first > last:
            return [HOLE]
        question = self.find(first, last, "?")
        if question:
            colon = self.find(question[0] + 1, last, ":")
            nested = self.find(question[0] + 1, last, "?")
            # a ? b : c ? d : e, never a ? b ? c : d : e
            if colon and (not nested or colon[0] < nested[0]):
                return [(self.parse(question[0] + 1, colon[0] - 1), self.parse(colon[0] + 1, last))]
            return [HOLE]
        joints = self.find(first, last, "+", "<<")
        if joints:
            parts, start = [], first
            for joint in joints + [last + 1]:
                parts += self.parse(start, joint - 1)
                start = joint + 1
            return parts
        if first == last:
            return [self.tokens[first].text] if self.tokens[first].kind == "string" else [HOLE]
        # f("..."), ("...").str(), op.emitOpError("..."), a.f(x).g("...")
        calls = [i for i in self.find(first, last, "(") if i in self.other]
        for opener in reversed(calls):
            close = self.other[opener]
            name = self.callee(opener)
            if close > opener + 1 and (opener == first or name in TRANSPARENT or STREAMS.match(name) or close == last):
                if len(self.find(opener + 1, close - 1, ",")) == 0 or STREAMS.match(name):
                    commas = self.find(opener + 1, close - 1, ",")
                    start = commas[-1] + 1 if commas else opener + 1
                    inner = self.parse(start, close - 1)
                    if any(part is not HOLE for part in inner):
                        return inner
        return [HOLE]

    def all(self):
        """(line, parts) of each expression with a string; its first string's line."""
        seen = set()
        for i, token in enumerate(self.tokens):
            if token.kind != "string" or i in seen:
                continue
            first, last = self.bounds(i)
            parts = self.parse(first, last)
            texts = set(strings(parts))
            if token.text not in texts:
                parts, first, last = [token.text], i, i
                texts = {token.text}
            for j in range(first, last + 1):
                if self.tokens[j].kind == "string" and self.tokens[j].text in texts:
                    seen.add(j)
            if not self.silent(i):
                yield token.line, parts


def strings(parts):
    for part in parts:
        if isinstance(part, tuple):
            for choice in part:
                yield from strings(choice)
        elif part is not HOLE:
            yield part


def has_letters(parts):
    return any(re.search("[A-Za-z]", text) for text in strings(parts))


def variants(parts):
    """Lists of strings and holes in which each choice stands at least once."""
    choices = [i for i, part in enumerate(parts) if isinstance(part, tuple)]
    plain = [HOLE if isinstance(part, tuple) else part for part in parts]
    if not choices:
        yield plain
    for i in choices:
        for choice in parts[i]:
            for inner in variants(choice):
                if has_letters(inner) or not any(map(has_letters, parts[i])):
                    yield plain[:i] + inner + plain[i + 1:]


FORMAT = re.compile(r"%[-+ 0#]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|t)?[diouxXeEfgGcspaA]|\{\d+\}")


def lines(parts):
    """Splits a list of strings and holes where a string ends a line; what %s and {0} stand for are holes."""
    line = []
    for part in parts:
        for k, text in enumerate([""] if part is HOLE else part.split("\n")):
            if k:
                yield line
                line = []
            for j, piece in enumerate([HOLE] if part is HOLE else FORMAT.split(text)):
                line += [HOLE] * (j > 0) + [piece]
    yield line


def shown(parts):
    """One line that names a message: its words, and ... for what varies."""
    text = "".join("..." if part is HOLE else part for part in parts)
    return re.sub(r"(\.\.\.)+", "...", text).strip()


def is_message(parts):
    """Words, at least two in all, which keys, types and IR have not."""
    text = " ".join(part for part in parts if part is not HOLE)
    return bool(re.search(r"[a-z]{2,}[,:;']* +\W?[a-z]{2,}|[a-z]{3,} +'?$|^'? *,? [a-z]{3,}", text)) and \
        len(re.findall(r"[A-Za-z]{2,}", text)) >= 2


def python_parts(node):
    """What C++'s parse gives, of a Python expression."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else [HOLE]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in python_parts(value)]
    if isinstance(node, ast.FormattedValue):
        inner = python_parts(node.value)
        return inner if any(part is not HOLE for part in inner) else [HOLE]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        right = python_parts(node.right) if isinstance(node.op, ast.Add) else []
        return python_parts(node.left) + right
    if isinstance(node, ast.IfExp):
        return [(python_parts(node.body), python_parts(node.orelse))]
    return [HOLE]


def python_expressions(text):
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}

    def walk(node):
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.IfExp)):
            parts = python_parts(node)
            if any(True for _ in strings(parts)):
                if id(node) not in documentation:
                    yield node.lineno, parts
                return
        for child in ast.iter_child_nodes(node):
            yield from walk(child)
    yield from walk(tree)


def expressions(path):
    text = path.read_text()
    if path.suffix == ".py":
        return python_expressions(text)
    return Expressions(without_patterns(text) if path.suffix == ".ll" else text).all()


def source_files():
    for folder in ("dialects", "include", "lib", "tools", "python/attentile"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".c", ".ll", ".yy", ".py") and \
                    str(path.relative_to(ROOT)) not in NO_MESSAGES:
                yield path


Message = collections.namedtuple("Message", "path line parts")


def messages():
    """Every message once, in the order of the source."""
    known = set()
    for path in source_files():
        for line, parts in expressions(path):
            for variant in variants(parts):
                for one in lines(variant):
                    name = (path, shown(one))
                    if is_message(one) and name not in known and name[1] not in NO_MESSAGE_TEXTS:
                        known.add(name)
                        yield Message(str(path.relative_to(ROOT)), line, one)


DIRECTIVE = re.compile(r"^\s*(?://|#|;)?\s*([A-Z][A-Z0-9_]*(?:-[A-Z0-9]+)*)(-SAME)?:(.*)$|expected-(?:error|warning|note|remark)")


def quoted():
    """Every line that a test quotes."""
    for path in sorted((ROOT / "test").rglob("*")):
        if not path.is_file() or "fuzz" in path.parts:
            continue
        if path.suffix in (".cpp", ".h", ".c", ".py"):
            for _, parts in expressions(path):
                for variant in variants(parts):
                    for one in lines(variant):
                        yield "\x00".join("" if part is HOLE else part for part in one)
        elif path.suffix in (".attn", ".mlir", ".test"):
            before = ""
            for line in path.read_text(errors="replace").splitlines():
                match = DIRECTIVE.search(line)
                if not match or match[1] == "RUN" or match[1] and match[1].endswith("-NOT"):
                    continue
                if match[1] and match[1].endswith("-SAME"):
                    line = before + "\x00" + match[3]
                before = line
                yield line


def plain(text):
    """A text as FileCheck sees it."""
    return re.sub(r"[ \t]+", " ", text)


def is_quoted(message, tests):
    pieces = [plain(part).strip() for part in message.parts if part is not HOLE and re.search("[A-Za-z]", part)]
    longest = max(pieces, key=len)
    pattern = re.compile(".*".join(re.escape(piece) for piece in pieces), re.S)
    return any(longest in test and pattern.search(test) for test in tests)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every message")
    parser.add_argument("--missing", action="store_true", help="print messages without a test")
    arguments = parser.parse_args()
    tests = list(dict.fromkeys(plain(text) for text in quoted()))
    found = list(messages())
    missing = [m for m in found if not is_quoted(m, tests)]
    if arguments.list or arguments.missing:
        for m in found if arguments.list else missing:
            print(f"{m.path}:{m.line}: {shown(m.parts)}")
        return 0
    for m in missing:
        print(f"{m.path}:{m.line}: expected a test that quotes '{shown(m.parts)}', got none")
    print(f"{len(found)} messages, {len(found) - len(missing)} quoted by tests")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
