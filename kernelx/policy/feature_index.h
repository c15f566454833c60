// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernelx {

/// Columns of `wanted` in `available`, in the order wanted. Throws kBadInput naming every feature
/// that is missing, `who` wants them, and what there is.
[[nodiscard]] std::vector<size_t> FindFeatures(std::string_view who,
                                               std::span<const std::string> wanted,
                                               std::span<const std::string> available);

/// Whether `value` can be a feature: a number no larger than any 64-bit counter.
[[nodiscard]] inline bool IsFeatureValue(double value) { return std::abs(value) <= 0x1p64; }

}  // namespace kernelx
