"""The Python package on the fake driver, whose memory is the host's: python-test.py SET SET_WITH_LISTS"""
import ctypes
import os
import pathlib
import stat
import sys
import tempfile
import threading

import numpy

import attentile
from attentile import _runtime

library = _runtime.library
library.attentile_allocate.argtypes = [ctypes.c_int32, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]


class Array:
    """A float32 array in the fake GPU's memory, as CuPy would show it."""

    def __init__(self, values, device=0, step=1):
        values = numpy.asarray(values, dtype=numpy.float32)
        address = ctypes.c_void_p()
        _runtime.check(library.attentile_allocate(device, 4 * step * max(values.size, 1), ctypes.byref(address)))
        memory = (ctypes.c_float * (step * values.size)).from_address(address.value)
        self.view = numpy.frombuffer(memory, dtype=numpy.float32)[::step] if values.size else values
        self.view[...] = values
        self.device = type("Device", (), {"id": device})()
        self.__cuda_array_interface__ = {"data": (address.value, False), "shape": values.shape, "typestr": "<f4",
                                         "strides": None if step == 1 else (4 * step,), "version": 3}


def message(call):
    try:
        call()
    except (TypeError, attentile.Error, attentile.CompileError) as error:
        return str(error)
    return "no error"


def expect(got, wanted):
    assert got == wanted, f"expected {wanted!r}, got {got!r}"


folder = pathlib.Path(sys.argv[1])
copy = attentile.load(folder / "kernel-0.json")
expect(repr(copy), "<attentile.Kernel copy(X: f32['N']) for sm_90>")
values = numpy.arange(7)
y = Array(numpy.zeros(7))
assert copy(Array(values), out=y, stream=0x55) is y
expect(y.view.tolist(), values.tolist())
y = Array(numpy.zeros(7))
copy(X=Array(values), out={"Y": y})
expect(y.view.tolist(), values.tolist())
expect(copy.workspace_bytes(Array(values), out=y), 0)
expect(attentile._arrays.describe(y, "Y", 0).bytes(), 28)
copy(Array(values), out=y, workspace=Array(numpy.zeros(64)))
expect(message(lambda: copy(Array(values), out=y, workspace=64)),
       "'workspace': expected an array with DLPack or __cuda_array_interface__, got int")
assert copy.prepare(0) is copy
expect(message(lambda: copy.prepare(1)), "expected a kernel for sm_80 (Fake GPU 1), got one for sm_90 without PTX")

expect(message(lambda: copy(numpy.zeros(3, numpy.float32), out=y)),
       "'X': expected an array on a GPU, got one on DLPack device type 1")


class DLPack:
    """An array of one type by DLPack, as JAX would give it."""

    def __init__(self, code, bits, array):
        shape = (ctypes.c_int64 * 1)(array.view.size)
        self.tensor = attentile._arrays._DLTensor(
            array.__cuda_array_interface__["data"][0], (2, 0), 1, (code, bits, 1), shape, None, 0)
        self.keep = array, shape

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


