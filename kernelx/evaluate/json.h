// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "kernelx/evaluate/evaluation.h"
#include "kernelx/ope/certificate.h"

namespace kernelx {

/// What `EvaluationJson` prints. What is no number, or could not be estimated, is null.
nlohmann::ordered_json ToJson(const Evaluation& evaluation);

/// The certificate with the keys of `kernelx check-env --json`.
nlohmann::ordered_json ToJson(const Certificate& certificate);

/// As text, without line breaks. Bytes that are not UTF-8 (a command may hold any) become U+FFFD.
std::string JsonText(const nlohmann::ordered_json& json);

}  // namespace kernelx
