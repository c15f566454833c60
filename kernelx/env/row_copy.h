// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Moving one row of features: a step moves little else.
#pragma once

#include <cstddef>
#include <cstring>

namespace kernelx {

/// Copies `n` doubles that do not overlap. For rows of ten or thirty values this is several times
/// faster than a call of memcpy, whose length the compiler does not know.
inline void CopyRow(const double* from, double* to, size_t n) {
  for (; n >= 8; n -= 8, from += 8, to += 8) std::memcpy(to, from, 8 * sizeof(double));
  for (; n >= 2; n -= 2, from += 2, to += 2) std::memcpy(to, from, 2 * sizeof(double));
  if (n > 0) *to = *from;
}

/// Asks for the cache lines of `n` doubles that will be read soon. Into the second-level cache,
/// which has more requests under way than the first: half as many steps again a second.
inline void PrefetchRow(const double* row, size_t n) {
  constexpr size_t kLine = 64 / sizeof(double);
  for (size_t i = 0; i < n; i += kLine) __builtin_prefetch(row + i, 0, 2);
  __builtin_prefetch(row + n - 1, 0, 2);
}

}  // namespace kernelx
