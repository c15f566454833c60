// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/report_html.h"

#include <fmt/format.h>

namespace kernelx {
namespace {

std::string ClassOf(std::string_view css) {
  return css.empty() ? "" : fmt::format(" class=\"{}\"", css);
}

std::string CellHtml(const HtmlCell& cell, bool first) {
  if (first) return fmt::format("<th scope=\"row\">{}</th>", EscapeHtml(cell.text));
  return fmt::format("<td{}><span>{}</span></td>", ClassOf(cell.css), EscapeHtml(cell.text));
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Other control characters have no place in HTML.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string EscapeScript(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";  // neither </script> nor <!-- can end it early
    } else {
      out += c;
    }
  }
  return out;
}

std::string HtmlTable(std::string_view caption, const std::vector<std::string>& headers,
                      const std::vector<std::vector<HtmlCell>>& rows) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>"
      "<caption>{0}</caption><thead><tr>",
      EscapeHtml(caption));
  for (const std::string& header : headers) {
    out += fmt::format("<th scope=\"col\">{}</th>", EscapeHtml(header));
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) out += CellHtml(row[c], c == 0);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string Figures(std::string_view summary, std::string_view tables) {
  return fmt::format("<details class=\"figures\" open><summary>{}</summary>\n{}</details>\n",
                     EscapeHtml(summary), tables);
}

std::string Plot(std::string_view kind, std::string_view subject, std::string_view label,
                 std::string_view caption) {
  std::string out = fmt::format(
      "<figure class=\"plot\" data-plot=\"{}\" data-subject=\"{}\"><div class=\"canvas\">"
      "<canvas role=\"img\" aria-label=\"{}\"></canvas></div>",
      EscapeHtml(kind), EscapeHtml(subject), EscapeHtml(label));
  if (!caption.empty()) out += fmt::format("<figcaption>{}</figcaption>", EscapeHtml(caption));
  return out + "</figure>\n";
}

std::string Paragraph(std::string_view text, std::string_view css) {
  std::string html = EscapeHtml(text);
  for (size_t open = html.find('`'); open != std::string::npos; open = html.find('`', open)) {
    const size_t close = html.find('`', open + 1);
    if (close == std::string::npos) break;
    html.replace(close, 1, "</code>");
    html.replace(open, 1, "<code>");
  }
  return fmt::format("<p{}>{}</p>\n", ClassOf(css), html);
}

}  // namespace kernelx
