#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""The yardstick of `kernelx bench`: the seed environment's arithmetic in plain Python, timed.

usage: seed_baseline.py PROCESSED.jsonl [--load-rows N] [--seconds S]

Written from the seed's description (docs/bench.md), not from its source: records are the dicts that
json.loads gives, one list of them is the dataset. Prints one JSON object of rates to stdout.
"""
import argparse
import json
import math
import random
import time

EXEC, WAIT = 4, 9  # columns of the reward's two features
SAMPLE = 500  # rows that `simulate` looks at


def load(path, most_rows):
    """The records, and the bytes they were read from."""
    records, size = [], 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            records.append(json.loads(line))
            size += len(line)
            if len(records) == most_rows:
                break
    return records, size


class SeedEnv:
    """One environment over rows in file order."""

    def __init__(self, records, max_steps=10, alpha=1.0, beta=2.0, gamma=0.5, seed=0):
        if len(records) < max_steps + 1:
            raise ValueError(f"{len(records)} records, but max_steps {max_steps} needs {max_steps + 1}")
        self.records, self.max_steps = records, max_steps
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.random = random.Random(seed)

    def observe(self, record):
        return {"features": record["state"], "pid": record["pid"], "cpu": record["cpu"],
                "timestep": self.timestep, "prev_action": self.previous_action}

    def reset(self):
        self.timestep, self.previous_action, self.done = 0, 0.0, False
        self.row = self.random.randrange(len(self.records) - self.max_steps)
        return self.observe(self.records[self.row])

    def step(self, action):
        state = self.records[self.row]["state"]
        after = self.records[self.row + 1]
        reward = self.reward(state, action, after["state"])
        self.row += 1
        self.timestep += 1
        self.previous_action = action
        self.done = self.timestep >= self.max_steps
        return self.observe(after), reward, self.done

    def reward(self, state, action, after):
        throughput = self.alpha * math.log(max(0.0, after[EXEC] - state[EXEC]) + 1.0)
        latency = -self.beta * max(0.0, after[WAIT] - state[WAIT])
        stability = -self.gamma * abs(action - self.previous_action)
        form = 1.0 if -1.0 <= action <= 1.0 else 0.0
        return {"total": throughput + latency + stability + form, "throughput": throughput,
                "latency": latency, "stability": stability, "format": form}

    def simulate(self, state, _action):
        """The next state of the nearest of some rows drawn at random."""
        nearest = min(self.random.sample(self.records, min(SAMPLE, len(self.records))),
                      key=lambda record: math.dist(state, record["state"]))
        return nearest["next_state"]


def best_rate(work, seconds, repeats=3):
    """Greatest of some rates of `work`, which does a batch and returns how many it did."""
    best = 0.0
    for _ in range(repeats):
        done, begin = 0, time.perf_counter()
        while (passed := time.perf_counter() - begin) < seconds:
            done += work()
        best = max(best, done / passed)
    return best


def resident_bytes():
    with open("/proc/self/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--load-rows", type=int, default=0, help="rows to load; 0: all")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each repeat")
    options = parser.parse_args()

    before, begin = resident_bytes(), time.perf_counter()
    records, size = load(options.path, options.load_rows)
    load_seconds = time.perf_counter() - begin
    resident = resident_bytes() - before

    env = SeedEnv(records)
    draw = random.Random(1)
    actions = [draw.uniform(-1.0, 1.0) for _ in range(1000)]

    def steps():
        for action in actions:
            if env.done:
                env.reset()
            env.step(action)
        return len(actions)

    def simulations():
        for action in actions[:10]:
            env.simulate(records[draw.randrange(len(records))]["state"], action)
        return 10

    env.reset()
    print(json.dumps({
        "rows": len(records),
        "load_mb_s": size / load_seconds / 1e6,
        "load_rows_s": len(records) / load_seconds,
        "resident_bytes": resident,
        "step_s": best_rate(steps, options.seconds),
        "simulate_s": best_rate(simulations, options.seconds),
    }))


if __name__ == "__main__":
    main()
