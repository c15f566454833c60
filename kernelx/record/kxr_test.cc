// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/kxr.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/ground/testing.h"

namespace kernelx {
namespace {

SchedEvent EventOf(uint64_t i) {
  SchedEvent event;
  event.state.timestamp_ns = 1'000'000 * i;
  event.state.pid = static_cast<int32_t>(i % 7);
  event.state.cpu = static_cast<int32_t>(i % 2);
  for (int slot = 0; slot < kRawFeatures; ++slot) {
    event.state.features[slot] = ~uint64_t{0} - i * static_cast<uint64_t>(slot);
  }
  const std::string comm = "task-" + std::to_string(i % 7);
  std::copy(comm.begin(), comm.end(), event.comm.begin());
  event.cgroup_id = i;
  event.session = -3;
  event.parent_tgid = 17;
  event.uid = 65534;
  event.sched_class = 3;
  return event;
}

NudgeRecord NudgeOf(uint64_t i) {
  return {.pid = static_cast<int32_t>(i),
          .start_ns = 5,
          .action = -0.1 * static_cast<double>(i % 9),
          .drawn = i % 2 == 0,
          .mode = 1,
          .window = 9,
          .p_draw = 0.1,
          .p_zero = 0.15,
          .decided_ns = i,
          .applied_ns = i + 1,
          .applied = true,
          .nice = -7,
          .slice_ns = 1'400'000};
}

/// What a file holds, in order, as text to compare.
struct Listing final : KxrVisitor {
  std::vector<std::string> items;
  void OnEvent(const SchedEvent& event) override {
    std::string item = "event";
    for (const uint64_t slot : event.state.features) item += " " + std::to_string(slot);
    for (const auto value :
         {static_cast<int64_t>(event.state.timestamp_ns), static_cast<int64_t>(event.state.pid),
          static_cast<int64_t>(event.state.cpu), static_cast<int64_t>(event.cgroup_id),
          static_cast<int64_t>(event.session), static_cast<int64_t>(event.parent_tgid),
          static_cast<int64_t>(event.uid), static_cast<int64_t>(event.sched_class)}) {
      item += " " + std::to_string(value);
    }
    items.push_back(item + " " + std::string(event.name()));
  }
  void OnNudge(const NudgeRecord& n) override {
    items.push_back("nudge " + std::to_string(n.pid) + " " + std::to_string(n.action) + " " +
                    std::to_string(n.drawn) + std::to_string(n.mode) + " " +
                    std::to_string(n.window) + " " + std::to_string(n.p_draw) + " " +
                    std::to_string(n.p_zero) + " " + std::to_string(n.decided_ns) + " " +
                    std::to_string(n.applied_ns) + " " + std::to_string(n.applied) + " " +
                    std::to_string(n.nice) + " " + std::to_string(n.slice_ns) + " " +
                    std::to_string(n.start_ns));
  }
  void OnGap(const GapRecord& gap) override {
    items.push_back("gap " + std::to_string(gap.at_ns) + " " + std::to_string(gap.count));
  }
};

constexpr uint64_t kItems = 5000;

/// `kItems` records of all kinds into the writer, and into `listing` what a reader shall find.
void WriteAll(KxrWriter& writer, Listing& listing) {
  for (uint64_t i = 0; i < kItems; ++i) {
    if (i % 50 == 3) {
      writer.Nudge(NudgeOf(i));
      listing.OnNudge(NudgeOf(i));
    } else if (i % 1000 == 999) {
      writer.Gap({.at_ns = i, .count = 2});
      listing.OnGap({.at_ns = i, .count = 2});
    } else {
      writer.Event(EventOf(i));
      listing.OnEvent(EventOf(i));
    }
  }
}

TEST(KxrTest, GivesBackWhatWasWrittenInOrder) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  Listing written, read;
  {
    KxrWriter writer(path, {{"kernel", "6.18"}, {"rung", "bpf"}});
    WriteAll(writer, written);
    writer.Close();
    EXPECT_EQ(writer.stats().bytes, std::filesystem::file_size(path));
  }
  std::map<std::string, std::string> about;
  const KxrStats stats = ReadKxr(path, read, &about);
  EXPECT_EQ(read.items, written.items);
  EXPECT_EQ(about.at("rung"), "bpf");
  EXPECT_EQ(stats.gaps, 5u);
  EXPECT_EQ(stats.lost, 10u);
  EXPECT_EQ(stats.events + stats.nudges + stats.gaps, kItems);
  EXPECT_FALSE(stats.torn);
  EXPECT_TRUE(IsKxr(path));
  EXPECT_FALSE(IsKxr(folder.File("none")));
}

TEST(KxrTest, ATornEndLosesNothingBeforeIt) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  Listing written;
  KxrWriter writer(path, {});
  WriteAll(writer, written);
  writer.Close();
  const std::string whole = ReadFile(path);
  for (const size_t cut : {whole.size() - 1, whole.size() - 30, whole.size() / 2, size_t{50}}) {
    const std::string torn = folder.Write("torn.kxr", whole.substr(0, cut));
    Listing read;
    const KxrStats stats = ReadKxr(torn, read);
    EXPECT_TRUE(stats.torn) << cut;
    ASSERT_LE(read.items.size(), written.items.size());
    EXPECT_TRUE(std::equal(read.items.begin(), read.items.end(), written.items.begin()));
  }
}

