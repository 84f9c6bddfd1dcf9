"""Blocks of examples/12-neighbourhood.attn, counted key by key: count-blocks.py S WIDTH RADIUS ROWS KEYS < what explain --json printed

Exits with an error unless explain has as many, as many of them masked, and says of neither that it is a bound.
"""
import json
import sys

size, width, radius, rows, keys = map(int, sys.argv[1:])


def sees(m, n):
    return abs(m // width - n // width) <= radius and abs(m % width - n % width) <= radius


blocks = masked = 0
for m0 in range(0, size, rows):
    for n0 in range(0, size, keys):
        seen = [sees(m, n) for m in range(m0, min(m0 + rows, size)) for n in range(n0, min(n0 + keys, size))]
        blocks += any(seen)
        masked += any(seen) and not (all(seen) and n0 + keys <= size)
grid = json.load(sys.stdin)["grids"][-1]
got = grid["blocks"], grid["masked_blocks"], grid["upper_bound"], grid["tiles"]["m"], grid["tiles"]["n"]
if got != (blocks, masked, False, rows, keys):
    sys.exit(f"expected {blocks} blocks, {masked} masked, got {got}")
