#!/usr/bin/env bash
# The main job on the shipped input: causal attention with grouped heads on .npy
# files, which are drawn once from a seed, compared with the float64 reference.
set -euo pipefail
build=$1
attentile=$build/bin/attentile
folder=$build/demo
example=examples/02-causal.attn

if [ ! -f "$folder/done" ]; then
  echo "drawing Q, K and V once, into $folder"
  "$attentile" run $example --bind B=1,H=16,G=4,M=4096,N=4096,D=64,E=128,T=f32 \
    --seed 2026 --save-inputs "$folder" >/dev/null
  touch "$folder/done"
fi

echo "$example: 16 query heads share 4 key heads; a query sees no later key"
set -x
"$attentile" run $example --in Q="$folder/Q.npy" --in K="$folder/K.npy" --in V="$folder/V.npy" \
  --out O="$folder/O.npy" --out L="$folder/L.npy" --verify
