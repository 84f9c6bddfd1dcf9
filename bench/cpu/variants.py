#!/usr/bin/env python3
"""CPU speed beside PyTorch's scaled_dot_product_attention, and of masks and scores beside the plain kernel.

    bench/cpu/variants.py --compiler=build/release/bin/attentile [--threads=N] [--only=sdpa|variants] [--json=F]

Needs PyTorch and a C compiler (`cc`). f32, B = 1, H = 8. Each kernel is compiled to an object file and its C header, called
on the same threads and the same tensors as PyTorch, in turns. Results are compared first with float64.

sdpa: causal and not, head sizes 64 and 128, 512 to 4096 keys: PyTorch's time over ours.
variants: 4096 keys; speed per block that holds a visible pair (at the kernel's own tile sizes) beside the plain kernel's,
which takes turns with each, with itself too: that row shows the noise. Ratios are medians over the turns.
"""
import argparse
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch.nn.functional import scaled_dot_product_attention

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import example_sizes  # noqa: E402

HEADS, WINDOW = 8, 256
HEAD_SIZES, LENGTHS, LONG = (64, 128), (512, 1024, 2048, 4096), 4096
PLAIN, CAUSAL = "01-attention", "02-causal"
# Speed per block that is wanted of each, by head size.
BARS = {CAUSAL: (.85, .85), "03-sliding-window": (.85, .85), "04-alibi": (.85, .85), "09-prefix-lm": (.85, .85),
        "10-packed-documents": (.85, .85), "05-soft-cap": (.65, .8), "06-learned-bias": (.65, .8),
        "11-pair-bias": (.65, .8), "19-dropout": (.65, .8)}
SIZES = {"B": 1, "H": HEADS, "G": HEADS, "M": LONG, "N": LONG, "S": LONG, "R": 129, "window": WINDOW, "seed": 1}

WORK = """
#include <stdatomic.h>
#include "kernel.h"
static _Atomic int64_t next;
int bench_prepare(int64_t *args, %(parameters)s) { next = 0; return %(name)s_prepare(args, %(names)s); }
int64_t bench_scratch_bytes(void) { return %(name)s_scratch_bytes(); }
int bench_kernels(void) { return %(upper)s_KERNELS; }
int bench_args(void) { return %(upper)s_ARGS; }
void bench_restart(void) { next = 0; }
void bench_work(const int64_t *args, int kernel, void *scratch) {
  int64_t cells = %(name)s_cells(args, kernel), i;
  while ((i = next++) < cells) %(name)s_range(args, kernel, i, i + 1, scratch);
}
"""


class Kernel:
    """An example compiled for this processor; takes cells of its grids in turn from all threads."""

    def __init__(self, compiler, folder, example, d):
        path = folder / f"{example}-{d}"
        path.mkdir()
        source, bind = ROOT / "examples" / f"{example}.attn", f"--bind=D={d},E={d},T=f32"
        if "type TB" in source.read_text():
            bind += ",TB=f32"
        subprocess.run([compiler, "compile", source, bind, "--target=cpu", "--cpu=native", "-o", path / "kernel.o"],
                       check=True)
        # For the tile sizes alone: blocks that depend on data are not to be counted.
        explained = subprocess.run([compiler, "explain", source, bind, "--target=cpu", "--json",
                                    f"--sizes={example_sizes.of(source, SIZES)}",
                                    "--disable-pass=tile-list-blocks,tile-skip-masked-blocks"], check=True,
                                   stdout=subprocess.PIPE)
        tiles = json.loads(explained.stdout)["grids"][-1]["tiles"]
        self.tiles = [size for axis, size in tiles.items() if axis not in ("d", "e")]
        header = (path / "kernel.h").read_text()
        name, parameters = re.search(r"static inline int (\w+)_prepare\(int64_t \*\w+, ([^)]*)\)", header).groups()
        self.parameters = [p.split() for p in parameters.split(", ")]
        names = ", ".join(p[-1].lstrip("*") for p in self.parameters)
        (path / "work.c").write_text(WORK % {"name": name, "upper": name.upper(), "parameters": parameters,
                                             "names": names})
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", path, path / "work.c", path / "kernel.o", "-lm", "-o",
                        path / "kernel.so"], check=True)
        self.library = ctypes.CDLL(path / "kernel.so")
        self.library.bench_scratch_bytes.restype = ctypes.c_int64

    def prepare(self, threads, values):
        """A function that runs the kernel on these tensors and scalars, by name."""
        arguments, self.kept = [], []
        for kind, name in self.parameters:
            value = values.get(name.lstrip("*"))
            if isinstance(value, torch.Tensor):
                rank = value.dim()

                class Tensor(ctypes.Structure):
                    _fields_ = [("data", ctypes.c_void_p), ("sizes", ctypes.c_int64 * rank),
                                ("strides", ctypes.c_int64 * rank)]
                arguments.append(Tensor(value.data_ptr(), tuple(value.shape), value.stride()))
            elif kind == "void":
                self.kept.append(ctypes.create_string_buffer(values["workspace_bytes"]))
                arguments.append(ctypes.cast(self.kept[-1], ctypes.c_void_p))
            else:
                arguments.append({"float": ctypes.c_float, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64}[kind](
                    value))
        args = (ctypes.c_int64 * self.library.bench_args())()
        code = self.library.bench_prepare(args, *arguments)
        if code:
            raise RuntimeError(f"expected arguments that fit, got code {code} (see the header)")
        scratch = [ctypes.create_string_buffer(max(1, self.library.bench_scratch_bytes())) for _ in range(threads)]
        pool = concurrent.futures.ThreadPoolExecutor(threads)

        def run():
            for kernel in range(self.library.bench_kernels()):
                self.library.bench_restart()
                list(pool.map(lambda s: self.library.bench_work(args, kernel, s), scratch))
        self.kept += [args, pool, values]
        return run


