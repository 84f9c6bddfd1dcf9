"""Arrays of any library as the runtime's tensors: PyTorch's, those with the
CUDA array interface (CuPy, Numba), and those with DLPack (JAX and others)."""
import ctypes
import math
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

_TORCH = {"torch.float32": "f32", "torch.bfloat16": "bf16", "torch.float16": "f16", "torch.float8_e4m3fn": "f8e4m3",
          "torch.float8_e5m2": "f8e5m2", "torch.int8": "i8", "torch.int32": "i32", "torch.int64": "i64",
          "torch.bool": "bool"}
_TYPESTR = {"<f4": "f32", "<f2": "f16", "|i1": "i8", "<i4": "i32", "<i8": "i64", "|b1": "bool"}
_DLPACK = {(0, 8): "i8", (0, 32): "i32", (0, 64): "i64", (2, 16): "f16", (2, 32): "f32", (4, 16): "bf16",
           (6, 8): "bool", (10, 8): "f8e4m3", (12, 8): "f8e5m2"}  # (DLDataTypeCode, bits)
_BYTES = {"f32": 4, "i32": 4, "i64": 8, "f16": 2, "bf16": 2}  # 1 of all others


class Array:
    """Address, type name, sizes, strides (elements), device; `owner` keeps the
    memory alive."""
    __slots__ = ("data", "type", "sizes", "strides", "device", "owner")

    def __init__(self, data, type, sizes, strides, device, owner):
        self.data, self.type, self.sizes, self.strides = data, type, tuple(sizes), tuple(strides)
        self.device, self.owner = device, owner

    def bytes(self):
        """The bytes of its elements."""
        return math.prod(self.sizes) * _BYTES.get(self.type, 1)


class _DLDevice(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", _DLDevice), ("ndim", c_int32), ("dtype", _DLDataType),
                ("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


def _row_major(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return strides


def _from_torch(x, name):
    if x.device.type != "cuda":
        raise TypeError(f"'{name}': expected a tensor on a GPU, got one on '{x.device}'")
    if str(x.dtype) not in _TORCH:
        raise TypeError(f"'{name}': expected a type that kernels know, got {x.dtype}")
    return Array(x.data_ptr(), _TORCH[str(x.dtype)], x.shape, x.stride(), x.device.index, x)


def _from_interface(x, name):
    interface = x.__cuda_array_interface__
    if interface["typestr"] not in _TYPESTR:
        raise TypeError(f"'{name}': expected a type that kernels know, got '{interface['typestr']}'")
    sizes = interface["shape"]
    width = int(interface["typestr"][2:])
    strides = interface.get("strides")
    strides = _row_major(sizes) if strides is None else [step // width for step in strides]
    device = getattr(getattr(x, "device", None), "id", 0)
    return Array(interface["data"][0], _TYPESTR[interface["typestr"]], sizes, strides, device, x)


def _from_dlpack(x, name, stream):
    kind, device = x.__dlpack_device__()
    if kind != 2:
        raise TypeError(f"'{name}': expected an array on a GPU, got one on DLPack device type {int(kind)}")
    capsule = x.__dlpack__(stream=stream or 1)  # 1: the default stream
    tensor = _DLTensor.from_address(_pointer(capsule, b"dltensor"))
    key = (tensor.dtype.code, tensor.dtype.bits)
    if key not in _DLPACK or tensor.dtype.lanes != 1:
        raise TypeError(f"'{name}': expected a type that kernels know, got DLPack type {key}")
    sizes = tensor.shape[:tensor.ndim]
    strides = tensor.strides[:tensor.ndim] if tensor.strides else _row_major(sizes)
    return Array((tensor.data or 0) + tensor.byte_offset, _DLPACK[key], sizes, strides, device, (x, capsule))


def describe(x, name, stream):
    """Any GPU array as an Array; `stream` is the caller's, for DLPack."""
    if type(x).__module__.partition(".")[0] == "torch":
        return _from_torch(x, name)
    if hasattr(x, "__cuda_array_interface__"):
        return _from_interface(x, name)
    if hasattr(x, "__dlpack__"):
        return _from_dlpack(x, name, stream)
    raise TypeError(f"'{name}': expected an array with DLPack or __cuda_array_interface__, got {type(x).__name__}")


def current_stream(x, device):
    """The stream that the array's library works on; the default stream where it
    does not say."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        import torch
        return torch.cuda.current_stream(device).cuda_stream
    if library == "cupy":
        import cupy
        return cupy.cuda.get_current_stream(device).ptr
    return 0


def absent(type, sizes, device):
    """An array that has no memory."""
    return Array(None, type, sizes, _row_major(sizes), device, None)


def empty_like(x, type, sizes, device, name, instead):
    """A new array of the library of `x`; `instead` says what else a caller may do."""
    library = __import__(type_module(x))
    if type_module(x) == "torch":
        dtype = getattr(library, next(k for k, v in _TORCH.items() if v == type).partition(".")[2])
        return library.empty(sizes, dtype=dtype, device=f"cuda:{device}")
    if type_module(x) == "cupy" and type in _TYPESTR.values():
        with library.cuda.Device(device):
            return library.empty(sizes, dtype=next(k for k, v in _TYPESTR.items() if v == type))
    raise TypeError(f"'{name}': arrays of {type_module(x)} cannot be made here; {instead}")


def type_module(x):
    return type(x).__module__.partition(".")[0]
