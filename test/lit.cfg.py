"""lit: every .mlir, .attn and .test file runs its RUN lines; unit tests run whole."""
import os
import shutil
import sys

import lit.formats
import lit.llvm

lit.llvm.initialize(lit_config, config)

config.name = "attentile"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".attn", ".test"]
config.excludes = ["Inputs", "fuzz", "random", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_root, "test")

config.substitutions.append(("%examples", os.path.join(config.source_root, "examples")))
config.substitutions.append(("%source_root", config.source_root))
config.substitutions.append(("%build_root", config.build_root))
config.substitutions.append(("%python", sys.executable))
exits = os.path.join(config.test_source_root, "Driver", "Inputs", "exits.py")
config.substitutions.append(("%exits", f"{sys.executable} {exits}"))
config.substitutions.append(("%cxx", config.cxx))
config.substitutions.append(("%cc", config.cc))
config.substitutions.append(("%unit", os.path.join(config.build_root, "test", "unit")))
for directory in (config.llvm_tools_dir, os.path.join(config.build_root, "bin")):
    lit.llvm.llvm_config.with_environment("PATH", directory, append_path=True)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Where nothing else is said a test runs on the CPU, whatever this machine has;
# what is about the GPU's runtime names the fake driver.
config.environment["ATTENTILE_CUDA_DRIVER"] = "libno-cuda-in-tests.so"
if config.sanitize:
    # LLVM's allocators poison what they have not handed out where they are
    # compiled here, and do not unpoison it where they are compiled into libLLVM.
    options = [config.environment.get("ASAN_OPTIONS"), "allow_user_poisoning=0"]
    config.environment["ASAN_OPTIONS"] = ":".join(filter(None, options))
    config.available_features.add("sanitize")
else:
    config.available_features.add("no-sanitize")
if shutil.which("ptxas") or os.access(os.path.join(os.environ.get("CUDA_HOME", ""), "bin", "ptxas"), os.X_OK):
    config.available_features.add("ptxas")
