#!/usr/bin/env python3
"""Holds the rooms to their include table: each may include itself, the ground, and what is listed."""
import pathlib
import re
import sys

ROOMS = {
    "ground": set(),
    "record": {"ground"},
    "act": {"ground"},
    "dataset": {"ground", "record"},
    "preprocess": {"ground", "record", "dataset"},
    "env": {"ground", "dataset", "preprocess"},
    "nn": {"ground"},
    "policy": {"ground", "nn", "env", "preprocess", "dataset"},
    "ope": {"ground", "dataset", "preprocess", "env", "nn", "policy"},
    "world": {"ground", "nn", "env", "preprocess", "dataset"},
    "train": {"ground", "dataset", "preprocess", "env", "nn", "policy", "ope"},
    "evaluate": {"ground", "dataset", "preprocess", "env", "nn", "policy", "ope"},
    "live": {"ground", "record", "act", "dataset", "preprocess", "env", "nn", "policy"},
    "ab": {"ground", "act", "evaluate"},
    "cli": None,  # anything; nothing includes it
}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / "kernelx"
    wrong = []
    for path in sorted([*root.rglob("*.h"), *root.rglob("*.cc")]):
        room = path.relative_to(root).parts[0]
        allowed = ROOMS.get(room, set())
        if allowed is None:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'#include "kernelx/(\w+)/', line)
            if found and found[1] != room and found[1] not in allowed:
                wrong.append(f"{path.relative_to(root.parent)}:{number}: {room} may not include {found[1]}")
    print("\n".join(wrong) if wrong else "includes between rooms: as drawn")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
