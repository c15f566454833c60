// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "kernelx/dataset/json_line.h"

namespace kernelx {

/// What is wrong with a line the parser refused with `error`, in words a user can act on. Slow: a
/// second look with another parser that knows where it stands.
LineFault ExplainSyntax(std::string_view line, simdjson::error_code error);

std::string TooLongWhy(size_t bytes);

}  // namespace kernelx
