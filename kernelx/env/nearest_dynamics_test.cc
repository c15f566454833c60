// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/nearest_dynamics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "kernelx/env/test_scenario.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

/// What `nearest` is built from; the sample repeated `times`, so that every row has equals.
struct World {
  explicit World(size_t times = 1) {
    DatasetBuilder builder(Sample().feature_names());
    for (size_t i = 0; i < times; ++i) builder.Append(Sample());
    builder.set_sidecar(Sample().sidecar());
    dataset = std::move(builder).Build();
    trajectories.emplace(dataset, Order::kTask);
    reward = MakeReward("balanced");
    nearest.emplace(Inputs());
  }
  DynamicsInputs Inputs() const {
    return {.dataset = dataset, .trajectories = *trajectories, .reward = *reward, .hold = 5};
  }

  Dataset dataset;
  std::optional<Trajectories> trajectories;
  std::unique_ptr<Reward> reward;
  std::optional<NearestDynamics> nearest;
};

/// Slow and obvious: all distances in float, sorted.
class Oracle {
 public:
  explicit Oracle(const World& world) : world_(world), table_(world.Inputs()) {
    const auto rows = RandomisedRows(world.dataset);
    rows_.assign(rows.begin(), rows.end());
    const FeatureSet set = FeatureSet::FromJson(world.dataset.sidecar(), "sample");
    const auto& features = set.features();
    for (size_t column = 0; column < features.size(); ++column) {
      double mean = 0.0;
      for (const uint32_t row : rows_) mean += world.dataset.state(row)[column];
      mean /= static_cast<double>(rows_.size());
      double variance = 0.0;
      for (const uint32_t row : rows_) {
        variance += std::pow(world.dataset.state(row)[column] - mean, 2);
      }
      const double sd = std::sqrt(variance / static_cast<double>(rows_.size()));
      if (features[column].metric_weight == 0.0 || sd < 1e-9) continue;
      axes_.push_back({column, mean, features[column].metric_weight / sd});
    }
  }

  /// Rows from near to far: (squared distance, action, row).
  std::vector<std::tuple<float, float, uint32_t>> Ranked(std::span<const double> state,
                                                         double action) const {
    std::vector<std::tuple<float, float, uint32_t>> ranked;
    for (const uint32_t row : rows_) {
      float squared = 0.0F;
      for (const Axis& axis : axes_) {
        const float difference =
            Coordinate(axis, world_.dataset.state(row)) - Coordinate(axis, state);
        squared += difference * difference;
      }
      const auto its_action = static_cast<float>(world_.dataset.action()[row]);
      const float apart =
          (its_action - static_cast<float>(action)) * NearestDynamics::kActionWeight;
      ranked.emplace_back(squared + apart * apart, its_action, row);
    }
    std::sort(ranked.begin(), ranked.end());
    return ranked;
  }

  const DecisionTable& table() const { return table_; }
  size_t wanted() const { return std::min(NearestDynamics::kNeighbours, rows_.size()); }

 private:
  struct Axis {
    size_t column;
    double mean, scale;
  };
  static float Coordinate(const Axis& axis, std::span<const double> state) {
    return static_cast<float>((state[axis.column] - axis.mean) * axis.scale);
  }

  const World& world_;
  DecisionTable table_;
  std::vector<uint32_t> rows_;
  std::vector<Axis> axes_;
};

/// Groups of clones that differ in their action, in states on and off the recording.
struct Batch {
  Batch(const Dataset& data, size_t groups, size_t clones, uint64_t seed)
      : n(groups * clones), width(data.feature_count()) {
    Rng rng(seed);
    for (size_t g = 0; g < groups; ++g) {
      const auto recorded = data.state(rng.Below(data.size()));
      std::vector<double> at(recorded.begin(), recorded.end());
      if (g % 2 == 1) {
        for (double& value : at) value += 0.1 * rng.Normal();
      }
      for (size_t c = 0; c < clones; ++c) {
        state.insert(state.end(), at.begin(), at.end());
        action.push_back(c == 0 ? 0.0 : c == 1 ? 1.0 : rng.Uniform(-1.0, 1.0));
        noise.push_back(g);
      }
    }
    row.assign(n, kNoRow);
    next_row.assign(n, 0);
    next_state.resize(n * width);
    terms.resize(n * 2);
  }
  AdvanceBatch Slots(size_t begin, size_t end) {
    return {.n = end - begin,
            .state = state.data() + begin * width,
            .action = action.data() + begin,
            .row = row.data() + begin,
            .noise = noise.data() + begin,
            .next_state = next_state.data() + begin * width,
            .next_row = next_row.data() + begin,
            .terms = terms.data() + begin * 2};
  }

