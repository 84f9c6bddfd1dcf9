#!/usr/bin/env python3
"""Runs the commands of examples/README.md and compares what they print.

    scripts/tutorial.py FOLDER_OF_THE_TOOLS

A command is an indented line that begins with $; below it stands what it
prints, where ... in a line is any text, and a line of ... alone any lines. Of a
command, -o ... names a file that is thrown away. Every example has a lesson.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "examples" / "README.md"


def commands(text):
    """(line number, command, lines below it) of each command."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("    $ "):
            found.append((number, line[6:], []))
            inside = True
        elif line.startswith("    ") and found and inside:
            found[-1][2].append(line[4:])
        else:
            inside = False
    return found


def pattern(lines):
    """A regular expression for what a command prints."""
    result = ""
    for line in lines:
        if line.strip() == "...":
            result += r"(?:.*\n)*?"
        else:
            words = [r"[^\n]*".join(re.escape(part) for part in word.split("...")) for word in line.strip().split(" ") if word]
            result += r"[ ]*" + r"[ ]+".join(words).replace(r"[ ]+[^\n]*[ ]+", r"[^\n]*") + r"[ ]*\n"
    return re.compile(result)


def lessons(text):
    """What is wrong with the lessons' numbers."""
    titles = re.findall(r"^## (\d\d) .*\n\n`([^`]*)`", text, flags=re.M)
    there = sorted(p.name for p in (ROOT / "examples").glob("*.attn"))
    if [name for _, name in titles] != there:
        yield f"expected a lesson for each of {', '.join(there)}, in this order, got {', '.join(n for _, n in titles)}"
    for number, name in titles:
        if not name.startswith(number + "-"):
            yield f"expected lesson {number} to begin with its file, got {name}"


def main():
    tools = pathlib.Path(sys.argv[1]).resolve()
    text = PAGE.read_text()
    problems = list(lessons(text))
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    found = commands(text)
    with tempfile.TemporaryDirectory() as folder:
        for number, command, lines in found:
            words = [f"{folder}/out.o" if word == "..." else word for word in shlex.split(command)]
            result = subprocess.run(words, cwd=ROOT, env=environment, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            printed = result.stdout
            if not lines or not pattern(lines).fullmatch(printed):
                problems.append(f"{PAGE.relative_to(ROOT)}:{number}: expected other output of '{command}', got\n{printed}")
    print("\n".join(problems + [f"{len(found)} commands, {len(problems)} problems"]))
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main())