def inputs(example, d, s):
    """Tensors and scalars by name, and which keys (columns) the queries (rows) see."""
    generator = torch.Generator().manual_seed(s + d)

    def draw(*sizes):
        return torch.randn(*sizes, generator=generator)
    m, n = torch.arange(s)[:, None], torch.arange(s)[None, :]
    values = {"Q": draw(1, HEADS, s, d), "K": draw(1, HEADS, s, d), "V": draw(1, HEADS, s, d), "scale": d ** -0.5,
              "O": torch.full((1, HEADS, s, d), math.nan), "L": torch.full((1, HEADS, s), math.nan),
              "workspace_bytes": 1 << 24}
    visible = n <= m
    if example in (PLAIN, "06-learned-bias", "11-pair-bias"):
        visible = torch.ones(s, s, dtype=torch.bool)
    if example == "03-sliding-window":
        values["window"] = WINDOW
        visible &= m - n < WINDOW
    elif example == "04-alibi":
        values["slope"] = 2.0 ** -(8 * torch.arange(1, HEADS + 1) / HEADS)
    elif example == "05-soft-cap":
        values["cap"] = 30.0
    elif example == "06-learned-bias":
        values["table"] = draw(HEADS, 129)
    elif example == "09-prefix-lm":
        values["length"] = torch.tensor([s // 4], dtype=torch.int32)
        visible |= n < s // 4
    elif example == "10-packed-documents":
        ends = torch.randint(0, s, (7,), generator=generator).sort().values
        doc = torch.searchsorted(ends, torch.arange(s), right=True)
        values["doc"] = doc.int()[None]
        visible &= doc[:, None] == doc[None, :]
    elif example == "11-pair-bias":
        values["bias"] = draw(HEADS, s, s)
    elif example == "19-dropout":
        values.update(rate=0.0, seed=1)  # 0 to be compared; the bits are the reference's business
    return values, visible


def expected(example, values, visible, h, rows):
    """The formula in float64 for some rows of one head."""
    q, k, v = values["Q"][0, h, rows].double(), values["K"][0, h].double(), values["V"][0, h].double()
    distance = torch.arange(len(k))[None, :] - rows[:, None]
    scores = q @ k.T * values["scale"]
    if example == "04-alibi":
        scores += values["slope"][h].double() * distance
    elif example == "05-soft-cap":
        scores = 30 * torch.tanh(scores / 30)
    elif example == "06-learned-bias":
        scores += values["table"][h].double()[(distance + 64).clamp(0, 128)]
    elif example == "11-pair-bias":
        scores += values["bias"][h, rows].double()
    return torch.softmax(scores.masked_fill(~visible[rows], -math.inf), -1) @ v


def check(example, values, visible):
    rows = torch.arange(0, len(visible), max(1, len(visible) // 61))
    for h in (0, HEADS - 1):
        error = (values["O"][0, h, rows].double() - expected(example, values, visible, h, rows)).norm(dim=-1).max()
        if not error < 1e-4:
            sys.exit(f"{example} is wrong: error {error:.1e} of a row; nothing is timed")


def turns(functions, rounds):
    """Times of functions that take turns: each runs twice, the second is timed. Threads of the one before spin for a
    while when they are done, on the cores that the next needs: each starts after a pause."""
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            time.sleep(0.05)
            function()
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return times


def ratio(times, over, under):
    """The median of the ratios of each turn: a machine's speed may change from one turn to the next."""
    return statistics.median(a / b for a, b in zip(times[over], times[under]))


def sdpa(options, folder):
    rows = []
    print(f"{'kernel':14} {'d':>4} {'s':>5} {'ours, ms':>9} {'GFLOP/s':>8} {'PyTorch over ours':>18}")
    for example in (PLAIN, CAUSAL):
        for d in HEAD_SIZES:
            kernel = Kernel(options.compiler, folder, example, d)
            for s in LENGTHS:
                values, visible = inputs(example, d, s)
                ours = kernel.prepare(options.threads, values)
                ours()
                check(example, values, visible)
                peer = lambda: scaled_dot_product_attention(  # noqa: E731
                    values["Q"], values["K"], values["V"], is_causal=example == CAUSAL)
                times = turns({"ours": ours, "pytorch": peer}, options.rounds)
                seconds = {name: statistics.median(values) for name, values in times.items()}
                flops = 4 * HEADS * s * s * d / (2 if example == CAUSAL else 1)
                rows.append({"kernel": example, "d": d, "s": s, "ratio": ratio(times, "pytorch", "ours")} | seconds)
                print(f"{example:14} {d:4} {s:5} {seconds['ours'] * 1e3:9.2f} {flops / seconds['ours'] / 1e9:8.1f} "
                      f"{rows[-1]['ratio']:18.2f}", flush=True)
    ratios = [row["ratio"] for row in rows]
    print(f"worst {min(ratios):.2f}, geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")
    return rows


def variants(options, folder):
    rows = []
    print(f"{'kernel':20} {'d':>4} {'ms':>8} {'blocks':>7} {'of plain':>9} {'per block':>10} {'bar':>5}")
    for which, d in enumerate(HEAD_SIZES):
        plain = None
        for example in (PLAIN, *BARS):
            kernel = Kernel(options.compiler, folder, example, d)
            values, visible = inputs(example, d, LONG)
            ours = kernel.prepare(options.threads, values)
            ours()
            check(example, values, visible)
            if example == "19-dropout":
                values["rate"] = 0.1
                ours = kernel.prepare(options.threads, values)
            tm, tn = kernel.tiles
            padded = torch.nn.functional.pad(visible, (0, -LONG % tn, 0, -LONG % tm))
            blocks = int(padded.reshape(-(-LONG // tm), tm, -(-LONG // tn), tn).any(3).any(1).sum())
            pairs = blocks * tm * tn
            plain = plain or (ours, pairs)
            times = turns({"plain": plain[0], "ours": ours}, options.rounds)
            of_plain, bar = ratio(times, "plain", "ours"), BARS.get(example, (1, 1))[which]
            per_block, seconds = of_plain * pairs / plain[1], statistics.median(times["ours"])
            print(f"{example:20} {d:4} {seconds * 1e3:8.1f} {blocks:7} {of_plain:9.2f} {per_block:10.2f} {bar:5.2f}"
                  f"{'' if per_block >= bar or example == PLAIN else '  below'}", flush=True)
            rows.append({"kernel": example, "d": d, "s": LONG, "seconds": seconds, "blocks": blocks,
                         "per_block": per_block, "bar": bar})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="attentile")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=("sdpa", "variants"))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    version = subprocess.run([options.compiler, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    print(f"{version.strip()}\n  PyTorch {torch.__version__}, {options.threads} threads")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for part in (sdpa, variants):
            if options.only in (None, part.__name__):
                (pathlib.Path(folder) / part.__name__).mkdir()
                rows += part(options, pathlib.Path(folder) / part.__name__)
    if options.json:
        options.json.write_text(json.dumps({"version": version, "threads": options.threads, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
