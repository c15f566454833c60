// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kernelx/dataset/reader.h"

namespace kernelx {

/// Copies the file `from` to `to`, compressed as the suffix of `to` says. Each line is checked as
/// when it is read, and a good one copied byte for byte, unknown keys included; blank lines, byte
/// order mark and carriage returns go. Throws as `ReadRawChunks` (then `to` is untouched), and
/// kUsage when both are the same file or `from` is a folder.
ReadReport Recompress(const std::string& from, const std::string& to,
                      const ReadOptions& options = {});

}  // namespace kernelx
