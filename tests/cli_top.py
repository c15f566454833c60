# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""`kernelx top`: from a status file as `live` publishes it, from a sensor, and in a terminal."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from cli_harness import Skipped, options

TASK = {"pid": 11, "comm": "burn\x1b[2J", "switches": 50, "cpu_share": 0.25, "wait_p50_us": 12.0,
        "wait_p99_us": 3400.0, "action": -0.5, "nice": -10, "slice_us": 700.0,
        "why": "woken by timer"}


def live_folder(tasks=1):
    """A run folder with the status of a `live` that seems to run (this process)."""
    totals = {"seconds": 10.0, "events": 5000, "dropped": 3, "decisions": 4000, "nudges": 40,
              "touched": 7, "latency_p50_us": 150.0, "latency_p99_us": 900.0,
              "own_cpu_share": 0.02}
    os.makedirs("run", exist_ok=True)
    with open("run/live.json", "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "policy": "interactive", "rung": "bpf", "dry_run": False,
                   "sessions": 1, "totals": totals,
                   "tasks": [dict(TASK, pid=11 + i, wait_p99_us=3400.0 - i) for i in range(tasks)]},
                  file)
    return dict(os.environ, KERNELX_RUN_DIR=os.path.abspath("run"))


def top(*arguments, environment):
    return subprocess.run([str(options.program), "top", *arguments], env=environment, timeout=60,
                          capture_output=True, text=True)


def test_top_shows_what_live_publishes():
    environment = live_folder(60)
    done = top("--once", "--seconds", "0.1", environment=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 24 and all(len(line) <= 80 for line in lines), done.stdout
    assert "policy interactive" in lines[1] and "40 nudges, 7 in place" in lines[1], lines[1]
    assert "3 lost" in lines[0], lines[0]
    row = lines[6]
    assert row.split()[0] == "11" and "-0.50  woken by timer" in row and "3.4 ms" in row, row
    assert "\x1b" not in done.stdout, "a task's name reaches the terminal raw"
    model = json.loads(top("--once", "--json", "--seconds", "0.1", environment=environment).stdout)
    assert model["source"] == "live" and len(model["tasks"]) == 60, model
    assert model["decisions_per_s"] == 0.0 or model["decisions_per_s"] == 400.0, model


def test_top_of_a_dead_live_opens_a_sensor():
    environment = live_folder()
    os.utime("run/live.json", (1, 1))
    done = top("--once", "--json", "--seconds", "0.5", environment=environment)
    if done.returncode == 3:
        raise Skipped(done.stderr.strip())
    model = json.loads(done.stdout)
    assert model["source"] == "sensor" and model["tasks"] and model["events_per_s"] > 0, model
    waits = [task["wait_p99_us"] for task in model["tasks"]]
    assert waits == sorted(waits, reverse=True), waits


def test_top_needs_a_terminal_or_once():
    done = top(environment=live_folder())
    assert done.returncode == 2 and "--once" in done.stderr, (done.returncode, done.stderr)


def in_terminal(environment, columns, rows, end):
    """Runs top in a terminal of that size; returns what it wrote, and whether it left the terminal
    as it found it."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(slave)
    child = subprocess.Popen([str(options.program), "top", "--seconds", "0.2"], env=environment,
                             stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    written, began, asked = b"", time.monotonic(), False
    while time.monotonic() - began < 30:
        if select.select([master], [], [], 0.1)[0]:
            written += os.read(master, 65536)
        elif child.poll() is not None:
            break
        if not asked and written.count(b"q quits") >= 2:
            asked = True
            end(child, master)
    code, after = child.wait(timeout=30), termios.tcgetattr(slave)
    os.close(master)
    os.close(slave)
    assert code == 0, (code, written[-300:])
    assert after == before, "the terminal is not as it was"
    text = written.decode()
    assert "\x1b[?1049h" in text and text.endswith("\x1b[?25h\x1b[?1049l"), text[-100:]
    return text


def test_top_in_a_terminal():
    environment = live_folder(60)
    keeper = lambda: os.utime("run/live.json")
    for columns, rows, end in ((80, 24, lambda child, master: os.write(master, b"q")),
                               (120, 40, lambda child, master: child.send_signal(signal.SIGINT))):
        keeper()
        text = in_terminal(environment, columns, rows, end)
        frame = text.split("\x1b[H")[1].split("\x1b[J")[0].split("\x1b[K\r\n")[:-1]
        assert len(frame) == rows - 1, len(frame)
        assert all(len(line) <= columns for line in frame), frame
