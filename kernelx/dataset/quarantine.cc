// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/quarantine.h"

#include <array>
#include <nlohmann/json.hpp>

namespace kernelx {

std::string_view BadKindName(BadKind kind) {
  static constexpr std::array<std::string_view, kBadKinds> kNames = {
      "not-json",   "incomplete",   "two-values",    "wrong-shape", "feature-count", "missing-key",
      "wrong-type", "out-of-range", "duplicate-key", "too-deep",    "not-utf8",      "too-long"};
  return kNames[static_cast<size_t>(kind)];
}

Quarantine::Quarantine(const std::string& path) : lines_(path), reasons_(path + ".why.jsonl") {}

void Quarantine::Add(std::string_view file, uint64_t line, BadKind kind, std::string_view why,
                     std::string_view text) {
  lines_.Write(text);
  lines_.Write("\n");
  nlohmann::ordered_json reason;
  reason["file"] = file;
  reason["line"] = line;
  reason["kind"] = BadKindName(kind);
  reason["why"] = why;
  reasons_.Write(reason.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  ++count_;
}

void Quarantine::AddPiece(std::string_view text) { lines_.Write(text); }

void Quarantine::Commit() {
  lines_.Commit();
  reasons_.Commit();
}

}  // namespace kernelx
