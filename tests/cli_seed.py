# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""The seed's vectors through the command line."""
import json
import os

from cli_harness import near, raw_lines, run, seed_file, vectors, write


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
