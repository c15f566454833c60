// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A line of either form into a row. One parser a thread: it keeps its memory between lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/dataset/columns.h"
#include "kernelx/dataset/json_line.h"
#include "kernelx/dataset/transition.h"

namespace kernelx {

class RawParser {
 public:
  /// Fills `row` or, returning false, `fault`. `TextChunk::kPadding` readable bytes follow `line`.
  bool Parse(std::string_view line, RawTransition& row, LineFault& fault);

 private:
  JsonLine json_;
};

/// What the rows of a processed file look like.
struct ProcessedShape {
  std::vector<std::string> feature_names;
  bool from_sidecar = false;   ///< else the seed's ten
  bool recovers_delta = true;  ///< rows without `delta` get it from the features
};

class ProcessedParser {
 public:
  /// As `RawParser::Parse`; `row` points into the parser until the next call.
  bool Parse(std::string_view line, const ProcessedShape& shape, RowView& row, LineFault& fault);

 private:
  JsonLine json_;
  std::vector<double> features_;
};

}  // namespace kernelx
