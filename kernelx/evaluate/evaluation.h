// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Policies side by side on one recording. The judge is what really followed the actions that were
// drawn by lot; what a dynamics says of the policies is shown apart, and marked as its opinion.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/env/reward.h"
#include "kernelx/ope/draws.h"
#include "kernelx/ope/estimate.h"
#include "kernelx/policy/policy.h"

namespace kernelx {

struct EvaluationOptions {
  std::string reward = "balanced";
  RewardOptions reward_options;
  int hold = 5;
  std::string dynamics = "nearest";  ///< whose opinion is shown beside the judge's
  DrawScope scope = DrawScope::kIntentionToTreat;
  /// Chosen on training data; without it the best on the judged rows, which flatters it.
  std::optional<double> best_constant;
  uint64_t seed = 0;
  unsigned threads = 0;
};

/// One policy against one baseline by one estimator. `snips` and `dr` rest on logged outcomes,
/// `model` is the dynamics' opinion.
struct PairedRow {
  std::string policy;
  std::string versus;
  std::string estimator;
  Interval diff;
  double ess = 0.0;
  bool evaluable = true;
  std::string why;
  std::string verdict;
};

/// Mean action of a policy (its median, as deployed) over the rows of one kind.
struct KindAction {
  std::string kind;
  size_t rows = 0;
  double mean = 0.0;
  double sd = 0.0;
};

/// Mean action in bins of one feature; bins hold equally many rows.
struct FeatureCurve {
  std::string feature;
  std::vector<double> at;    ///< mean feature value of the bin
  std::vector<double> mean;  ///< mean action
};

/// What a policy does over all recorded states, whatever came of it.
struct ActionProfile {
  std::vector<KindAction> by_kind;     ///< kinds told by features, which policies see
  std::vector<KindAction> by_command;  ///< for judging only
  std::vector<FeatureCurve> by_feature;
  std::vector<size_t> histogram;  ///< 21 equal bins of [-1, 1]
};

struct PolicyScore {
  PolicyEstimate estimate;          ///< on logged outcomes; terms[0] is the total
  std::vector<double> model_terms;  ///< by the dynamics: total, then the terms
  ActionProfile profile;
};

struct Evaluation {
  std::string data;
  std::string dynamics;
  std::string reward;
  int hold = 0;
  size_t rows = 0;  ///< drawn rows judged
  size_t tasks = 0;
  size_t group_draws = 0;
  size_t short_ones = 0;
  double best_constant = 0.0;
  bool best_constant_from_training = false;
  std::vector<double> outcome_r_squared;  ///< of the outcome model inside `dr`, held out
  std::vector<std::string> term_names;    ///< total first
  std::vector<PolicyScore> policies;
  std::vector<PairedRow> paired;           ///< all rows of the recording
  std::vector<PairedRow> paired_in_force;  ///< dr, draws in force only (as treated)
  std::vector<PairedRow> paired_late;  ///< dr, the last fifth of the draws only (the time split)
  std::string not_evaluable;           ///< why logged outcomes cannot judge; else empty
};

/// Judges `candidates` and the baselines none, random, heuristic, interactive, best-constant. Where
/// the recording has no propensities, or too few draws, the rows say so and no number is invented.
Evaluation Evaluate(const Dataset& dataset, std::vector<std::unique_ptr<Policy>> candidates,
                    const EvaluationOptions& options);

/// The interface of `kernelx evaluate --json`, as text.
std::string EvaluationJson(const Evaluation& evaluation);

/// The table for a terminal.
std::string EvaluationText(const Evaluation& evaluation);

}  // namespace kernelx
