"""The C interface of the runtime (attentile-c/runtime.h), by ctypes."""
import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p

TYPES = ("f32", "bf16", "f16", "f8e4m3", "f8e5m2", "i8", "i4", "i32", "i64", "bool")


class Error(RuntimeError):
    """What a kernel, a launch or the driver was refused for; `status` is the
    runtime's attentile_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("type", c_int), ("rank", c_int32), ("sizes", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("device", c_int32)]


class _Value(ctypes.Union):
    _fields_ = [("real", c_double), ("integer", c_int64)]


class Scalar(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("value", _Value)]


class Arguments(ctypes.Structure):
    _fields_ = [("tensors", POINTER(Tensor)), ("tensor_count", c_size_t), ("scalars", POINTER(Scalar)),
                ("scalar_count", c_size_t)]


def _candidates():
    """Where the library may be, best first."""
    if path := os.environ.get("ATTENTILE_RUNTIME"):
        yield path
        return
    name = "libattentile-runtime.so"
    here = pathlib.Path(__file__).resolve().parent
    yield here / name
    yield here / "lib" / name
    for prefix in here.parents:  # an installed tree, or the source with a build
        yield prefix / "lib" / name
        yield prefix / "build" / "release" / "lib" / name
    yield name


def _open():
    tried = []
    for path in _candidates():
        if os.sep in str(path) and not os.path.exists(path):
            continue
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            tried.append(str(error))
    raise ImportError("expected libattentile-runtime.so beside the package, in the loader's path, or named by "
                      "ATTENTILE_RUNTIME" + ("; " + "; ".join(tried) if tried else ""))


def _declare(library):
    status = c_int
    arguments = POINTER(Arguments)
    for name, result, parameters in (
            ("attentile_error_message", c_char_p, []),
            ("attentile_runtime_version", c_char_p, []),
            ("attentile_open_file", status, [c_char_p, POINTER(c_void_p)]),
            ("attentile_close", None, [c_void_p]),
            ("attentile_prepare", status, [c_void_p, c_int32]),
            ("attentile_manifest", c_char_p, [c_void_p]),
            ("attentile_workspace_bytes", status, [c_void_p, arguments, POINTER(c_size_t)]),
            ("attentile_launch", status, [c_void_p, arguments, c_void_p, c_void_p, c_size_t]),
            ("attentile_list_blocks", status, [c_void_p, arguments, c_void_p, c_void_p, c_size_t]),
            ("attentile_launch_listed", status, [c_void_p, arguments, c_void_p, c_void_p, c_size_t]),
            ("attentile_launch_allocating", status, [c_void_p, arguments, c_void_p]),
            ("attentile_device_count", c_int32, []),
            ("attentile_device_info", status, [c_int32, POINTER(c_int32), c_char_p, c_size_t])):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = parameters
    return library


library = _declare(_open())


def check(status):
    """Raises what the last call was refused for."""
    if status:
        raise Error(status, library.attentile_error_message().decode())


def device_architecture(device):
    """90 for a GPU of sm_90."""
    architecture = c_int32()
    check(library.attentile_device_info(device, byref(architecture), None, 0))
    return architecture.value


__all__ = [name for name in dir(sys.modules[__name__]) if not name.startswith("_")]
