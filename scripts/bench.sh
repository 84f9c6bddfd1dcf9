#!/usr/bin/env bash
# make bench: speed on this CPU, beside OpenBLAS's sgemm and beside the same
# programs with passes off.
set -euo pipefail
build=$1
cd "$(dirname "$0")/.."
cmake "$build" >/dev/null # finds OpenBLAS if it came after the first configure
ninja -C "$build" attentile-bench-cpu
exec "$build/bin/attentile-bench-cpu" examples
