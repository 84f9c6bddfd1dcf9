"""Checking and timing on the GPU, with PyTorch, of the inputs in cases.py."""
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import attentile
import cells
from cases import Case


def machine():
    properties = torch.cuda.get_device_properties(0)
    return {"gpu": properties.name, "multiprocessors": properties.multi_processor_count, "torch": torch.__version__,
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}


def peer(case, backend):
    """What PyTorch computes of the same."""
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(case.q, case.k, case.v, is_causal=case.kind == cells.CAUSAL)


def check(case):
    """The largest errors of O (relative to the norm of its rows) and of L over
    some heads and rows, the first and last among them."""
    case.ours(**case.checked_with)
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
    """Every kernel at a length that tiles divide and an odd one; how many are wrong. The
    bounds here are coarse (bf16's unit, twice): `attentile-run` has exact ones."""
    wrong = 0
    for kernel in kernels:
        loaded = attentile.load(folder / f"{kernel.stem}.json")
        for s in (1024, 777):
            error, error_l = check(Case(kernel, 2, 3, s, loaded))
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
                functions["fa2"] = lambda: peer(case, SDPBackend.FLASH_ATTENTION)
                functions["cudnn"] = lambda: peer(case, SDPBackend.CUDNN_ATTENTION)
            times = time_together(functions, rounds)
            work = cells.flops(kernel.example, b, h, s, d)
            rows.append({"kernel": kernel.example, "d": d, "s": s, "b": b, "h": h, "ms": times} |
                        {name: work / ms / 1e9 for name, ms in times.items()})
            print(f"\r{kernel.stem} s={s}   ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows
