// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/sidecar.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx {

namespace fs = std::filesystem;

Sidecar ReadSidecar(const std::string& folder) {
  Sidecar sidecar;
  const fs::path path = fs::path(folder) / "features.json";
  if (!fs::exists(path)) {
    sidecar.shape.feature_names = SeedFeatureNames();
    return sidecar;
  }
  sidecar.text = ReadFile(path.string());
  sidecar.shape.from_sidecar = true;
  try {
    sidecar.shape.feature_names =
        nlohmann::json::parse(sidecar.text).at("feature_names").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: no list of feature names ({}); give an object whose "
                            "`feature_names` is an array of strings, or remove the file",
                            path.string(), error.what()));
  }
  if (sidecar.shape.feature_names.empty()) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: `feature_names` is empty; name the features "
                                                  "of a state in order",
                                                  path.string()));
  }
  sidecar.shape.recovers_delta = CanRecoverDelta(sidecar.shape.feature_names);
  return sidecar;
}

}  // namespace kernelx
