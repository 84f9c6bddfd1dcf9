"""Attention kernels from their formula.

    import attentile, torch
    causal = attentile.compile("02-causal.attn", {"D": 128, "E": 128, "T": "bf16"})
    o, l = causal(q, k, v)                 # on PyTorch's current stream
    o, l = causal(q, k, v, scale=0.1)      # scalars by name

    lists = packed.list_blocks(q, k, v, doc)   # which blocks masks leave: once
    for layer in layers:
        o = packed(*layer(), doc, lists=lists)

Arrays may be PyTorch's, CuPy's, or any with DLPack or the CUDA array
interface. Nothing but the runtime library is needed to call a kernel that is
compiled (`attentile.load`).
"""
from ._compile import CompileError, compile, load
from ._kernel import BlockLists, Kernel
from ._runtime import Error

__all__ = ["BlockLists", "CompileError", "Error", "Kernel", "compile", "load"]
__version__ = "0.1.0"
