// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Counts what the program allocates: a step must not.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "kernelx/env/test_scenario.h"
#include "kernelx/env/vector_env.h"

namespace {
std::atomic<size_t> allocations{0};
}  // namespace

// Not inlined: GCC 12 would take free() for the wrong partner of new.
__attribute__((noinline)) void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
__attribute__((noinline)) void operator delete(void* block) noexcept { std::free(block); }
__attribute__((noinline)) void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace kernelx {
namespace {

TEST(VectorEnv, StepsWithoutAllocating) {
  for (const char* dynamics : {"replay", "nearest", "nearest-state"}) {
    for (const auto auto_reset : {AutoReset::kOff, AutoReset::kSameStep}) {
      const auto scenario = MakeScenario(Sample(), {.dynamics = dynamics, .max_steps = 5});
      VectorEnv env(scenario, 8, 3, auto_reset);
      const std::vector<double> actions(8, 0.25);
      env.Reset();
      env.Step(actions);  // scratch of the thread grows once
      env.Reset();
      const size_t before = allocations.load();
      for (int step = 0; step < (auto_reset == AutoReset::kOff ? 1 : 20); ++step) {
        env.Step(actions);
      }
      EXPECT_EQ(allocations.load(), before) << dynamics;
    }
  }
}

}  // namespace
}  // namespace kernelx
