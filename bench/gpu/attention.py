#!/usr/bin/env python3
"""Forward attention on a GPU, beside PyTorch's FlashAttention-2 and cuDNN. See README.md."""
import json
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "python"), str(pathlib.Path(__file__).parent)]

import cells  # noqa: E402
import commands  # noqa: E402


def compile_all(arguments):
    """Compiles every kernel; how many failed."""
    arguments.kernels.mkdir(parents=True, exist_ok=True)
    failed = 0
    kernels = cells.all_kernels()
    for number, kernel in enumerate(kernels, 1):
        print(f"[{number}/{len(kernels)}] {kernel.stem}", flush=True)
        failed += not commands.compile_kernel(arguments, kernel.source, kernel.bindings(), [],
                                              arguments.kernels / f"{kernel.stem}.cubin")
    return failed


def print_table(rows):
    print(f"{'kernel':20} {'d':>4} {'s':>6} {'ours':>7} {'FA2':>7} {'cuDNN':>7}  ours/FA2  ours/cuDNN   (TFLOP/s)")
    for row in rows:
        peers = [row.get("fa2"), row.get("cudnn")]
        figures = " ".join(f"{x:7.1f}" if x else "      -" for x in peers)
        ratios = "  ".join(f"{row['ours'] / x:8.2f}" if x else "       -" for x in peers)
        print(f"{row['kernel']:20} {row['d']:4} {row['s']:6} {row['ours']:7.1f} {figures}  {ratios}")


def summarise(rows):
    """What the issue's bars are about: the worst cell and the geometric mean."""
    import math
    for peer in ("fa2", "cudnn"):
        ratios = [r["ours"] / r[peer] for r in rows if r.get(peer)]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            below = sum(x < 0.98 for x in ratios)
            print(f"against {peer}: {len(ratios)} cells, geometric mean {mean:.3f}, worst {min(ratios):.3f}, "
                  f"{below} below 0.98")


def plot(rows, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    kinds = [cells.PLAIN, cells.CAUSAL]
    figure, axes = plt.subplots(len(kinds), len(cells.HEAD_SIZES), figsize=(13, 7), sharey="row", squeeze=False)
    for i, kind in enumerate(kinds):
        for j, d in enumerate(cells.HEAD_SIZES):
            own = [r for r in rows if r["kernel"] == kind and r["d"] == d]
            for name, label in (("ours", "Attentile"), ("fa2", "FlashAttention-2"), ("cudnn", "cuDNN")):
                points = [(r["s"], r[name]) for r in own if r.get(name)]
                if points:
                    axes[i][j].plot(*zip(*points), marker="o", label=label)
            axes[i][j].set(xscale="log", title=f"{kind[3:]}, head size {d}", xlabel="length", ylabel="TFLOP/s", ylim=0)
            axes[i][j].set_xticks(cells.LENGTHS, [str(s) for s in cells.LENGTHS], minor=False)
            axes[i][j].minorticks_off()
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def run(arguments):
    import measure  # needs PyTorch
    folder = arguments.kernels
    machine = measure.machine()
    print(json.dumps(machine))
    kernels = [k for k in cells.all_kernels() if arguments.only in k.stem]
    wrong = measure.check_all(folder, kernels) + measure.check_huge(folder, kernels)
    if wrong:
        print(f"{wrong} kernels are wrong: nothing is timed")
        return 1
    if arguments.check_only:
        return 0
    rows = measure.time_all(folder, kernels, arguments.rounds)
    print_table(rows)
    summarise([r for r in rows if r["kernel"] in (cells.PLAIN, cells.CAUSAL)])
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    if arguments.plot:
        plot(rows, arguments.plot)
    return 0


def main():
    parser, _, command = commands.make_parser(__doc__, rounds=15)
    command.add_argument("--only", default="", help="part of a kernel's name")
    command.add_argument("--check-only", action="store_true")
    command.add_argument("--plot", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.command == "compile":
        return 1 if compile_all(arguments) else 0
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
