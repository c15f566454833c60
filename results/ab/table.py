#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""The verdicts of result files as Markdown: table.py FILE.json..."""
import json
import sys


def main():
    print("| load | arm | p99, us | ratio to default | log-gain - 0.8 oracle | least guard | verdict |")
    print("|---|---|---|---|---|---|---|")
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        for arm in result["arms"]:
            guards = [(value["value"], f"{group} {what}") for group, whats in arm["groups"].items()
                      for what, value in whats.items()]
            least = min(guards)
            oracle = arm.get("against_oracle")
            share = f"{oracle['value']:+.2f} [{oracle['ci95'][0]:+.2f}, {oracle['ci95'][1]:+.2f}]" if oracle else ""
            print(f"| {result['load']['name']} | {arm['name']} | {arm['p99_us']:.0f} | {arm['ratio']:.3f} "
                  f"[{arm['ci95'][0]:.3f}, {arm['ci95'][1]:.3f}] | {share} | {least[0]:.3f} {least[1]} | "
                  f"{arm['verdict']} |")


if __name__ == "__main__":
    main()
