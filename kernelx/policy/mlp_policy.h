// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The Strategist: a small network over normalised features with a tanh-Gaussian head, and its file.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/nn/mlp.h"
#include "kernelx/policy/policy.h"
#include "kernelx/policy/tanh_gaussian.h"

namespace kernelx {

inline constexpr std::string_view kPolicyFileSuffix = ".safetensors";

/// What a policy file says of its network, beyond the weights.
struct MlpPolicySpec {
  std::vector<std::string> features = {};  ///< inputs by name, in order
  std::vector<double> mean = {};           ///< of each input, subtracted; empty: 0
  std::vector<double> std = {};            ///< of each input, divided by; empty: 1
  /// Multiplies the standard deviation of the deployed law; 0 makes it the point tanh(mean).
  double temperature = 1.0;
  std::string name = "strategist";
  std::string feature_set = {};  ///< the sidecar's text, so that live features can be made alike
  std::string reward = {};       ///< preset it was trained under
  int hold = 1;                  ///< events a decision stands for
  /// Where it comes from: data digest, seed, version, ... ; free-form.
  std::map<std::string, std::string> provenance = {};
};

/// Input i of the network is (feature - mean) / std, clipped to +-10. The two outputs go through
/// `PolicyHead`.
class MlpPolicy final : public Policy {
 public:
  static constexpr double kInputBound = 10.0;
  static constexpr double kStdFloor = 1e-3;
  /// Of any layer: what `Law` holds on its stack.
  static constexpr size_t kMaxWidth = 512;

  /// A network with random weights, `hidden` layers, ready to train. Throws kUsage for a spec that
  /// contradicts itself.
  MlpPolicy(MlpPolicySpec spec, const std::vector<size_t>& hidden, Rng& rng,
            Activation activation = Activation::kTanh);
  /// A given network: as many inputs as features, two outputs.
  MlpPolicy(MlpPolicySpec spec, Mlp<float> net);
  MlpPolicy(const MlpPolicy& other);
  MlpPolicy& operator=(const MlpPolicy& other);

  [[nodiscard]] std::string name() const override { return spec_.name; }
  void Bind(std::span<const std::string> feature_names) override;
  /// `Encode`, network, `PolicyHead`, temperature. A state that cannot be encoded, or weights that
  /// yield no number, count in `fallbacks` and give the point 0.
  [[nodiscard]] ActionLaw Law(std::span<const double> features) const override;

  /// The network inputs of a state, `spec().features.size()` values; false, and zeros, when a
  /// feature is not a number a counter could hold.
  bool Encode(std::span<const double> features, std::span<float> inputs) const;

  /// Sets mean and std (not below kStdFloor) from `states`: columns of `state_size` features, the
  /// ones `Bind` saw. Throws kBadInput naming the column of a value that is not finite.
  void FitNormaliser(std::span<const double> states, size_t state_size);

  /// Sets mean and std as they are, one an input. Throws kUsage when they make no sense.
  void SetNormaliser(std::vector<double> mean, std::vector<double> std);

  /// Names `Bind` had; 0 before.
  [[nodiscard]] size_t state_size() const { return state_size_; }
  [[nodiscard]] const MlpPolicySpec& spec() const { return spec_; }
  /// For what a trainer writes down: reward, hold, provenance, temperature. Inputs stay as they
  /// are.
  [[nodiscard]] MlpPolicySpec& mutable_spec() { return spec_; }
  [[nodiscard]] const Mlp<float>& net() const { return net_; }
  [[nodiscard]] Mlp<float>& mutable_net() { return net_; }

  /// Decisions answered with 0 because the state made no sense.
  [[nodiscard]] uint64_t fallbacks() const { return fallbacks_.load(std::memory_order_relaxed); }

  void Save(const std::string& path) const;
  /// Throws kFile, or kBadInput naming what the file lacks.
  static MlpPolicy Load(const std::string& path);

 private:
  void CheckSpec();

  MlpPolicySpec spec_;
  Mlp<float> net_;
  std::vector<size_t> columns_;
  size_t state_size_ = 0;
  mutable std::atomic<uint64_t> fallbacks_{0};
};

}  // namespace kernelx
