#!/usr/bin/env python3
"""Holds the numbered rules of docs/language.md against code and tests.

Fails if a rule is cited by no code or by no test, if a citation names no rule,
and if the front end reports something and cites no rule where it does.
"""
import pathlib
import re
import sys

from messages import ROOT, TOKEN, without_patterns

PAGE = ROOT / "docs" / "language.md"
RULE = re.compile(r"\[L\d+\.\d+\]")
REPORTS = {"error", "warning", "bindingError"}


def citations(folders, suffixes):
    """{rule: files} of every citation in these folders."""
    found = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes and "fuzz" not in path.parts:
                for rule in RULE.findall(path.read_text(errors="replace")):
                    found.setdefault(rule, set()).add(str(path.relative_to(ROOT)))
    return found


def uncited(path):
    """Lines of statements that report with a text of their own and cite no rule."""
    text = path.read_text()
    if path.suffix == ".ll":
        text = without_patterns(text)
    cites = hasText = False
    report, before, lists = 0, "", []  # lists: whether each open brace is a list's
    for match in TOKEN.finditer(text):
        token = match[0]
        if match["comment"]:
            cites |= bool(RULE.search(token))
            continue
        if match["string"]:
            hasText = True
        elif token == "(" and before in REPORTS and not report:
            report = text.count("\n", 0, match.start()) + 1
        elif token == "{":
            lists.append(before in (",", "("))
        isEnd = token == ";" or token == "{" and not lists[-1] or token == "}" and not (lists and lists.pop())
        if isEnd:
            if report and hasText and not cites:
                yield report
            cites = hasText = False
            report = 0
        before = token


def main():
    problems = []
    page = PAGE.read_text()
    rules = re.findall(r"^- \*\*(\[L\d+\.\d+\])\*\*", page, flags=re.M)
    for rule in sorted({r for r in rules if rules.count(r) > 1}):
        problems.append(f"docs/language.md: expected one rule {rule}, got two")
    code = citations(("lib", "dialects"), (".cpp", ".h", ".ll", ".yy"))
    tests = citations(("test",), (".attn", ".test", ".mlir", ".cpp"))
    for rule in rules:
        if rule not in code:
            problems.append(f"docs/language.md: expected code that cites {rule}, got none")
        if rule not in tests:
            problems.append(f"docs/language.md: expected a test that cites {rule}, got none")
    mentioned = {rule: {"docs/language.md"} for rule in RULE.findall(page)}
    for where in (code, tests, mentioned):
        for rule, files in sorted(where.items()):
            if rule not in rules:
                problems.append(f"{', '.join(sorted(files))}: expected a rule of docs/language.md, got {rule}")
    for path in sorted((ROOT / "lib" / "Frontend").iterdir()):
        if path.suffix in (".cpp", ".ll", ".yy"):
            for line in uncited(path):
                problems.append(f"{path.relative_to(ROOT)}:{line}: expected the rule of docs/language.md that is broken here, as in // [L1.4]")
    print("\n".join(problems + [f"{len(rules)} rules, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
