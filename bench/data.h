// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "kernelx/dataset/dataset.h"

namespace kernelx::bench {

/// Rows of the seed's file in the measurements: what its own figures were taken on, 138 MB.
inline constexpr size_t kRows = 432'000;

/// A folder for temporary files ($TMPDIR or /tmp) that goes with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// What is measured on.
struct BenchData {
  std::string seed_path;  ///< kRows processed rows as the seed writes them, no sidecar
  size_t seed_bytes = 0;
  Dataset extended;  ///< the whole recording with the extended features
};

/// Makes the data of a recording; rows of a short one are repeated.
BenchData MakeData(const std::string& recording, const std::string& folder);

}  // namespace kernelx::bench
