#!/usr/bin/env python3
"""From standard attention to FlashAttention-2 and the guard, by switches over one source.

    bench/gpu/ablation.py compile KERNELS [--target=sm_90]
    bench/gpu/ablation.py run KERNELS [--json=F]

bf16, causal, length 2048, 528 batch x heads, so that a program for each head fills the card. Each step is the one before
with one thing changed. Printed of each: time, bytes asked of the cache as `attentile explain` counts them, relative error
against float64. Only the last steps skip blocks.
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "python"), str(pathlib.Path(__file__).parent)]

import cells  # noqa: E402

LENGTH, HEADS = 2048, 528
NO_SKIP, NO_GUARD = "tile-skip-masked-blocks", "tile-guard-softmax"
FA1 = ["--normalize=each-step", "--programs=head", "--split=k"]

# name, flags; `materialize` is the schedule of the source that keeps S and P in memory
STEPS = (
    ("standard", ["--schedule=standard", f"--disable-pass={NO_SKIP},{NO_GUARD}"]),
    ("FlashAttention-1", [*FA1, f"--disable-pass={NO_SKIP},{NO_GUARD}"]),
    ("+ late normalisation", [*FA1[1:], f"--disable-pass={NO_SKIP},{NO_GUARD}"]),
    ("+ program per query tile", [*FA1[2:], f"--disable-pass={NO_SKIP},{NO_GUARD}"]),
    ("+ split-Q", [f"--disable-pass={NO_SKIP},{NO_GUARD}"]),
    ("+ block skipping", [f"--disable-pass={NO_GUARD}"]),
    ("+ guard", []),
)


def stem(number, d):
    return f"ablation-{number}-d{d}"


def compile_all(folder, target, compiler):
    folder.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).with_name("ablation.attn")
    failed = 0
    for d in (64, 128):
        for number, (name, flags) in enumerate(STEPS):
            print(f"d={d} {name}", flush=True)
            common = [str(source), f"--bind=D={d},T=bf16", f"--target={target}", *flags]
            path = folder / f"{stem(number, d)}.cubin"
            failed += subprocess.run([compiler, "compile", *common, "-o", str(path)]).returncode != 0
            figures = subprocess.run([compiler, "explain", *common, "--json",
                                      f"--sizes=B=1,H={HEADS},M={LENGTH},N={LENGTH}"], capture_output=True, text=True)
            if figures.returncode == 0:
                path.with_suffix(".explain").write_text(figures.stdout)
    return failed


def run(folder, arguments):
    import measure
    import torch

    import attentile
    print(json.dumps(measure.machine()))
    rows = []
    for d in (64, 128):
        before = None
        for number, (name, _) in enumerate(STEPS):
            loaded = attentile.load(folder / f"{stem(number, d)}.json").prepare()
            case = measure.Case(cells.Kernel(cells.CAUSAL, d), 1, HEADS, LENGTH, loaded)
            error, _ = measure.check(case)
            time = measure.time_together({"ours": case.ours}, arguments.rounds)["ours"]
            row = {"d": d, "step": name, "ms": time, "error": error}
            explained = folder / f"{stem(number, d)}.explain"
            if explained.exists():
                grids = json.loads(explained.read_text())["grids"]
                row["cache_bytes"] = sum(g["read_bytes"] + g["written_bytes"] for g in grids)
                row["memory_bytes"] = sum(g["least_bytes"] for g in grids)
            rows.append(row)
            gain = f"{before / time:5.2f}x" if before else "      "
            print(f"d={d:3} {name:26} {time:8.3f} ms {gain}  cache {row.get('cache_bytes', 0) / 1e9:7.2f} GB  "
                  f"memory at least {row.get('memory_bytes', 0) / 1e9:6.2f} GB  error {error:.1e}", flush=True)
            before = time
            del case
            torch.cuda.empty_cache()
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": measure.machine(), "rows": rows}, indent=1) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("compile", help="make the cubins; no GPU needed")
    command.add_argument("kernels", type=pathlib.Path)
    command.add_argument("--target", default="sm_90")
    command.add_argument("--compiler", default="attentile")
    command = commands.add_parser("run", help="check and time")
    command.add_argument("kernels", type=pathlib.Path)
    command.add_argument("--rounds", type=int, default=9)
    command.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.command == "compile":
        return 1 if compile_all(arguments.kernels, arguments.target, arguments.compiler) else 0
    return run(arguments.kernels, arguments)


if __name__ == "__main__":
    sys.exit(main())
