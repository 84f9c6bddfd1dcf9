#!/usr/bin/env python3
"""Masks and scores on a GPU, each beside the plain kernel and beside FlexAttention with the same mask.

    bench/gpu/variants.py compile KERNELS [--target=sm_90]
    bench/gpu/variants.py run KERNELS [--only=NAME] [--tokens=16384] [--documents=12] [--json=F]

bf16, head size 128, 16 heads, 4096 and 16384 keys, 16,384 tokens in all sequences or as asked. `run` first compares every
kernel with its formula in float64 and stops at one that is wrong. Printed of each: milliseconds, blocks that hold a visible
pair (at the kernel's own tile sizes), speed per such block beside the plain kernel's (01-attention; each block by its size),
which takes turns with it, the same beside the plain kernel's by itself ("apart"), and FlexAttention's time over ours. Where
masks have lists of blocks these are found once, before, as FlexAttention's are; "listing" is the speed per block of calls
that find them themselves. Documents have random ends, so many a sequence; the fewer, the more blocks a program has.
A neighbourhood is measured with the image's width and the radius as arguments, and as numbers
that it is compiled with (--bind; "known"), as FlexAttention's are.
"""
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE.parent), str(HERE)]

import cells  # noqa: E402
import commands  # noqa: E402
import example_sizes  # noqa: E402

HEAD_SIZE, LENGTHS = 128, (4096, 16384)
# For the tile sizes alone: blocks that depend on data are not to be counted.
WITHOUT_DATA = "--disable-pass=tile-list-blocks,tile-skip-masked-blocks"
SIZES = {"B": 1, "H": 16, "G": 16, "M": 4096, "N": 4096, "S": 4096, "R": 129, "window": 1024, "width": 64, "radius": 7,
         "seed": 1}
# Speed per block that is wanted of each.
BARS = {cells.PLAIN: 1.0, cells.CAUSAL: 0.9, "03-sliding-window": 0.9, "04-alibi": 0.9, "05-soft-cap": 0.8,
        cells.BIAS: 0.8, "09-prefix-lm": 0.9, "10-packed-documents": 0.9, "11-pair-bias": 0.8, "12-neighbourhood": 0.9,
        "13-block-sparse": 0.9, "14-sigmoid": 0.9, "18-attention-sink": 0.9, "19-dropout": 0.8}


def kernels():
    known = [cells.Kernel("12-neighbourhood", HEAD_SIZE, (("width", math.isqrt(s)), ("radius", 7)), s) for s in LENGTHS]
    return [cells.Kernel(example, HEAD_SIZE) for example in BARS] + known


def compile_all(arguments):
    """Compiles every kernel and notes its tile sizes beside it; how many failed."""
    arguments.kernels.mkdir(parents=True, exist_ok=True)
    failed = 0
    for number, kernel in enumerate(kernels(), 1):
        print(f"[{number}/{len(kernels())}] {kernel.stem}", flush=True)
        path = arguments.kernels / f"{kernel.stem}.cubin"
        failed += not commands.compile_kernel(arguments, kernel.source, kernel.bindings(), [], path)
        names = ",".join(f"{name}={value}" for name, value in kernel.bindings().items())
        sizes = {name: value for name, value in SIZES.items() if name not in dict(kernel.scalars)}
        figures = subprocess.run([arguments.compiler, "explain", str(kernel.source), f"--bind={names}",
                                  f"--target={arguments.target}", "--json", WITHOUT_DATA,
                                  f"--sizes={example_sizes.of(kernel.source, sizes)}"], stdout=subprocess.PIPE, text=True)
        failed += figures.returncode != 0
        path.with_suffix(".explain").write_text(figures.stdout)
    return failed


def print_table(rows):
    """Each row as it comes, with its ratio per block to the plain kernel of the same length; all rows."""
    print(f"{'kernel':22} {'s':>6} {'ms':>8} {'blocks':>8} {'per block':>10} {'bar':>5} {'apart':>6} {'listing':>8} "
          f"{'Flex/ours':>10}")
    apart, done = {}, []
    for row in rows:
        ms, plain = row["ms"].get("listed", row["ms"]["ours"]), row["plain_pairs"] / row["ms"]["plain"]
        speed = row["pairs"] / ms
        row["of_plain_apart"] = speed / apart.setdefault(row["s"], speed)  # the plain kernel comes first
        row["of_plain"] = speed / plain
        row["of_plain_listing"] = row["pairs"] / row["ms"]["ours"] / plain
        listing = f"{row['of_plain_listing']:8.2f}" if "listed" in row["ms"] else " " * 8
        flex = row["ms"].get("flex", float("nan"))
        name = row["kernel"] + (" known" if row["scalars"] else "")
        print(f"{name:22} {row['s']:6} {ms:8.3f} {row['blocks']:8} {row['of_plain']:10.3f} "
              f"{BARS[row['kernel']]:5.2f} {row['of_plain_apart']:6.2f} {listing} {flex / ms:10.2f}"
              f"{'  below' if row['of_plain'] < BARS[row['kernel']] else ''}", flush=True)
        done.append(row)
    print(f"{sum(row['of_plain'] < BARS[row['kernel']] for row in done)} of {len(done)} below their bar")
    return done


def run(arguments):
    import measure  # needs PyTorch
    import variant_cases
    chosen = [k for k in kernels() if k.example == cells.PLAIN or arguments.only in k.stem]
    machine = measure.machine()
    print(json.dumps(machine))
    wrong = measure.check_all(arguments.kernels, chosen)
    if wrong:
        print(f"{wrong} kernels are wrong: nothing is timed")
        return 1
    rows = print_table(variant_cases.time_all(arguments.kernels, chosen, LENGTHS, arguments.tokens, arguments.rounds))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine, "documents": arguments.documents, "rows": rows},
                                             indent=1) + "\n")
    return 0


def main():
    parser, _, command = commands.make_parser(__doc__, rounds=15)
    command.add_argument("--only", default="", help="part of a kernel's name; the plain kernel is always measured")
    command.add_argument("--tokens", type=int, default=cells.TOKENS,
                         help="of all sequences; a multiple of %d (default: %%(default)s)" % max(LENGTHS))
    command.add_argument("--documents", type=int, default=cells.DOCUMENTS,
                         help="packed into a sequence (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.command == "run" and arguments.documents < 1:
        parser.error(f"expected --documents to be 1 or more, got {arguments.documents}")
    if arguments.command == "run" and (arguments.tokens <= 0 or arguments.tokens % max(LENGTHS)):
        parser.error(f"expected --tokens to be a multiple of {max(LENGTHS)}, got {arguments.tokens}")
    if arguments.command == "compile":
        return 1 if compile_all(arguments) else 0
    cells.DOCUMENTS = arguments.documents
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
