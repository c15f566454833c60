#!/usr/bin/env bash
# Makes the verdicts of this folder again, as root on a quiet machine: about six minutes a load.
#   results/ab/make.sh [LOAD...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
loads=("$@")
[ ${#loads[@]} -gt 0 ] || loads=(hogs messaging server mixed)
for load in "${loads[@]}"; do
  build/release/bin/kernelx ab --load "$load" --policy results/ab/strategist.safetensors --policy interactive \
    --live-flags '--max-demote 0' --blocks 40 --window 0.8 --washout 0.3 --seed 1 \
    --out "results/ab/$load.json" --report "results/ab/$load.html"
done
python3 results/ab/table.py results/ab/*.json
