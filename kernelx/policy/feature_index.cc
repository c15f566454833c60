// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/feature_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernelx/dataset/dataset.h"
#include "kernelx/ground/error.h"

namespace kernelx {

std::vector<size_t> FindFeatures(std::string_view who, std::span<const std::string> wanted,
                                 std::span<const std::string> available) {
  std::vector<size_t> columns;
  std::vector<std::string_view> missing;
  for (const std::string& name : wanted) {
    const int found = FindColumn(available, name);
    if (found < 0) {
      missing.push_back(name);
    } else {
      columns.push_back(static_cast<size_t>(found));
    }
  }
  if (!missing.empty()) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("[policy.Bind] policy '{}' needs the features {}, which are not among {}; "
                    "preprocess the recording with the feature set the policy was made for",
                    who, fmt::join(missing, ", "), fmt::join(available, ", ")));
  }
  return columns;
}

}  // namespace kernelx
