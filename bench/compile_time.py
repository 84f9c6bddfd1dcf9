#!/usr/bin/env python3
"""How long it takes from source to code: of every example, the median of several compilations.

    bench/compile_time.py [--compiler build/release/bin/attentile] [--target sm_90] [--head-size 128] [--rounds 10] [EXAMPLE ...]

`native` is what `attentile run` says it took from the source to machine code in memory, `cubin` the time of a whole
`attentile compile` for the target, ptxas included. The first compilation of each is not counted. Nothing else should run.
"""
import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Small ones: the run is not what is timed. Names that a file lacks are left out, as they would be warned of.
SIZES = {"B": 1, "H": 2, "G": 1, "M": 64, "N": 64, "S": 64, "R": 64}
SCALARS = {"window": 32}


def named_in(text, names):
    """What of these the source has."""
    return {name: size for name, size in names.items() if re.search(rf"\b{name}\b", text)}


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def native_seconds(compiler, example, heads):
    bound = named_in(example.read_text(), {**SIZES, **SCALARS, **heads})
    names = ",".join(f"{name}={size}" for name, size in (bound | {"T": "f32"}).items())
    printed = run([compiler, "run", example, "--target=cpu", f"--bind={names}"])
    found = re.search(r"compiled in ([0-9.]+) (ms|s)\b", printed)
    if not found:
        sys.exit(f"expected 'compiled in ...' of {example.name}, got:\n{printed}")
    return float(found[1]) / (1000 if found[2] == "ms" else 1)


def cubin_seconds(compiler, example, heads, target, folder):
    names = ",".join(f"{name}={size}" for name, size in (heads | {"T": "bf16"}).items())
    start = time.perf_counter()
    run([compiler, "compile", example, f"--bind={names}", f"--target={target}", "-o", folder / "kernel.cubin"])
    return time.perf_counter() - start


def median(rounds, measure):
    measure()
    return statistics.median(measure() for _ in range(rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="*", type=pathlib.Path, metavar="EXAMPLE")
    parser.add_argument("--compiler", default=ROOT / "build/release/bin/attentile")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--head-size", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    has_ptxas = shutil.which("ptxas")
    if not has_ptxas:
        print("no ptxas in PATH: cubins are not timed")
    print(f"{'seconds, head size ' + str(arguments.head_size):28} {'native':>8} {'cubin':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for example in arguments.examples or sorted((ROOT / "examples").glob("*.attn")):
            # Latent attention has a rotary part; an R elsewhere is no head size.
            heads = named_in(example.read_text(), {"D": arguments.head_size, "E": arguments.head_size})
            if "Kr:" in example.read_text():
                heads["R"] = 64
            if "type C" in example.read_text():
                heads["C"] = "i8"
            native = median(arguments.rounds, lambda: native_seconds(arguments.compiler, example, heads))
            line = f"{example.name:28} {native:8.2f}"
            if has_ptxas:
                cubin = median(arguments.rounds, lambda: cubin_seconds(arguments.compiler, example, heads,
                                                                       arguments.target, pathlib.Path(folder)))
                line += f" {cubin:8.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
