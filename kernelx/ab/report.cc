// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ab/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernelx/evaluate/report_assets.h"
#include "kernelx/evaluate/report_html.h"

namespace kernelx {
namespace {

constexpr double kWidth = 720.0;
constexpr double kLeft = 130.0;
constexpr double kRight = 20.0;
// Told apart by colour-blind readers, on white and on black (Okabe and Ito).
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#8a8a8a"};

/// A logarithmic axis from `low` to `high`.
struct Axis {
  double low, high, from, to;
  [[nodiscard]] double At(double value) const {
    const double share = (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
  /// 1, 2 and 5 times the powers of ten within.
  [[nodiscard]] std::vector<double> Ticks() const {
    std::vector<double> ticks;
    for (double decade = std::pow(10.0, std::floor(std::log10(low))); decade <= high;
         decade *= 10) {
      for (const double step : {1.0, 2.0, 5.0}) {
        const double tick = step * decade;
        if (tick >= low && tick <= high) ticks.push_back(tick);
      }
    }
    return ticks;
  }
};

std::string Svg(double height, const std::string& label, const std::string& content) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" style=\"width:100%;max-width:{}px;"
      "font:13px system-ui,sans-serif\">{}</svg>\n",
      kWidth, height, EscapeHtml(label), kWidth, content);
}

std::string Text(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"currentColor\">{}</text>", x, y,
      anchor, EscapeHtml(text));
}

std::string Line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>", x1, y1,
                     x2, y2, style);
}

constexpr const char* kFaint = "stroke=\"currentColor\" stroke-opacity=\"0.2\"";
constexpr const char* kStrong = "stroke=\"currentColor\" stroke-opacity=\"0.7\"";

std::string Ratios(const Judgement& judgement) {
  double low = 0.8, high = 1.25;
  for (const ArmResult& arm : judgement.arms) {
    low = std::min(low, 0.9 * arm.ratio.low);
    high = std::max(high, 1.1 * arm.ratio.high);
  }
  const Axis x{low, high, kLeft, kWidth - kRight};
  const double row = 28.0, bottom = 20.0 + row * static_cast<double>(judgement.arms.size());
  std::string svg;
  for (const double tick : x.Ticks()) {
    svg += Line(x.At(tick), 10, x.At(tick), bottom, kFaint) +
           Text(x.At(tick), bottom + 18, fmt::format("{:g}", tick), "middle");
  }
  svg += Line(x.At(1), 10, x.At(1), bottom, kStrong);
  for (size_t i = 0; i < judgement.arms.size(); ++i) {
    const ArmResult& arm = judgement.arms[i];
    const double y = 28.0 + row * static_cast<double>(i);
    const char* colour = kColours[i % kColours.size()];
    svg += Text(0, y + 4, arm.name.substr(0, 16));
    svg += Line(x.At(arm.ratio.low), y, x.At(arm.ratio.high), y,
                fmt::format("stroke=\"{}\" stroke-width=\"3\"", colour));
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>",
                       x.At(arm.ratio.value), y, colour);
  }
  return Svg(bottom + 26, "p99 latency of each arm against default, with 95 % intervals", svg);
}

