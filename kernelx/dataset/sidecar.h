// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kernelx/dataset/row_parser.h"

namespace kernelx {

/// `features.json`, which says what the features of the processed files beside it are.
struct Sidecar {
  std::string text;  ///< empty when the folder has none
  ProcessedShape shape;
};

/// Reads the sidecar of a folder (empty: the current one); without one the shape is the seed's.
/// Throws kBadInput when it does not list feature names.
Sidecar ReadSidecar(const std::string& folder);

}  // namespace kernelx
