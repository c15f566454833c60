#!/usr/bin/env python3
"""Prints the table of README.md from the JSON of each seed."""
import json
import sys

BASELINES = ["none", "random", "heuristic", "interactive", "best-constant"]


def main():
    for estimator in ["dr", "snips"]:
        print(f"| {estimator} | " + " | ".join(BASELINES) + " |")
        print("|---" * (len(BASELINES) + 1) + "|")
        for path in sys.argv[1:]:
            with open(path) as file:
                paired = json.load(file)["paired"]
            cells = []
            for versus in BASELINES:
                row, = [r for r in paired if (r["policy"], r["versus"], r["estimator"]) ==
                        ("strategist", versus, estimator)]
                cells.append(f"{row['diff']:+.3f} [{row['ci95'][0]:+.3f}, {row['ci95'][1]:+.3f}]")
            print(f"| {path.split('/')[-1].removesuffix('.json')} | " + " | ".join(cells) + " |")
        print()


main()
