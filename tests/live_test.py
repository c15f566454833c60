#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The kernelx authors
# SPDX-License-Identifier: MIT
"""What `kernelx live` leaves on the machine, however it ends: nothing.

  live_test.py PROGRAM [--kills N]

Starts a small load of its own, lets `live` act on it, and ends `live` in every way there is: by
signal, by SIGKILL of the acting process, of its supervisor, of both. After each, the nice value and
the slice of every task of the load must be what they were within a second, and no other task of the
system may have changed at all."""
import ctypes
import json
import os
import pathlib
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time

SYS_SCHED_GETATTR = 315  # x86-64
SYS_SCHED_SETATTR = 314
LIBC = ctypes.CDLL(None, use_errno=True)
KILL_LIMIT_S = 1.0


def sched_of(tid):
    """(policy, nice, slice_ns) or None when the task is gone."""
    attr = ctypes.create_string_buffer(56)
    if LIBC.syscall(SYS_SCHED_GETATTR, tid, attr, 56, 0) != 0:
        return None
    _, policy, _, nice, _, runtime = struct.unpack_from("=IIQiIQ", attr)
    return policy, nice, runtime


def set_nice(tid, nice):
    attr = struct.pack("=IIQiIQQQII", 56, 0, 0, nice, 0, 0, 0, 0, 0, 0)
    assert LIBC.syscall(SYS_SCHED_SETATTR, tid, attr, 0) == 0, "sched_setattr"


def all_tasks():
    tasks = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*"):
        value = sched_of(int(path.name))
        if value is not None:
            tasks[int(path.name)] = value
    return tasks


