# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""Bad input and interrupted runs: clear errors, nothing half-written."""
import json
import lzma
import math
import os
import shutil
import signal
import subprocess
import time

from cli_harness import Skipped, options, raw_lines, refused, run, seed_file, vectors, write


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
        process = subprocess.Popen([str(options.program), "preprocess", "data/interventional-a.jsonl.xz",
                                    "--out", "out"], stdout=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            continue  # it was faster
        left = os.listdir("out") if os.path.isdir("out") else []
        assert all(name.endswith(".tmp") for name in left), left
        return
    raise Skipped("preprocess ends before it can be killed")
