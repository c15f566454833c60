#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""Tests of the command line.

usage: cli_test.py KERNELX [--update] [TEST...]

Runs every function named test_* of the cli_*.py beside this file (or those named) in a fresh folder
where `data/` is the project's. --update rewrites the transcripts in tests/golden instead of
comparing with them. The last line reads `N passed, N failed`.
"""
import os
import pathlib
import sys
import tempfile
import time
import traceback

import cli_bad_input
import cli_seed
import cli_top
import cli_verbs
from cli_harness import ROOT, Skipped, options


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--update"]
    options.update = len(arguments) < len(sys.argv) - 1
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    options.program = pathlib.Path(arguments[0]).resolve()
    if not options.program.is_file():
        sys.exit(f"{options.program}: no such program; build it first")
    tests = {name: test for module in (cli_verbs, cli_seed, cli_bad_input, cli_top)
             for name, test in vars(module).items() if name.startswith("test_")}
    chosen = arguments[1:] or list(tests)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in chosen:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kernelx-cli-") as folder:
            os.chdir(folder)
            os.symlink(ROOT / "data", "data")
            try:
                tests[name]()
                result, why = "passed", ""
            except Skipped as reason:
                result, why = "skipped", f": {reason}"
            except Exception:
                result, why = "failed", "\n" + traceback.format_exc()
            os.chdir(ROOT)
        counts[result] += 1
        print(f"{result} {name} ({time.monotonic() - began:.1f} s){why}", flush=True)
    if counts["skipped"]:
        print(f"{counts['skipped']} skipped")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
