// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What is accepted, what is refused, and in which words.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/test_files.h"

namespace kernelx {
namespace {

using ::testing::Test;

struct BadCase {
  const char* name;
  std::string line;
  BadKind kind;
  const char* says;  // part of the message
};

/// Applies to lines of either form.
std::vector<BadCase> CommonCases(const std::string& good, const std::string& timestamp) {
  const auto with = [&](std::string_view from, std::string_view to) {
    return Replace(good, from, to);
  };
  const auto time = [&](std::string_view value) { return with(timestamp, value); };
  const std::string deep(1000, '[');
  std::vector<BadCase> cases = {
      {"NotJson", "hello", BadKind::kNotJson, "hello"},
      {"HalfLine", good.substr(0, good.size() / 2), BadKind::kIncomplete, "ends inside"},
      {"OpenString", R"({"pid)", BadKind::kIncomplete, "ends inside"},
      {"TwoObjects", good + good, BadKind::kTwoValues, "second value"},
      {"TwoObjectsApart", good + " " + good, BadKind::kTwoValues, "second value"},
      {"TrailingComma", good + ",", BadKind::kTwoValues, "second value"},
      {"Array", "[" + good + "]", BadKind::kWrongShape, "an array"},
      {"Number", "12", BadKind::kWrongShape, "an integer (12)"},
      {"Null", "null", BadKind::kWrongShape, "null"},
      {"EmptyObject", "{}", BadKind::kMissingKey, "state"},
      {"Nan", with("\"action\"", "\"x\":NaN,\"action\""), BadKind::kNotJson, "NaN"},
      {"Infinity", with("\"action\"", "\"x\":-Infinity,\"action\""), BadKind::kNotJson, "Infinity"},
      {"Huge", with("\"action\"", "\"x\":1e999,\"action\""), BadKind::kOutOfRange, "1e999"},
      {"TwoTo64", time("18446744073709551616"), BadKind::kOutOfRange, "18446744073709551616"},
      {"TwentyDigits", time("99999999999999999999"), BadKind::kOutOfRange, "99999999999999999999"},
      {"Negative", time("-1"), BadKind::kOutOfRange, "is -1"},
      {"Fraction", time("5.5"), BadKind::kWrongType, "5.5"},
      {"WholeFraction", time("5.0"), BadKind::kWrongType, "5.0"},
      {"Text", time("\"5\""), BadKind::kWrongType, "a string"},
      {"True", time("true"), BadKind::kWrongType, "a truth value"},
      {"NullTime", time("null"), BadKind::kWrongType, "null"},
      {"Misspelt", with("\"action\"", "\"acton\""), BadKind::kMissingKey, "`action`"},
      {"KeyTwice", with("\"action\"", "\"pid\":1,\"cpu\":1,\"action\":0,\"action\""),
       BadKind::kDuplicateKey, "`action`"},
      {"KeyTwiceEscaped", with("\"action\"", "\"acti\\u006fn\":0,\"action\""),
       BadKind::kDuplicateKey, "`action`"},
      {"UnknownKeyTwice", with("\"action\"", "\"x\":0,\"y\":0,\"x\":0,\"action\""),
       BadKind::kDuplicateKey, "`x`"},
      {"Deep", with("\"action\"", "\"x\":" + deep + ",\"action\""), BadKind::kTooDeep, "64"},
      {"OnlyDeep", std::string(200000, '['), BadKind::kTooDeep, "64"},
      {"NotUtf8", with("\"action\"", "\"x\":\"\xff\xfe\",\"action\""), BadKind::kNotUtf8, "UTF-8"},
      {"Zero", with("\"action\"", std::string_view("\"x\":\0,\"action\"", 14)), BadKind::kNotJson,
       "not JSON"},
      {"Comment", good + " // fine", BadKind::kTwoValues, "second value"},
      {"SingleQuotes", "{'action': 1}", BadKind::kNotJson, "not JSON"},
      {"LeadingZero", time("007"), BadKind::kNotJson, "not JSON"},
      {"Hex", time("0x10"), BadKind::kNotJson, "not JSON"},
  };
  return cases;
}

std::vector<BadCase> RawCases() {
  const std::string good = RawLine();
  const auto with = [&](std::string_view from, std::string_view to) {
    return Replace(good, from, to);
  };
  auto cases = CommonCases(good, "5000000001");
  const std::vector<BadCase> raw = {
      {"Features23", with("1000,", ""), BadKind::kFeatureCount, "23"},
      {"Features25", with("1000,", "1,1000,"), BadKind::kFeatureCount, "25"},
      {"NextFeatures23", with("2000,", ""), BadKind::kFeatureCount, "`state_t_next.features`"},
      {"FeaturesNumber", with("[1000", "1,\"y\":[1000"), BadKind::kWrongType, "state_t.features"},
      {"FeatureFraction", with("1005", "1.5"), BadKind::kWrongType, "`state_t.features[5]`"},
      {"FeatureNegative", with("1005", "-5"), BadKind::kOutOfRange, "`state_t.features[5]`"},
      {"FeatureExponent", with("1005", "1e3"), BadKind::kWrongType, "1000"},
      {"ActionHuge", with("0.25", "1e999"), BadKind::kOutOfRange, "`action` holds 1e999"},
      {"ActionNan", with("0.25", "NaN"), BadKind::kNotJson, "NaN"},
      {"ActionText", with("0.25", "\"0.5\""), BadKind::kWrongType, "`action` is a string"},
      {"ActionNull", with("0.25", "null"), BadKind::kWrongType, "`action` is null"},
      {"RewardFraction", with("-1000", "-1.5"), BadKind::kWrongType, "`reward`"},
      {"RewardBeyondSigned", with("-1000", "9223372036854775808"), BadKind::kOutOfRange,
       "`reward`"},
      {"PidTooLarge", with("77", "2147483648"), BadKind::kOutOfRange, "`state_t.pid`"},
      {"PidNegative", with("77", "-1"), BadKind::kOutOfRange, "`state_t.pid`"},
      {"CpuMissing", with(",\"cpu\":1}", "}"), BadKind::kMissingKey, "`state_t.cpu`"},
      {"StateArray", with("\"state_t\":", "\"state_t\":[],\"z\":"), BadKind::kWrongType,
       "`state_t`"},
      {"StateKeyTwice", with("\"pid\":77", "\"pid\":77,\"pid\":77"), BadKind::kDuplicateKey,
       "`state_t.pid`"},
      {"BehaviorKeyTwice", with("\"window\":3", "\"window\":3,\"window\":3"),
       BadKind::kDuplicateKey, "`behavior.window`"},
      {"AppliedKeyTwice", with("\"nice\":-3", "\"nice\":-3,\"nice\":-3"), BadKind::kDuplicateKey,
       "`applied.nice`"},
      {"BehaviorIncomplete", with("\"window\":3,", ""), BadKind::kMissingKey, "`behavior.window`"},
      {"Mode", with("\"group\"", "\"herd\""), BadKind::kOutOfRange, "herd"},
      {"Probability", with("0.15", "1.5"), BadKind::kOutOfRange, "`behavior.p_zero`"},
      {"Nice", with("\"nice\":-3", "\"nice\":-21"), BadKind::kOutOfRange, "`applied.nice`"},
      {"DrawnNumber", with("\"drawn\":true", "\"drawn\":1"), BadKind::kWrongType,
       "`behavior.drawn`"},
      {"CommNumber", with("\"periodic\"", "5"), BadKind::kWrongType, "`comm`"},
  };
  cases.insert(cases.end(), raw.begin(), raw.end());
  return cases;
}

std::vector<BadCase> ProcessedCases() {
  const std::string good = FullLine();
  const auto with = [&](std::string_view from, std::string_view to) {
    return Replace(good, from, to);
  };
  auto cases = CommonCases(good, "5478348681503");
  const std::vector<BadCase> processed = {
      {"Features9", with("[0.0, ", "["), BadKind::kFeatureCount, "9 values where 10 belong"},
      {"Features11", with("[0.0, ", "[5, 0.0, "), BadKind::kFeatureCount, "features.json"},
      {"FeatureText", with("18.5", "\"18.5\""), BadKind::kWrongType, "`state[4]`"},
      {"FeatureNan", with("18.5", "nan"), BadKind::kNotJson, "nan"},
      {"FeatureHuge", with("18.5", "-1e999"), BadKind::kOutOfRange, "-1e999"},
      {"NestedFeatures", with("18.5", "[18.5]"), BadKind::kWrongType, "`state[4]`"},
      {"PidFraction", with("16310", "16310.0"), BadKind::kWrongType, "`pid`"},
      {"DeltaKeyTwice", with("\"voluntary\": 1", "\"voluntary\": 1, \"voluntary\": 1"),
       BadKind::kDuplicateKey, "`delta.voluntary`"},
      {"DeltaIncomplete", with("\"wait_us\": 13, ", ""), BadKind::kMissingKey, "`delta.wait_us`"},
      {"DeltaNegative", with("147616", "-147616"), BadKind::kOutOfRange, "`delta.exec_ns`"},
      {"Switches", with("\"involuntary\": 0", "\"involuntary\": 4294967296"), BadKind::kOutOfRange,
       "`delta.involuntary`"},
      {"Vruntime", with("-83104", "9223372036854775808"), BadKind::kOutOfRange,
       "`delta.vruntime_ns`"},
      {"Start", with("5475031629559", "null"), BadKind::kWrongType, "`start`"},
  };
  cases.insert(cases.end(), processed.begin(), processed.end());
  return cases;
}

/// Each case: refused by file and line without a quarantine; set aside verbatim, counted and
/// passed over with one.
template <typename Read>
void CheckCases(const std::vector<BadCase>& cases, const std::string& good, Read read) {
  const TempFolder folder;
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.name);
    const std::string path =
        folder.Write("data.jsonl", good + "\n" + bad.line + "\n" + good + "\n");
    ReadOptions options{.threads = 2, .use_cache = false};
    const std::string error = ErrorOf([&] { read(path, options, nullptr); });
    EXPECT_TRUE(error.starts_with(path + ":2: ")) << error;
    EXPECT_NE(error.find(bad.says), std::string::npos) << error;
    EXPECT_NE(error.find("--quarantine FILE"), std::string::npos) << error;

