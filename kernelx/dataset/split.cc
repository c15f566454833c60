// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernelx/ground/error.h"

namespace kernelx {

Split ChronologicalSplit(std::span<const uint64_t> timestamps_ns,
                         std::span<const uint64_t> next_timestamps_ns) {
  const size_t n = timestamps_ns.size();
  if (!next_timestamps_ns.empty() && next_timestamps_ns.size() != n) {
    throw Error(ErrorCode::kUsage,
                fmt::format("ChronologicalSplit: {} timestamps but {} next timestamps; give one of "
                            "each a row, or no next timestamps",
                            n, next_timestamps_ns.size()));
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return timestamps_ns[a] < timestamps_ns[b]; });

  Split split;
  const size_t train_end = n / 10 * 8 + n % 10 * 8 / 10;  // floor(0.8 n) in integers
  const size_t validation_end = train_end + n / 10;
  // Rows order[begin, end) of one split; those that reach `order[end]` or beyond are embargoed.
  const auto take = [&](size_t begin, size_t end, std::vector<size_t>& to) {
    for (size_t i = begin; i < end; ++i) {
      const bool crosses = end < n && !next_timestamps_ns.empty() &&
                           next_timestamps_ns[order[i]] >= timestamps_ns[order[end]];
      (crosses ? split.embargoed : to).push_back(order[i]);
    }
  };
  take(0, train_end, split.train);
  take(train_end, validation_end, split.validation);
  take(validation_end, n, split.test);

  if (next_timestamps_ns.empty() && n > 0) {
    split.warnings.emplace_back(
        "the rows do not say when they end: a task's transitions may share an event across a cut");
  }
  const auto warn = [&](const char* name, const std::vector<size_t>& rows) {
    if (rows.empty()) {
      split.warnings.push_back(
          fmt::format("the {} split is empty ({} rows in all, {} of them across a cut)", name, n,
                      split.embargoed.size()));
    }
  };
  warn("train", split.train);
  warn("validation", split.validation);
  warn("test", split.test);
  return split;
}

}  // namespace kernelx
