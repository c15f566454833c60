// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// From a recording (.kxr) to raw transitions: consecutive events of one task, and the action that
// stood between them.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "kernelx/dataset/transition.h"
#include "kernelx/record/kxr.h"

namespace kernelx {

/// Hands out the transitions of the recording `path` in order of their later event, some thousand
/// at a time; the span is valid during the call and may be moved from. A task is a pid and a start
/// time; where events were lost, every history ends. Throws as `ReadKxr`.
KxrStats ReadKxrRows(const std::string& path,
                     const std::function<void(std::span<RawTransition>)>& take);

}  // namespace kernelx