    ReadReport report;
    Quarantine quarantine(folder.File("aside"));
    options.quarantine = &quarantine;
    EXPECT_EQ(read(path, options, &report), 2U);
    quarantine.Commit();
    EXPECT_EQ(report.rows, 2U);
    EXPECT_EQ(report.bad, 1U);
    EXPECT_EQ(report.bad_by_kind[static_cast<size_t>(bad.kind)], 1U)
        << ReadText(folder.File("aside.why.jsonl"));
    EXPECT_EQ(ReadText(folder.File("aside")), bad.line + "\n");
    const auto why = nlohmann::json::parse(ReadText(folder.File("aside.why.jsonl")));
    EXPECT_EQ(why["file"], path);
    EXPECT_EQ(why["line"], 2);
    EXPECT_EQ(why["kind"], BadKindName(bad.kind));
  }
}

size_t CountRaw(const std::string& path, const ReadOptions& options, ReadReport* report) {
  return ReadRaw(path, options, report).size();
}
size_t CountProcessed(const std::string& path, const ReadOptions& options, ReadReport* report) {
  return LoadDataset(path, options, report).size();
}

TEST(BadInput, RawLinesAreRefusedOrSetAside) { CheckCases(RawCases(), RawLine(), CountRaw); }

TEST(BadInput, ProcessedLinesAreRefusedOrSetAside) {
  CheckCases(ProcessedCases(), FullLine(), CountProcessed);
}

