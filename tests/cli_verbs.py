# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""Help, examples, exit codes, JSON, configuration, transcripts: what each verb promises."""
import json
import math
import os
import pathlib
import subprocess

from cli_harness import (GOLDEN, SAMPLE, examples, golden, help_of, near, need_verb, options,
                         raw_lines, refused, run, seed_file, seed_still, vectors_lines, verbs,
                         write)


# Too long for a fast suite; each has a test of its own where it is built.
SLOW_VERBS = {"demo", "bench"}


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
    environment = dict(os.environ, PATH=f"{options.program.parent}:{os.environ['PATH']}")
    for verb in verbs():
        if verb in SLOW_VERBS:
            print(f"  examples of {verb} not run: too long")
            continue
        for line in examples(help_of(verb)):
            done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=environment,
                                  capture_output=True, text=True, timeout=120)
            if done.returncode == 3:  # a capability of the kernel or the user is missing
                print(f"  skipped: {line.splitlines()[0]}: {done.stderr.strip().splitlines()[-1]}")
                continue
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


def test_rollout_transcript():
    text, _ = run("rollout", "--data", SAMPLE, "--policy", "interactive", "--episodes", 3)
    replay, _ = run("rollout", "--data", SAMPLE, "--dynamics", "replay", "--order", "recorded",
                    "--reward", "seed", "--start-index", 0, "--max-steps", 2, "--json")
    golden("rollout.txt", text + replay)


def test_check_env_transcript():
    text, _ = run("check-env", "--data", SAMPLE)
    blind, _ = run("check-env", "--data", SAMPLE, "--dynamics", "replay")
    golden("check-env.txt", text + "\n" + blind)
