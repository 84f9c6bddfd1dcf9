"""Inputs, masks and scores of kernels, for ours and for float64 alike."""
import math

import torch

import cells


def causal(b, h, m, n):
    return n <= m


class Case:
    """One kernel at one length. `mask(b, h, m, n)` and `score(s, b, h, m, n)` take index tensors, as FlexAttention's
    mask_mod and score_mod do; None: everything is visible, scores stay. `checked_with` are the scalars of a run that is
    compared with float64, where those that are timed draw numbers."""

    def __init__(self, kernel, b, h, s, loaded):
        d = kernel.head_size
        self.kind, self.loaded, self.s, self.mask, self.score = kernel.example, loaded, s, None, None
        self.known = dict(kernel.scalars)  # compiled in
        self.generator = torch.Generator("cuda").manual_seed(s)
        self.q, self.k, self.v = (self.draw(b, h, s, d) for _ in range(3))
        self.inputs, self.scalars, self.checked_with = [self.q, self.k, self.v], {}, {}
        self.sink = None
        set_up = getattr(self, "set_up_" + self.kind[3:].replace("-", "_"), None)
        if set_up:
            set_up(b, h, s)
        shapes = {"O": (torch.bfloat16, (b, h, s, d)), "L": (torch.float32, (b, h, s))}
        # NaN everywhere: what a kernel does not write is seen.
        self.out = [torch.full(shapes[t["name"]][1], float("nan"), dtype=shapes[t["name"]][0], device="cuda")
                    for t in loaded.outputs]
        # Allocated once: the stream's own allocator gives memory back at each wait.
        size = loaded.workspace_bytes(*self.inputs, out=self.out, **self.scalars)
        self.workspace = torch.empty(size, dtype=torch.int8, device="cuda") if size else None

    def draw(self, *sizes):
        return torch.randn(*sizes, generator=self.generator, device="cuda").bfloat16()

    def set_up_causal(self, b, h, s):
        self.mask = causal

    def set_up_sliding_window(self, b, h, s):
        self.scalars["window"] = cells.WINDOW
        self.mask = lambda b, h, m, n: (n <= m) & (m - n < cells.WINDOW)

    def set_up_alibi(self, b, h, s):
        slope = 2.0 ** -(8 * torch.arange(1, h + 1, device="cuda", dtype=torch.float32) / h)
        self.inputs.append(slope)
        self.mask, self.score = causal, lambda x, b, h, m, n: x + slope[h] * (n - m)

    def set_up_soft_cap(self, b, h, s):
        self.scalars["cap"] = 30.0
        self.mask, self.score = causal, lambda x, b, h, m, n: 30 * torch.tanh(x / 30)

    def set_up_learned_bias(self, b, h, s):
        table = self.draw(h, 129)
        self.inputs.append(table)
        self.score = lambda x, b, h, m, n: x + table[h, torch.clamp(n - m + 64, 0, 128)]

    def set_up_prefix_lm(self, b, h, s):
        length = torch.randint(s // 8, s // 2, (b,), generator=self.generator, device="cuda", dtype=torch.int32)
        self.inputs.append(length)
        self.mask = lambda b, h, m, n: (n < length[b]) | (n <= m)

    def set_up_packed_documents(self, b, h, s):
        ends = torch.randint(0, s, (b, cells.DOCUMENTS - 1), generator=self.generator, device="cuda").sort(-1).values
        doc = torch.searchsorted(ends, torch.arange(s, device="cuda").expand(b, s).contiguous(), right=True).int()
        self.inputs.append(doc)
        self.mask = lambda b, h, m, n: (doc[b, m] == doc[b, n]) & (n <= m)

    def set_up_pair_bias(self, b, h, s):
        bias = self.draw(h, s, s)
        self.inputs.append(bias)
        self.score = lambda x, b, h, m, n: x + bias[h, m, n]

    def set_up_neighbourhood(self, b, h, s):
        width, radius = self.known.get("width", math.isqrt(s)), 7
        if not self.known:
            self.scalars.update(width=width, radius=radius)
        self.mask = lambda b, h, m, n: ((m // width - n // width).abs() <= radius) & \
            ((m % width - n % width).abs() <= radius)

    def set_up_block_sparse(self, b, h, s):
        size = (s + 127) // 128
        allowed = torch.rand(h, size, size, generator=self.generator, device="cuda") < 0.25
        allowed |= torch.eye(size, dtype=torch.bool, device="cuda")
        self.inputs.append(allowed)
        self.mask = lambda b, h, m, n: allowed[h, m // 128, n // 128]

    def set_up_sigmoid(self, b, h, s):
        self.scalars["bias"] = -math.log(s)

    def set_up_attention_sink(self, b, h, s):
        self.sink = torch.randn(h, generator=self.generator, device="cuda")
        self.inputs.append(self.sink)
        self.mask = causal

    def set_up_dropout(self, b, h, s):
        self.scalars.update(rate=0.1, seed=7)
        self.checked_with = {"rate": 0.0}  # the bits are compared by attentile-run
        self.mask = causal

    def ours(self, **other):
        self.loaded(*self.inputs, out=self.out, workspace=self.workspace, **(self.scalars | other))

    def listed(self):
        """A function that runs the kernel with lists of blocks that are found once, here; None where it has none."""
        if not any(launch.get("lists") for launch in self.loaded.manifest["launches"]):
            return None
        lists = self.loaded.list_blocks(*self.inputs, **self.scalars)
        return lambda: self.loaded(*self.inputs, out=self.out, lists=lists, **self.scalars)

    def visible(self, b, h, rows):
        """Which keys these queries of one head see."""
        m, n = rows[:, None], torch.arange(self.s, device="cuda")[None, :]
        at = torch.tensor(b, device="cuda"), torch.tensor(h, device="cuda")
        return self.mask(*at, m, n) if self.mask else torch.ones_like(m - n, dtype=torch.bool)

    def reference(self, b, h, rows):
        """The formula in float64 for some rows of one head: (O, logsumexp)."""
        q, k, v = self.q[b, h, rows].double(), self.k[b, h].double(), self.v[b, h].double()
        scores = (q @ k.T) / math.sqrt(q.shape[-1])
        if self.kind == "14-sigmoid":
            return torch.sigmoid(scores + self.scalars["bias"]) @ v, None
        if self.score:
            n = torch.arange(self.s, device="cuda")[None, :]
            at = torch.tensor(b, device="cuda"), torch.tensor(h, device="cuda")
            scores = self.score(scores, *at, rows[:, None], n)
        scores = scores.masked_fill(~self.visible(b, h, rows), float("-inf"))
        if self.sink is None:
            return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)
        sink = self.sink[h].double().expand(len(rows), 1)
        lse = torch.logsumexp(torch.cat([scores, sink], -1), -1)
        return torch.exp(scores - lse[:, None]) @ v, lse
