// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "bench/seed_baseline.h"

#include <fmt/format.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/child.h"

namespace kernelx::bench {
std::optional<SeedBaseline> RunSeedBaseline(const std::string& script, const std::string& data,
                                            size_t rows, double seconds, std::string& why) {
  if (!std::filesystem::exists(script)) {
    why = fmt::format("no baseline: {} is missing; name it with --seed-baseline", script);
    return std::nullopt;
  }
  int status = 0;
  const std::string output = RunChild({"python3", script, data, "--load-rows", std::to_string(rows),
                                       "--seconds", fmt::format("{}", seconds)},
                                      status);
  if (status != 0) {
    why = "no baseline: python3 is missing or failed; install it";
    return std::nullopt;
  }
  const auto json = nlohmann::json::parse(output, nullptr, false);
  if (json.is_discarded()) {
    why = "no baseline: " + script + " did not print JSON";
    return std::nullopt;
  }
  return SeedBaseline{
      .load_mb_s = json.at("load_mb_s"),
      .load_rows_s = json.at("load_rows_s"),
      .step_s = json.at("step_s"),
      .simulate_s = json.at("simulate_s"),
      .bytes_a_row = json.at("resident_bytes").get<double>() / json.at("rows").get<double>()};
}

}  // namespace kernelx::bench