TEST(KxrTest, SaysWhereAFileIsDamaged) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  Listing written;
  {
    KxrWriter writer(path, {{"kernel", "x"}});
    WriteAll(writer, written);
    writer.Close();
  }
  const std::string whole = ReadFile(path);
  Listing read;
  // Every part of the file is under a check: header, description, frame header, frame.
  for (const size_t at : {size_t{2}, size_t{8}, size_t{16}, size_t{44}, size_t{60}, size_t{90},
                          size_t{200}, whole.size() / 2}) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    const std::string damaged = folder.Write("bad.kxr", bad);
    try {
      const KxrStats stats = ReadKxr(damaged, read);
      // A frame that claims to be longer than the file reads as its end.
      EXPECT_TRUE(stats.torn) << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_NE(std::string(error.what()).find("bad.kxr: at byte"), std::string::npos)
          << error.what();
    }
  }
  std::string newer = whole;
  newer[8] = 2;
  const std::string path2 = folder.Write("newer.kxr", newer);
  try {
    ReadKxr(path2, read);
    ADD_FAILURE() << "read a newer version";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("version 2"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ReadKxr(folder.Write("text", "hello"), read), Error);
}

TEST(KxrTest, NeverOverwrites) {
  const TempFolder folder;
  const std::string path = folder.Write("a.kxr", "precious");
  EXPECT_THROW(KxrWriter(path, {}), Error);
  EXPECT_EQ(ReadFile(path), "precious");
  EXPECT_THROW(KxrWriter(folder.File("no/such/folder.kxr"), {}), Error);
}

TEST(KxrTest, AFullDiskKeepsWhatIsWhole) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  Listing written, read;
  {
    KxrWriter writer(path, {});
    const FileSizeLimit limit(20'000);
    EXPECT_THROW(WriteAll(writer, written), Error);
  }
  const KxrStats stats = ReadKxr(path, read);
  EXPECT_TRUE(stats.torn);
  EXPECT_GT(stats.events, 500u);
}

TEST(KxrTest, AKilledWriterLeavesAllItHadFlushed) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    KxrWriter writer(path, {});
    for (uint64_t i = 0; i < 1500; ++i) writer.Event(EventOf(i));
    writer.Flush();
    writer.Event(EventOf(1500));
    const ssize_t told = write(ready[1], "x", 1);
    for (;;) pause();
    _exit(told == 1 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  Listing listing;
  const KxrStats stats = ReadKxr(path, listing);
  EXPECT_EQ(stats.events, 1500u);
  EXPECT_TRUE(stats.torn);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace kernelx
