#!/usr/bin/env python3
"""From standard attention to FlashAttention-2 and the guard, by switches over one source.

    bench/gpu/ablation.py compile KERNELS [--target=sm_90]
    bench/gpu/ablation.py run KERNELS [--json=F]

bf16, causal, length 2048, 528 batch x heads, so that a program for each head fills the card. Each step is the one before
with one thing changed. Printed of each: time, bytes asked of the second-level cache as `attentile explain` counts them and
as ncu does, bytes that ncu saw move between the cache and memory, relative error against float64. Only the last steps skip
blocks.
"""
import csv
import json
import pathlib
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "python"), str(pathlib.Path(__file__).parent)]

import cells  # noqa: E402
import commands  # noqa: E402

LENGTH, HEADS, HEAD_SIZES = 2048, 528, (64, 128)
SKIP, GUARD = "tile-skip-masked-blocks", "tile-guard-softmax"
NEITHER = f"--disable-pass={SKIP},{GUARD}"
# Each warp leaves sums for the others' elements once a block of keys: the more keys, the better. As many as fit.
SPLIT_K = ["--split=k", "--tile=m=128,n=192", NEITHER]

# name, flags; `materialize` is the schedule of the source that keeps S and P in memory
STEPS = (
    ("standard", ["--schedule=standard", "--tile=m=128,n=64", NEITHER]),
    ("FlashAttention-1", ["--normalize=each-step", "--programs=head", *SPLIT_K]),
    ("+ late normalisation", ["--programs=head", *SPLIT_K]),
    ("+ program per query tile", SPLIT_K),
    ("+ split-Q", [NEITHER]),
    ("+ block skipping", [f"--disable-pass={GUARD}"]),  # FlashAttention-2
    ("+ guard", []),
)
STANDARD, FIRST, SECOND = 0, 1, 5

SECTOR = 32  # bytes
# What multiprocessors ask for; what arrives at the second-level cache, where neighbours' requests for the same bytes at
# the same time are one; and what moves between that and memory.
COUNTERS = {"l1tex__m_xbar2l1tex_read_bytes.sum": ("ncu_asked_bytes", 1),
            "l1tex__m_l1tex2xbar_write_bytes.sum": ("ncu_asked_bytes", 1),
            "lts__t_sectors_srcunit_tex_op_read.sum": ("ncu_cache_bytes", SECTOR),
            "lts__t_sectors_srcunit_tex_op_write.sum": ("ncu_cache_bytes", SECTOR),
            "dram__bytes_read.sum": ("ncu_memory_bytes", 1),
            "dram__bytes_write.sum": ("ncu_memory_bytes", 1)}


def stem(number, d):
    return f"ablation-{number}-d{d}"


def each_step():
    """(head size, number, name, flags) of all."""
    return [(d, number, name, flags) for d in HEAD_SIZES for number, (name, flags) in enumerate(STEPS)]


def compile_all(arguments):
    arguments.kernels.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).with_name("ablation.attn")
    failed = 0
    for d, number, name, flags in each_step():
        print(f"d={d} {name}", flush=True)
        path = arguments.kernels / f"{stem(number, d)}.cubin"
        failed += not commands.compile_kernel(arguments, source, {"D": d, "T": "bf16"}, flags, path)
        figures = subprocess.run([arguments.compiler, "explain", str(source), f"--bind=D={d},T=bf16",
                                  f"--target={arguments.target}", *flags, "--json",
                                  f"--sizes=B=1,H={HEADS},M={LENGTH},N={LENGTH}"], stdout=subprocess.PIPE, text=True)
        failed += figures.returncode != 0
        path.with_suffix(".explain").write_text(figures.stdout)
    return failed


def make_case(folder, number, d):
    import cases

    import attentile
    loaded = attentile.load(folder / f"{stem(number, d)}.json").prepare()
    return cases.Case(cells.Kernel(cells.CAUSAL, d), 1, HEADS, LENGTH, loaded)


def launch(folder):
    """Launches every step once, for ncu."""
    import torch
    for d, number, _, _ in each_step():
        case = make_case(folder, number, d)
        case.ours()
        torch.cuda.synchronize()
        del case
        torch.cuda.empty_cache()


