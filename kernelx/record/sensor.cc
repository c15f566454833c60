// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/sensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernelx/ground/error.h"
#include "kernelx/record/sensor_bpf.h"
#include "kernelx/record/tracefs_sensor.h"

namespace kernelx {

std::unique_ptr<Sensor> OpenSensor(const SensorOptions& options, const std::string& rung) {
  if (!rung.empty() && rung != "bpf" && rung != "tracefs") {
    throw Error(ErrorCode::kUsage, fmt::format("sensor '{}': there are `bpf` and `tracefs`", rung));
  }
  if (rung == "tracefs") return OpenTracefsSensor(options);
  try {
    return OpenBpfSensor(options);
  } catch (const Error& refused) {
    if (rung == "bpf" || refused.code() != ErrorCode::kMissingCapability) throw;
    try {
      return OpenTracefsSensor(options);
    } catch (const Error& second) {
      if (second.code() != ErrorCode::kMissingCapability) throw;
      throw refused;  // the first rung's mend is the one to follow
    }
  }
}

std::vector<int32_t> TreeOf(int32_t root_tgid) {
  std::vector<int32_t> tree = {root_tgid};
  for (size_t i = 0; i < tree.size(); ++i) {
    std::error_code gone;
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", tree[i]), gone)) {
      std::ifstream children(thread.path() / "children");
      for (int32_t child = 0; children >> child;) tree.push_back(child);
    }
  }
  return tree;
}

}  // namespace kernelx
