#!/usr/bin/env python3
"""What ptxas says of the examples' kernels: no spills, and the figures that `attentile explain` predicts.

    scripts/resources.py [--compiler attentile] [--draw N [--seed S]]

Compiles every example for every target, type and a set of head sizes, or N of these, drawn so that every example has every
type. Fails, and names the kernel, where ptxas spills registers to memory, where its registers are more than 20 % from the
predicted ones (unless both are at the limit), and where shared memory is not what was predicted.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

EXAMPLES = sorted((pathlib.Path(__file__).resolve().parent.parent / "examples").glob("*.attn"))
TYPES = ("f16", "bf16", "f32")
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90")
HEADS = (8, 16, 32, 64, 80, 96, 128, 192, 256, 512)
SIZES = "B=1,H=2,G=1,M=1024,N=1024,R=64,window=256"
MOST = 255  # registers of a thread
TOLERANCE = 0.2


def draw(count, seed):
    """So many of all cases: rounds over every example and type, each with a target and head size of its own."""
    generator = random.Random(seed)
    pairs = list(itertools.product(EXAMPLES, TYPES))
    rest = []
    while len(rest) < count:
        generator.shuffle(pairs)
        rest += [(example, kind, generator.choice(TARGETS), generator.choice(HEADS)) for example, kind in pairs]
    return list(dict.fromkeys(rest))[:count]


def problems(compiler, case):
    """What is wrong with one case, as (kernel, text)."""
    example, kind, target, head = case
    cache = ",C=i8" if "type C" in example.read_text() else ""
    common = [str(example), f"--bind=D={head},E={head},T={kind}{cache}", f"--target={target}"]
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "kernel.cubin"
        for arguments in (["compile", *common, "-o", str(cubin)], ["explain", *common, "--json", f"--sizes={SIZES}"]):
            done = subprocess.run([compiler, *arguments], capture_output=True, text=True)
            if done.returncode:
                return [(arguments[0], (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0])]
        launches = json.loads(cubin.with_suffix(".json").read_text())["launches"]
    grids = json.loads(done.stdout)["grids"]
    found = []
    for launch, grid in zip(launches, grids, strict=True):
        registers, predicted = launch["registers"], grid["registers"]
        if launch["spill_bytes"]:
            found.append((launch["kernel"], f"expected no spills, got {launch['spill_bytes']} bytes with {registers} "
                                            f"registers, {predicted} predicted, tiles {grid['tiles']}"))
        other = launch.get("otherwise")
        if other and other["spill_bytes"]:
            found.append((other["kernel"], f"expected no spills, got {other['spill_bytes']} bytes"))
        if abs(predicted - registers) > TOLERANCE * registers and min(predicted, registers) < MOST:
            found.append((launch["kernel"], f"expected the predicted {predicted} registers, got {registers}"))
        if launch["shared"] != grid["shared_bytes"]:
            found.append((launch["kernel"], f"expected the predicted {grid['shared_bytes']} bytes of shared memory, got "
                                            f"{launch['shared']}"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="attentile")
    parser.add_argument("--draw", type=int, metavar="N", help="not all cases, but N")
    parser.add_argument("--seed", type=int, help="of what is drawn; default: another every time")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    if arguments.draw:
        seed = random.randrange(10**6) if arguments.seed is None else arguments.seed
        cases = draw(arguments.draw, seed)
        print(f"{len(cases)} cases from seed {seed}", flush=True)
    else:
        cases = list(itertools.product(EXAMPLES, TYPES, TARGETS, HEADS))
        print(f"{len(cases)} cases", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case, found in zip(cases, pool.map(lambda case: problems(arguments.compiler, case), cases)):
            failed += bool(found)
            for kernel, text in found:
                example, kind, target, head = case
                print(f"{example.name} {kind} {target} head size {head}, {kernel}: {text}", flush=True)
    print(f"{failed} of {len(cases)} cases failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
