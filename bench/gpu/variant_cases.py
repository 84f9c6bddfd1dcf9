"""The variants beside FlexAttention, and how many blocks they compute."""
import json
import sys

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import attentile
import cases
import cells
import measure

torch._dynamo.config.recompile_limit = 64
_flex = torch.compile(flex_attention, dynamic=False)
# Of what a mask depends beside its pair: the batch (0) or the head (1).
DEPENDS = {"10-packed-documents": 0, "09-prefix-lm": 0, "13-block-sparse": 1}


class FlexCase(cases.Case):
    """The same with FlexAttention."""

    def has_flex(self):
        """FlexAttention has no sigmoid, sink or dropout, and reads a bias of more elements than 31 bits count out of
        place."""
        return self.kind not in ("14-sigmoid", "18-attention-sink", "19-dropout") and \
            not (self.kind == "11-pair-bias" and self.inputs[3].numel() >= 2 ** 31)

    def flex(self):
        """A function that runs FlexAttention; its list of blocks is made once, outside, and not compiled: of 16384 keys
        that does not end in a minute."""
        b, h, s, _ = self.q.shape
        depends = DEPENDS.get(self.kind)
        mask = self.mask and create_block_mask(self.mask, b if depends == 0 else None, h if depends == 1 else None, s, s,
                                               device="cuda")
        return lambda: _flex(self.q, self.k, self.v, score_mod=self.score, block_mask=mask)

    def blocks(self, tile_m, tile_n):
        """Blocks that hold a visible pair, in all heads."""
        total, tiles = 0, -(-self.s // tile_n)
        heads = [(b, h) for b in range(self.q.shape[0]) for h in range(self.q.shape[1])]
        alike = DEPENDS.get(self.kind)
        seen = {}
        for at in heads:
            key = at[alike] if alike is not None else 0
            if key not in seen:
                count = 0
                for start in range(0, self.s, 16 * tile_m):
                    rows = torch.arange(start, min(start + 16 * tile_m, self.s), device="cuda")
                    visible = self.visible(*at, rows)
                    visible = torch.nn.functional.pad(visible, (0, tiles * tile_n - self.s, 0, -len(rows) % tile_m))
                    count += int(visible.reshape(-1, tile_m, tiles, tile_n).any(3).any(1).sum())
                seen[key] = count
            total += seen[key]
        return total


def _prepare(folder, kernel, s, tokens):
    """The compiled kernel's case at `s` keys, `tokens` in all sequences, its tile sizes and its blocks; stops if it is
    wrong."""
    loaded = attentile.load(folder / f"{kernel.stem}.json").prepare()
    case = FlexCase(kernel, tokens // s, cells.WIDTH // kernel.head_size, s, loaded)
    tiles = json.loads((folder / f"{kernel.stem}.explain").read_text())["grids"][-1]["tiles"]
    sizes = [tiles[name] for name in tiles if name not in ("d", "e")]
    error, _ = measure.check(case)
    if not error < 2 ** -7:
        sys.exit(f"{kernel.stem} is wrong at {s} keys: relative error {error:.2e}")
    if listed := case.listed():
        expected = [x.clone() for x in case.out]
        for x in case.out:
            x.fill_(float("nan"))
        listed()
        if not all(torch.equal(a, b) for a, b in zip(expected, case.out)):
            sys.exit(f"{kernel.stem} with lists found before differs at {s} keys")
    return case, sizes, case.blocks(*sizes)


def time_all(folder, kernels, lengths, tokens, rounds):
    """A row for each kernel and length, as soon as it is known; each is compared with float64 at that length too. The
    plain kernel, first of `kernels`, and FlexAttention take turns with each: a kernel that waits for memory or draws
    more power lowers the clock for the others too."""
    for s in lengths:
        prepared = plain, plain_sizes, plain_blocks = _prepare(folder, kernels[0], s, tokens)
        for kernel in kernels:
            if kernel.length not in (0, s):
                continue
            torch._dynamo.reset()
            case, sizes, blocks = prepared if kernel is kernels[0] else _prepare(folder, kernel, s, tokens)
            functions = {"plain": plain.ours, "ours": case.ours}
            if listed := case.listed():
                functions["listed"] = listed
            if case.has_flex():
                functions["flex"] = case.flex()
            yield {"kernel": kernel.example, "scalars": dict(kernel.scalars), "s": s, "tokens": tokens,
                   "blocks": blocks,
                   "pairs": blocks * sizes[0] * sizes[1],
                   "plain_pairs": plain_blocks * plain_sizes[0] * plain_sizes[1], "tiles": sizes,
                   "ms": measure.time_together(functions, rounds)}
            del case, functions, listed
            torch.cuda.empty_cache()
        del plain, prepared