TEST(BadInput, BlankLinesCarriageReturnsMarkAndMissingNewlineAreAccepted) {
  const TempFolder folder;
  for (const auto& [name, text, blank] :
       {std::tuple{"plain", RawLine() + "\n" + RawLine() + "\n", 0U},
        std::tuple{"no final newline", RawLine() + "\n" + RawLine(), 0U},
        std::tuple{"crlf", RawLine() + "\r\n" + RawLine() + "\r\n", 0U},
        std::tuple{"mark", "\xef\xbb\xbf" + RawLine() + "\n" + RawLine() + "\n", 0U},
        std::tuple{"blank", "\n" + RawLine() + "\n \t\r\n\n" + RawLine() + "\n\n", 4U}}) {
    SCOPED_TRACE(name);
    ReadReport report;
    const auto rows = ReadRaw(folder.Write("data.jsonl", text), {}, &report);
    EXPECT_EQ(rows.size(), 2U);
    EXPECT_EQ(report.blank_lines, blank);
    EXPECT_EQ(report.bad, 0U);
    EXPECT_EQ(report.bytes, text.size());
  }
}

TEST(BadInput, LineNumbersCountBlankLinesAndChunks) {
  const TempFolder folder;
  std::string text = "\r\n\n";
  const std::string line = RawLine() + "\n";
  for (int i = 0; i < 4000; ++i) text += line;  // about 2.6 chunks
  text += "\n{]\n" + line + "{[\n";
  const std::string path = folder.Write("data.jsonl", text);
  for (const unsigned threads : {1U, 2U, 3U}) {
    const std::string error = ErrorOf([&] { ReadRaw(path, {.threads = threads}); });
    EXPECT_TRUE(error.starts_with(path + ":4004: ")) << error;
  }
}

