// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/model_gain.h"

#include <algorithm>
#include <numeric>

#include "kernelx/ground/parallel.h"

namespace kernelx {

ModelGain::ModelGain(const Scenario& scenario, const Dataset& states, size_t count,
                     unsigned threads)
    : scenario_(scenario), threads_(threads), n_(std::min(count, states.size())) {
  const int column = scenario.previous_action_column();
  for (size_t i = 0; i < n_; ++i) {
    const auto state = states.state(i * states.size() / n_);
    states_.insert(states_.end(), state.begin(), state.end());
    previous_.push_back(column >= 0 ? state[static_cast<size_t>(column)] : 0.0);
    noise_.push_back(i);
  }
  nothing_ = Total(std::vector<double>(n_, 0.0));
}

double ModelGain::operator()(const Policy& policy) const {
  const size_t width = scenario_.feature_count();
  std::vector<double> actions;
  for (size_t i = 0; i < n_; ++i) {
    actions.push_back(policy.Law({states_.data() + i * width, width}).Median());
  }
  return Total(actions) - nothing_;
}

double ModelGain::Total(const std::vector<double>& actions) const {
  const Reward& reward = scenario_.reward();
  const size_t width = scenario_.feature_count();
  const size_t outcome_terms = reward.outcome_terms();
  std::vector<double> next(states_.size()), terms(n_ * outcome_terms), total(n_);
  std::vector<uint32_t> row(n_, kNoRow), next_row(n_);
  ParallelFor(n_, threads_, [&](size_t begin, size_t end) {
    scenario_.dynamics().Advance({.n = end - begin,
                                  .state = states_.data() + begin * width,
                                  .action = actions.data() + begin,
                                  .row = row.data() + begin,
                                  .noise = noise_.data() + begin,
                                  .next_state = next.data() + begin * width,
                                  .next_row = next_row.data() + begin,
                                  .terms = terms.data() + begin * outcome_terms});
    for (size_t i = begin; i < end; ++i) {
      double of_action[Reward::kMaxTerms];
      reward.FromAction(actions[i], previous_[i], of_action);
      const double* of_outcome = terms.data() + i * outcome_terms;
      total[i] = std::accumulate(of_outcome, of_outcome + outcome_terms, 0.0) +
                 std::accumulate(of_action, of_action + reward.terms().size() - outcome_terms, 0.0);
    }
  });
  return std::accumulate(total.begin(), total.end(), 0.0) / static_cast<double>(n_);
}

}  // namespace kernelx
