"""What the package says of arrays, streams and outputs that it does not know."""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

import attentile
from attentile import _arrays, _expressions, _kernel


def message(error, call):
    try:
        call()
    except error as problem:
        return str(problem)
    return f"expected {error.__name__}, got none"


def expect(got, wanted):
    assert got == wanted, f"expected {wanted!r}, got {got!r}"


class Object:
    """An array of a library that is not here, as far as the package looks at one."""

    def __init__(self, **members):
        self.__dict__.update(members)


class Device:
    type, index = "cpu", 0

    def __str__(self):
        return "cpu"


class DoubleArray:
    __cuda_array_interface__ = {"typestr": "<f8", "shape": (4,), "data": (256, False), "version": 3}


expect(message(TypeError, lambda: _arrays._from_torch(Object(device=Device()), "X")),
       "'X': expected a tensor on a GPU, got one on 'cpu'")
expect(message(TypeError, lambda: _arrays._from_torch(Object(device=Object(type="cuda"), dtype="torch.complex64"), "X")),
       "'X': expected a type that kernels know, got torch.complex64")
expect(message(TypeError, lambda: _arrays._from_interface(DoubleArray(), "X")),
       "'X': expected a type that kernels know, got '<f8'")
expect(message(TypeError, lambda: _arrays.empty_like(pathlib.Path(), "f32", [4], 0, "Y", "give it with out=")),
       "'Y': arrays of pathlib cannot be made here; give it with out=")
expect(message(ValueError, lambda: _expressions.evaluate(["power", "N", 2], {"N": 3})),
       "expected an operator of sizes, got 'power'")
expect(message(TypeError, lambda: _kernel._handle("stream")), "expected a stream or its address, got str")

open_end = object.__new__(_kernel.Kernel)
open_end.inputs = [{"name": "X", "type": "f32", "shape": ["N"]}]
open_end.outputs = [{"name": "Y", "type": "f32", "shape": ["N", "M"]}]
expect(message(TypeError, lambda: open_end._outputs(None, [Object(sizes=[3])], None)),
       "'Y': its shape does not follow from the inputs ('M'); give it with out=")


class Complex:
    """An array of complex numbers that says it is on a GPU."""

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream):
        return numpy.zeros(2, numpy.complex128).__dlpack__()


expect(message(TypeError, lambda: _arrays._from_dlpack(Complex(), "X", None)),
       "'X': expected a type that kernels know, got DLPack type (5, 128)")

# A package that stands alone, without library and compiler.
folder = pathlib.Path(tempfile.mkdtemp())  # the package looks into the folders above its own
atexit.register(shutil.rmtree, folder)
shutil.copytree(pathlib.Path(attentile.__file__).parent, folder / "attentile")
without = {name: value for name, value in os.environ.items() if not name.startswith("ATTENTILE_")}


def last_line(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=without | {"PYTHONPATH": str(folder), "PATH": "/nowhere"} | environment).stderr.splitlines()[-1]


line = last_line("import attentile")
assert "expected libattentile-runtime.so beside the package, in the loader's path, or named by ATTENTILE_RUNTIME; " in line, line
line = last_line("import attentile", ATTENTILE_RUNTIME="/nowhere/lib.so")
assert line.endswith("or named by ATTENTILE_RUNTIME"), line
line = last_line("from attentile import _compile; _compile._compiler()", ATTENTILE_RUNTIME=os.environ["ATTENTILE_RUNTIME"])
assert "expected the compiler `attentile` beside the package, in PATH, or named by ATTENTILE_COMPILER" in line, line
print("all passed")
