// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx {
namespace {

class Csv : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "kernelx_metrics_test.csv";
  ~Csv() override { std::filesystem::remove(path_); }

  void WriteUpdates(uint64_t first, uint64_t last, double reward) {
    MetricsCsv csv(path_, first);
    for (uint64_t u = first; u < last; ++u) {
      csv.Write({.update = static_cast<double>(u), .reward = reward});
    }
  }
};

TEST_F(Csv, HasAColumnAMetricAndARowAnUpdate) {
  WriteUpdates(0, 2, 0.1);
  const std::string text = ReadFile(path_);
  const std::string header = text.substr(0, text.find('\n'));
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(header, ',')) + 1, MetricTable().size());
  EXPECT_TRUE(header.starts_with("update,horizon,samples,reward,"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_NE(text.find("\n1,0,0,0.1,"), std::string::npos) << text;
}

TEST_F(Csv, ResumeCutsBackToTheCheckpoint) {
  WriteUpdates(0, 10, 0.25);
  const std::string whole = ReadFile(path_);
  WriteFileAtomically(path_, whole + "10,half a li");
  WriteUpdates(7, 10, 0.25);
  EXPECT_EQ(ReadFile(path_), whole);
  WriteUpdates(0, 1, 0.25);  // a new run
  EXPECT_EQ(std::ranges::count(ReadFile(path_), '\n'), 2);
}

TEST_F(Csv, RefusesAFileOfOtherColumns) {
  WriteFileAtomically(path_, "a,b\n1,2\n");
  EXPECT_THROW(MetricsCsv(path_, 5), Error);
}

TEST(MetricTable, DocsDescribeEachMetricOnce) {
  const std::string page = ReadFile(std::string(KERNELX_DATA_DIR) + "/../docs/learning.md");
  std::set<std::string> names;
  for (const Metric& metric : MetricTable()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    const std::string row = std::string("| `") + metric.name + "` | " + metric.meaning + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace kernelx
