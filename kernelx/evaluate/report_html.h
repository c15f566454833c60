// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernelx {

/// For element content and quoted attributes.
std::string EscapeHtml(std::string_view text);

/// For the content of a <script> element of type application/json.
std::string EscapeScript(std::string_view json);

/// Text, and the class of its cell. Never markup.
struct HtmlCell {
  std::string text;
  std::string_view css = {};

  HtmlCell(std::string cell) : text(std::move(cell)) {}  // NOLINT(google-explicit-constructor)
  HtmlCell(const char* cell) : text(cell) {}             // NOLINT(google-explicit-constructor)
  HtmlCell(std::string cell, std::string_view style) : text(std::move(cell)), css(style) {}
};

/// A table that scrolls sideways by itself where the page is narrow; the first column is the rows'
/// header.
std::string HtmlTable(std::string_view caption, const std::vector<std::string>& headers,
                      const std::vector<std::vector<HtmlCell>>& rows);

/// Tables that stand behind a plot: folded away where the plot is drawn, open where it is not.
std::string Figures(std::string_view summary, std::string_view tables);

/// Where report.js draws plot `kind`; `subject` says of what, e.g. a policy. Both stay empty
/// without JavaScript. `label` is read out in place of the picture; `caption` is plain text.
std::string Plot(std::string_view kind, std::string_view subject, std::string_view label,
                 std::string_view caption);

/// Text between two backticks is set as code.
std::string Paragraph(std::string_view text, std::string_view css = {});

}  // namespace kernelx
