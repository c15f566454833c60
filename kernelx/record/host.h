// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What this host lets us do, one check a line, each with what it means and how to mend it.
#pragma once

#include <string>
#include <vector>

namespace kernelx {

struct HostCheck {
  std::string name;
  bool ok = false;
  std::string detail = {};  ///< what was found, and what it means
  std::string mend = {};    ///< empty when there is nothing to mend
  bool record = false;      ///< the BPF rung is impossible without it
  bool act = false;         ///< acting is impossible without it
};

struct HostReport {
  std::vector<HostCheck> checks;
  /// The sensor's rung that is possible, `bpf` or else `tracefs`; empty when none is.
  [[nodiscard]] std::string rung() const;
  [[nodiscard]] bool can_record() const { return !rung().empty(); }
  [[nodiscard]] bool can_act() const;
};

/// Looks at the host. `root` is put before every path of /proc and /sys that is read, for tests;
/// checks that try something (slices, PMU, user) always ask the running kernel.
[[nodiscard]] HostReport CheckHost(const std::string& root = "");

}  // namespace kernelx
