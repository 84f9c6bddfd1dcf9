#!/usr/bin/env python3
"""Builds and runs the tests; the last line says how many passed and failed.

    scripts/check.py          what `make check` does: every lit and unit test of
                              the release preset, random programs for two
                              minutes, from a fresh seed or --seed N, and each
                              fuzzer for a minute
    scripts/check.py --all    what `make check-all` does: also every size of every
                              example, 20,000 random programs, all tests under
                              ASan and UBSan, the debug preset, a build without
                              the precompiled header, and each fuzzer for ten
                              minutes
    scripts/check.py --part sizes --part fuzz
                              some parts of that alone, for a day that is short:
                              release, sizes, random, sanitize, debug, no-pch, fuzz
    scripts/check.py --part random --seed 1 --slice 3/10
                              the third tenth of the random programs of a seed
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHORT = ("release", "random", "fuzz")
LONG = ("release", "sizes", "random", "sanitize", "debug", "no-pch", "fuzz")
RANDOM_PROGRAMS = 20000
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
    global passed, failed
    heading(f"tests, {preset}")
    if not build(preset, "all", "attentile-test-depends"):
        count(False, f"the build of preset {preset}")
        return
    results = ROOT / "build" / preset / "test" / "results.xml"
    results.unlink(missing_ok=True)
    ok = run("ninja", "-C", ROOT / "build" / preset, "check-attentile")
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


def fuzz(seconds):
    """Runs each fuzzer from the corpus of all examples, under ASan and UBSan."""
    heading(f"fuzzers, {seconds} s each")
    if not build("sanitize", "attentile-fuzzers"):
        count(False, "the build of the fuzzers")
        return
    folder = ROOT / "build" / "sanitize" / "test" / "fuzz"
    fuzzers = sorted(p for p in folder.glob("fuzz-*") if os.access(p, os.X_OK) and p.is_file())
    if not fuzzers:
        count(False, "expected fuzzers, got none")
    for fuzzer in fuzzers:
        work = folder / (fuzzer.name + ".corpus")
        work.mkdir(exist_ok=True)
        log = folder / (fuzzer.name + ".log")
        print(f"{fuzzer.name}: {seconds} s ...", flush=True)
        # As in test/lit.cfg.py: libLLVM does not unpoison what it allocates.
        environment = os.environ | {"ASAN_OPTIONS": "allow_user_poisoning=0"}
        with open(log, "w") as out:
            ok = run(fuzzer, work, ROOT / "examples", ROOT / "test" / "fuzz" / "corpus",
                     f"-dict={ROOT / 'test' / 'fuzz' / 'attn.dict'}", "-entropic=0",
                     f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=4096", "-max_len=1280",
                     "-print_final_stats=1", f"-artifact_prefix={folder}/",
                     stdout=out, stderr=subprocess.STDOUT, env=environment)
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


def fuzz_seconds(arguments):
    """What was asked for, else what the form of the run is meant to take."""
    if arguments.fuzz_seconds is not None:
        return arguments.fuzz_seconds
    return 600 if arguments.all or arguments.part else 60


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="the long form")
    parser.add_argument("--part", action="append", choices=LONG, help="a part of the long form; may be repeated")
    parser.add_argument("--fuzz-seconds", type=int, help="seconds for each fuzzer (60; 600 with --all)")
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
        elif part == "no-pch":
            heading("without the precompiled header")
            count(build(part), "the build without the precompiled header")
        else:
            fuzz(fuzz_seconds(arguments))
    print(f"\nafter {time.time() - start:.0f} s:")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
