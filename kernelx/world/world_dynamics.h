// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Dynamics `world`: the World Model in place of the recording.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/env/dynamics.h"
#include "kernelx/world/world_model.h"

namespace kernelx {

struct WorldDynamicsOptions {
  std::string file;
  bool mean = false;  ///< the mean event of each member in place of draws
  size_t draws = 7;   ///< of each member; with five members 35 events a decision and place in it
  /// Taken off every outcome term, times the standard deviation of the term's expectation between
  /// members. The members then share their luck, so that what differs is what they believe.
  double penalty = 0.0;
  /// Where the members disagree more than at 99 % of the recorded states, the episode is stuck: the
  /// state stays, the terms are those of the worst 1 %.
  bool stop = false;

  /// `FILE[,mean][,draws=N][,penalty=X][,stop]`. Throws kUsage.
  static WorldDynamicsOptions Parse(std::string_view argument);
};

/// A decision of K events is K events of the model in sequence, each with the law of the state it
/// starts from; members times draws run side by side. The terms are the mean of the reward over
/// these rollouts; the next state is that of one of them, named by the noise key. Equal keys meet
/// equal luck, stratified over the draws of a decision.
///
/// With other actions than the logged (`DynamicsInputs::actions`) the effect of the action is
/// fitted anew to them (see `RefitEffect`).
class WorldDynamics final : public Dynamics {
 public:
  /// Throws kBadInput when the dataset lacks the model's features or has no exact deltas.
  WorldDynamics(WorldModel model, const WorldDynamicsOptions& options,
                const DynamicsInputs& inputs);
  ~WorldDynamics() override;

  std::string_view name() const override { return "world"; }
  bool action_blind() const override { return false; }
  bool follows_recording() const override { return false; }
  void Advance(const AdvanceBatch& batch) const override;
  /// The mean event, averaged over members. The answer is valid until this thread asks again;
  /// distance is 0.
  Simulated Simulate(std::span<const double> state, double action) const override;

  [[nodiscard]] const WorldModel& model() const { return model_; }
  /// Standard deviation between members of the expected total of the outcome terms, beyond which
  /// `stop` stops.
  [[nodiscard]] double stop_at() const { return stop_at_; }

 private:
  struct Scratch;

  [[nodiscard]] std::unique_ptr<Scratch> Take() const;
  void Give(std::unique_ptr<Scratch> scratch) const;
  void Slots(const AdvanceBatch& batch, size_t begin, size_t end, Scratch& scratch) const;
  void DrawLuck(uint64_t key, double* luck) const;
  void RunEvent(const AdvanceBatch& batch, size_t begin, size_t slots, int event,
                Scratch& scratch) const;
  void Settle(const AdvanceBatch& batch, size_t begin, size_t slots, Scratch& scratch) const;
  void Calibrate();

  const Dataset& dataset_;
  const Reward& reward_;
  int hold_;
  WorldDynamicsOptions options_;
  WorldModel model_;
  EventFeatures features_;
  size_t draws_;  // of each member
  bool shared_luck_;
  double stop_at_ = 0.0;
  std::vector<double> worst_;  // of each term
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

/// For `RegisterDynamics("world", ...)`.
std::unique_ptr<Dynamics> MakeWorldDynamics(std::string_view argument,
                                            const DynamicsInputs& inputs);

}  // namespace kernelx
