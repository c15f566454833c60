// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kernelx::cli {

/// True for a policy file, by suffix, and for a run folder, by its config.json.
bool IsPolicy(const std::string& path);
bool IsRun(const std::string& path);

/// What `inspect` says of them; `json["form"]` is "policy" or "run".
nlohmann::ordered_json InspectPolicy(const std::string& path);
nlohmann::ordered_json InspectRun(const std::string& path);

/// Either of the two for a person.
void PrintInspected(const nlohmann::ordered_json& json);

}  // namespace kernelx::cli
