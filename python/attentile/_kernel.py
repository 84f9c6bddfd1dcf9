"""A compiled kernel that is called like a function."""
import json
import os
from ctypes import byref, c_int64, c_size_t, c_void_p

from . import _arrays, _runtime
from ._expressions import evaluate

_FLOATS = ("f32", "bf16", "f16", "f8e4m3", "f8e5m2")


def _handle(stream):
    """A stream of any library as an address."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for attribute in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    raise TypeError(f"expected a stream or its address, got {type(stream).__name__}")


class Kernel:
    """A kernel loaded from its manifest.

    `kernel(*inputs, out=None, stream=None, workspace=None, **scalars)` launches
    it on the caller's stream and returns the output, or a tuple of the outputs. Inputs
    come in the order of the kernel's head, by position or by name. Outputs
    that `out` does not give (an array, a sequence or a dict by name) are
    allocated by the inputs' library (PyTorch, CuPy). Workspace, an array of at
    least workspace_bytes() without gaps, is allocated on the stream where it is
    not given. Scalars that are not given take their default. Raises TypeError for what is no GPU array and
    attentile.Error, with the argument's name, for what the kernel refuses.
    """

    def __init__(self, path):
        handle = c_void_p()
        _runtime.check(_runtime.library.attentile_open_file(os.fsencode(path), byref(handle)))
        self._handle = handle
        self.manifest = json.loads(_runtime.library.attentile_manifest(handle))
        self.name = self.manifest["kernel"]
        tensors = self.manifest["tensors"]
        self.inputs = [t for t in tensors if t["role"] == "input"]
        self.outputs = [t for t in tensors if t["role"] == "output"]
        self.scalars = {s["name"]: s for s in self.manifest["scalars"]}

    def __del__(self):
        if getattr(self, "_handle", None):
            _runtime.library.attentile_close(self._handle)

    def __repr__(self):
        head = ", ".join(f"{t['name']}: {t['type']}{t['shape']}" for t in self.inputs)
        return f"<attentile.Kernel {self.name}({head}) for {self.manifest['target']}>"

    def _sizes(self, arrays):
        """The run-time sizes that the inputs' shapes name; the runtime checks them."""
        values = {}
        for tensor, array in zip(self.inputs, arrays):
            for entry, size in zip(tensor["shape"], array.sizes):
                if isinstance(entry, str):
                    values.setdefault(entry, size)
        return values

    def _bind(self, given, by_name):
        """Inputs in order, by position and then by name; the rest are scalars."""
        if len(given) > len(self.inputs):
            raise TypeError(f"{self.name}: expected {len(self.inputs)} inputs, got {len(given)}")
        values = list(given)
        for tensor in self.inputs[len(given):]:
            if tensor["name"] not in by_name:
                raise TypeError(f"{self.name}: expected input '{tensor['name']}', got none")
            values.append(by_name.pop(tensor["name"]))
        for name in by_name:
            if name not in self.scalars:
                raise TypeError(f"{self.name}: expected one of {sorted(self.scalars)}, got '{name}'")
        return values, by_name

    def _outputs(self, out, arrays, like):
        """The output arrays: those given, and new ones for the rest."""
        if out is None:
            out = {}
        elif not isinstance(out, dict):
            sequence = out if isinstance(out, (list, tuple)) else [out]
            if len(sequence) != len(self.outputs):
                raise TypeError(f"{self.name}: expected {len(self.outputs)} outputs, got {len(sequence)}")
            out = {t["name"]: x for t, x in zip(self.outputs, sequence)}
        result = []
        for tensor in self.outputs:
            name = tensor["name"]
            if out.get(name) is not None:
                result.append(out[name])
                continue
            try:
                sizes = [evaluate(entry, self._sizes(arrays)) for entry in tensor["shape"]]
            except (KeyError, ValueError) as error:
                raise TypeError(f"'{name}': its shape does not follow from the inputs ({error}); give it with out=")
            result.append(_arrays.empty_like(like, tensor["type"], sizes, arrays[0].device, name))
        return result

    def __call__(self, *inputs, out=None, stream=None, workspace=None, **by_name):
        values, scalars = self._bind(inputs, by_name)
        stream = _handle(stream)
        if stream is None and values:
            device = getattr(getattr(values[0], "device", None), "index", None)
            stream = _arrays.current_stream(values[0], device)
        arrays = [_arrays.describe(x, t["name"], stream) for x, t in zip(values, self.inputs)]
        results = self._outputs(out, arrays, values[0] if values else None)
        arrays += [_arrays.describe(x, t["name"], stream) for x, t in zip(results, self.outputs)]
        if workspace is not None:
            workspace = _arrays.describe(workspace, "workspace", stream)
        self._launch(arrays, scalars, stream, workspace)
        return results[0] if len(results) == 1 else tuple(results)

    def _arguments(self, arrays, scalars):
        tensors = (_runtime.Tensor * len(arrays))()
        for slot, array in zip(tensors, arrays):
            rank = len(array.sizes)
            slot.data, slot.type, slot.rank = array.data, _runtime.TYPES.index(array.type), rank
            slot.sizes = (c_int64 * rank)(*array.sizes)
            slot.strides = (c_int64 * rank)(*array.strides)
            slot.device = array.device
        packed = (_runtime.Scalar * len(scalars))()
        for slot, (name, value) in zip(packed, scalars.items()):
            slot.name = name.encode()
            kind = self.scalars[name]["type"]
            slot.type = _runtime.TYPES.index(kind)
            if kind in _FLOATS:
                slot.value.real = float(value)
            else:
                slot.value.integer = int(value)
        return _runtime.Arguments(tensors, len(arrays), packed, len(scalars))

    def _launch(self, arrays, scalars, stream, workspace):
        arguments = self._arguments(arrays, scalars)
        if workspace is None:
            status = _runtime.library.attentile_launch_allocating(self._handle, byref(arguments), stream or None)
        else:
            status = _runtime.library.attentile_launch(self._handle, byref(arguments), stream or None,
                                                       workspace.data, workspace.bytes())
        _runtime.check(status)

    def workspace_bytes(self, *inputs, out=None, **by_name):
        """The bytes that a launch allocates on the stream beside its outputs."""
        values, scalars = self._bind(inputs, by_name)
        arrays = [_arrays.describe(x, t["name"], 0) for x, t in zip(values, self.inputs)]
        results = self._outputs(out, arrays, values[0])
        arrays += [_arrays.describe(x, t["name"], 0) for x, t in zip(results, self.outputs)]
        size = c_size_t()
        arguments = self._arguments(arrays, scalars)
        _runtime.check(_runtime.library.attentile_workspace_bytes(self._handle, byref(arguments), byref(size)))
        return size.value

    def prepare(self, device=0):
        """Loads the kernel on a device now, as a graph capture needs."""
        _runtime.check(_runtime.library.attentile_prepare(self._handle, device))
        return self
