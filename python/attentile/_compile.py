"""Compiling source with the compiler's command line, kept on disk.

A compiled kernel is a folder of the cache, named by the hash of everything it
follows from: the source and the files it imports, bindings, kernel, schedule,
target, and the versions of the compiler and of ptxas. Folders are written
aside and renamed, so that several processes may compile at once and a reader
never sees half of one.
"""
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from . import _runtime
from ._kernel import Kernel


class CompileError(RuntimeError):
    """What the compiler printed for a wrong program."""


def cache_folder():
    """ATTENTILE_CACHE_DIR, else `attentile` in the user's cache folder."""
    if folder := os.environ.get("ATTENTILE_CACHE_DIR"):
        return pathlib.Path(folder)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "attentile"


@functools.lru_cache(None)
def _compiler():
    """The compiler's path: ATTENTILE_COMPILER, beside the package, or PATH."""
    if path := os.environ.get("ATTENTILE_COMPILER"):
        return path
    here = pathlib.Path(__file__).resolve().parent
    for folder in (here / "bin", *(p / d for p in here.parents for d in ("bin", "build/release/bin"))):
        if os.access(folder / "attentile", os.X_OK) and (folder / "attentile").is_file():
            return str(folder / "attentile")
    if path := shutil.which("attentile"):
        return path
    raise FileNotFoundError("expected the compiler `attentile` beside the package, in PATH, or named by "
                            "ATTENTILE_COMPILER")


@functools.lru_cache(None)
def _versions(compiler, search_path):
    """What both tools print of themselves; `search_path` keys the memory, as it
    decides which ptxas is taken."""
    def version(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ""
    root = os.environ.get("CUDA_HOME")
    ptxas = shutil.which("ptxas") or (os.path.join(root, "bin", "ptxas") if root else "ptxas")
    return version(compiler, "--version"), version(ptxas, "--version")


def _with_imports(path, seen):
    """The texts of a file and of what it imports, by name."""
    path = path.resolve()
    if path in seen:
        return
    seen[path] = path.read_text()
    for name in re.findall(r'^\s*import\s+"([^"]+)"', seen[path], re.MULTILINE):
        if (path.parent / name).is_file():  # the library's own come with the compiler's version
            _with_imports(path.parent / name, seen)


def _key(source, options, compiler):
    texts = {}
    _with_imports(source, texts)
    parts = [sorted((p.name, text) for p, text in texts.items()), options,
             _versions(compiler, os.environ.get("PATH", "") + os.environ.get("CUDA_HOME", ""))]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _run(compiler, source, options, folder):
    """Compiles into `folder`; the manifest's path."""
    result = folder / "kernel.cubin"
    done = subprocess.run([compiler, "compile", str(source), *options, "-o", str(result)], capture_output=True,
                          text=True)
    if done.returncode:
        raise CompileError(done.stderr.strip())
    return result.with_suffix(".json")


def _compile_file(source, options):
    compiler = _compiler()
    if os.environ.get("ATTENTILE_DISABLE_CACHE", "0") not in ("", "0"):
        with tempfile.TemporaryDirectory(prefix="attentile-") as folder:
            return Kernel(_run(compiler, source, options, pathlib.Path(folder)))
    root = cache_folder()
    home = root / _key(source, options, compiler)
    if not (home / "kernel.json").exists():
        root.mkdir(parents=True, exist_ok=True)
        aside = pathlib.Path(tempfile.mkdtemp(prefix="new-", dir=root))
        try:
            _run(compiler, source, options, aside)
            try:
                aside.rename(home)
            except OSError:  # another process was first
                if not (home / "kernel.json").exists():
                    raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return Kernel(home / "kernel.json")


def compile(source, bind=None, *, target=None, kernel=None, schedule=None, device=0):
    """Compiles a kernel and loads it.

    source: the path of an .attn file, or its text (what has a line break).
    bind: names to fix, {"D": 128, "T": "bf16"}; what is not bound stays open.
    target: "sm_90"; by default that of GPU `device`.
    kernel, schedule: names, where the source has several.
    Raises CompileError with the compiler's diagnostics.
    """
    if target is None:
        target = f"sm_{_runtime.device_architecture(device)}"
    options = [f"--target={target}"]
    if bind:
        options.append("--bind=" + ",".join(f"{k}={v}" for k, v in sorted(bind.items())))
    if kernel:
        options.append(f"--kernel={kernel}")
    if schedule:
        options.append(f"--schedule={schedule}")
    text = os.fspath(source)
    if "\n" not in text:
        return _compile_file(pathlib.Path(text), options)
    with tempfile.TemporaryDirectory(prefix="attentile-") as folder:
        path = pathlib.Path(folder) / "kernel.attn"
        path.write_text(text)
        return _compile_file(path, options)


def load(path):
    """Loads a compiled kernel: its manifest (x.json) or its cubin (x.cubin)."""
    return Kernel(path)
