#!/usr/bin/env bash
# Trains five seeds on load A, judges each on load B, and writes seed-N.json here.
# usage: results/demo/make.sh   (after ./kx demo)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for seed in 1 2 3 4 5; do
  build/release/bin/kernelx train --data runs/demo/load-a --out "runs/seed-$seed" --seed "$seed"
  build/release/bin/kernelx evaluate --policy "runs/seed-$seed/policy.safetensors" --data runs/demo/load-b --json \
    > "results/demo/seed-$seed.json"
done
python3 results/demo/table.py results/demo/seed-*.json
