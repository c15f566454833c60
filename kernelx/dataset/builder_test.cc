// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/test_files.h"

namespace kernelx {
namespace {

Row MakeRow(double base) {
  Row row;
  row.state = std::vector<double>(10, base);
  row.next_state = std::vector<double>(10, base + 1);
  row.action = 0.5;
  row.pid = static_cast<int32_t>(base);
  row.comm = "c";
  return row;
}

/// The seed's features of a state with these counters.
std::vector<double> SeedState(double exec, double vruntime, double wait) {
  const auto symlog = [](double x) { return std::copysign(std::log1p(std::abs(x)), x); };
  return {0, 120, 120, 120, symlog(exec), symlog(vruntime), 0, 2, 1, wait};
}

TEST(DatasetBuilder, RowsComeBackAsAppended) {
  DatasetBuilder builder(SeedFeatureNames(), ColumnBits(Column::kComm, Column::kStart));
  for (int i = 0; i < 3; ++i) builder.Append(MakeRow(i));
  builder.set_source("nowhere");
  EXPECT_EQ(builder.size(), 3U);
  const Dataset data = std::move(builder).Build();
  const Dataset copy = data;
  EXPECT_EQ(copy.states().data(), data.states().data());  // shared
  EXPECT_EQ(data.size(), 3U);
  EXPECT_EQ(data.state(2)[9], 2.0);
  EXPECT_EQ(data.next_state(2)[0], 3.0);
  EXPECT_EQ(data.pid()[1], 1);
  EXPECT_EQ(data.comm_names(), std::vector<std::string>{"c"});
  EXPECT_TRUE(data.has(Column::kStart));
  EXPECT_FALSE(data.has(Column::kNextTimestamp));
  EXPECT_TRUE(data.next_timestamp_ns().empty());
  EXPECT_EQ(data.source(), "nowhere");
  EXPECT_EQ(RowAt(data, 1).state, MakeRow(1).state);
}

TEST(DatasetBuilder, RefusesWrongWidthAndValuesThatAreNotFinite) {
  DatasetBuilder builder(SeedFeatureNames());
  Row row = MakeRow(0);
  row.state.pop_back();
  EXPECT_NE(ErrorOf([&] { builder.Append(row); }).find("9 and 10 features"), std::string::npos);
  row = MakeRow(0);
  row.next_state[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(ErrorOf([&] { builder.Append(row); }), "");
  row = MakeRow(0);
  row.action = std::numeric_limits<double>::infinity();
  EXPECT_NE(ErrorOf([&] { builder.Append(row); }), "");
  EXPECT_EQ(builder.size(), 0U);
  std::move(builder).Build();
  EXPECT_NE(ErrorOf([&] { std::move(builder).Build(); }), "");
}

TEST(DatasetBuilder, JoinsDatasetsWithDifferentOptionalColumns) {
  DatasetBuilder with(SeedFeatureNames(),
                      ColumnBits(Column::kComm, Column::kStart, Column::kBehavior));
  Row row = MakeRow(1);
  row.behavior.known = true;
  with.Append(row);
  DatasetBuilder without(SeedFeatureNames());
  without.Append(MakeRow(2));
  const Dataset a = std::move(with).Build();
  const Dataset b = std::move(without).Build();
  for (const bool first : {true, false}) {
    DatasetBuilder both(SeedFeatureNames());
    both.Append(first ? a : b);
    both.Append(first ? b : a);
    const Dataset joined = std::move(both).Build();
    ASSERT_EQ(joined.size(), 2U);
    EXPECT_FALSE(joined.has(Column::kStart));
    EXPECT_TRUE(joined.has(Column::kBehavior));
    EXPECT_EQ(joined.behavior()[0].known, first);
    EXPECT_EQ(joined.behavior()[1].known, !first);
    EXPECT_EQ(RowAt(joined, 0).comm, first ? "c" : "");
    EXPECT_EQ(RowAt(joined, 1).comm, first ? "" : "c");
    EXPECT_EQ(joined.delta().size(), 2U);
  }
  DatasetBuilder narrow({"one"});
  EXPECT_NE(ErrorOf([&] { narrow.Append(a); }).find("10 features"), std::string::npos);
}

TEST(RecoverDelta, UndoesSymlog) {
  const auto before = SeedState(129009211, 1912529485424, 13);
  const auto after = SeedState(129156827, 1912529568528, 67);
  EXPECT_EQ(RecoverDelta(before.data(), after.data()),
            (Delta{.exec_ns = 147616, .vruntime_ns = 83104, .wait_us = 13, .next_wait_us = 67}));
  const Delta back = RecoverDelta(after.data(), before.data());
  EXPECT_EQ(static_cast<int64_t>(back.exec_ns), -147616);
  EXPECT_EQ(back.vruntime_ns, -83104);
}

TEST(RecoverDelta, VruntimeMayWrapOrBeNegative) {
  // -2^20 as a signed counter: a step over zero.
  const auto negative = SeedState(0, -1048576, 0);
  const auto positive = SeedState(0, 1000, 0);
  EXPECT_EQ(RecoverDelta(negative.data(), positive.data()).vruntime_ns, 1049576);
  // Just below 2^64 as an unsigned one a double keeps some 10^5 ns of it: small, not 2^64.
  const auto high = SeedState(0, 18446744073708503040.0, 0);
  const int64_t over = RecoverDelta(high.data(), positive.data()).vruntime_ns;
  EXPECT_GE(over, 0);
  EXPECT_LT(over, 3'000'000);
}

TEST(RecoverDelta, NonsenseStaysFinite) {
  auto state = SeedState(1, 1, -5);
  state[4] = 800;  // e^800 is no counter
  const auto next = SeedState(1, 1, 1e30);
  const Delta delta = RecoverDelta(state.data(), next.data());
  EXPECT_EQ(delta.wait_us, 0U);
  EXPECT_EQ(delta.next_wait_us, std::numeric_limits<uint64_t>::max());
}

}  // namespace
}  // namespace kernelx
