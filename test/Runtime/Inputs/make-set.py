"""Writes a prepared set of a kernel that copies float32, for attentile-run on the fake driver.

usage: make-set.py DIR FUNCTION [PATH=VALUE]; FUNCTION is copy_0, copy_wrong or copy_outside (test/Runtime/FakeCuda.h).
PATH names a member of set.json, as in runs.0.inputs.0.type, that gets a JSON value or, without one, goes;
allowed=1e-6 is what every element may be off; with lists=1 a first launch, which makes lists, copies into workspace, and a
second one from there.
"""
import hashlib
import json
import pathlib
import struct
import sys

MASK = (1 << 64) - 1


class Random:
    """As in include/attentile/TestData.h."""

    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def normal(self):
        bits = self.next()
        total = sum(bits >> 16 * i & 0xFFFF for i in range(4))
        return (total - 2 * 65535.0) / (65536 * 0.57735026919)


def sealed(value):
    text = json.dumps(value)[:-1] + ",\n"
    return text + '"seal":"' + hashlib.sha256(text.encode()).hexdigest() + '"}\n'


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


folder, function = pathlib.Path(sys.argv[1]), sys.argv[2]
folder.mkdir(parents=True, exist_ok=True)
cubin = f"\x7fELF fake\nsm_90\n{function} 8 8 8\n".encode()
(folder / "kernel-0.cubin").write_bytes(cubin)
edits = dict(edit.split("=") for edit in sys.argv[3:])
allowed = float(edits.pop("allowed", 1e-6))


def launch(source, target, **more):
    return {"kernel": function, "cells": [["min", 1, "N"]], "threads": 32, "shared": 0,
            "arguments": [source, target, {"kind": "size", "name": "N"}], **more}


x, y, w = [{"kind": kind, "name": name} for kind, name in (("tensor", "X"), ("tensor", "Y"), ("workspace", "w"))]
if edits.pop("lists", None):
    steps = {"workspace": [{"name": "w", "type": "f32", "shape": ["N"]}],
             "launches": [launch(x, w, lists=True), launch(w, y)]}
else:
    steps = {"launches": [launch(x, y)]}
(folder / "kernel-0.json").write_text(sealed({
    "format": "attentile-manifest", "version": 2, "target": "sm_90", "kernel": "copy",
    "image": {"cubin": "kernel-0.cubin", "bytes": len(cubin), "sha256": hashlib.sha256(cubin).hexdigest()},
    "sizes": ["N"], "scalars": [],
    "tensors": [{"name": "X", "role": "input", "type": "f32", "shape": ["N"]},
                {"name": "Y", "role": "output", "type": "f32", "shape": ["N"]}], **steps}))

expected, runs = b"", []
for seed, count in ((11, 5), (12, 1), (13, 0), (14, 1000)):
    random = Random(seed)
    values = [f32(random.normal()) for _ in range(count)]
    expected += b"\0" * (-len(expected) % 8)
    offset = len(expected)
    expected += struct.pack(f"{count}d", *values) + struct.pack(f"{count}f", *([allowed] * count))
    tensor = {"type": "f32", "sizes": [count], "strides": [1]}
    runs.append({
        "name": f"N={count},values=normal", "kernel": 0, "scalars": [],
        "inputs": [{"name": "X", **tensor,
                    "recipe": {"seed": seed, "factor": 1, "equal_rows": False, "patches": []}}],
        "outputs": [{"name": "Y", **tensor, "seed": 0,
                     "expected": {"offset": offset, "elements": count, "samples": count, "listed": False}}]})
(folder / "expected.bin").write_bytes(expected)
prepared = {"format": "attentile-prepared", "version": 1, "name": function, "target": "sm_90", "seed": 1,
            "expected_bytes": len(expected), "runs": runs}
for path, value in edits.items():
    *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = prepared
    for part in above:
        place = place[part]
    if value:
        place[last] = json.loads(value)
    else:
        place.pop(last)
(folder / "set.json").write_text(sealed(prepared))
