// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

#include "kernelx/act/actuator.h"
#include "kernelx/act/journal.h"
#include "kernelx/act/probe.h"
#include "kernelx/act/supervisor.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/testing.h"

namespace kernelx {
namespace {

using std::chrono::milliseconds;

void Sleep() {
  for (;;) pause();
}

bool MayBoost() {
  const ChildProcess child(Sleep);
  return WriteSched(child.pid(), -1, 0, nullptr) == ApplyResult::kApplied;
}

#define NEEDS_NICE() \
  if (!MayBoost()) GTEST_SKIP() << "needs CAP_SYS_NICE: a nice value below 0 was refused"

TEST(ActuatorTest, ActionsMapToNiceAndSliceAsDesigned) {
  EXPECT_EQ(NiceOf(0.0, 0), 0);
  EXPECT_EQ(NiceOf(-1.0, 0), -10);
  EXPECT_EQ(NiceOf(0.44, 0), 4);
  EXPECT_EQ(NiceOf(0.45, 5), 10);
  EXPECT_EQ(NiceOf(-1.0, -15), -20);
  EXPECT_EQ(NiceOf(1.0, 15), 19);
  EXPECT_EQ(SliceNsOf(0.0), 1'400'000u);
  EXPECT_EQ(SliceNsOf(-1.0), 100'000u);    // 1.4 ms x e^-2.64 = 0.09990 ms, not below 0.1
  EXPECT_EQ(SliceNsOf(1.0), 19'618'485u);  // 1.4 ms x 14.0132
  EXPECT_NEAR(static_cast<double>(SliceNsOf(-0.5)), 373'989, 1);
}

TEST(ActuatorTest, WritesReadsBackAndPutsBackExactly) {
  NEEDS_NICE();
  const ChildProcess child(Sleep);
  const auto own = ReadSched(child.pid());
  ASSERT_TRUE(own);
  SchedParams now;
  ASSERT_EQ(WriteSched(child.pid(), -7, 250'000, &now), ApplyResult::kApplied);
  EXPECT_EQ(now.nice, -7);
  EXPECT_TRUE(now.slice_ns == 250'000 || now.slice_ns == 0) << now.slice_ns;
  ASSERT_EQ(WriteSched(child.pid(), own->nice, 0, &now), ApplyResult::kApplied);
  EXPECT_EQ(now, *own);
}

TEST(ActuatorTest, LeavesOtherClassesAloneAndKnowsWhoIsGone) {
  NEEDS_NICE();
  const ChildProcess child(Sleep);
  const sched_param param{.sched_priority = 1};
  ASSERT_EQ(sched_setscheduler(child.pid(), SCHED_FIFO, &param), 0);
  EXPECT_EQ(WriteSched(child.pid(), -1, 0, nullptr), ApplyResult::kRefused);
  EXPECT_EQ(ReadSched(child.pid())->policy, 1u);
  pid_t gone = 0;
  {
    const ChildProcess brief(Sleep);
    gone = brief.pid();
  }
  EXPECT_EQ(WriteSched(gone, 1, 0, nullptr), ApplyResult::kGone);
  EXPECT_EQ(StartNsOf(gone), 0u);
  EXPECT_GT(StartNsOf(getpid()), 0u);
}

/// Nudges a task as `live` does: journal first.
void Nudge(Journal& journal, pid_t pid, int nice, uint64_t slice_ns) {
  JournalEntry* entry = journal.Add(pid, pid, StartNsOf(pid), ReadSched(pid)->nice, 0);
  ASSERT_NE(entry, nullptr);
  Journal::Intend(*entry, nice, slice_ns);
  ASSERT_EQ(WriteSched(pid, nice, slice_ns, nullptr), ApplyResult::kApplied);
}

TEST(JournalTest, RestoresWhatIsStillOursAndNothingElse) {
  NEEDS_NICE();
  const TempFolder folder;
  const ChildProcess ours(Sleep), foreign(Sleep), reused(Sleep);
  Journal journal = Journal::Create(folder.File("j"));
  Nudge(journal, ours.pid(), -5, 200'000);
  Nudge(journal, foreign.pid(), -5, 200'000);
  ASSERT_EQ(WriteSched(foreign.pid(), 3, 0, nullptr), ApplyResult::kApplied);  // someone else
  // A task of that pid, but of another start.
  JournalEntry* entry = journal.Add(reused.pid(), reused.pid(), 1, 0, 0);
  Journal::Intend(*entry, -4, 0);
  ASSERT_EQ(WriteSched(reused.pid(), -4, 0, nullptr), ApplyResult::kApplied);
  EXPECT_EQ(journal.size(), 3u);

  const RestoreReport dry = journal.RestoreAll(true);
  EXPECT_EQ(dry.restored, 1u);
  EXPECT_EQ(ReadSched(ours.pid())->nice, -5);
  EXPECT_EQ(journal.size(), 3u);

  const RestoreReport report = journal.RestoreAll();
  EXPECT_EQ(report.restored, 1u);
  EXPECT_EQ(report.foreign, 1u);
  EXPECT_EQ(report.gone, 1u);
  EXPECT_EQ(ReadSched(ours.pid())->nice, 0);
  EXPECT_EQ(ReadSched(foreign.pid())->nice, 3);
  EXPECT_EQ(ReadSched(reused.pid())->nice, -4);
  EXPECT_EQ(journal.size(), 0u);
}

TEST(JournalTest, OneTaskIsPutBackUnlessSomeoneElseCame) {
  NEEDS_NICE();
  const TempFolder folder;
  const ChildProcess ours(Sleep), foreign(Sleep), reused(Sleep);
  Journal journal = Journal::Create(folder.File("j"));
  const auto nudged = [&](pid_t pid, uint64_t start_ns) {
    JournalEntry* entry = journal.Add(pid, pid, start_ns, 0, 0);
    Journal::Intend(*entry, -5, 200'000);
    EXPECT_EQ(WriteSched(pid, -5, 200'000, nullptr), ApplyResult::kApplied);
    return entry;
  };
  EXPECT_EQ(journal.PutBack(*nudged(ours.pid(), StartNsOf(ours.pid()))), Restored::kRestored);
  JournalEntry* entry = nudged(foreign.pid(), StartNsOf(foreign.pid()));
  ASSERT_EQ(WriteSched(foreign.pid(), 3, 0, nullptr), ApplyResult::kApplied);
  EXPECT_EQ(journal.PutBack(*entry), Restored::kForeign);
  EXPECT_EQ(journal.PutBack(*nudged(reused.pid(), 1)), Restored::kGone);
  EXPECT_EQ(ReadSched(ours.pid())->nice, 0);
  EXPECT_EQ(ReadSched(foreign.pid())->nice, 3);
  EXPECT_EQ(ReadSched(reused.pid())->nice, -5);
  EXPECT_EQ(journal.size(), 0u);
}

TEST(JournalTest, AChangeThatWasOnlyIntendedIsNoHarm) {
  NEEDS_NICE();
  const TempFolder folder;
  const ChildProcess child(Sleep);
  Journal journal = Journal::Create(folder.File("j"));
  Nudge(journal, child.pid(), -5, 200'000);
  // Killed between the journal and the system call: the task has what was set before.
  JournalEntry* entry = journal.Add(1, 1, 1, 0, 0);
  journal.Remove(*entry);
  {
    Journal left = Journal::Open(folder.File("j"));
    EXPECT_EQ(left.size(), 1u);
  }
  EXPECT_THROW(Journal::Create(folder.File("j")), Error) << "a journal in use is never overwritten";
  EXPECT_EQ(journal.RestoreAll().restored, 1u);
  EXPECT_EQ(ReadSched(child.pid())->nice, 0);
  EXPECT_THROW(Journal::Open(folder.Write("text", "no journal")), Error);
}

TEST(JournalTest, ChildrenThatInheritedANudgeArePutBack) {
  NEEDS_NICE();
  const TempFolder folder;
  std::array<int, 2> go{}, born{};
  ASSERT_EQ(pipe(go.data()), 0);
  ASSERT_EQ(pipe(born.data()), 0);
  const ChildProcess maker([&] {
    char byte = 0;
    if (read(go[0], &byte, 1) != 1) _exit(1);
    const pid_t heir = fork();
    if (heir == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Sleep();
    }
    if (write(born[1], &heir, sizeof(heir)) != sizeof(heir)) _exit(1);
    Sleep();
  });
  Journal journal = Journal::Create(folder.File("j"));
  JournalEntry* entry = journal.Add(maker.pid(), maker.pid(), StartNsOf(maker.pid()), 0, 0);
  Journal::Intend(*entry, -6, 200'000);
  ASSERT_EQ(WriteSched(maker.pid(), -6, 200'000, nullptr), ApplyResult::kApplied);
  ASSERT_EQ(write(go[1], "x", 1), 1);
  pid_t heir = 0;
  ASSERT_EQ(read(born[0], &heir, sizeof(heir)), static_cast<ssize_t>(sizeof(heir)));
  ASSERT_EQ(ReadSched(heir)->nice, -6);
  // Its maker is given something else: the heir keeps what it was born with.
  Journal::Intend(*entry, -3, 300'000);
  ASSERT_EQ(WriteSched(maker.pid(), -3, 300'000, nullptr), ApplyResult::kApplied);
  const RestoreReport report = journal.RestoreAll();
  EXPECT_EQ(report.inherited, 1u);
  EXPECT_EQ(ReadSched(heir)->nice, 0);
  for (const int fd : {go[0], go[1], born[0], born[1]}) close(fd);
}

TEST(SupervisorTest, RestoresWhenTheActorIsKilled) {
  NEEDS_NICE();
  const TempFolder folder;
  const ChildProcess task(Sleep);
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  std::optional<ChildProcess> actor;
  actor.emplace([&] {
    Journal journal = Journal::Create(folder.File("j"));
    const Supervisor supervisor(folder.File("j"));
    Nudge(journal, task.pid(), -9, 150'000);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    Sleep();
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(ReadSched(task.pid())->nice, -9);
  actor.reset();  // SIGKILL
  for (int i = 0; i < 200 && ReadSched(task.pid())->nice != 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(ReadSched(task.pid())->nice, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(SupervisorTest, TheActorNoticesThatItIsAlone) {
  const TempFolder folder;
  Journal journal = Journal::Create(folder.File("j"));
  const Supervisor supervisor(folder.File("j"));
  EXPECT_TRUE(supervisor.alive());
  kill(supervisor.pid(), SIGKILL);
  for (int i = 0; i < 200 && supervisor.alive(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_FALSE(supervisor.alive());
}

TEST(ProbeTest, NiceMovesTheShareOfASharedCpu) {
  const ProbeResult result = ProbeKnobs();
  EXPECT_TRUE(result.nice_written);  // upwards needs no right
  // Weights 335 and 1024: 0.247; a busy machine disturbs both alike.
  EXPECT_LT(result.nice_share, 0.4);
  EXPECT_TRUE(result.nice_acts()) << result.Text();
}

}  // namespace
}  // namespace kernelx
