#!/usr/bin/env bash
# Refreshes what is generated: docs/pipeline.md in the source tree, and the
# reference pages of operations and passes in the build folder.
set -euo pipefail
build=$1
scripts/pipeline-doc.py "$build/bin" >docs/pipeline.md.new
mv docs/pipeline.md.new docs/pipeline.md
ninja -C "$build" attentile-docs
echo "docs/pipeline.md is up to date; operations and passes: $build/docs"
