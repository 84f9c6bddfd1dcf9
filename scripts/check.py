#!/usr/bin/env python3
"""Builds and runs the tests; the last line says how many passed and failed.

    scripts/check.py          what `make check` does: every lit and unit test of
                              the release preset; random programs for two
                              minutes, from a fresh seed or --seed N; under ASan
                              and UBSan the lit tests of the front end, the
                              dialects and the passes, and each example after
                              each pass in a type and head sizes that are drawn;
                              each fuzzer for a minute
    scripts/check.py --all    what `make check-all` does: also every size of every
                              example, 20,000 random programs, all tests under
                              ASan and UBSan, the debug preset, a build without
                              the precompiled header, and 10 million executions
                              of each fuzzer
    scripts/check.py --part sizes --part fuzz
                              some parts of that alone, for a day that is short:
                              release, sizes, random, sanitize, debug, no-pch,
                              fuzz, and what the short form runs under ASan and
                              UBSan, passes
    scripts/check.py --part random --seed 1 --slice 3/10
                              the third tenth of the random programs of a seed
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHORT = ("release", "random", "passes", "fuzz")
LONG = ("release", "sizes", "random", "sanitize", "debug", "no-pch", "fuzz")
FUZZ_RUNS = 10_000_000
RANDOM_PROGRAMS = 20000
# As in test/lit.cfg.py: libLLVM does not unpoison what it allocates.
SANITIZED = os.environ | {"ASAN_OPTIONS": "allow_user_poisoning=0"}
passed = failed = 0


def heading(text):
    print(f"\n== {text} ==", flush=True)


def run(*command, **options):
    """Runs a command; whether it succeeded."""
    return subprocess.run([str(c) for c in command], cwd=ROOT, **options).returncode == 0


def count(ok, what):
    """Counts one test that is not lit's."""
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}", flush=True)
    return ok


def build(preset, *targets):
    """Configures a preset where that was not done, and builds it."""
    start = time.time()
    folder = ROOT / "build" / preset
    ok = (folder / "build.ninja").exists() or run("cmake", "--preset", preset)
    ok = ok and run("ninja", "-C", folder, *targets)
    print(f"build {preset}: {'done' if ok else 'FAILED'} after {time.time() - start:.0f} s", flush=True)
    return ok


def lit(preset):
    """Builds a preset with what its tests need and runs every test."""
    heading(f"tests, {preset}")
    if not build(preset, "all", "attentile-test-depends"):
        count(False, f"the build of preset {preset}")
        return
    run_lit(preset, "check-attentile")


def run_lit(preset, target):
    """Runs the tests of a target and counts them."""
    global passed, failed
    results = ROOT / "build" / preset / "test" / "results.xml"
    results.unlink(missing_ok=True)
    ok = run("ninja", "-C", ROOT / "build" / preset, target)
    ran = bad = 0
    if results.exists():
        for suite in ET.parse(results).getroot().iter("testsuite"):
            ran += int(suite.get("tests")) - int(suite.get("skipped", 0))
            bad += int(suite.get("failures")) + int(suite.get("errors", 0))
    passed += ran - bad
    failed += bad
    if ran == 0:
        count(False, "expected tests to run, got none")
    elif not ok and bad == 0:
        count(False, "lit itself")


def drawn_bindings(source, draw):
    """One of each type's choices, and head sizes, of an example's text."""
    types = re.findall(r"^type (\w+) = ([^;]*);", source, re.M)
    bindings = [f"{name}={draw.choice(choices.split(' | '))}" for name, choices in types]
    bindings += [f"{name}={draw.choice(sizes)}" for name, sizes in (("D", (16, 32, 48)), ("E", (8, 24, 40)))
                 if re.search(rf"\b{name}\]", source)]
    return ",".join(bindings)


def passes(seed):
    """The front end, the dialects and the passes under ASan and UBSan."""
    heading(f"under ASan and UBSan, seed {seed}")
    if not build("sanitize", "attentile-passes-test-depends"):
        count(False, "the build of preset sanitize")
        return
    run_lit("sanitize", "check-attentile-passes")
    draw = random.Random(seed)

    def check(command):
        return subprocess.run([ROOT / "build" / "sanitize" / "bin" / command[0], *command[1:], "--threads=1"],
                              cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=SANITIZED)

    commands = [["attentile", "check", f"examples/{example.name}", "--each-pass", f"--seed={seed}",
                 f"--bind={drawn_bindings(example.read_text(), draw)}"]
                for example in sorted((ROOT / "examples").glob("*.attn"))]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for command, result in zip(commands, pool.map(check, commands)):
            print(" ".join(command), flush=True)
            if not count(result.returncode == 0, " ".join(command)):
                print(result.stdout)