TEST(BadInput, HalfWrittenLastLineIsNamed) {
  const TempFolder folder;
  const std::string path = folder.Write("data.jsonl", RawLine() + "\n" + RawLine().substr(0, 300));
  const std::string error = ErrorOf([&] { ReadRaw(path); });
  EXPECT_TRUE(error.starts_with(path + ":2: the line ends inside its object")) << error;
}

TEST(BadInput, FilesWithoutRowsAreErrors) {
  const TempFolder folder;
  for (const char* text : {"", "\n\n", "\xef\xbb\xbf"}) {
    const std::string path = folder.Write("data.jsonl", text);
    EXPECT_TRUE(ErrorOf([&] { ReadRaw(path); }).starts_with(path + ": no rows")) << text;
    EXPECT_TRUE(ErrorOf([&] { LoadDataset(path); }).starts_with(path + ": no rows"));
    EXPECT_TRUE(ErrorOf([&] { DetectForm(path); }).starts_with(path + ": no rows"));
  }
  const std::string path = folder.Write("data.jsonl", "a\nb\n");
  Quarantine quarantine(folder.File("aside"));
  EXPECT_EQ(ErrorOf([&] {
              ReadRaw(path, {.quarantine = &quarantine});
            }).find(path + ": no rows: none of its 2 lines is a row"),
            0U);
}

