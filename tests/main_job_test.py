#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""The main job as a user runs it, and whether what it claims is so.

usage: main_job_test.py KERNELX

Trains on load A and judges on load B with `kernelx demo`, then holds the figures it wrote to the
claims of the README. The last line reads `N passed, N failed`.
"""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BASELINES = ["none", "random", "heuristic", "interactive", "best-constant"]
CROWD = "sched-messaging"


class MainJob:
    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = folder
        self.demo_text = self.run("demo", "--out", "run", "--seed", "1", "--recordings",
                                  pathlib.Path(__file__).resolve().parent.parent / "data")
        self.evaluation = json.loads((folder / "run" / "evaluation.json").read_text())

    def run(self, *arguments, code=0):
        done = subprocess.run([self.binary, *map(str, arguments)], cwd=self.folder,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def train(self, out, *arguments, code=0):
        return self.run("train", "--data", "run/load-a/val.jsonl", "--out", out, "--seed", "3",
                        *arguments, code=code)

    def profile(self, group):
        strategist = self.evaluation["policies"][0]
        return {row["kind"]: row["mean"] for row in strategist["profile"][group]}

    # Each check below is one claim.

    def test_strategist_beats_every_baseline_on_a_load_it_never_saw(self):
        for versus in BASELINES:
            for estimator in ["dr", "snips"]:
                row, = [r for r in self.evaluation["paired"]
                        if r["policy"] == "strategist" and r["versus"] == versus
                        and r["estimator"] == estimator]
                assert row["evaluable"], row
                assert row["ci95"][0] > 0, row

    def test_model_opinion_is_marked_and_apart(self):
        models = [r for r in self.evaluation["paired"] if r["estimator"] == "model"]
        assert models and all("opinion" in r["why"] for r in models)

    def test_strategist_boosts_regular_and_timer_woken_tasks(self):
        assert self.profile("by_kind")["wakes regularly or by timer"] <= -0.5

    def test_strategist_does_not_boost_hogs(self):
        assert self.profile("by_kind")["past 50 ms of CPU since sleep"] >= 0.0

    def test_strategist_leaves_the_crowd_near_zero(self):
        assert abs(self.profile("by_command")[CROWD]) <= 0.3

    def test_demo_says_what_was_not_shown(self):
        assert "Not shown:" in self.demo_text and "live A/B" in self.demo_text

    def test_run_folder_is_complete(self):
        run = self.folder / "run"
        config = json.loads((run / "config.json").read_text())
        assert config["certificate"]["verdict"] == "acts"
        assert len(list(csv.DictReader((run / "metrics.csv").open()))) == 200
        page = (run / "report.html").read_text()
        assert "strategist" in page and "http://" not in page.replace("http://www.w3.org", "")
        assert not list(run.rglob("*.tmp"))

    def test_same_seed_same_bytes_for_any_thread_count(self):
        for threads in [1, 2, 3]:
            self.train(f"t{threads}", "--iterations", "6", "--threads", threads)
        first = (self.folder / "t1/policy.safetensors").read_bytes()
        assert first == (self.folder / "t2/policy.safetensors").read_bytes()
        assert first == (self.folder / "t3/policy.safetensors").read_bytes()
        self.run("train", "--data", "run/load-a/val.jsonl", "--out", "other", "--seed", "4",
                 "--iterations", "6")
        assert first != (self.folder / "other/policy.safetensors").read_bytes()

    def test_resumed_run_equals_an_uninterrupted_one(self):
        whole = ["--curriculum", "8x1,4x2", "--checkpoint-every", "4"]
        self.train("whole", *whole)
        shutil.copytree(self.folder / "whole", self.folder / "resumed")
        for later in ["000008", "000012"]:
            shutil.rmtree(self.folder / "resumed/checkpoints" / later)
        self.train("resumed", *whole, "--resume")
        for name in ["policy.safetensors", "metrics.csv"]:
            assert (self.folder / "whole" / name).read_bytes() == \
                (self.folder / "resumed" / name).read_bytes(), name

    def test_action_blind_dynamics_is_refused(self):
        error = self.train("blind", "--dynamics", "replay", code=2)
        assert "action-blind" in error and "--allow-action-blind" in error

    def test_recording_without_draws_is_refused(self):
        data = pathlib.Path(__file__).resolve().parent.parent / "data"
        self.run("preprocess", data / "observational.jsonl.xz", "--out", "observational")
        error = self.run("train", "--data", "observational", "--out", "none", code=2)
        assert "no-action-variation" in error
        text = self.run("evaluate", "--policy", "run/policy.safetensors", "--data", "observational",
                        "--json")
        assert all(not r["evaluable"] and r["why"] for r in json.loads(text)["paired"])


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        job = MainJob(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder))
        for name in [n for n in dir(job) if n.startswith("test_")]:
            try:
                getattr(job, name)()
                passed += 1
                print(f"ok    {name[5:].replace('_', ' ')}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAIL  {name[5:].replace('_', ' ')}\n      {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
