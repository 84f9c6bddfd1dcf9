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


def _stream_of(stream, values):
    """The caller's stream as an address: the one given, else that which the first input's library works on."""
    stream = _handle(stream)
    if stream is None and values:
        device = getattr(getattr(values[0], "device", None), "index", None)
        stream = _arrays.current_stream(values[0], device)
    return stream


def _describe(values, tensors, stream):
    return [_arrays.describe(x, t["name"], stream) for x, t in zip(values, tensors)]


class BlockLists:
    """What Kernel.list_blocks found: lists of blocks in `workspace`, for these sizes and scalars."""

    def __init__(self, kernel, sizes, scalars, workspace):
        self.kernel, self.sizes, self.scalars, self.workspace = kernel, sizes, scalars, workspace

    def __repr__(self):
        sizes = ", ".join(f"{name}={size}" for name, size in (self.sizes | self.scalars).items())
        return f"<attentile.BlockLists of {self.kernel.name}({sizes})>"

    def check(self, kernel, sizes, scalars):
        """Raises TypeError if they are another kernel's, or of other sizes or scalars."""
        if kernel is not self.kernel:
            raise TypeError(f"lists: expected those of {kernel!r}, got those of {self.kernel!r}")
        mine, given = self.sizes | self.scalars, sizes | scalars
        for name in mine | given:
            if mine.get(name) != given.get(name):
                raise TypeError(f"lists: expected those of {name}={given.get(name, 'default')}, "
                                f"got those of {name}={mine.get(name, 'default')}")


class Kernel:
    """A kernel loaded from its manifest.

    `kernel(*inputs, out=None, stream=None, workspace=None, lists=None, **scalars)`
    launches it on the caller's stream and returns the output, or a tuple of the
    outputs. Inputs come in the order of the kernel's head, by position or by
    name. Outputs that `out` does not give (an array, a sequence or a dict by
    name) are allocated by the inputs' library (PyTorch, CuPy). Workspace, an
    array of at least workspace_bytes() without gaps, is allocated on the stream
    where it is not given. Scalars that are not given take their default. `lists`
    are those that list_blocks found: they are not searched for again. Raises
    TypeError for what is no GPU array and attentile.Error, with the argument's
    name, for what the kernel refuses.
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
            sizes = self._output_sizes(tensor, arrays)
            result.append(_arrays.empty_like(like, tensor["type"], sizes, arrays[0].device, name, "give it with out="))
        return result

    def _output_sizes(self, tensor, arrays):
        try:
            return [evaluate(entry, self._sizes(arrays)) for entry in tensor["shape"]]
        except (KeyError, ValueError) as error:
            raise TypeError(f"'{tensor['name']}': its shape does not follow from the inputs ({error}); "
                            "give it with out=")

    def _heads(self, values, out, stream):
        """Inputs and, without memory where `out` does not give them, outputs: for what only asks their sizes."""
        arrays = _describe(values, self.inputs, stream)
        if out is not None:
            results = self._outputs(out, arrays, values[0])
            return arrays + _describe(results, self.outputs, stream)
        return arrays + [_arrays.absent(t["type"], self._output_sizes(t, arrays), arrays[0].device)
                         for t in self.outputs]

    def __call__(self, *inputs, out=None, stream=None, workspace=None, lists=None, **by_name):
        values, scalars = self._bind(inputs, by_name)
        stream = _stream_of(stream, values)
        arrays = _describe(values, self.inputs, stream)
        launch = _runtime.library.attentile_launch
        if lists is not None:
            if workspace is not None:
                raise TypeError(f"{self.name}: expected workspace or lists, which have one, got both")
            lists.check(self, self._sizes(arrays), scalars)
            launch, workspace = _runtime.library.attentile_launch_listed, lists.workspace
        results = self._outputs(out, arrays, values[0] if values else None)
        arrays += _describe(results, self.outputs, stream)
        if workspace is None and lists is None:
            arguments = self._arguments(arrays, scalars)
            _runtime.check(_runtime.library.attentile_launch_allocating(self._handle, byref(arguments), stream or None))
        else:
            self._launch(launch, arrays, scalars, stream, workspace)
        return results[0] if len(results) == 1 else tuple(results)

    def list_blocks(self, *inputs, out=None, stream=None, workspace=None, **by_name):
        """Finds the lists of blocks that masks leave, for `kernel(..., lists=lists)`, as often as wanted: for all
        layers of a model, say. They hold as long as sizes, scalars and the elements of the tensors that decide them
        (the documents, a table of blocks) stay the same; other tensors are not looked at, outputs not needed. Calls
        with the same lists share their workspace: they must follow each other. Where masks have no lists (a causal
        one) nothing is done.
        """
        values, scalars = self._bind(inputs, by_name)
        stream = _stream_of(stream, values)
        arrays = self._heads(values, out, stream)
        if workspace is None:
            if size := self._workspace_bytes(arrays, scalars):
                workspace = _arrays.empty_like(values[0], "i8", [size], arrays[0].device, "workspace",
                                               "give it with workspace=")
        self._launch(_runtime.library.attentile_list_blocks, arrays, scalars, stream, workspace)
        return BlockLists(self, self._sizes(arrays), scalars, workspace)

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

    def _launch(self, launch, arrays, scalars, stream, workspace):
        """`launch`: a function of the runtime that takes workspace."""
        data, size = None, 0
        if workspace is not None:
            described = _arrays.describe(workspace, "workspace", stream)
            data, size = described.data, described.bytes()
        arguments = self._arguments(arrays, scalars)
        _runtime.check(launch(self._handle, byref(arguments), stream or None, data, size))

    def workspace_bytes(self, *inputs, out=None, **by_name):
        """The bytes that a launch allocates on the stream beside its outputs."""
        values, scalars = self._bind(inputs, by_name)
        return self._workspace_bytes(self._heads(values, out, 0), scalars)

    def _workspace_bytes(self, arrays, scalars):
        size = c_size_t()
        arguments = self._arguments(arrays, scalars)
        _runtime.check(_runtime.library.attentile_workspace_bytes(self._handle, byref(arguments), byref(size)))
        return size.value

    def prepare(self, device=0):
        """Loads the kernel on a device now, as a graph capture needs."""
        _runtime.check(_runtime.library.attentile_prepare(self._handle, device))
        return self
