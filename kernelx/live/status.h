// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What a running engine tells the outside: a status file that is replaced once a second, and an
// audit log, one JSON object a line.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "kernelx/live/engine.h"

namespace kernelx {

/// The statistics as one object; the keys are listed in docs/live.md.
[[nodiscard]] nlohmann::json ToJson(const EngineStats& stats);

/// Writes each nudge with who, before, after and why.
class AuditLog final : public EngineSink {
 public:
  /// Appends to `path`; empty: keeps only the last reason of each task, for the status. Throws
  /// kFile.
  AuditLog(const std::string& path, const Decider& decider);
  void OnNudge(const NudgeRecord& nudge, const SchedEvent& event, double before,
               std::span<const double> features) override;
  void OnYield(const SchedEvent& event) override;
  void OnLost(uint64_t count) override;
  void Flush() { file_.flush(); }
  /// Why the task has what it has; empty when not known.
  [[nodiscard]] std::string Reason(int32_t pid) const;

 private:
  const Decider& decider_;
  std::ofstream file_;
  std::map<int32_t, std::string> reasons_;
  uint64_t reasons_second_ = 0;
  uint32_t reasons_made_ = 0;
};

/// Replaces `live.json` of the run folder.
void PublishStatus(Engine& engine, const AuditLog& audit, const std::string& policy);
[[nodiscard]] std::string StatusPath();

}  // namespace kernelx