def fuzz(limit):
    """Runs each fuzzer from the corpus of all examples, under ASan and UBSan; one on each core."""
    heading(f"fuzzers, {limit}")
    if not build("sanitize", "attentile-fuzzers"):
        count(False, "the build of the fuzzers")
        return
    folder = ROOT / "build" / "sanitize" / "test" / "fuzz"
    fuzzers = sorted(p for p in folder.glob("fuzz-*") if os.access(p, os.X_OK) and p.is_file())
    if not fuzzers:
        count(False, "expected fuzzers, got none")

    def run_one(fuzzer):
        work = folder / (fuzzer.name + ".corpus")
        work.mkdir(exist_ok=True)
        print(f"{fuzzer.name}: {limit} ...", flush=True)
        with open(folder / (fuzzer.name + ".log"), "w") as out:
            return run(fuzzer, work, ROOT / "examples", ROOT / "test" / "fuzz" / "corpus",
                       f"-dict={ROOT / 'test' / 'fuzz' / 'attn.dict'}", "-entropic=0",
                       limit, "-timeout=10", "-rss_limit_mb=4096", "-max_len=1280",
                       "-print_final_stats=1", f"-artifact_prefix={folder}/{fuzzer.name}-",
                       stdout=out, stderr=subprocess.STDOUT, env=SANITIZED)

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for fuzzer, ok in zip(fuzzers, pool.map(run_one, fuzzers)):
            log = folder / (fuzzer.name + ".log")
            lines = log.read_text(errors="replace").splitlines()
            stats = {l.split()[0]: l.split()[-1] for l in lines if l.startswith("stat::")}
            print(f"{fuzzer.name}: {stats.get('stat::number_of_executed_units:', '?')} runs, "
                  f"{stats.get('stat::average_exec_per_sec:', '?')} a second", flush=True)
            if not count(ok, f"{fuzzer.name}, see {log.relative_to(ROOT)}"):
                print("\n".join(lines[-30:]))


def every_size():
    """The product of types, head sizes and sizes of every example; one on each core."""
    heading("every size of every example")
    if not build("release", "attentile"):
        count(False, "the build of preset release")
        return

    def check(example):
        return subprocess.run([ROOT / "build/release/bin/attentile", "check", example, "--every-size", "--threads=1"],
                              cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    examples = sorted((ROOT / "examples").glob("*.attn"))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for example, result in zip(examples, pool.map(check, examples)):
            print(result.stdout, end="", flush=True)
            count(result.returncode == 0, f"check --every-size {example.name}")


def random_programs(seed, limit):
    """Random programs against the reference, from a seed that is printed; see test/random."""
    heading(f"random programs, seed {seed}")
    if not build("release", "attentile-random"):
        count(False, "the build of attentile-random")
        return
    folder = ROOT / "build" / "release" / "test" / "random"
    ok = run(folder / "attentile-random", "--seed", seed, *limit, "--out", folder)
    count(ok, f"random programs: {(folder / 'attentile-random').relative_to(ROOT)} --seed {seed} {' '.join(limit)}")


def random_limit(arguments):
    """The first program's seed, and how many programs or seconds."""
    # Neighbours' programs are as different as any: runs on one day do not meet.
    seed = arguments.seed or int(time.time()) * 1000
    if not (arguments.all or arguments.part):
        return seed, ["--seconds", "120"]
    number, slices = (int(n) for n in arguments.slice.split("/"))
    first = RANDOM_PROGRAMS * (number - 1) // slices
    return seed + first, ["--count", str(RANDOM_PROGRAMS * number // slices - first)]


def fuzz_limit(arguments):
    """When a fuzzer ends, as its option: after what was asked for, else after what the form of the run is to do."""
    if arguments.fuzz_seconds is None and (arguments.all or arguments.part):
        return f"-runs={FUZZ_RUNS}"
    return f"-max_total_time={60 if arguments.fuzz_seconds is None else arguments.fuzz_seconds}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="the long form")
    parser.add_argument("--part", action="append", choices=[*LONG, "passes"], help="a part of the long form; may be repeated")
    parser.add_argument("--fuzz-seconds", type=int, help="seconds for each fuzzer; default 60, or 10 million executions with --all or --part")
    parser.add_argument("--seed", type=int, help="of the first random program; default: the clock")
    parser.add_argument("--slice", default="1/1", metavar="I/N", help="of the random programs, with --part random")
    arguments = parser.parse_args()
    if arguments.slice != "1/1" and not arguments.seed:
        parser.error("expected --seed beside --slice, so that all slices are of one set")
    start = time.time()
    for part in LONG if arguments.all else arguments.part or SHORT:
        if part in ("release", "sanitize", "debug"):
            lit(part)
        elif part == "sizes":
            every_size()
        elif part == "random":
            random_programs(*random_limit(arguments))
        elif part == "passes":
            passes(arguments.seed or int(time.time()))
        elif part == "no-pch":
            heading("without the precompiled header")
            count(build(part), "the build without the precompiled header")
        else:
            fuzz(fuzz_limit(arguments))
    print(f"\nafter {time.time() - start:.0f} s:")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
