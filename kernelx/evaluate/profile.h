// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/evaluate/evaluation.h"
#include "kernelx/policy/policy.h"

namespace kernelx {

/// What a bound policy does over `rows` of the dataset. Kinds need the extended features; without
/// them only commands and the histogram are filled.
ActionProfile Profile(const Policy& policy, const Dataset& dataset, std::span<const uint32_t> rows);

}  // namespace kernelx
