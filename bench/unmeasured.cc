// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "bench/measure.h"

namespace kernelx::bench {

void ListUnmeasured(Session& session) {
  static constexpr struct {
    const char* name;
    const char* target;
    const char* why;
  } kRows[] = {
      {"step from Python, 1 / 4096 envs", ">= 1.5 / 30 M/s", "not built yet: Python package"},
      {"step, Gymnasium env", ">= 0.5 M/s", "not built yet: Python package"},
      {"OpenEnv steps", ">= 20 x reference", "not built yet: server"},
      {"recorder, drops and cost", "0; <= 10 % / 1 %", "not built yet: recorder"},
      {"live A/B", "p99 wait / 10", "not built yet: governor and judge"},
  };
  for (const auto& row : kRows) {
    session.rows.push_back({.name = row.name, .target = row.target, .why = row.why});
  }
}

}  // namespace kernelx::bench
