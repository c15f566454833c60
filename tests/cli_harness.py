# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""What the tests of the command line share: running kernelx, files, transcripts."""
import difflib
import json
import lzma
import os
import pathlib
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SAMPLE = "data/sample/test.jsonl.zst"


class options:
    """Set by cli_test.py before any test runs."""
    program = None
    update = False


class Skipped(Exception):
    pass


def run(*arguments, stdin=None, code=0, shell_limit=None):
    """Runs kernelx; returns (stdout, stderr). `code` is the exit code it must give."""
    command = [str(options.program), *map(str, arguments)]
    if shell_limit is not None:
        command = ["bash", "-c", f"trap '' XFSZ; ulimit -f {shell_limit}; exec \"$@\"", "-", *command]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (
        f"exit code {done.returncode}, not {code}: {shlex.join(command)}\n{done.stderr}")
    return done.stdout, done.stderr


def refused(*arguments, says=(), code=1, **options):
    """Runs kernelx, which must fail with one line on stderr that contains each of `says`."""
    out, err = run(*arguments, code=code, **options)
    for words in [says] if isinstance(says, str) else says:
        assert words in err, f"{words!r} is not in {err!r}"
    if code == 1:
        assert err.strip().count("\n") == 0 and err.startswith("kernelx: "), f"not one line: {err!r}"
        assert len(err) < 700, f"too long: {err[:700]}"
    return out, err


def verbs(*above):
    """The verbs, e.g. "rollout"; one with verbs of its own counts as those: "world train"."""
    out, _ = run(*above, "--help")
    if "\nSubcommands:\n" not in out:
        return [" ".join(above)]
    lines = out.split("\nSubcommands:\n")[1].split("\n\n")[0].splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    return [verb for name in names for verb in verbs(*above, name)]


def need_verb(name):
    if name not in verbs():
        raise Skipped(f"no verb {name} in this build")


def help_of(verb):
    return run(*verb.split(), "--help")[0]


def examples(text):
    """The commands below EXAMPLES; a backslash joins lines."""
    block = text.split("\nEXAMPLES\n")[1].replace("\\\n", " ")
    return [line.strip() for line in block.splitlines() if "kernelx " in line]


def raw_lines(count, name="interventional-a"):
    with lzma.open(ROOT / "data" / f"{name}.jsonl.xz", "rt") as file:
        return [next(file) for _ in range(count)]


def write(path, content):
    data = content if isinstance(content, bytes) else content.encode()
    pathlib.Path(path).write_bytes(data)
    return path


def vectors():
    return json.loads((ROOT / "tests/data/seed-vectors.json").read_text())


def near(actual, expected, what):
    assert abs(actual - expected) <= 1e-9 * abs(expected), f"{what}: {actual!r}, not {expected!r}"


def seed_file():
    """The vectors' rows as a file like the seed's: no sidecar, no extra key."""
    os.makedirs("seed", exist_ok=True)
    return write("seed/rows.jsonl",
                 "".join(json.dumps(row) + "\n" for row in vectors()["rows"]))


def golden(name, text):
    path = GOLDEN / name
    if options.update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    expected = path.read_text() if path.exists() else ""
    if text != expected:
        diff = "\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(),
                                              str(path), "now", lineterm=""))
        raise AssertionError(f"{diff}\nif this is meant: cli_test.py KERNELX --update")


def vectors_lines(count):
    return [json.dumps({"state": row["state"]}) for row in vectors()["rows"][:count]]


def seed_still():
    """The vectors' rows with action 0 throughout, like the seed's own recordings."""
    os.makedirs("still", exist_ok=True)
    return write("still/rows.jsonl", "".join(
        json.dumps(dict(row, action=0)) + "\n" for row in vectors()["rows"]))
