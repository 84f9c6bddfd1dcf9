"""Checking and timing on the GPU, with PyTorch."""
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import attentile
import cells


def machine():
    properties = torch.cuda.get_device_properties(0)
    return {"gpu": properties.name, "multiprocessors": properties.multi_processor_count, "torch": torch.__version__,
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}


class Case:
    """Inputs of one kernel at one length, and the same for PyTorch."""

    def __init__(self, kernel, b, h, s, loaded, seed=0):
        d = kernel.head_size
        generator = torch.Generator("cuda").manual_seed(seed)

        def draw(*sizes):
            return torch.randn(*sizes, generator=generator, device="cuda", dtype=torch.float32).bfloat16()
        self.kind, self.loaded, self.s = kernel.example, loaded, s
        self.q, self.k, self.v = (draw(b, h, s, d) for _ in range(3))
        self.inputs, self.scalars = [self.q, self.k, self.v], {}
        if self.kind == "03-sliding-window":
            self.scalars["window"] = cells.WINDOW
        elif self.kind == "04-alibi":
            self.inputs.append(2.0 ** -(8 * torch.arange(1, h + 1, device="cuda", dtype=torch.float32) / h))
        elif self.kind == "05-soft-cap":
            self.scalars["cap"] = 30.0
        elif self.kind == cells.BIAS:
            self.inputs.append(draw(h, 129))
        shapes = {"O": (torch.bfloat16, (b, h, s, d)), "L": (torch.float32, (b, h, s))}
        # NaN everywhere: what a kernel does not write is seen.
        self.out = [torch.full(shapes[t["name"]][1], float("nan"), dtype=shapes[t["name"]][0], device="cuda")
                    for t in loaded.outputs]
        # Allocated once: the stream's own allocator gives memory back at each wait.
        size = loaded.workspace_bytes(*self.inputs, out=self.out, **self.scalars)
        self.workspace = torch.empty(size, dtype=torch.int8, device="cuda") if size else None

    def ours(self, **other):
        self.loaded(*self.inputs, out=self.out, workspace=self.workspace, **(self.scalars | other))

    def peer(self, backend):
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.kind == cells.CAUSAL)

    def reference(self, b, h, rows):
        """The formula in float64 for some rows of one head: (O, logsumexp)."""
        q, k, v = self.q[b, h, rows].double(), self.k[b, h].double(), self.v[b, h].double()
        d, n = q.shape[-1], torch.arange(self.s, device="cuda")
        scores = (q @ k.T) * torch.tensor(d, dtype=torch.float64).rsqrt().item()
        distance = n[None, :] - rows[:, None]
        if self.kind == "04-alibi":
            scores += self.inputs[3][h].double() * distance
        elif self.kind == "05-soft-cap":
            scores = 30 * torch.tanh(scores / 30)
        elif self.kind == cells.BIAS:
            scores += self.inputs[3][h].double()[(distance + 64).clamp(0, 128)]
        if self.kind not in (cells.PLAIN, cells.BIAS):
            scores = scores.masked_fill(distance > 0, float("-inf"))
        if self.kind == "03-sliding-window":
            scores = scores.masked_fill(distance <= -cells.WINDOW, float("-inf"))
        return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)


def check(case, **scalars):
    """The largest errors of O (relative to the norm of its rows) and of L over
    some heads and rows, the first and last among them."""
    case.ours(**scalars)
    torch.cuda.synchronize()
    if any(bool(x.isnan().any()) for x in case.out):
        return float("nan"), float("nan")
    b, h, s, _ = case.q.shape
    rows = torch.unique(torch.cat([torch.arange(0, s, max(1, s // 61)), torch.tensor([0, s - 1])])).cuda()
    worst, worst_l = 0.0, 0.0
    for at in {(0, 0), (b - 1, h - 1), (b // 2, h // 3)}:
        expected, lse = case.reference(*at, rows)
        got = case.out[0][at][rows].double()
        worst = max(worst, float(((got - expected).norm(dim=-1) / expected.norm(dim=-1)).max()))
        if len(case.out) > 1:
            worst_l = max(worst_l, float((case.out[1][at][rows].double() - lse).abs().max()))
    return worst, worst_l


def check_all(folder, kernels):
    """Every kernel at an even and an odd length; how many are wrong. The
    bounds here are coarse (bf16's unit, twice): `attentile-run` has exact ones."""
    wrong = 0
    for kernel in kernels:
        loaded = attentile.load(folder / f"{kernel.stem}.json")
        for s in (1024, 777):
            error, error_l = check(Case(kernel, 2, 3, s, loaded, seed=s))
            ok = error < 2 ** -7 and error_l < 1e-4
            wrong += not ok
            print(f"{'right' if ok else 'WRONG'}  {kernel.stem:24} s={s:5}  relative error {error:.2e}, "
                  f"logsumexp {error_l:.1e}", flush=True)
    return wrong


def check_huge(folder, kernels):
    """Tensors of more than 2^31 elements, without gaps (attentile-run has views with strides of that size); how many
    kernels are wrong."""
    wrong = 0
    for kernel in kernels:
        if kernel.example not in (cells.PLAIN, cells.CAUSAL) or kernel.head_size != 128:
            continue
        s = 128
        h = 2 ** 31 // (s * kernel.head_size) + 5
        if torch.cuda.mem_get_info()[0] < 13 * h * s * kernel.head_size:  # four in 16 bits, one in 32 being drawn
            print(f"        {kernel.stem:24} not run with more than 2^31 elements: too little memory")
            continue
        case = Case(kernel, 1, h, s, attentile.load(folder / f"{kernel.stem}.json"))
        error, error_l = check(case)
        ok = error < 2 ** -7 and error_l < 1e-4
        wrong += not ok
        print(f"{'right' if ok else 'WRONG'}  {kernel.stem:24} {case.q.numel():,} elements, relative error "
              f"{error:.2e}, logsumexp {error_l:.1e}", flush=True)
        del case
        torch.cuda.empty_cache()
    return wrong


def milliseconds(function, repeats):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeats):
        function()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / repeats


def time_together(functions, rounds):
    """Medians of functions that take turns, each timed over about 5 ms."""
    repeats = {}
    for name, function in functions.items():
        function()
        repeats[name] = max(1, int(5 / max(milliseconds(function, 2), 1e-3)))
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(milliseconds(function, repeats[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def time_all(folder, kernels, rounds):
    rows = []
    for kernel in kernels:
        loaded = attentile.load(folder / f"{kernel.stem}.json").prepare()
        d = kernel.head_size
        h = cells.WIDTH // d
        plain = kernel.example in (cells.PLAIN, cells.CAUSAL)
        for s in cells.LENGTHS if plain else (4096, 16384):
            b = cells.TOKENS // s
            case = Case(kernel, b, h, s, loaded)
            functions = {"ours": case.ours}
            if plain:
                functions["fa2"] = lambda: case.peer(SDPBackend.FLASH_ATTENTION)
                functions["cudnn"] = lambda: case.peer(SDPBackend.CUDNN_ATTENTION)
            times = time_together(functions, rounds)
            work = cells.flops(kernel.example, b, h, s, d)
            rows.append({"kernel": kernel.example, "d": d, "s": s, "b": b, "h": h, "ms": times} |
                        {name: work / ms / 1e9 for name, ms in times.items()})
            print(f"\r{kernel.stem} s={s}   ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows
