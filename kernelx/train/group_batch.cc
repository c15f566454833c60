// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/group_batch.h"

namespace kernelx {

void GroupBatch::Resize(size_t new_groups, size_t new_group_size, size_t new_horizon,
                        size_t input_size) {
  groups = new_groups;
  group_size = new_group_size;
  horizon = new_horizon;
  inputs.resize(columns() * input_size);
  old_law.resize(columns());
  reference.resize(columns());
  u.resize(samples());
  rewards.resize(samples());
  returns.resize(samples());
  advantages.resize(samples());
  alive.resize(samples());
}

void GroupBatch::ComputeReturns(double discount) {
  for (size_t t = horizon; t-- > 0;) {
    for (size_t m = 0; m < members(); ++m) {
      const size_t s = SampleAt(t, m);
      const double later = t + 1 < horizon ? returns[SampleAt(t + 1, m)] : 0.0;
      returns[s] = alive[s] != 0 ? rewards[s] + discount * later : 0.0;
    }
  }
}

}  // namespace kernelx
