// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/mlp_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernelx/ground/error.h"
#include "kernelx/policy/feature_index.h"

namespace kernelx {
namespace {

Mlp<float> RandomNet(size_t inputs, const std::vector<size_t>& hidden, Rng& rng,
                     Activation activation) {
  std::vector<size_t> sizes{inputs};
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  sizes.push_back(2);
  Mlp<float> net(sizes, activation);
  net.Initialise(rng);
  return net;
}

[[noreturn]] void Contradiction(const std::string& what) {
  throw Error(ErrorCode::kUsage, fmt::format("[policy.MlpPolicy] {}; mend the spec", what));
}

}  // namespace

MlpPolicy::MlpPolicy(MlpPolicySpec spec, const std::vector<size_t>& hidden, Rng& rng,
                     Activation activation)
    : spec_(std::move(spec)), net_(RandomNet(spec_.features.size(), hidden, rng, activation)) {
  CheckSpec();
}

MlpPolicy::MlpPolicy(MlpPolicySpec spec, Mlp<float> net)
    : spec_(std::move(spec)), net_(std::move(net)) {
  CheckSpec();
}

MlpPolicy::MlpPolicy(const MlpPolicy& other)
    : spec_(other.spec_),
      net_(other.net_),
      columns_(other.columns_),
      state_size_(other.state_size_) {}

MlpPolicy& MlpPolicy::operator=(const MlpPolicy& other) {
  spec_ = other.spec_;
  net_ = other.net_;
  columns_ = other.columns_;
  state_size_ = other.state_size_;
  return *this;
}

void MlpPolicy::CheckSpec() {
  const size_t inputs = spec_.features.size();
  if (spec_.mean.empty()) spec_.mean.assign(inputs, 0.0);
  if (spec_.std.empty()) spec_.std.assign(inputs, 1.0);
  if (net_.input_size() != inputs || net_.output_size() != 2) {
    Contradiction(
        fmt::format("a network of {} inputs and {} outputs for {} features; a policy has "
                    "an input a feature and two outputs",
                    net_.input_size(), net_.output_size(), inputs));
  }
  if (std::ranges::max(net_.sizes()) > kMaxWidth) {
    Contradiction(
        fmt::format("a layer of {} units; {} at most", std::ranges::max(net_.sizes()), kMaxWidth));
  }
  if (spec_.mean.size() != inputs || spec_.std.size() != inputs) {
    Contradiction(fmt::format("{} means and {} standard deviations for {} features",
                              spec_.mean.size(), spec_.std.size(), inputs));
  }
  for (size_t i = 0; i < inputs; ++i) {
    if (!std::isfinite(spec_.mean[i]) || !(spec_.std[i] > 0.0) || !std::isfinite(spec_.std[i])) {
      Contradiction(fmt::format("feature '{}' has mean {} and standard deviation {}",
                                spec_.features[i], spec_.mean[i], spec_.std[i]));
    }
  }
  if (!(spec_.temperature >= 0.0) || !std::isfinite(spec_.temperature)) {
    Contradiction(fmt::format("temperature {}, must be 0 or more", spec_.temperature));
  }
}

void MlpPolicy::Bind(std::span<const std::string> feature_names) {
  columns_ = FindFeatures(spec_.name, spec_.features, feature_names);
  state_size_ = feature_names.size();
}

void MlpPolicy::SetNormaliser(std::vector<double> mean, std::vector<double> std) {
  spec_.mean = std::move(mean);
  spec_.std = std::move(std);
  CheckSpec();
}

bool MlpPolicy::Encode(std::span<const double> features, std::span<float> inputs) const {
  bool good = true;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const double value = features[columns_[i]];
    good = good && IsFeatureValue(value);
    const double normal = (value - spec_.mean[i]) / spec_.std[i];
    inputs[i] = static_cast<float>(std::clamp(normal, -kInputBound, kInputBound));
  }
  if (!good) std::ranges::fill(inputs, 0.0F);
  return good;
}

ActionLaw MlpPolicy::Law(std::span<const double> features) const {
  alignas(64) std::array<float, kMaxWidth> inputs;
  alignas(64) std::array<float, 2 * kMaxWidth> scratch;
  alignas(64) std::array<float, 2> outputs;
  const std::span<float> in(inputs.data(), columns_.size());
  bool good = !columns_.empty() && Encode(features, in);
  if (good) {
    net_.Evaluate(in, outputs, scratch);
    good = std::isfinite(outputs[0]) && std::isfinite(outputs[1]);
  }
  if (!good) {
    fallbacks_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  const TanhGaussian law = PolicyHead(outputs[0], outputs[1]).law;
  if (spec_.temperature == 0.0) {
    return {.kind = ActionLaw::Kind::kPoint, .center = std::tanh(law.mean)};
  }
  return {.kind = ActionLaw::Kind::kTanhGaussian,
          .center = law.mean,
          .log_std =
              spec_.temperature == 1.0 ? law.log_std : law.log_std + std::log(spec_.temperature)};
}

void MlpPolicy::FitNormaliser(std::span<const double> states, size_t state_size) {
  const size_t n = state_size == 0 ? 0 : states.size() / state_size;
  if (n == 0) {
    throw Error(ErrorCode::kUsage, "[policy.FitNormaliser] no states to fit to; give at least one");
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    double mean = 0.0;
    double squares = 0.0;  // Welford: no cancellation for large means
    for (size_t c = 0; c < n; ++c) {
      const double x = states[c * state_size + columns_[i]];
      if (!std::isfinite(x)) {
        throw Error(
            ErrorCode::kBadInput,
            fmt::format("[policy.FitNormaliser] feature '{}' is {} in state {}; mend the data",
                        spec_.features[i], x, c));
      }
      const double shift = x - mean;
      mean += shift / static_cast<double>(c + 1);
      squares += shift * (x - mean);
    }
    spec_.mean[i] = mean;
    spec_.std[i] = std::max(std::sqrt(squares / static_cast<double>(n)), kStdFloor);
  }
}

}  // namespace kernelx
