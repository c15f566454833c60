// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/recompress.h"

#include <gtest/gtest.h>

#include "kernelx/dataset/test_files.h"

namespace kernelx {
namespace {

TEST(Recompress, GoodLinesGoThereAndBackByteForByte) {
  const TempFolder folder;
  const std::string odd = Replace(RawLine(), "0.25", "0.250000, \"later\": [1,  2]");
  std::string text;
  for (int i = 0; i < 3000; ++i) text += (i % 2 == 0 ? odd : RawLine()) + "\n";
  folder.Write("a", text);
  std::string from = "a";
  for (const char* to : {"b.gz", "c.xz", "d.zst", "e"}) {
    const ReadReport report = Recompress(folder.File(from), folder.File(to), {.threads = 2});
    EXPECT_EQ(report.rows, 3000U);
    from = to;
  }
  EXPECT_TRUE(ReadText(folder.File("e")) == text);
}

TEST(Recompress, BytesDoNotDependOnThreads) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += RawLine() + "\n";
  folder.Write("a", text);
  for (const char* suffix : {".gz", ".xz", ".zst"}) {
    Recompress(folder.File("a"), folder.File(std::string("one") + suffix), {.threads = 1});
    Recompress(folder.File("a"), folder.File(std::string("three") + suffix), {.threads = 3});
    EXPECT_TRUE(ReadText(folder.File(std::string("one") + suffix)) ==
                ReadText(folder.File(std::string("three") + suffix)));
  }
}

TEST(Recompress, DropsMarkBlankLinesAndCarriageReturns) {
  const TempFolder folder;
  folder.Write("a", "\xef\xbb\xbf" + SeedLine() + "\r\n\r\n" + SeedLine());
  Recompress(folder.File("a"), folder.File("b"));
  EXPECT_EQ(ReadText(folder.File("b")), SeedLine() + "\n" + SeedLine() + "\n");
}

TEST(Recompress, ABadLineLeavesNoOutput) {
  const TempFolder folder;
  folder.Write("a", RawLine() + "\n{bad\n" + RawLine());
  EXPECT_NE(ErrorOf([&] { Recompress(folder.File("a"), folder.File("b.gz")); }), "");
  EXPECT_FALSE(std::filesystem::exists(folder.File("b.gz")));
  Quarantine quarantine(folder.File("aside"));
  EXPECT_EQ(Recompress(folder.File("a"), folder.File("b"), {.quarantine = &quarantine}).rows, 2U);
  EXPECT_EQ(ReadText(folder.File("b")), RawLine() + "\n" + RawLine() + "\n");
}

TEST(Recompress, TakesTheSidecarAlongButReplacesNone) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.File("in"));
  std::filesystem::create_directory(folder.File("out"));
  const std::string sidecar = R"({"feature_names":["a","b","c","d","e","f","g","h","i","j"]})";
  folder.Write("in/features.json", sidecar);
  folder.Write("in/train.jsonl", FullLine());
  Recompress(folder.File("in/train.jsonl"), folder.File("out/train.jsonl.gz"));
  EXPECT_EQ(ReadText(folder.File("out/features.json")), sidecar);
  folder.Write("out/features.json", Replace(sidecar, "\"a\"", "\"z\""));
  EXPECT_NE(ErrorOf([&] {
              Recompress(folder.File("in/train.jsonl"), folder.File("out/val.jsonl"));
            }).find("describes other features"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.File("out/val.jsonl")));
}

TEST(Recompress, RefusesItselfAndFolders) {
  const TempFolder folder;
  folder.Write("a", RawLine());
  EXPECT_NE(ErrorOf([&] { Recompress(folder.File("a"), folder.File("a")); }), "");
  EXPECT_NE(ErrorOf([&] { Recompress(folder.path(), folder.File("b")); }), "");
  EXPECT_EQ(ReadText(folder.File("a")), RawLine());
}

}  // namespace
}  // namespace kernelx