def count(folder, launches):
    """ncu's counters, one dict a step, in order; `launches` are how many each step has. None after saying why."""
    if not shutil.which("ncu"):
        return print("ncu is not in PATH: nothing is counted")
    done = subprocess.run(["ncu", "--csv", "--metrics", ",".join(COUNTERS), "--kernel-name", "regex:^causal_",
                           "--clock-control", "none", "--print-units", "base", sys.executable, __file__, "launch",
                           str(folder)], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or start is None:
        return print("ncu failed:", "\n".join((lines + done.stderr.splitlines())[-8:]))
    steps = [number for number, launches in enumerate(launches) for _ in range(launches)]
    result = [{} for _ in launches]
    for row in csv.DictReader(lines[start:]):
        if row["Metric Name"] not in COUNTERS:
            continue
        name, bytes_each = COUNTERS[row["Metric Name"]]
        step = result[steps[int(row["ID"])]]
        value = bytes_each * float(row["Metric Value"].replace(",", ""))
        for key in (name, row["Metric Name"]):
            step[key] = step.get(key, 0) + value
    return result


def measure_all(arguments):
    """Times and errors, and what explain counts."""
    import measure
    import torch
    rows = []
    for d, number, name, _ in each_step():
        case = make_case(arguments.kernels, number, d)
        error, _ = measure.check(case)
        time = measure.time_together({"ours": case.ours}, arguments.rounds)["ours"]
        explained = json.loads((arguments.kernels / f"{stem(number, d)}.explain").read_text())["grids"]
        rows.append({"d": d, "step": name, "ms": time, "error": error, "launches": len(explained),
                     "explain_cache_bytes": sum(g["read_bytes"] + g["written_bytes"] for g in explained),
                     "explain_memory_bytes": sum(g["least_bytes"] for g in explained),
                     "tflops": sum(g["flops"] for g in explained) / time / 1e9})
        print(f"d={d:3} {name:26} {time:8.3f} ms, error {error:.1e}", flush=True)
        del case
        torch.cuda.empty_cache()
    return rows


def print_table(rows):
    print(f"{'d':>4} {'step':26} {'ms':>8} {'gain':>6} {'TFLOP/s':>8} | GB asked of the cache: explain, ncu, ratio; "
          "that arrive there | GB of memory: at least, ncu | error")
    before = {}
    for row in rows:
        gain = f"{before[row['d']] / row['ms']:5.2f}x" if row["d"] in before else "      "
        before[row["d"]] = row["ms"]
        asked, arrived, moved = (row.get(f"ncu_{x}_bytes", float("nan")) for x in ("asked", "cache", "memory"))
        print(f"{row['d']:4} {row['step']:26} {row['ms']:8.3f} {gain} {row['tflops']:8.1f} | "
              f"{row['explain_cache_bytes'] / 1e9:7.2f} {asked / 1e9:7.2f} {asked / row['explain_cache_bytes']:5.2f} "
              f"{arrived / 1e9:7.2f} | {row['explain_memory_bytes'] / 1e9:6.2f} {moved / 1e9:7.2f} | {row['error']:.1e}")
    for d in HEAD_SIZES:
        steps = [row for row in rows if row["d"] == d]
        ratio = steps[STANDARD]["ms"] / steps[FIRST]["ms"]
        print(f"d={d}: FlashAttention-1 over standard {ratio:.2f} (published direction and size: at least "
              f"{3 if d == 64 else 2}), FlashAttention-2 over -1 {steps[FIRST]['ms'] / steps[SECOND]['ms']:.2f} (1.5 to 4)")
        if steps[FIRST].get("ncu_memory_bytes"):
            fewer = steps[STANDARD]["ncu_memory_bytes"] / steps[FIRST]["ncu_memory_bytes"]
            print(f"      FlashAttention-1 moves {fewer:.1f} times fewer bytes of memory than standard (at least 5)")


def run(arguments):
    import measure
    print(json.dumps(measure.machine()))
    rows = measure_all(arguments)
    counted = count(arguments.kernels, [row["launches"] for row in rows])
    for row, counters in zip(rows, counted or []):
        row.update(counters)
    print_table(rows)
    wrong = sum(not row["error"] < 2 ** -7 for row in rows)
    if wrong:
        print(f"{wrong} steps are wrong")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": measure.machine(), "rows": rows}, indent=1) + "\n")
    return 1 if wrong else 0


def main():
    parser, group, _ = commands.make_parser(__doc__, rounds=9)
    once = group.add_parser("launch", help="launch every step once, for a profiler")
    once.add_argument("kernels", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.command == "compile":
        return 1 if compile_all(arguments) else 0
    return launch(arguments.kernels) if arguments.command == "launch" else run(arguments)


if __name__ == "__main__":
    sys.exit(main())
