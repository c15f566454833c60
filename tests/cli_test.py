#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""Tests of the command line: help, examples, exit codes, JSON, bad input, the seed's vectors.

usage: cli_test.py KERNELX [--update] [TEST...]

Runs every function below named test_* (or those named) in a fresh folder where `data/` is the
project's. --update rewrites the transcripts in tests/golden instead of comparing with them.
The last line reads `N passed, N failed`.
"""
import difflib
import json
import lzma
import math
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SAMPLE = "data/sample/test.jsonl.zst"
# Too long for a fast suite; each has a test of its own where it is built.
SLOW_VERBS = {"demo", "bench"}

BIN = None
UPDATE = False


class Skipped(Exception):
    pass


def run(*arguments, stdin=None, code=0, shell_limit=None):
    """Runs kernelx; returns (stdout, stderr). `code` is the exit code it must give."""
    command = [str(BIN), *map(str, arguments)]
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
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    expected = path.read_text() if path.exists() else ""
    if text != expected:
        diff = "\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(),
                                              str(path), "now", lineterm=""))
        raise AssertionError(f"{diff}\nif this is meant: cli_test.py KERNELX --update")


# ---- help, examples, exit codes ---------------------------------------------------------------


def test_version():
    out, _ = run("--version")
    name, number = out.split()
    assert name == "kernelx" and len(number.split(".")) == 3, out


def test_help_fits_and_ends_with_examples():
    for verb in verbs():
        text = help_of(verb)
        wide = [line for line in text.splitlines() if len(line) > 80]
        assert not wide, f"{verb}: wider than 80 columns: {wide}"
        assert text.split("\nEXAMPLES\n")[1].strip(), f"{verb}: no example"
    assert all(len(line) <= 80 for line in run("--help")[0].splitlines())


def test_help_transcripts():
    golden("help/kernelx.txt", run("--help")[0])
    for verb in verbs():
        golden(f"help/{verb.replace(' ', '-')}.txt", help_of(verb))
    stale = {path.stem for path in (GOLDEN / "help").glob("*.txt")} - {
        verb.replace(" ", "-") for verb in verbs()} - {"kernelx"}
    assert not stale, f"transcripts of verbs that are gone: {stale}"


def test_examples_run():
    environment = dict(os.environ, PATH=f"{BIN.parent}:{os.environ['PATH']}")
    for verb in verbs():
        if verb in SLOW_VERBS:
            print(f"  examples of {verb} not run: too long")
            continue
        for line in examples(help_of(verb)):
            done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=environment,
                                  capture_output=True, text=True, timeout=120)
            # A reader of a pipe may leave before its writer: 141 is SIGPIPE.
            assert done.returncode in (0, 141), f"{line}\n{done.stderr}"
            assert done.stdout.strip(), f"no result on stdout: {line}"


def test_usage_errors_are_code_2():
    for arguments in ([], ["--no-such"], ["no-such-verb"], ["rollout"], ["preprocess"],
                      ["rollout", "--data", SAMPLE, "--no-such", "1"],
                      ["rollout", "--data", SAMPLE, "--order", "random"],
                      ["rollout", "--data", SAMPLE, "--dynamics", "magic"],
                      ["rollout", "--data", SAMPLE, "--reward", "fair"],
                      ["rollout", "--data", SAMPLE, "--order", "recorded"],
                      ["rollout", "--data", SAMPLE, "--max-steps", "0"],
                      ["rollout", "--data", SAMPLE, "--max-steps", "many"],
                      ["rollout", "--data", SAMPLE, "--hold", "-1"],
                      ["rollout", "--data", SAMPLE, "--alpha", "nan", "--reward", "seed"],
                      ["rollout", "--data", SAMPLE, "--price", "inf"],
                      ["rollout", "--data", SAMPLE, "--start-index", "-1"],
                      ["rollout", "--data", SAMPLE, "--start-index", "999999999999"],
                      ["rollout", "--data", SAMPLE, "--policy", "clever"],
                      ["rollout", "--data", SAMPLE, "--policy", "none", "--actions", "x"],
                      ["simulate", "--data", SAMPLE, "--dynamics", "magic"],
                      ["check-env", "--data", SAMPLE, "--permutations", "5"],
                      ["check-env", "--data", SAMPLE, "--permutations", "-5"],
                      ["check-env", "--data", SAMPLE, "--reward", "fair"],
                      ["convert", "-", "x"], ["convert", SAMPLE, "x.jsonl", "--to", "raw"]):
        out, err = run(*arguments, code=2)
        assert err.strip(), f"silent: {arguments}"
        assert not out.strip(), f"printed a result: {arguments}"


def test_failures_are_code_1():
    refused("rollout", "--data", "none.jsonl", says="none.jsonl")
    refused("inspect", "none.jsonl", says="none.jsonl")
    refused("preprocess", "none.jsonl", "--out", "out", says="none.jsonl")
    refused("preprocess", SAMPLE, "--out", "out", says="processed")
    refused("preprocess", "data/observational.jsonl.xz", "--out", "out", "--features", "none.json",
            says="none.json")


# ---- JSON that other tools read ---------------------------------------------------------------


def test_inspect_json():
    for path, tasks in ((SAMPLE, 41),):
        report = json.loads(run("inspect", path, "--json")[0])
        assert (report["rows"], report["tasks"], report["bad"]) == (3251, tasks, 0), report
        assert len(report["features"]) == 28
        assert all("name" in feature for feature in report["features"])


def test_preprocess_json_and_files():
    write("raw.jsonl", "".join(raw_lines(500)))
    report = json.loads(run("preprocess", "raw.jsonl", "--out", "out", "--json")[0])
    assert report["rows"] == 500 and report["bad"] == 0
    assert report["train"] + report["val"] + report["test"] + report["embargoed"] == 500
    assert sorted(os.listdir("out")) == ["features.json", "test.jsonl", "train.jsonl", "val.jsonl"]
    row = json.loads(open("out/train.jsonl").readline())
    for key in ("state", "action", "reward", "next_state", "pid", "cpu", "timestamp",
                "next_timestamp", "start", "delta", "behavior", "applied", "comm"):
        assert key in row, key
    sidecar = json.loads(open("out/features.json").read())
    assert sidecar["feature_names"] == report["features"] and len(row["state"]) == 28


def test_preprocess_is_the_same_for_any_threads():
    write("raw.jsonl", "".join(raw_lines(2000)))
    texts = []
    for threads in (1, 2, 3):
        run("preprocess", "raw.jsonl", "--out", f"out{threads}", "--threads", threads)
        texts.append([open(f"out{threads}/{name}").read() for name in sorted(os.listdir(f"out{threads}"))])
    assert texts[0] == texts[1] == texts[2]


def test_rollout_json():
    for dynamics, order, reward in (("replay", "recorded", "seed"), ("replay", "task", "balanced"),
                                    ("nearest", "task", "balanced"), ("nearest", "task", "seed"),
                                    ("nearest-state", "task", "balanced")):
        out, _ = run("rollout", "--data", SAMPLE, "--dynamics", dynamics, "--order", order,
                     "--reward", reward, "--episodes", 2, "--policy", "random", "--json")
        steps = [json.loads(line) for line in out.splitlines()]
        assert steps
        for step in steps:
            assert list(step) == ["episode", "t", "action", "reward", "next", "terminated",
                                  "truncated"], step
            assert list(step["next"]) == ["features", "pid", "cpu", "timestep", "prev_action"]
            terms = dict(step["reward"])
            near(terms.pop("total"), math.fsum(terms.values()), "total")
            assert set(terms) == ({"throughput", "latency", "stability", "format"}
                                  if reward == "seed" else
                                  {"latency", "price", "effort", "stability", "format"})
            assert step["next"]["timestep"] == step["t"] and len(step["next"]["features"]) == 28
        assert steps[-1]["terminated"] or steps[-1]["truncated"]


def test_rollout_depends_on_the_seed_alone():
    def roll(*more):
        return run("rollout", "--data", SAMPLE, "--episodes", 5, "--policy", "random", "--json",
                   *more)[0]
    first = roll("--seed", 7, "--threads", 1)
    assert first == roll("--seed", 7, "--threads", 2) == roll("--seed", 7, "--threads", 3)
    assert first != roll("--seed", 8)


def test_simulate_json():
    states = [json.loads(line)["state"] for line in vectors_lines(5)]
    text = "".join(json.dumps({"state": state, "action": 0.5}) + "\n" for state in states)
    out, _ = run("simulate", "--data", seed_file(), "--dynamics", "nearest-state", "--json",
                 stdin=text)
    answers = [json.loads(line) for line in out.splitlines()]
    assert [sorted(answer) for answer in answers] == [["distance", "next_state"]] * 5
    assert all(answer["distance"] == 0 for answer in answers)


def vectors_lines(count):
    return [json.dumps({"state": row["state"]}) for row in vectors()["rows"][:count]]


def test_simulate_refuses_what_is_no_state():
    for line, words in (("nonsense", "stdin:1"), ("{}", "state"), ('{"state":[1,2]}', "10 features"),
                        ('{"state":"x"}', "stdin:1"), ('{"state":[0,0,0,0,0,0,0,0,0,1e999]}', "stdin:1"),
                        ('{"state":[0,0,0,0,0,0,0,0,0,0],"action":null}', "stdin:1"),
                        ('{"state":[0,0,0,0,0,0,0,0,0,NaN]}', "stdin:1")):
        refused("simulate", "--data", seed_file(), "--dynamics", "nearest-state", stdin=line + "\n",
                says=words)
    refused("simulate", "--data", seed_file(), "--dynamics", "replay", code=2,
            stdin=vectors_lines(1)[0], says="recorded rows")


def check_env(*arguments):
    certificate = json.loads(run("check-env", *arguments, "--json")[0])
    assert {"verdict", "outcomes", "placebo"} <= set(certificate)
    for effect in certificate["outcomes"].values():
        assert {"effect", "null95", "data_effect"} <= set(effect)
    return certificate


def test_check_env_json():
    acts = check_env("--data", SAMPLE)
    assert acts["verdict"] == "acts" and set(acts["outcomes"]) == {"wait", "exec", "next_event"}
    assert acts["placebo"]["ok"] is True
    for reward in ("seed", "balanced"):
        blind = check_env("--data", SAMPLE, "--dynamics", "replay", "--reward", reward)
        assert blind["verdict"] == "action-blind"
    still = check_env("--data", seed_still())
    assert still["verdict"] == "no-action-variation"


def seed_still():
    """The vectors' rows with action 0 throughout, like the seed's own recordings."""
    os.makedirs("still", exist_ok=True)
    return write("still/rows.jsonl", "".join(
        json.dumps(dict(row, action=0)) + "\n" for row in vectors()["rows"]))


def test_evaluate_json():
    need_verb("evaluate")
    report = json.loads(run("evaluate", "--policy", "interactive", "--data", SAMPLE, "--json")[0])
    assert {"policies", "paired"} <= set(report)
    for policy in report["policies"]:
        assert {"name", "total", "ci95", "terms"} <= set(policy)
    for row in report["paired"]:
        assert {"policy", "versus", "estimator", "diff", "ci95", "ess", "evaluable", "why"} <= set(row)
    versus = {row["versus"] for row in report["paired"]}
    assert {"none", "random", "heuristic"} <= versus, versus


def test_train_refuses_what_does_not_act():
    need_verb("train")
    for dynamics in ("replay", "nearest-state"):
        _, err = run("train", "--data", SAMPLE, "--out", "run", "--dynamics", dynamics,
                     "--iterations", 1, code=2)
        assert "action-blind" in err and "--allow-action-blind" in err, err
        assert not list(pathlib.Path(".").glob("run/*.safetensors"))
    _, err = run("train", "--data", seed_still(), "--out", "run", "--iterations", 1, code=2)
    assert "no-action-variation" in err, err
    assert not list(pathlib.Path(".").glob("run/*.safetensors"))


# ---- configuration files ----------------------------------------------------------------------


def test_config_files_say_what_flags_say():
    flags = ["--data", SAMPLE, "--dynamics", "replay", "--order", "recorded", "--reward", "seed",
             "--start-index", 5, "--beta", 0.25, "--episodes", 2, "--json"]
    expected = run("rollout", *flags)[0]
    values = {"data": SAMPLE, "dynamics": "replay", "order": "recorded", "reward": "seed",
              "start-index": 5, "beta": 0.25, "episodes": 2, "json": True}
    write("a.json", json.dumps(values))
    write("a.toml", "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
    for path in ("a.json", "a.toml"):
        assert run("rollout", "--config", path)[0] == expected, path
    other = run("rollout", "--config", "a.toml", "--start-index", 6)[0]
    assert other != expected and other, "a flag outranks the file"


def test_config_errors_are_usage_errors():
    write("unknown.json", json.dumps({"data": SAMPLE, "betta": 1}))
    write("unknown.toml", f'data = "{SAMPLE}"\nbetta = 1\n')
    for path in ("unknown.json", "unknown.toml"):
        _, err = run("rollout", "--config", path, code=2)
        assert "betta" in err, err
    write("broken.json", "{")
    run("rollout", "--config", "broken.json", code=2)
    run("rollout", "--config", "none.toml", code=2)
    write("type.json", json.dumps({"data": SAMPLE, "max-steps": "many"}))
    run("rollout", "--config", "type.json", code=2)


# ---- the seed's vectors -----------------------------------------------------------------------


def check_step(step, expected):
    for name, value in expected["reward"].items():
        near(step["reward"][name], value, name)
    assert step["next"] == expected["next"], (step["next"], expected["next"])
    assert step["action"] == expected["action"]
    assert step["truncated"] == expected["done"] and not step["terminated"]


def test_seed_episodes():
    data = seed_file()
    for episode in vectors()["episodes"]:
        write("actions", "".join(f"{step['action']!r}\n" for step in episode["steps"]))
        out, _ = run("rollout", "--data", data, "--dynamics", "replay", "--order", "recorded",
                     "--reward", "seed", "--start-index", episode["start_index"], "--max-steps",
                     episode["max_steps"], "--actions", "actions", "--json")
        steps = [json.loads(line) for line in out.splitlines()]
        assert len(steps) == len(episode["steps"]) == 10
        for step, expected in zip(steps, episode["steps"]):
            check_step(step, expected)


def test_seed_rewards():
    # A reward of two states is a step between two rows; the previous action is set by a step
    # before, between two rows alike. With this few rows a file, vectors go in batches: the rows
    # of vector k are 3k, 3k + 1, 3k + 2.
    cases = vectors()["rewards"]
    by_weights = {}
    for case in cases:
        by_weights.setdefault((case["alpha"], case["beta"], case["gamma"]), []).append(case)
    checked = 0
    template = vectors()["rows"][0]
    for (alpha, beta, gamma), batch in by_weights.items():
        rows = []
        for case in batch:
            rows += [dict(template, state=case["state"]), dict(template, state=case["state"]),
                     dict(template, state=case["next_state"])]
        os.makedirs("rewards", exist_ok=True)
        write("rewards/rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        # One long episode from row 0: step 3k sets the previous action, step 3k + 1 is the vector.
        actions = []
        for case in batch:
            actions += [case["prev_action"], case["action"], 0.0]
        actions = actions[:len(rows) - 1]
        write("actions", "".join(f"{action!r}\n" for action in actions))
        out, _ = run("rollout", "--data", "rewards/rows.jsonl", "--dynamics", "replay", "--order",
                     "recorded", "--reward", "seed", "--start-index", 0, "--max-steps",
                     len(rows) - 1, "--actions", "actions", "--json", "--alpha", alpha, "--beta",
                     beta, "--gamma", gamma)
        steps = [json.loads(line) for line in out.splitlines()]
        for k, case in enumerate(batch):
            for name, value in case["expect"].items():
                near(steps[3 * k + 1]["reward"][name], value, name)
            checked += 1
    assert checked == 200, checked


def test_seed_nearest_neighbours():
    cases = vectors()["nearest"]
    text = "".join(json.dumps({"state": case["query"], "action": 0.3}) + "\n" for case in cases)
    out, _ = run("simulate", "--data", seed_file(), "--dynamics", "nearest-state", "--json",
                 stdin=text)
    answers = [json.loads(line) for line in out.splitlines()]
    assert len(answers) == len(cases) == 40
    for answer, case in zip(answers, cases):
        near(answer["distance"], case["distance"], "distance")
        assert answer["next_state"] in case["next_states"]


def test_seed_features():
    rows = vectors()["rows"]
    write("raw.jsonl", "".join(raw_lines(200)))
    report = json.loads(run("preprocess", "raw.jsonl", "--out", "out", "--features", "seed",
                            "--json")[0])
    made = [json.loads(line) for split in ("train", "val", "test")
            for line in open(f"out/{split}.jsonl")]
    assert len(made) == 200 - report["embargoed"] and len(made) > 150
    expected = {(row["pid"], row["timestamp"]): row for row in rows}
    assert len(expected) == 200
    for row in made:
        for key, value in expected[row["pid"], row["timestamp"]].items():
            assert row[key] == value, (key, row[key], value)


def test_seed_configuration_gives_the_seed_features():
    write("seed.json", json.dumps({
        "symlog_features": [4, 5, 6], "active_features": [0, 1, 2, 3, 4, 5, 6, 7, 12, 23],
        "feature_names": ["cpu", "prio", "sprio", "nprio", "exec_ns", "vrt", "migr", "cpus", "csw",
                          "wt_us"], "sparse_zero_features": []}))
    write("raw.jsonl", "".join(raw_lines(200)))
    run("preprocess", "raw.jsonl", "--out", "a", "--features", "seed.json")
    run("preprocess", "raw.jsonl", "--out", "b", "--features", "seed")
    assert open("a/train.jsonl").read() == open("b/train.jsonl").read()


# ---- bad input --------------------------------------------------------------------------------


def with_state(line, change):
    row = json.loads(line)
    change(row["state_t"])
    return json.dumps(row) + "\n"


def bad_raw_files():
    """(name, content, words of the error); the fault is on line 2 where there is one."""
    good = raw_lines(3)
    one = good[1].rstrip("\n")
    row = json.loads(one)
    features = one.index('"features"')
    number = one.index("[", features) + 1
    end = min(one.index(",", number), one.index("]", number))

    def second(text):
        return good[0] + (text if text.endswith("\n") else text + "\n") + good[2]

    def first_feature(text):
        return second(one[:number] + text + one[end:])

    yield "empty", "", "empty"
    yield "half", good[0] + one[: len(one) // 2], ":2:"
    yield "two", second(one + one), ":2:"
    yield "word", second("hello"), ":2:"
    yield "array", second("[1, 2]"), ":2:"
    yield "object", second('{"a": 1}'), ":2:"
    yield "23", second(with_state(one, lambda s: s["features"].pop())), (":2:", "23")
    yield "25", second(with_state(one, lambda s: s["features"].append(0))), (":2:", "25")
    yield "missing", second(json.dumps({k: v for k, v in row.items() if k != "action"})), \
        (":2:", "action")
    yield "mistyped", second(with_state(one, lambda s: s.update(pid="7"))), (":2:", "pid")
    yield "boolean", second(json.dumps(dict(row, action=True))), (":2:", "action")
    for text in ("NaN", "Infinity", "1e999", str(2**64), "-1", "9" * 20, "1.5", '"1"', "null"):
        yield f"feature {text}", first_feature(text), ":2:"
    yield "action NaN", second(one.replace('"action": ', '"action": NaN, "x": ', 1)
                               if '"action": ' in one else
                               one.replace('"action":', '"action":NaN,"x":', 1)), ":2:"
    yield "duplicate", second(one[:-1] + ', "action": 0.5}'), (":2:", "action")
    yield "deep", second("[" * 100_000), ":2:"
    yield "long", second('{"x": "' + "a" * (8 << 20) + '"}'), ":2:"
    yield "bytes", second(one[:-1]).encode() + b'{"comm": "\xff\xfe"}\n', ":"
    yield "zip", lzma.compress("".join(good * 2000).encode())[:-4000], "zip"


def test_bad_recordings_are_refused_whole():
    for name, content, words in bad_raw_files():
        path = write(f"{name}.jsonl", content)
        says = (words,) if isinstance(words, str) else words
        refused("preprocess", path, "--out", "out", says=(f"{name}.jsonl", *says))
        assert not os.path.isdir("out") or not os.listdir("out"), f"{name}: left {os.listdir('out')}"


def test_quarantine_sets_bad_lines_aside():
    good = raw_lines(30)
    write("mixed.jsonl", "".join(good[:10]) + "nonsense\n" + "".join(good[10:]) + good[0][:100])
    report = json.loads(run("preprocess", "mixed.jsonl", "--out", "out", "--quarantine", "aside",
                            "--json")[0])
    assert report["rows"] == 30 and report["bad"] == 2
    assert open("aside").read().splitlines()[0] == "nonsense"


def test_odd_recordings_are_accepted():
    good = raw_lines(30)
    text = "".join(good)
    files = {"no newline": text[:-1], "crlf": text.replace("\n", "\r\n"), "bom": "\ufeff" + text,
             "blank": "\n\n".join(good) + "\n\n", "one row": good[0],
             "2^53+1": with_state(good[0], lambda s: s["features"].__setitem__(4, 2**53 + 1)),
             "2^64-1": with_state(good[0], lambda s: s["features"].__setitem__(5, 2**64 - 1))}
    rows = [json.loads(line) for line in good]
    for row in rows:
        row["state_t_next"]["timestamp"] = row["state_t"]["timestamp"]
    files["equal times"] = "".join(json.dumps(row) + "\n" for row in rows)
    for row in rows:
        row["state_t_next"]["timestamp"] = row["state_t"]["timestamp"] - 1
    files["backwards"] = "".join(json.dumps(row) + "\n" for row in rows)
    for name, content in files.items():
        path = write(f"{name}.jsonl", content)
        report = json.loads(run("preprocess", path, "--out", name, "--json")[0])
        assert report["rows"] == content.count("state_t_next") and report["bad"] == 0, name
        assert len(os.listdir(name)) == 4, name
        if name in ("no newline", "crlf", "bom", "blank"):
            for split in ("train", "val", "test"):
                assert open(f"{name}/{split}.jsonl").read() == \
                    open(f"no newline/{split}.jsonl").read(), name
        # Whatever the times, an episode of it has finite rewards.
        out, _ = run("rollout", "--data", name, "--dynamics", "replay", "--json")
        for line in out.splitlines():
            assert all(math.isfinite(value) for value in json.loads(line)["reward"].values()), name


def test_paths_that_cannot_be_read():
    os.mkdir("folder")
    refused("preprocess", "folder", "--out", "out", says="folder")
    refused("rollout", "--data", "folder", says="folder")
    refused("rollout", "--data", "none.jsonl", says="none.jsonl")
    if os.geteuid() == 0:
        print("  a file without read permission: not tried, root may read it")
        return
    write("secret.jsonl", raw_lines(1)[0])
    os.chmod("secret.jsonl", 0)
    refused("preprocess", "secret.jsonl", "--out", "out", says=("secret.jsonl", "permission"))


def test_too_few_rows():
    rows = vectors()["rows"]
    write("ten.jsonl", "".join(json.dumps(row) + "\n" for row in rows[:10]))
    refused("rollout", "--data", "ten.jsonl", "--dynamics", "replay", "--order", "recorded",
            "--reward", "seed", says=("10 rows", "11"))
    run("rollout", "--data", "ten.jsonl", "--dynamics", "replay", "--order", "recorded",
        "--reward", "seed", "--max-steps", 9)
    _, err = run("rollout", "--data", "ten.jsonl", "--dynamics", "replay", "--order", "recorded",
                 "--reward", "seed", "--max-steps", 9, "--start-index", 1, code=2)
    assert "start index 1" in err
    write("empty.jsonl", "")
    refused("rollout", "--data", "empty.jsonl", says="empty.jsonl")


def test_plain_datasets_run():
    rows = vectors()["rows"]
    pid = rows[0]["pid"]
    files = {"zeros": [dict(row, action=0) for row in rows],
             "constant": [dict(rows[0], timestamp=k, reward=0) for k in range(20)],
             "single": [row for row in rows if row["pid"] == pid]}
    for name, content in files.items():
        os.makedirs(name)
        path = write(f"{name}/rows.jsonl", "".join(json.dumps(row) + "\n" for row in content))
        for dynamics in ("replay", "nearest", "nearest-state"):
            out, _ = run("rollout", "--data", path, "--dynamics", dynamics, "--json",
                         "--max-steps", 2)
            assert out and "nan" not in out.lower() and "null" not in out, (name, dynamics)


def test_actions_that_are_no_action():
    data = seed_file()

    def roll(text, **expected):
        write("actions", text)
        arguments = ("rollout", "--data", data, "--dynamics", "replay", "--order", "recorded",
                     "--reward", "seed", "--actions", "actions", "--json")
        return refused(*arguments, **expected) if expected else run(*arguments)
    for bad in ("nan", "inf", "-inf", "1e999", "fast", "0.1 0.2"):
        out, _ = roll(f"0.5\n{bad}\n", says="actions:2:")
        assert not out, "no step before all actions are known to be fine"
    roll("", says="actions")
    out, _ = roll("1.0000001\n1.0\n")
    first, second = [json.loads(line)["reward"]["format"] for line in out.splitlines()]
    assert (first, second) == (0, 1)
    refused("rollout", "--data", data, "--dynamics", "replay", "--actions", "none", says="none")


# ---- outputs appear whole or not at all -------------------------------------------------------


def test_a_full_disk_leaves_no_file():
    write("raw.jsonl", "".join(raw_lines(2000)))
    refused("preprocess", "raw.jsonl", "--out", "out", shell_limit=100, says="cannot write")
    assert os.listdir("out") == []
    refused("convert", "raw.jsonl", "copy.jsonl", shell_limit=100, says="copy.jsonl")
    assert not os.path.exists("copy.jsonl")
    assert [name for name in os.listdir(".") if name.endswith(".tmp")] == []


def test_a_killed_run_leaves_no_file():
    for wait in (0.8, 0.3, 0.1):
        shutil.rmtree("out", ignore_errors=True)
        process = subprocess.Popen([str(BIN), "preprocess", "data/interventional-a.jsonl.xz",
                                    "--out", "out"], stdout=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            continue  # it was faster
        left = os.listdir("out") if os.path.isdir("out") else []
        assert all(name.endswith(".tmp") for name in left), left
        return
    raise Skipped("preprocess ends before it can be killed")


# ---- transcripts ------------------------------------------------------------------------------


def test_rollout_transcript():
    text, _ = run("rollout", "--data", SAMPLE, "--policy", "interactive", "--episodes", 3)
    replay, _ = run("rollout", "--data", SAMPLE, "--dynamics", "replay", "--order", "recorded",
                    "--reward", "seed", "--start-index", 0, "--max-steps", 2, "--json")
    golden("rollout.txt", text + replay)


def test_check_env_transcript():
    text, _ = run("check-env", "--data", SAMPLE)
    blind, _ = run("check-env", "--data", SAMPLE, "--dynamics", "replay")
    golden("check-env.txt", text + "\n" + blind)


def main():
    global BIN, UPDATE
    arguments = [argument for argument in sys.argv[1:] if argument != "--update"]
    UPDATE = len(arguments) < len(sys.argv) - 1
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    BIN = pathlib.Path(arguments[0]).resolve()
    if not BIN.is_file():
        sys.exit(f"{BIN}: no such program; build it first")
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
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
