// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Elementary functions over arrays, several lanes at a time. An element's result depends on its
// value alone, never on its place, the length or the address: what does not fill a vector is
// padded, not handed to another implementation.
#pragma once

#include <span>

namespace kernelx {

/// x <- tanh(x). float: within 4e-7 of the true value, exactly +-1 beyond +-9; double: libm.
void TanhInPlace(std::span<float> x);
void TanhInPlace(std::span<double> x);

/// x <- exp(x), relative error below 1e-15 in the normal range.
void ExpInPlace(std::span<double> x);

/// x <- ln(x), x > 0, relative error below 1e-14 away from 1, absolute below 1e-15 near it.
void LogInPlace(std::span<double> x);

}  // namespace kernelx
