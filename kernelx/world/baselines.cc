// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/baselines.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernelx/ground/parallel.h"
#include "kernelx/nn/eigen.h"

namespace kernelx {
namespace {

constexpr double kUniformShare = 0.01;  // of every law: no wait is impossible
constexpr size_t kNeighbourCounts[] = {10, 30, 100, 300};
constexpr size_t kColumns = EventFeatures::kInputs + 2;

/// A point plus the recorded residuals, as probabilities of the bins.
WaitLaw AroundPoint(double point, const std::vector<double>& residuals) {
  std::array<double, kWaitBins> p;
  const auto n = static_cast<double>(residuals.size());
  const auto below = [&](double y) {
    return static_cast<double>(std::ranges::lower_bound(residuals, y - point) - residuals.begin()) /
           n;
  };
  double before = 0.0;
  for (size_t k = 0; k < kWaitBins; ++k) {
    const double upto = k + 1 == kWaitBins ? 1.0 : below(WaitBins::Edge(k + 1));
    p[k] = (1.0 - kUniformShare) * (upto - before) + kUniformShare / kWaitBins;
    before = upto;
  }
  return WaitLaw(p);
}

Baseline FromPoints(std::string name, std::span<const double> train_point,
                    std::span<const double> train_y, std::span<const double> judged_point) {
  std::vector<double> residuals(train_y.size());
  std::ranges::transform(train_y, train_point, residuals.begin(), std::minus{});
  std::ranges::sort(residuals);
  Baseline baseline{.name = std::move(name), .laws = {}};
  for (const double point : judged_point) baseline.laws.push_back(AroundPoint(point, residuals));
  return baseline;
}

/// Inputs, both actions and a one.
Eigen::VectorXd Row(const FitData& data, size_t i) {
  Eigen::VectorXd x(kColumns + 1);
  for (size_t f = 0; f < EventFeatures::kInputs; ++f)
    x[static_cast<Eigen::Index>(f)] = data.input(i)[f];
  x[kColumns - 2] = data.previous_action[i] / kActionScale;
  x[kColumns - 1] = data.action[i] / kActionScale;
  x[kColumns] = 1.0;
  return x;
}

Baseline Ridge(const FitData& train, std::span<const double> train_y, const FitData& judged) {
  Eigen::MatrixXd gram = Eigen::MatrixXd::Identity(kColumns + 1, kColumns + 1);
  Eigen::VectorXd moment = Eigen::VectorXd::Zero(kColumns + 1);
  for (size_t i = 0; i < train.size(); ++i) {
    const Eigen::VectorXd x = Row(train, i);
    gram += x * x.transpose();
    moment += train_y[i] * x;
  }
  const Eigen::VectorXd weight = gram.ldlt().solve(moment);
  std::vector<double> of_train(train.size()), of_judged(judged.size());
  for (size_t i = 0; i < train.size(); ++i) of_train[i] = weight.dot(Row(train, i));
  for (size_t i = 0; i < judged.size(); ++i) of_judged[i] = weight.dot(Row(judged, i));
  return FromPoints("linear (ridge)", of_train, train_y, of_judged);
}

/// Squared distances of all of `train` to a judged row, in standardised inputs and actions.
void Distances(const FitData& train, const FitData& judged, size_t i, std::vector<float>& out) {
  const auto query = judged.input(i);
  constexpr auto kScale = static_cast<float>(1.0 / kActionScale);
  for (size_t j = 0; j < train.size(); ++j) {
    const float* x = train.inputs.data() + j * EventFeatures::kInputs;
    float sum = 0.0F;
    for (size_t f = 0; f < EventFeatures::kInputs; ++f)
      sum += (x[f] - query[f]) * (x[f] - query[f]);
    const float da = (train.action[j] - judged.action[i]) * kScale;
    out[j] = sum + 4.0F * da * da;
  }
}

/// One law for each count of neighbours.
Baseline Neighbours(const FitData& train, std::span<const double> train_wait_us,
                    const FitData& judged, std::span<const double> judged_wait_us,
                    unsigned threads) {
  std::array<double, kWaitBins> marginal{};
  for (const double wait_us : train_wait_us) {
    marginal[WaitBins::Of(wait_us)] += 1.0 / static_cast<double>(train_wait_us.size());
  }
  std::vector<std::vector<WaitLaw>> laws(std::size(kNeighbourCounts),
                                         std::vector<WaitLaw>(judged.size(), WaitLaw(marginal)));
  ParallelFor(judged.size(), threads, [&](size_t begin, size_t end) {
    std::vector<float> distance(train.size());
    std::vector<uint32_t> order(train.size());
    for (size_t i = begin; i < end; ++i) {
      Distances(train, judged, i, distance);
      std::iota(order.begin(), order.end(), 0U);
      const size_t most = std::min(train.size(), std::size_t{300});
      const auto nearer = [&](uint32_t a, uint32_t b) {
        return distance[a] != distance[b] ? distance[a] < distance[b] : a < b;
      };
      std::ranges::nth_element(order, order.begin() + static_cast<ptrdiff_t>(most - 1), nearer);
      std::sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(most), nearer);
      for (size_t c = 0; c < laws.size(); ++c) {
        const size_t k = std::min(kNeighbourCounts[c], most);
        std::array<double, kWaitBins> p;  // three rows' worth of the marginal keeps it finite
        for (size_t b = 0; b < kWaitBins; ++b) {
          p[b] = (3.0 * marginal[b] + 3.0 * kUniformShare / kWaitBins);
        }
        for (size_t n = 0; n < k; ++n) p[WaitBins::Of(train_wait_us[order[n]])] += 1.0;
        laws[c][i] = WaitLaw(p);
      }
    }
  });
  size_t best = 0;
  double best_loss = std::numeric_limits<double>::infinity();
  for (size_t c = 0; c < laws.size(); ++c) {
    double loss = 0.0;
    for (size_t i = 0; i < judged.size(); ++i) loss += laws[c][i].LogLoss(judged_wait_us[i]);
    if (loss < best_loss) best_loss = loss, best = c;
  }
  return {.name = "k-NN, k = " + std::to_string(kNeighbourCounts[best]), .laws = laws[best]};
}

}  // namespace

std::vector<Baseline> FitBaselines(const FitData& train, std::span<const double> train_mean,
                                   std::span<const double> train_wait_us, const FitData& judged,
                                   std::span<const double> judged_mean,
                                   std::span<const double> judged_wait_us,
                                   std::span<const double> train_now,
                                   std::span<const double> judged_now, unsigned threads) {
  std::vector<double> y(train_wait_us.size());
  std::ranges::transform(train_wait_us, y.begin(), [](double us) { return std::log1p(us); });
  std::vector<Baseline> baselines;
  baselines.push_back(FromPoints("persistence", train_now, y, judged_now));
  baselines.push_back(FromPoints("mean of the task", train_mean, y, judged_mean));
  baselines.push_back(Ridge(train, y, judged));
  baselines.push_back(Neighbours(train, train_wait_us, judged, judged_wait_us, threads));
  return baselines;
}

}  // namespace kernelx
