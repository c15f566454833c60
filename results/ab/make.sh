#!/usr/bin/env bash
# Makes the verdicts of this folder again, as root on a quiet machine: about seven minutes a load.
#   results/ab/make.sh POLICY.safetensors [LOAD...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
policy=$1
shift
loads=("$@")
[ ${#loads[@]} -gt 0 ] || loads=(hogs messaging server mixed)
for load in "${loads[@]}"; do
  build/release/bin/kernelx ab --load "$load" --policy "$policy" --policy interactive \
    --blocks 40 --window 1 --washout 0.4 --seed 1 \
    --out "results/ab/$load.json" --report "results/ab/$load.html" | tee "results/ab/$load.txt"
done
