// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernelx/train/group_batch.h"
#include "kernelx/train/grpo_options.h"

namespace kernelx {

/// Group-relative advantages. The one state it keeps is the running scale, which a checkpoint
/// holds.
class AdvantageEstimator {
 public:
  struct Summary {
    double reward_std = 0.0;      ///< mean over groups of the standard deviation of returns
    double zero_std_share = 0.0;  ///< groups whose standard deviation is below 1e-3 of the scale
    double scale = 1.0;           ///< the divisor (kGroup: the mean of the divisors)
  };

  AdvantageEstimator(AdvantageScale scale, bool leave_one_out)
      : scale_(scale), leave_one_out_(leave_one_out) {}

  /// Fills `batch.advantages` from `batch.returns`: minus the mean of the group at the same
  /// decision, over the scale. A member that has ended counts with the return 0 in the mean of the
  /// others and gets no advantage. Equal returns give exactly 0.
  Summary Compute(GroupBatch& batch);

  /// The running scale; 0 before the first update.
  [[nodiscard]] double running_scale() const { return running_; }
  void Restore(double running_scale) { running_ = running_scale; }

 private:
  AdvantageScale scale_;
  bool leave_one_out_;
  double running_ = 0.0;
};

}  // namespace kernelx
