#!/usr/bin/env python3
"""What ptxas says of the examples' kernels: no spills, and the figures that `attentile explain` predicts.

    scripts/resources.py [--compiler attentile] [--shipped | --draw N [--seed S]]

Compiles every example for every target, type and a set of head sizes; or N of these, drawn so that every example has every
type; or what must always hold, every example in bf16 at head size 128 and a row of the table of tiles each, for every
target. Fails, and names the kernel, where ptxas spills registers to memory,
where its registers are more than 20 % from the predicted ones (unless both are at the limit), and where shared memory is
not what was predicted. What is known to fail is listed below with its reason, and fails when it does so no more.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import example_sizes  # noqa: E402

EXAMPLES = sorted((ROOT / "examples").glob("*.attn"))
TYPES = ("f16", "bf16", "f32")
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90")
HEADS = (8, 16, 32, 64, 80, 96, 128, 192, 256, 512)
SIZES = {"B": 1, "H": 2, "G": 1, "M": 1024, "N": 1024, "S": 1024, "R": 64, "window": 256, "width": 32, "radius": 3}
DATA = "depends on the elements of"  # what explain cannot evaluate
MOST = 255  # registers of a thread
TOLERANCE = 0.2
# A head size for each row of lib/Loops/GpuTileTable.cpp, which 02-causal is compiled with.
ROWS = [("bf16", 64), ("bf16", 128), ("bf16", 256), ("bf16", 512), ("f32", 64), ("f32", 128), ("f32", 256)]

# Example (and type, head size, target or part of the kernel's name or of the message, where not all) and why it fails.
KNOWN = [({"example": "10-packed-documents", "target": "sm_90", "kernel": "blocks_classes", "says": "84 registers"},
          "ptxas takes 64 to 86 registers, by target, of one form of the code")]


def draw(count, seed):
    """So many of all cases: rounds over every example and type, each with a target and head size of its own."""
    generator = random.Random(seed)
    pairs = list(itertools.product(EXAMPLES, TYPES))
    rest = []
    while len(rest) < count:
        generator.shuffle(pairs)
        rest += [(example, kind, generator.choice(TARGETS), generator.choice(HEADS)) for example, kind in pairs]
    return list(dict.fromkeys(rest))[:count]


def shipped():
    """What must always hold."""
    plain = next(example for example in EXAMPLES if example.stem == "02-causal")
    cases = [(example, "bf16", target, 128) for target in TARGETS for example in EXAMPLES]
    return cases + [(plain, kind, target, head) for target in TARGETS for kind, head in ROWS if (kind, head) != ("bf16", 128)]


def binding(example, kind, head):
    """Sizes of the head that the example has; a further one, of a part of it, is 64."""
    text = example.read_text()
    names = {name: head for name in "DE" if re.search(rf"\b{name}\b", text)}
    if re.search(r"\w+r: T\[.*\bR\]", text):
        names["R"] = 64
    if "type C" in text:  # of a cache
        names["C"] = "i8"
    return ",".join(f"{name}={value}" for name, value in (names | {"T": kind}).items())


def known(case, kernel, text):
    """The number of the reason for which this is known to fail, or None."""
    example, kind, target, head = case
    facts = {"example": example.stem, "type": kind, "target": target, "head": head}
    for number, (conditions, _) in enumerate(KNOWN):
        if all(facts[name] == value for name, value in conditions.items() if name in facts) and (
                conditions.get("says", "") in text and conditions.get("kernel", "") in kernel):
            return number
    return None


def problems(compiler, case):
    """What is wrong with one case, as (kernel, text)."""
    example, kind, target, head = case
    common = [str(example), f"--bind={binding(example, kind, head)}", f"--target={target}"]
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "kernel.cubin"
        done = subprocess.run([compiler, "compile", *common, "-o", str(cubin)], capture_output=True, text=True)
        if " in tiles(" in example.read_text() and "expected tiles that fit" in done.stderr:
            return []  # the kernel says its tiles' size, and is told that it is none for this head size
        if done.returncode:
            return [("compile", (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0])]
        launches = json.loads(cubin.with_suffix(".json").read_text())["launches"]
    done = subprocess.run([compiler, "explain", *common, "--json", f"--sizes={example_sizes.of(example, SIZES)}"],
                          capture_output=True, text=True)
    if done.returncode and DATA not in done.stderr:
        return [("explain", (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0])]
    found = []
    for launch in launches:
        for form in filter(None, (launch, launch.get("otherwise"))):
            if form["spill_bytes"]:
                found.append((form["kernel"], f"expected no spills, got {form['spill_bytes']} bytes with {form['registers']} "
                                              "registers"))
    if done.returncode:  # no figures without the tensors
        return found
    for launch, grid in zip(launches, json.loads(done.stdout)["grids"], strict=True):
        registers, predicted = launch["registers"], grid["registers"]
        if abs(predicted - registers) > TOLERANCE * registers and min(predicted, registers) < MOST:
            found.append((launch["kernel"], f"expected the predicted {predicted} registers, got {registers}, tiles "
                                            f"{grid['tiles']}"))
        if launch["shared"] != grid["shared_bytes"]:
            found.append((launch["kernel"], f"expected the predicted {grid['shared_bytes']} bytes of shared memory, got "
                                            f"{launch['shared']}"))
    return found


class Report:
    """Counts cases and prints what is wrong with them."""

    def __init__(self):
        self.cases, self.failed, self.excused = 0, 0, set()

    def add(self, case, found):
        example, kind, target, head = case
        self.cases += 1
        news = []
        for kernel, text in found:
            entry = known(case, kernel, text)
            if entry is None:
                news.append((kernel, text))
            else:
                self.excused.add(entry)
        self.failed += bool(news)
        for kernel, text in news:
            print(f"{example.name} {kind} {target} head size {head}, {kernel}: {text}", flush=True)

    def finish(self, complete):
        """Prints the sum; the exit code. `complete`: what is known must have been seen."""
        stale = [entry for entry in range(len(KNOWN)) if complete and entry not in self.excused]
        for entry in stale:
            print(f"no longer fails, take it from KNOWN: {KNOWN[entry][0]}")
        print(f"{self.failed} of {self.cases} cases failed; {len(self.excused)} known reasons met")
        return 1 if self.failed or stale else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="attentile")
    parser.add_argument("--draw", type=int, metavar="N", help="not all cases, but N")
    parser.add_argument("--shipped", action="store_true", help="what must always hold")
    parser.add_argument("--seed", type=int, help="of what is drawn; default: another every time")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    if arguments.shipped:
        cases = shipped()
        print(f"{len(cases)} cases", flush=True)
    elif arguments.draw:
        seed = random.randrange(10**6) if arguments.seed is None else arguments.seed
        cases = draw(arguments.draw, seed)
        print(f"{len(cases)} cases from seed {seed}", flush=True)
    else:
        cases = list(itertools.product(EXAMPLES, TYPES, TARGETS, HEADS))
        print(f"{len(cases)} cases", flush=True)
    report = Report()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case, found in zip(cases, pool.map(lambda case: problems(arguments.compiler, case), cases)):
            report.add(case, found)
    return report.finish(complete=arguments.shipped)


if __name__ == "__main__":
    sys.exit(main())
