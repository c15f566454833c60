// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kernelx {

/// What the trainer asks of an environment at the start of an update.
struct GroupRequest {
  uint64_t update = 0;    ///< index of the update, from 0
  size_t groups = 1;      ///< S: different states
  size_t group_size = 1;  ///< G: clones of each
  size_t horizon = 1;     ///< T: how many times `Step` will be called
};

/// The environment as GRPO sees it: S groups of G members that start as clones of one state.
/// Member j of group i is column i * G + j; a column of observations is contiguous.
///
/// The environment owes the trainer two things. Everything random is a function of its own seed,
/// the update and the group, so that a run can be repeated and resumed. And the members of a group
/// share that luck step by step (common random numbers): what differs between them is the action
/// and its consequences, so the group mean takes the noise out of the advantage. Where several
/// draws decide a reward, average 32 or more per action instead, unless the scale is ema or none.
class GroupEnv {
 public:
  virtual ~GroupEnv() = default;

  /// Features of a state, in the order the policy was bound to.
  [[nodiscard]] virtual size_t observation_size() const = 0;

  /// Starts new groups. `observations`: observation_size() x S, a column a group.
  virtual void Reset(const GroupRequest& request, std::span<double> observations) = 0;

  /// One decision of every member. `actions` in [-1, 1], `rewards` and `done`: S * G.
  /// `observations` is observation_size() x S * G, or empty when the trainer does not need the next
  /// states. After its `done` a member's rewards and observations are not read.
  virtual void Step(std::span<const double> actions, std::span<double> rewards,
                    std::span<uint8_t> done, std::span<double> observations) = 0;
};

}  // namespace kernelx