class Work:
    """Two busy and four sleeping processes below one."""

    def __init__(self):
        code = ("import os,time,sys\n"
                "for i in range(6):\n"
                "    if os.fork() == 0:\n"
                "        while True:\n"
                "            if i < 2:\n"
                "                pass\n"
                "            else:\n"
                "                time.sleep(0.002 * i)\n"
                "print('up', flush=True)\n"
                "time.sleep(3600)\n")
        self.root = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                     start_new_session=False)
        self.root.stdout.readline()
        children = pathlib.Path(f"/proc/{self.root.pid}/task/{self.root.pid}/children").read_text()
        self.pids = [int(pid) for pid in children.split()]

    def values(self):
        return {pid: sched_of(pid) for pid in self.pids}

    def end(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        self.root.kill()
        self.root.wait()


class Live:
    def __init__(self, program, folder, *flags, user=None):
        ready, self.ready_end = os.pipe()
        command = [program, "live", "--quiet", "--no-probe", "--ready-fd", str(self.ready_end), *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        pass_fds=[self.ready_end], user=user,
                                        env=dict(os.environ, KERNELX_RUN_DIR=folder))
        os.close(self.ready_end)
        self.ready = bool(select.select([ready], [], [], 10)[0]) and os.read(ready, 6) == b"ready\n"
        os.close(ready)

    def supervisor(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for pid in text.split():
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "kx-supervisor":
                return int(pid)
        raise AssertionError("live has no supervisor")


def wait_until(what, seconds):
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        if what():
            return time.monotonic() - begin
        time.sleep(0.002)
    return None


class Tests:
    def __init__(self, program):
        self.program = program
        self.folder = tempfile.mkdtemp(prefix="kernelx-live-")
        self.work = Work()
        self.own = self.work.values()
        self.restore_s = []

    def live(self, *flags, policy="constant:-0.8", **more):
        return Live(self.program, self.folder, "--policy", policy, "--tree", str(self.work.root.pid), *flags,
                    **more)

    def acting(self, *flags):
        live = self.live(*flags)
        assert live.ready, live.process.communicate()
        assert wait_until(lambda: all(v[1] == -8 for v in self.work.values().values()), 5) is not None, \
            f"not every task was boosted: {self.work.values()}"
        return live

    def check_restored(self, how):
        took = wait_until(lambda: self.work.values() == self.own, KILL_LIMIT_S)
        assert took is not None, f"{how}: {self.work.values()} instead of {self.own}"
        self.restore_s.append(took)

    def check_others(self, before):
        now = all_tasks()
        changed = {tid: (before[tid], now[tid]) for tid in before
                   if tid in now and now[tid] != before[tid] and tid not in self.own}
        assert not changed, f"tasks that are no targets changed: {changed}"

    def test_boosts_and_ends_by_signal(self):
        before = all_tasks()
        live = self.acting("--json")
        slices = {v[2] for v in self.work.values().values()}
        assert len(slices) == 1 and slices != {next(iter(self.own.values()))[2]}, slices
        begin = time.monotonic()
        live.process.send_signal(signal.SIGTERM)
        out, _ = live.process.communicate(timeout=10)
        assert live.process.returncode == 0
        assert time.monotonic() - begin < 2
        assert self.work.values() == self.own, "restored only after the end"
        stats = json.loads(out)
        assert stats["nudges"] >= 6 and stats["touched"] >= 0, stats
        assert not (pathlib.Path(self.folder) / "live.journal").exists()
        self.check_others(before)

    def kill_once(self, whom, rng):
        before = all_tasks()
        live = self.acting()
        time.sleep(rng.random() * 0.05)
        os.kill(live.process.pid if whom == "live" else live.supervisor(), signal.SIGKILL)
        self.check_restored(f"{whom} killed")
        live.process.wait(timeout=10)
        self.check_others(before)
        # Whoever was left cleans up; a journal without entries is no hindrance.
        assert wait_until(lambda: Tests.journal_free(self.folder), 5) is not None

    @staticmethod
    def journal_free(folder):
        journal = pathlib.Path(folder) / "live.journal"
        return not journal.exists() or not any(journal.read_bytes()[4096 + 28::56])

    def test_kills(self, kills=6):
        rng = random.Random(1)
        for i in range(kills):
            self.kill_once("live" if i % 2 == 0 else "supervisor", rng)
        took = sorted(self.restore_s)
        print(f"  {kills} kills: all restored, median {1e3 * took[len(took) // 2]:.0f} ms, "
              f"longest {1e3 * took[-1]:.0f} ms")

    def test_both_killed_at_once(self):
        live = self.acting()
        supervisor = live.supervisor()
        os.kill(supervisor, signal.SIGSTOP)  # so that it cannot be quicker than its own SIGKILL
        os.kill(live.process.pid, signal.SIGKILL)
        os.kill(supervisor, signal.SIGKILL)
        live.process.wait()
        assert self.work.values() != self.own
        again = self.live()
        assert not again.ready and "kernelx restore" in again.process.communicate()[1]
        assert again.process.returncode == 1
        environment = dict(os.environ, KERNELX_RUN_DIR=self.folder)
        dry = subprocess.run([self.program, "restore", "--dry-run", "--json"], env=environment,
                             capture_output=True, text=True, check=True)
        assert json.loads(dry.stdout)["restored"] >= 6 and self.work.values() != self.own
        subprocess.run([self.program, "restore"], env=environment, capture_output=True, check=True)
        assert self.work.values() == self.own

    def test_only_one_acts(self):
        live = self.acting()
        second = self.live()
        assert not second.ready and "another kernelx acts" in second.process.communicate()[1]
        live.process.terminate()
        live.process.wait()
        self.check_restored("terminated")

    def test_a_dry_run_changes_nothing(self):
        before = all_tasks()
        live = self.live("--dry-run", "--seconds", "0.5", "--json")
        out, err = live.process.communicate(timeout=20)
        assert live.process.returncode == 0, err
        assert json.loads(out)["nudges"] > 0
        assert self.work.values() == self.own
        self.check_others(before)

    def test_a_foreign_change_is_respected(self):
        live = self.acting()
        pid = self.work.pids[3]
        set_nice(pid, 4)
        time.sleep(0.3)
        assert sched_of(pid)[1] == 4, "overwritten"
        live.process.terminate()
        live.process.wait()
        assert sched_of(pid)[1] == 4, "taken back what was not ours"
        set_nice(pid, self.own[pid][1])
        self.check_restored("terminated")

    def test_an_ordinary_user_is_told(self):
        reachable = pathlib.Path(tempfile.mkdtemp(prefix="kernelx-user-"))
        reachable.chmod(0o777)
        program = reachable / "kernelx"
        program.write_bytes(pathlib.Path(self.program).read_bytes())
        program.chmod(0o755)
        for arguments in (["live", "--policy", "interactive", "--all"],
                          ["live", "--policy", "interactive", "--all", "--dry-run", "--seconds", "1"],
                          ["record", "--out", str(reachable / "x.kxr"), "--seconds", "1"],
                          ["restore"], ["doctor"],
                          ["ab", "--policy", "interactive", "--blocks", "2", "--window", "0.1",
                           "--washout", "0", "--warmup", "0"]):
            done = subprocess.run([str(program), *arguments], capture_output=True, text=True,
                                  user=65534, group=65534, extra_groups=[], timeout=60)
            assert done.returncode == 3, (arguments, done)
            assert "root" in done.stderr + done.stdout, (arguments, done.stderr)


def missing(program):
    if os.uname().machine != "x86_64":
        return "knows the system calls of x86-64 only"
    if os.getuid() != 0:
        return "needs root"
    done = subprocess.run([program, "doctor"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    return None


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    kills = int(sys.argv[sys.argv.index("--kills") + 1]) if "--kills" in sys.argv else 6
    why = missing(program)
    if why:
        print(f"skipped: {why}")
        return 0
    tests = Tests(program)
    failed = passed = 0
    try:
        for name in [n for n in dir(Tests) if n.startswith("test_")]:
            begin = time.monotonic()
            try:
                getattr(tests, name)(*([kills] if name == "test_kills" else []))
                passed += 1
                print(f"passed {name} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Exception as error:  # the next test may still tell something
                failed += 1
                print(f"FAILED {name}: {error!r}", flush=True)
    finally:
        tests.work.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
