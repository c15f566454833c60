// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Made-up evaluations for the tests of this room.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernelx/evaluate/evaluation.h"
#include "kernelx/ope/certificate.h"

namespace kernelx {

inline Interval Around(double value) {
  return {.value = value, .lo = value - 0.0625, .hi = value + 0.125};
}

inline PolicyScore MadeUpPolicy(const std::string& name, double offset,
                                const std::vector<std::string>& terms) {
  PolicyScore policy;
  policy.estimate.name = name;
  for (size_t t = 0; t < terms.size(); ++t) {
    const Interval at = Around(offset + 0.25 * static_cast<double>(t));
    policy.estimate.terms.push_back({.name = terms[t], .ips = at, .snips = at, .dm = at, .dr = at});
    policy.model_terms.push_back(offset + 0.5);
  }
  policy.estimate.bandwidths = {
      {.bandwidth = 0.15, .ess = 1234, .snips = Around(offset), .dr = Around(offset)}};
  policy.profile.by_kind = {{.kind = "wakes regularly or by timer", .rows = 70, .mean = -0.5},
                            {.kind = "the rest", .rows = 0}};
  policy.profile.by_command = {{.kind = "<script>alert(1)</script>", .rows = 70, .mean = offset}};
  policy.profile.by_feature = {{.feature = "timer_share", .at = {0.0, 1.0}, .mean = {0.5, -0.5}}};
  policy.profile.histogram.assign(21, 3);
  return policy;
}

/// Policies `names` (a candidate first), all paired with `none`.
inline Evaluation MadeUpEvaluation(const std::vector<std::string>& names = {"mine", "none",
                                                                            "heuristic"},
                                   std::vector<std::string> terms = {"total", "latency", "price"}) {
  Evaluation evaluation;
  evaluation.data = "b.jsonl";
  evaluation.dynamics = "nearest";
  evaluation.reward = "balanced";
  evaluation.hold = 5;
  evaluation.rows = 20187;
  evaluation.tasks = 291;
  evaluation.best_constant = -0.2;
  evaluation.outcome_r_squared.assign(terms.size(), 0.5);
  evaluation.term_names = std::move(terms);
  double offset = 1.0;
  for (const std::string& name : names) {
    evaluation.policies.push_back(MadeUpPolicy(name, offset += 0.3, evaluation.term_names));
    if (name == "none") continue;
    for (const char* estimator : {"dr", "snips", "model"}) {
      evaluation.paired.push_back({.policy = name,
                                   .versus = "none",
                                   .estimator = estimator,
                                   .diff = Around(offset += 0.01),
                                   .ess = 2000,
                                   .evaluable = true,
                                   .why = {},
                                   .verdict = estimator[0] == 'm' ? "" : "better"});
    }
  }
  return evaluation;
}

inline Certificate MadeUpCertificate() {
  Certificate certificate;
  certificate.verdict = CertificateVerdict::kActs;
  certificate.why = "the wait changes & moves";
  certificate.dynamics = "nearest";
  certificate.rows = 1000;
  certificate.outcomes = {
      {.name = "wait", .effect = 1.625, .data_effect = 1.75, .data_low = 1.5, .data_high = 2.0}};
  certificate.placebo.data_effect = 0.03125;
  certificate.placebo_ok = true;
  certificate.groups = {{.comm = "a<b>\xff",
                         .rows = 12,
                         .effect = 0.5,
                         .data_effect = 0.625,
                         .data_low = NAN,
                         .data_high = NAN}};
  return certificate;
}

}  // namespace kernelx
