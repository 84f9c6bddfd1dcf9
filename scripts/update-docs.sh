#!/usr/bin/env bash
# Refreshes the pages that are generated: docs/pipeline.md, docs/dialects and
# docs/passes. With --check it writes nothing and fails when one is stale.
set -euo pipefail
build=$1
if [ "${2:-}" = --check ]; then
  scripts/pipeline-doc.py "$build/bin" | diff docs/pipeline.md -
  scripts/reference-pages.py "$build/bin" --check
  exit
fi
scripts/pipeline-doc.py "$build/bin" >docs/pipeline.md.new
mv docs/pipeline.md.new docs/pipeline.md
scripts/reference-pages.py "$build/bin"
echo "docs/pipeline.md, docs/dialects and docs/passes are up to date"