  size_t n, width;
  std::vector<double> state, action, next_state, terms;
  std::vector<uint32_t> row, next_row;
  std::vector<uint64_t> noise;
};

void ExpectAsOracle(const World& world, Batch batch) {
  const Oracle oracle(world);
  world.nearest->Advance(batch.Slots(0, batch.n));
  for (size_t i = 0; i < batch.n; ++i) {
    const std::span<const double> state(batch.state.data() + i * batch.width, batch.width);
    const auto ranked = oracle.Ranked(state, batch.action[i]);
    double sum[2] = {};
    for (size_t k = 0; k < oracle.wanted(); ++k) {
      const double* terms = oracle.table().terms(std::get<2>(ranked[k]));
      for (int t = 0; t < 2; ++t) sum[t] += terms[t];
    }
    for (size_t t = 0; t < 2; ++t) {
      // To the bit: the same rows, summed from near to far.
      ASSERT_EQ(batch.terms[i * 2 + t], sum[t] / static_cast<double>(oracle.wanted()))
          << "slot " << i << ", term " << t;
    }
    const size_t pick = Rng(batch.noise[i]).Below(oracle.wanted());
    const auto next = world.dataset.next_state(oracle.table().last(std::get<2>(ranked[pick])));
    ASSERT_TRUE(
        std::ranges::equal(next, std::span(batch.next_state).subspan(i * batch.width, batch.width)))
        << "slot " << i;
    EXPECT_EQ(batch.next_row[i], kNoRow);
  }
}

TEST(NearestDynamics, AnswersAsSortingAllRowsWould) {
  const World world;
  ExpectAsOracle(world, Batch(world.dataset, 12, 8, 1));
}

TEST(NearestDynamics, BreaksTiesByActionThenRow) {
  const World world(3);
  ExpectAsOracle(world, Batch(world.dataset, 6, 4, 2));
}

TEST(NearestDynamics, PrunesExactlyWhenRowsAreMany) {
  const World world(12);  // enough blocks for the bound to come from them
  ASSERT_GT(world.nearest->rows().size(), 16 * NearestDynamics::kNeighbours);
  ExpectAsOracle(world, Batch(world.dataset, 6, 4, 3));
}

TEST(NearestDynamics, AnswersAloneAsInABatch) {
  const World world;
  Batch together(world.dataset, 10, 4, 4);
  Batch alone = together;
  world.nearest->Advance(together.Slots(0, together.n));
  for (size_t i = alone.n; i-- > 0;) world.nearest->Advance(alone.Slots(i, i + 1));
  EXPECT_EQ(together.terms, alone.terms);
  EXPECT_EQ(together.next_state, alone.next_state);
}

TEST(NearestDynamics, SimulateGivesTheNearestRow) {
  const World world;
  const Oracle oracle(world);
  Batch batch(world.dataset, 20, 2, 5);
  for (size_t i = 0; i < batch.n; ++i) {
    const std::span<const double> state(batch.state.data() + i * batch.width, batch.width);
    const auto [squared, action, row] = oracle.Ranked(state, batch.action[i]).front();
    const Simulated simulated = world.nearest->Simulate(state, batch.action[i]);
    EXPECT_EQ(simulated.distance, std::sqrt(squared));
    EXPECT_EQ(simulated.next_state.data(), world.dataset.next_state(row).data());
  }
}

TEST(NearestDynamics, RowsLieInOrderOfTheirAction) {
  const World world;
  const auto rows = world.nearest->rows();
  EXPECT_EQ(rows.size(), RandomisedRows(world.dataset).size());
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, [&](uint32_t row) {
    return std::pair(static_cast<float>(world.dataset.action()[row]), row);
  }));
}

}  // namespace
}  // namespace kernelx
