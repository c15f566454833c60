// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace kernelx {

// The files of `assets/`, compiled in (assets.cmake).
extern const std::string_view kReportCss;
extern const std::string_view kReportJs;
extern const std::string_view kChartJs;

}  // namespace kernelx
