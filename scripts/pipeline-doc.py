#!/usr/bin/env python3
"""Prints docs/pipeline.md: one kernel at every stage, as the compiler prints it.

    scripts/pipeline-doc.py FOLDER_OF_THE_TOOLS
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = "examples/02-causal.attn"
BIND = "D=64,E=64,T=f32"

# What each stage establishes, and the pass whose result (after clean-up) shows it.
STAGES = [
    ("attn: the formula", "", """
A value is a scalar that stands for a function of the index variables it depends on. There is no loop, no memory and no
order. `D` and `E` are numbers because they were bound; the other sizes are arguments. What the caller must keep is an
`attn.assume`, a default an `attn.default`."""),
    ("attn-lower-softmax", "attn-lower-softmax", """
Softmax and logsumexp share their statistics: a reference near the row's maximum, weights against it, and their sum. The
row part, 1 / sum with a select for rows that see nothing, stays apart from the weights."""),
    ("attn-form-grids", "attn-form-grids", """
Batch and head become steps of the grid, queries (`m`) are tiled over it, keys (`n`) become a loop, `d` and `e` stay whole.
`O` and `L` share one grid."""),
    ("attn-to-tile", "attn-to-tile", """
Tile loops: a program for each batch, head and tile of queries; three loops over the keys, one for each depth of reductions,
each of which computes the scores anew. This is already a right program, and runs. Each reduction selects its neutral
element past the last key."""),
    ("tile-fuse-online-softmax", "tile-fuse-online-softmax", """
FlashAttention-2: one loop that carries a running reference, a sum and an accumulator, and rescales them when a tile moves
the reference. The division comes after the loop."""),
    ("tile-skip-masked-blocks", "tile-skip-masked-blocks", """
The mask's condition gives the bounds in closed form. Blocks that every row of the tile sees come first, and their loop
evaluates no mask; then the partial ones; those that no row sees are in no loop."""),
    ("tile-fold-exp2", "tile-fold-exp2", """
Exponentials in base 2, with the scale folded into one multiply-add where its sign is known. The CPU's tile level ends
here."""),
    ("tile-peel-tails", "tile-peel-tails", """
For GPUs. The loop over full blocks ends with the last that lies within the axis, and need not ask: `tile.inside` names the
extent it keeps to. A last block that is not whole goes to the loop over partial blocks, which asks anyway. So every block is
computed once as before, in the same order: with 4096 keys and queries in tiles of 128, 528 for a head, 32 of them partial."""),
    ("tile-join-loops", "tile-join-loops", """
For GPUs. One loop over both kinds of blocks: what partial blocks evaluate stands behind a branch on the block's index. One body
to assign registers for, one for ptxas to read, and a pipeline of copies that neither drains nor fills on the way."""),
    ("tile-vote-masks", "tile-vote-masks", """
For GPUs. A partial block is cut by the mask for some rows only, and by the axis's end seldom: each bound stands behind a branch
of its own, and the rows of a warp vote whether they evaluate it."""),
    ("tile-merge-bounds", "tile-merge-bounds", """
For GPUs. The axis's end and the mask's are one bound, which a row computes once: one comparison and one select an element."""),
    ("tile-guard-softmax", "tile-guard-softmax", """
For GPUs. No maximum in the common case: the reference that a row has serves as long as no row sum of a block shows that
exponentials grow too large. Then the step of before runs, on the scores that are still there."""),
]

# On a CPU these do not pay; the stages show them all the same.
GPU_PASSES = "tile-peel-tails,tile-join-loops,tile-vote-masks,tile-merge-bounds,tile-guard-softmax"


def compile_kernel(tools, *flags):
    command = [f"{tools}/attentile", "compile", SOURCE, "--bind", BIND, *flags]
    result = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True)
    return result.stdout, result.stderr


def main():
    tools = pathlib.Path(sys.argv[1]).resolve()
    print("# One kernel at every stage\n")
    print("Made by `scripts/pipeline-doc.py` (`make docs` refreshes it, a test fails when it is out of date). The stages are")
    print("those of `lib/Driver/Pipeline.cpp`; `--mlir-print-ir-after-all` shows every pass on the way.\n")
    print("## The source\n")
    print(f"```attn\n{(ROOT / SOURCE).read_text().rstrip()}\n```\n")
    print(f"    attentile compile {SOURCE} --bind {BIND} --emit=tile --add-pass={GPU_PASSES} --mlir-print-ir-after-all\n")

    _, dumps = compile_kernel(tools, "--emit=tile", "-o", "/dev/null", f"--add-pass={GPU_PASSES}",
                              "--mlir-print-ir-after-all", "--mlir-print-ir-module-scope")
    parts = re.split(r"^// -----// IR Dump After \w+ \(([\w-]+)[^\n]*\n", dumps, flags=re.M)
    shown = {"": None}  # pass -> its result after the clean-up that follows
    current = ""
    for flag, text in zip(parts[1::2], parts[2::2]):
        if flag not in ("canonicalize", "cse", "tile-verify", "loop-invariant-code-motion"):
            current = flag
        shown[current] = text.strip()
    for title, flag, prose in STAGES:
        if shown.get(flag) is None:
            continue
        print(f"## {title}\n{prose}\n")
        print(f"```mlir\n{shown[flag]}\n```\n")

    llvm, _ = compile_kernel(tools, "--emit=llvm", "--cpu=x86-64-v3")
    print("## Native code\n")
    print("""Each grid is a function that runs a range of its cells; threads take ranges. Beside it stand what the caller asks first:
whether the constraints hold, a scalar's default, the number of cells. Tiles are buffers in a scratch area of one thread,
products a register-blocked kernel of vector operations. `--emit=llvm --cpu=x86-64-v3` prints it, here the heads:
""")
    print("```llvm\n" + "\n".join(re.findall(r"^define .*(?= \{)", llvm, flags=re.M)) + "\n```")


if __name__ == "__main__":
    main()
