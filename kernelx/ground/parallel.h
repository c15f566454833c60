// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace kernelx {

/// Threads to use when the caller asks for `requested` (0: one a core).
inline unsigned ThreadCount(unsigned requested) {
  return requested != 0 ? requested : std::max(1U, std::thread::hardware_concurrency());
}

/// Calls `work(begin, end)` on contiguous parts of [0, n), one part a thread, and waits. The parts
/// depend on the thread count, so `work` must not: write per index, reduce afterwards in a fixed
/// order. The first exception (by part) is rethrown.
template <typename Work>
void ParallelFor(size_t n, unsigned threads, Work&& work) {
  threads = static_cast<unsigned>(std::min<size_t>(ThreadCount(threads), std::max<size_t>(n, 1)));
  if (threads <= 1) {
    if (n > 0) work(size_t{0}, n);
    return;
  }
  std::vector<std::exception_ptr> errors(threads);
  {
    std::vector<std::jthread> pool;
    pool.reserve(threads);
    for (unsigned t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        try {
          work(n * t / threads, n * (t + 1) / threads);
        } catch (...) {
          errors[t] = std::current_exception();
        }
      });
    }
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace kernelx