for code, bits, name in ((0, 8, "i8"), (10, 8, "f8e4m3"), (12, 8, "f8e5m2"), (4, 16, "bf16"), (2, 32, "f32")):
    array = attentile._arrays.describe(DLPack(code, bits, y), "X", 0)
    expect((array.type, array.bytes()), (name, 7 * bits // 8))
expect(message(lambda: copy(DLPack(10, 8, Array(values)), out=y)), "'X': expected type f32, got f8e4m3")
expect(message(lambda: copy(DLPack(12, 8, Array(values)), out=y)), "'X': expected type f32, got f8e5m2")
expect(message(lambda: copy(DLPack(7, 8, Array(values)), out=y)),
       "'X': expected a type that kernels know, got DLPack type (7, 8)")
expect(message(lambda: copy("text", out=y)),
       "'X': expected an array with DLPack or __cuda_array_interface__, got str")
expect(message(lambda: copy(Array(numpy.zeros(6)), out=y)), "'Y': expected size 6 in dimension 0 (N of 'X'), got 7")
expect(message(lambda: copy(Array(values, device=1), out=y)),
       "'Y': expected a tensor on device 1, as 'X' is, got one on device 0")
expect(message(lambda: copy(out=y)), "copy: expected input 'X', got none")
expect(message(lambda: copy(y, out=y)), "'Y': expected an output apart from 'X', got memory that they share")
expect(message(lambda: copy(y, y, out=y)), "copy: expected 1 inputs, got 2")
expect(message(lambda: copy(y, out=y, scale=2)), "copy: expected one of [], got 'scale'")
expect(message(lambda: attentile.load("nowhere.cubin")),
       "cannot read 'nowhere.json': No such file or directory")

# Lists found once serve many calls, which read them and not what they were found from.
listing = attentile.load(pathlib.Path(sys.argv[2]) / "kernel-0.json")
x, workspace = Array(values), Array(numpy.zeros(64))
lists = listing.list_blocks(x, stream=0x55, workspace=workspace)
expect(repr(lists), "<attentile.BlockLists of copy(N=7)>")
expect(workspace.view[:7].tolist(), values.tolist())
x.view[...] = 9
y = Array(numpy.zeros(7))
listing(x, out=y, lists=lists)
expect(y.view.tolist(), values.tolist())
listing(x, out=y)
expect(y.view.tolist(), [9] * 7)
listing(x, out=y, lists=listing.list_blocks(x, out=y, workspace=workspace))
expect(y.view.tolist(), [9] * 7)
copy(x, out=y, lists=copy.list_blocks(x))
expect(message(lambda: listing(Array(values[:3]), out=y, lists=lists)),
       "lists: expected those of N=3, got those of N=7")
expect(message(lambda: copy(x, out=y, lists=lists)),
       "lists: expected those of <attentile.Kernel copy(X: f32['N']) for sm_90>, "
       "got those of <attentile.Kernel copy(X: f32['N']) for sm_90>")
expect(message(lambda: listing(x, out=y, lists=lists, workspace=workspace)),
       "copy: expected workspace or lists, which have one, got both")
expect(message(lambda: listing.list_blocks(x)),
       "'workspace': arrays of __main__ cannot be made here; give it with workspace=")
expect(message(lambda: listing.list_blocks(x, workspace=Array(numpy.zeros(4)))),
       "workspace: expected 256 bytes, got 16")
scaled = attentile.BlockLists(copy, {"N": 7}, {"radius": 7}, None)
expect(message(lambda: scaled.check(copy, {"N": 7}, {})),
       "lists: expected those of radius=default, got those of radius=7")

# Compilation through a stand-in for the compiler, which counts its calls.
work = pathlib.Path(tempfile.mkdtemp())
compiler = work / "attentile"
compiler.write_text(f"""#!/bin/sh
if [ "$1" = --version ]; then echo stand-in; exit 0; fi
if grep -q wrong "$2"; then echo "error: expected no wrong" >&2; exit 1; fi
echo "$@" >> {work}/calls
while [ "$1" != -o ]; do shift; done
cp {folder}/kernel-0.cubin "$(dirname "$2")/kernel-0.cubin"
cp {folder}/kernel-0.json "${{2%.cubin}}.json"
""")
compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
os.environ["ATTENTILE_COMPILER"] = str(compiler)
os.environ["ATTENTILE_CACHE_DIR"] = str(work / "cache")


def calls():
    return len((work / "calls").read_text().splitlines())


source = "kernel copy(X: f32[N]) -> (Y: f32[N]) {\n  Y[n] = X[n];\n}\n"
kernel = attentile.compile(source, {"D": 64, "T": "bf16"}, schedule="fast")
assert "--target=sm_90 --bind=D=64,T=bf16 --schedule=fast -o" in (work / "calls").read_text()
expect(kernel.name, "copy")
attentile.compile(source, {"D": 64, "T": "bf16"}, schedule="fast")
expect(calls(), 1)
attentile.compile(source, {"D": 128, "T": "bf16"}, schedule="fast")
expect(calls(), 2)
attentile.compile(source, {"D": 64, "T": "bf16"}, schedule="fast", target="sm_80")
expect(calls(), 3)
(work / "copy.attn").write_text(source)
attentile.compile(work / "copy.attn")
attentile.compile(str(work / "copy.attn"))
expect(calls(), 4)
os.environ["ATTENTILE_DISABLE_CACHE"] = "1"
attentile.compile(work / "copy.attn")
expect(calls(), 5)
del os.environ["ATTENTILE_DISABLE_CACHE"]
expect(message(lambda: attentile.compile(source + "// wrong\n")), "error: expected no wrong")

# Several at once: each ends with a kernel, and nothing half made stays behind.
failures = []


def compile_one():
    failures.append(message(lambda: attentile.compile(source, {"D": 256})))


threads = [threading.Thread(target=compile_one) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expect(failures, ["no error"] * 8)
expect([p.name for p in (work / "cache").iterdir() if p.name.startswith("new-")], [])
expect(len(list((work / "cache").iterdir())), 5)
print("all passed")
