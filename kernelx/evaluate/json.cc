// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/json.h"

#include <cmath>

#include "kernelx/evaluate/report_words.h"

namespace kernelx {
namespace {

using Json = nlohmann::ordered_json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json Ci95(double lo, double hi) { return Json::array({Number(lo), Number(hi)}); }
Json Ci95(const Interval& interval) { return Ci95(interval.lo, interval.hi); }

Json WithInterval(const Interval& interval) {
  return {{"value", Number(interval.value)}, {"ci95", Ci95(interval)}};
}

Json ToJson(const WeightDiagnostics& weights) {
  return {{"rows", weights.rows},
          {"tasks", weights.clusters},
          {"mean", WithInterval(weights.mean)},
          {"mean_covers_one", weights.mean_covers_one},
          {"ess", Number(weights.ess)},
          {"task_ess", Number(weights.cluster_ess)},
          {"max", Number(weights.max)},
          {"largest_task_share", Number(weights.largest_cluster_share)},
          {"clipped_mass", Number(weights.clipped_mass)}};
}

Json ToJson(const std::vector<KindAction>& kinds) {
  Json out = Json::array();
  for (const KindAction& kind : kinds) {
    const bool any = kind.rows > 0;
    out.push_back({{"kind", kind.kind},
                   {"rows", kind.rows},
                   {"mean", any ? Number(kind.mean) : Json(nullptr)},
                   {"sd", any ? Number(kind.sd) : Json(nullptr)}});
  }
  return out;
}

Json ToJson(const ActionProfile& profile) {
  Json features = Json::array();
  for (const FeatureCurve& curve : profile.by_feature) {
    features.push_back({{"feature", curve.feature}, {"at", curve.at}, {"mean", curve.mean}});
  }
  return {{"by_kind", ToJson(profile.by_kind)},
          {"by_command", ToJson(profile.by_command)},
          {"by_feature", features},
          {"histogram", profile.histogram}};
}

/// The dynamics' figures; null where it was not asked.
Json ModelJson(const PolicyScore& policy, const std::vector<std::string>& names) {
  if (policy.model_terms.empty()) return nullptr;
  Json terms = Json::object();
  for (size_t t = 1; t < policy.model_terms.size() && t < names.size(); ++t) {
    terms[names[t]] = Number(policy.model_terms[t]);
  }
  return {{"total", Number(policy.model_terms[0])}, {"terms", terms}};
}

Json ToJson(const PolicyScore& policy, const std::vector<std::string>& names) {
  const PolicyEstimate& estimate = policy.estimate;
  Json terms = Json::object();
  Json details = Json::object();
  for (size_t t = 0; t < names.size(); ++t) {
    const bool known = t < estimate.terms.size();
    if (t > 0) terms[names[t]] = known ? Number(estimate.terms[t].dr.value) : Json(nullptr);
    if (!known) continue;
    const TermEstimate& term = estimate.terms[t];
    details[names[t]] = {{"dr", WithInterval(term.dr)},
                         {"snips", WithInterval(term.snips)},
                         {"ips", WithInterval(term.ips)},
                         {"outcome_model", WithInterval(term.dm)}};
  }
  Json bandwidths = Json::array();
  for (const BandwidthEstimate& at : estimate.bandwidths) {
    bandwidths.push_back({{"bandwidth", at.bandwidth},
                          {"ess", Number(at.ess)},
                          {"dr", WithInterval(at.dr)},
                          {"snips", WithInterval(at.snips)}});
  }
  const bool any = !estimate.terms.empty();
  return {{"name", estimate.name},
          {"total", any ? Number(estimate.terms[0].dr.value) : Json(nullptr)},
          {"ci95", any ? Ci95(estimate.terms[0].dr) : Ci95(NAN, NAN)},
          {"terms", terms},
          {"evaluable", estimate.evaluable && any},
          {"why", estimate.why},
          {"model", ModelJson(policy, names)},
          {"estimates", details},
          {"bandwidths", bandwidths},
          {"weights", any ? ToJson(estimate.weights) : Json(nullptr)},
          {"profile", ToJson(policy.profile)}};
}

Json ToJson(const std::vector<PairedRow>& rows) {
  Json out = Json::array();
  for (const PairedRow& row : rows) {
    out.push_back({{"policy", row.policy},
                   {"versus", row.versus},
                   {"estimator", row.estimator},
                   {"diff", Number(row.diff.value)},
                   {"ci95", Ci95(row.diff)},
                   {"ess", Number(row.ess)},
                   {"evaluable", row.evaluable},
                   {"why", row.why},
                   {"verdict", row.verdict.empty() ? Json(nullptr) : Json(row.verdict)}});
  }
  return out;
}

Json ToJson(const Effect& effect) {
  return {{"effect", Number(effect.effect)},
          {"null95", Number(effect.null95)},
          {"p", Number(effect.p)},
          {"data_effect", Number(effect.data_effect)},
          {"data_ci95", Ci95(effect.data_low, effect.data_high)},
          {"data_p", Number(effect.data_p)}};
}

}  // namespace

Json ToJson(const Evaluation& evaluation) {
  Json policies = Json::array();
  for (const PolicyScore& policy : evaluation.policies) {
    policies.push_back(ToJson(policy, evaluation.term_names));
  }
  Json r_squared = Json::object();
  for (size_t t = 0; t < evaluation.outcome_r_squared.size(); ++t) {
    r_squared[evaluation.term_names[t]] = Number(evaluation.outcome_r_squared[t]);
  }
  const std::string& refused = evaluation.not_evaluable;
  return {
      {"meaning", Meaning()},
      {"data", evaluation.data},
      {"reward", evaluation.reward},
      {"hold", evaluation.hold},
      {"rows", evaluation.rows},
      {"tasks", evaluation.tasks},
      {"group_draws", evaluation.group_draws},
      {"short_ones", evaluation.short_ones},
      {"evaluable", refused.empty()},
      {"not_evaluable", refused.empty() ? Json(nullptr) : Json(refused)},
      {"best_constant",
       {{"action", Number(evaluation.best_constant)}, {"from", BestConstantOrigin(evaluation)}}},
      {"outcome_r_squared", r_squared},
      {"model",
       {{"dynamics", evaluation.dynamics},
        {"reads_action", !ActionBlind(evaluation.dynamics)},
        {"caveat", ModelCaveat(evaluation)}}},
      {"policies", policies},
      {"paired", ToJson(evaluation.paired)},
      {"paired_in_force", ToJson(evaluation.paired_in_force)},
      {"paired_late", ToJson(evaluation.paired_late)}};
}

Json ToJson(const Certificate& certificate) {
  Json outcomes = Json::object();
  for (const Effect& effect : certificate.outcomes) outcomes[effect.name] = ToJson(effect);
  Json groups = Json::array();
  for (const GroupEffect& group : certificate.groups) {
    groups.push_back({{"comm", group.comm},
                      {"rows", group.rows},
                      {"effect", Number(group.effect)},
                      {"data_effect", Number(group.data_effect)},
                      {"data_ci95", Ci95(group.data_low, group.data_high)}});
  }
  const Effect& placebo = certificate.placebo;
  return {{"verdict", VerdictName(certificate.verdict)},
          {"why", certificate.why},
          {"dynamics", certificate.dynamics},
          {"rows", certificate.rows},
          {"tasks", certificate.tasks},
          {"propensities_known", certificate.propensities_known},
          {"outcomes", outcomes},
          {"placebo",
           {{"outcome", "wait_before"},
            {"data_effect", Number(placebo.data_effect)},
            {"data_ci95", Ci95(placebo.data_low, placebo.data_high)},
            {"null95", Number(placebo.null95)},
            {"p", Number(placebo.data_p)},
            {"ok", certificate.placebo_ok}}},
          {"groups", groups}};
}

std::string JsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string EvaluationJson(const Evaluation& evaluation) { return JsonText(ToJson(evaluation)); }

}  // namespace kernelx