TEST(BadInput, MissingFilesFoldersAndLockedFilesAreErrors) {
  const TempFolder folder;
  const std::string missing = folder.File("none.jsonl");
  EXPECT_TRUE(ErrorOf([&] { ReadRaw(missing); }).starts_with(missing + ": cannot read: No such"));
  EXPECT_TRUE(ErrorOf([&] { LoadDataset(missing); }).starts_with(missing + ": cannot read"));
  EXPECT_NE(ErrorOf([&] { ReadRaw(folder.path()); }).find("name a file, not a folder"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { LoadDataset(folder.path()); }).find("no train, val or test"),
            std::string::npos);
  const std::string locked = folder.Write("locked.jsonl", RawLine());
  ::chmod(locked.c_str(), 0);
  ::chmod(folder.path().c_str(), 0755);
  const bool root = ::geteuid() == 0;  // to root every file is readable: be somebody else
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string error = ErrorOf([&] { ReadRaw(locked); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(error, locked + ": cannot read: Permission denied; check the permissions");
}

TEST(BadInput, LongLinesAreSetAsideWholeInBoundedMemory) {
  const TempFolder folder;
  // One line in many pieces, one that fits a piece but is too long, one as long as allowed.
  const std::string huge(20'000'000, 'x');
  const std::string over(kMaxLineBytes + 1, 'y');
  std::string most = Replace(RawLine(), "\"comm\"", "\"x\":\"\",\"comm\"");
  most = Replace(most, "\"x\":\"", "\"x\":\"" + std::string(kMaxLineBytes - most.size(), 'z'));
  const std::string path = folder.Write("data.jsonl", RawLine() + "\n" + huge + "\n" + RawLine() +
                                                          "\n" + over + "\n" + most + "\n" + huge);
  const std::string error = ErrorOf([&] { ReadRaw(path); });
  EXPECT_TRUE(error.starts_with(path + ":2: the line has ")) << error;
  ReadReport report;
  Quarantine quarantine(folder.File("aside"));
  EXPECT_EQ(ReadRaw(path, {.threads = 2, .quarantine = &quarantine}, &report).size(), 3U);
  quarantine.Commit();
  EXPECT_EQ(report.bad_by_kind[static_cast<size_t>(BadKind::kTooLong)], 3U);
  EXPECT_TRUE(ReadText(folder.File("aside")) == huge + "\n" + over + "\n" + huge + "\n");
  const std::string why = ReadText(folder.File("aside.why.jsonl"));
  EXPECT_NE(why.find("\"line\":2"), std::string::npos) << why;
  EXPECT_NE(why.find("\"line\":4"), std::string::npos) << why;
  EXPECT_NE(why.find("\"line\":6"), std::string::npos) << why;
}

TEST(BadInput, QuarantineKeepsEveryBadLineInOrder) {
  const TempFolder folder;
  std::string text;
  std::string expected;
  for (int i = 0; i < 10000; ++i) {
    const std::string bad = "bad " + std::to_string(i);
    text += RawLine() + "\n" + bad + "\r\n";
    expected += bad + "\r\n";
  }
  const std::string path = folder.Write("data.jsonl", text);
  for (const unsigned threads : {1U, 3U}) {
    Quarantine quarantine(folder.File("aside"));
    ReadReport report;
    EXPECT_EQ(ReadRaw(path, {.threads = threads, .quarantine = &quarantine}, &report).size(),
              10000U);
    quarantine.Commit();
    EXPECT_EQ(report.bad, 10000U);
    EXPECT_TRUE(ReadText(folder.File("aside")) == expected);
  }
}

TEST(BadInput, QuarantineLeavesNothingUnlessCommitted) {
  const TempFolder folder;
  { Quarantine quarantine(folder.File("aside")); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_NE(ErrorOf([&] { Quarantine quarantine(folder.File("no/aside")); }), "");
}

TEST(BadInput, FormIsDetectedPastBadLines) {
  const TempFolder folder;
  EXPECT_EQ(DetectForm(folder.Write("a.jsonl", "{]\n" + RawLine())), FileForm::kRaw);
  EXPECT_EQ(DetectForm(folder.Write("b.jsonl", "\n\n" + SeedLine())), FileForm::kProcessed);
  EXPECT_EQ(DetectForm(folder.path()), FileForm::kProcessed);
  const std::string other = folder.Write("c.jsonl", "{\"a\":1}\n");
  EXPECT_TRUE(ErrorOf([&] { DetectForm(other); }).starts_with(other + ":1: neither"));
}

}  // namespace
}  // namespace kernelx