std::string WindowDots(const Experiment& experiment) {
  double low = 1e300, high = 0.0;
  size_t blocks = 1;
  std::vector<double> metric;
  for (const Window& window : experiment.windows) {
    metric.push_back(std::exp(LogLatency(experiment.load.groups, window, 0.99)));
    low = std::min(low, metric.back());
    high = std::max(high, metric.back());
    blocks = std::max(blocks, window.block + 1);
  }
  const double height = 320.0, bottom = height - 60.0;
  const Axis y{0.9 * low, 1.1 * high, bottom, 10.0};
  std::string svg;
  for (const double tick : y.Ticks()) {
    svg += Line(kLeft / 2, y.At(tick), kWidth - kRight, y.At(tick), kFaint) +
           Text(kLeft / 2 - 6, y.At(tick) + 4,
                tick >= 1000 ? fmt::format("{:g} ms", tick / 1000) : fmt::format("{:g} us", tick),
                "end");
  }
  const double step = (kWidth - kRight - kLeft / 2) / static_cast<double>(blocks);
  for (size_t i = 0; i < metric.size(); ++i) {
    const Window& window = experiment.windows[i];
    const auto arm =
        static_cast<size_t>(std::find(experiment.arms.begin(), experiment.arms.end(), window.arm) -
                            experiment.arms.begin());
    const double x = kLeft / 2 + step * (static_cast<double>(window.block) + 0.5);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\" "
        "fill-opacity=\"0.8\"><title>block "
        "{}, {}: {:.0f} us</title></circle>",
        x, y.At(metric[i]), kColours[(arm + kColours.size() - 1) % kColours.size()],
        window.block + 1, EscapeHtml(window.arm), metric[i]);
  }
  double at = kLeft / 2;
  for (size_t arm = 0; arm < experiment.arms.size(); ++arm) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>", at + 5,
                       height - 22, kColours[(arm + kColours.size() - 1) % kColours.size()]);
    svg += Text(at + 14, height - 18, experiment.arms[arm]);
    at += 34.0 + 7.5 * static_cast<double>(experiment.arms[arm].size());
  }
  return Svg(height, "p99 latency of every window, by block and arm", svg);
}

std::string Cell(const Interval& interval) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval.value, interval.low, interval.high);
}

}  // namespace

std::string AbReport(const Experiment& experiment, const Judgement& judgement) {
  std::vector<std::vector<HtmlCell>> arms, guards;
  for (const ArmResult& arm : judgement.arms) {
    arms.push_back({arm.name, fmt::format("{:.0f}", arm.p50_us), fmt::format("{:.0f}", arm.p99_us),
                    Cell(arm.ratio), arm.against_noop ? Cell(*arm.against_noop) : std::string("-"),
                    arm.against_oracle ? Cell(*arm.against_oracle) : std::string("-"),
                    HtmlCell(VerdictName(arm.verdict), "text")});
    for (const Guard& guard : arm.guards) {
      guards.push_back({arm.name, HtmlCell(guard.group, "text"), HtmlCell(guard.what, "text"),
                        Cell(guard.ratio),
                        HtmlCell(guard.holds()    ? "holds"
                                 : guard.broken() ? "broken"
                                                  : "below 0.97",
                                 "text")});
    }
  }
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>kernelx ab: {0}</title><style>{1}"
      "</style></head><body><main>\n<h1>Load {0}</h1>\n",
      EscapeHtml(experiment.load.name), kReportCss);
  page += Paragraph(fmt::format(
      "{}. {} blocks, every arm once a block in an order by lot, windows of {:g} s after {:g} s of "
      "washout. The metric is the 99th percentile of the latency from the intended start, "
      "geometric "
      "mean over the latency groups.",
      experiment.load.what, judgement.arms.front().blocks, experiment.options.window_s,
      experiment.options.washout_s));
  page += "<h2>p99 latency against the kernel's default</h2>\n" + Ratios(judgement);
  page += HtmlTable("Ratios below 1 are faster; intervals are 95 %, from resampled blocks",
                    {"arm", "p50, us", "p99, us", "ratio to default", "ratio to noop",
                     "log-gain - 0.8 oracle", "verdict"},
                    arms);
  page +=
      Paragraph(fmt::format("Noise: d of the second default arm has sd {:.3f} a block; a change of "
                            "{:.0f} % would be seen "
                            "in four of five experiments of this size.",
                            judgement.noise_sd, 100 * (judgement.detectable - 1)));
  page += "<h2>Every window</h2>\n" + WindowDots(experiment);
  page += "<h2>What the others get</h2>\n";
  page += HtmlTable("CPU time and completions of each other group, of what it got under default",
                    {"arm", "group", "of its", "ratio", "0.97 or more"}, guards);
  return page + "</main></body></html>\n";
}

}  // namespace kernelx
