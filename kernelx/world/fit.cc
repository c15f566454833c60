// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <set>
#include <unordered_map>
#include <utility>

#include "kernelx/env/dynamics.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/nn/adam.h"
#include "kernelx/world/fit_data.h"

namespace kernelx {
namespace {

constexpr size_t kEffectBatch = 256;
constexpr size_t kHeldOutRows = 24'576;
constexpr uint64_t kHeldOutShare = 10;  // one task in so many
constexpr double kClip = 1.0;
constexpr double kLastRate = 0.05;
constexpr int kRefitEpochs = 6;
constexpr double kImprovement = 1e-4;  // nats an event

using Progress = std::function<void(int epoch, double held_out)>;

/// How a network is to be trained.
struct Schedule {
  int epochs = 1;
  int patience = 1;
  size_t batch = 1;
  size_t rows_per_epoch = 0;  // 0: all
  double learning_rate = 1e-3;
  double decay = 0.0;
  uint64_t seed = 0;
  unsigned threads = 0;
};

/// One network's part of the outputs, the other's added as constants.
struct Task {
  const FitData& data;
  bool effect = false;
  std::vector<float> other = {};  // entry x kHeadOutputs, what the other says; empty: nothing
};

void SetInput(const FitData& data, size_t entry, bool effect, std::span<float> input) {
  std::ranges::copy(data.input(entry), input.begin());
  if (!effect) return;
  constexpr auto kScale = static_cast<float>(1.0 / kActionScale);
  input[EventFeatures::kInputs] = data.previous_action[entry] * kScale;
  input[EventFeatures::kInputs + 1] = data.action[entry] * kScale;
}

/// Trains one network and leaves it with the weights that did best on held-out entries.
class Trainer {
 public:
  Trainer(const Task& task, Mlp<float>& net, const Schedule& schedule)
      : task_(task),
        net_(net),
        schedule_(schedule),
        gradient_(net),
        adam_(net.parameters().size()) {}

  void Run(std::vector<uint32_t> train, const std::vector<uint32_t>& held_out,
           const Progress& progress) {
    std::vector<float> best(net_.parameters().begin(), net_.parameters().end());
    double best_loss = held_out.empty() ? 0.0 : Loss(held_out);
    int stale = 0;
    const size_t rows = schedule_.rows_per_epoch == 0
                            ? train.size()
                            : std::min(schedule_.rows_per_epoch, train.size());
    const size_t steps = (rows + schedule_.batch - 1) / schedule_.batch;
    for (int epoch = 0; epoch < schedule_.epochs && stale < schedule_.patience; ++epoch) {
      Rng rng(schedule_.seed, 100 + static_cast<uint64_t>(epoch));
      for (size_t i = 0; i < rows; ++i) std::swap(train[i], train[i + rng.Below(train.size() - i)]);
      for (size_t step = 0; step < steps; ++step) {
        const double done =
            (epoch + static_cast<double>(step) / static_cast<double>(steps)) / schedule_.epochs;
        const double wave = 0.5 * (1.0 + std::cos(std::numbers::pi * done));
        const size_t begin = step * schedule_.batch;
        Step(std::span(train).subspan(begin, std::min(schedule_.batch, rows - begin)),
             schedule_.learning_rate * (kLastRate + (1.0 - kLastRate) * wave));
      }
      if (held_out.empty()) continue;
      const double loss = Loss(held_out);
      if (progress) progress(epoch, loss);
      if (loss < best_loss - kImprovement) {
        best_loss = loss;
        stale = 0;
        best.assign(net_.parameters().begin(), net_.parameters().end());
      } else {
        ++stale;
      }
    }
    if (held_out.empty()) return;
    net_.Modify([&](std::span<float> parameters) { std::ranges::copy(best, parameters.begin()); });
  }

  /// Mean negative log-likelihood.
  double Loss(std::span<const uint32_t> entries) {
    double sums[MlpGradient<float>::kShards] = {};
    gradient_.Evaluate(net_, entries.size(), schedule_.threads, Filler(entries),
                       [&](MlpBlock<float>& block, size_t begin, size_t end, size_t shard) {
                         for (size_t c = 0; c < end - begin; ++c) {
                           sums[shard] += Heads(block, c, entries[begin + c], {}, 0.0);
                         }
                       });
    return MlpGradient<float>::TreeSum(sums) / static_cast<double>(entries.size());
  }

 private:
  MlpGradient<float>::Fill Filler(std::span<const uint32_t> entries) const {
    return [this, entries](MlpBlock<float>& block, size_t begin, size_t end) {
      for (size_t c = 0; c < end - begin; ++c) {
        SetInput(task_.data, entries[begin + c], task_.effect, block.input(c));
      }
    };
  }

  double Heads(MlpBlock<float>& block, size_t column, uint32_t entry, std::span<float> gradient,
               double scale) const {
    std::array<float, kHeadOutputs> out;
    std::ranges::copy(block.output(column), out.begin());
    if (!task_.other.empty()) {
      const float* other = task_.other.data() + size_t{entry} * kHeadOutputs;
      for (size_t k = 0; k < kHeadOutputs; ++k) out[k] += other[k];
    }
    return EvaluateHeads<float>(out, task_.data.target[entry], gradient, scale).sum();
  }

  void Step(std::span<const uint32_t> entries, double rate) {
    const double scale = 1.0 / static_cast<double>(entries.size());
    gradient_.Run(net_, entries.size(), schedule_.threads, Filler(entries),
                  [&](MlpBlock<float>& block, size_t begin, size_t end, size_t) {
                    for (size_t c = 0; c < end - begin; ++c) {
                      Heads(block, c, entries[begin + c], block.output_gradient(c), scale);
                    }
                  });
    ClipNorm(gradient_.gradient(), kClip);
    net_.Modify([&](std::span<float> parameters) {
      if (schedule_.decay > 0.0) {
        const auto keep = static_cast<float>(1.0 - rate * schedule_.decay);
        for (float& p : parameters) p *= keep;
      }
      adam_.Step(parameters, gradient_.gradient(), rate);
    });
  }

  const Task& task_;
  Mlp<float>& net_;
  Schedule schedule_;
  MlpGradient<float> gradient_;
  Adam<float> adam_;
};

std::vector<size_t> Sizes(size_t inputs, const std::vector<size_t>& hidden) {
  std::vector<size_t> sizes{inputs};
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  sizes.push_back(kHeadOutputs);
  return sizes;
}

/// What a network says of every entry.
std::vector<float> Outputs(const FitData& data, const Mlp<float>& net, bool effect,
                           unsigned threads) {
  std::vector<float> out(data.size() * kHeadOutputs);
  MlpGradient<float> pass(net);
  pass.Evaluate(
      net, data.size(), threads,
      [&](MlpBlock<float>& block, size_t begin, size_t end) {
        for (size_t c = 0; c < end - begin; ++c) {
          SetInput(data, begin + c, effect, block.input(c));
        }
      },
      [&](MlpBlock<float>& block, size_t begin, size_t end, size_t) {
        for (size_t c = 0; c < end - begin; ++c) {
          std::ranges::copy(block.output(c),
                            out.begin() + static_cast<ptrdiff_t>((begin + c) * kHeadOutputs));
        }
      });
  return out;
}

/// The entries of a member: a bootstrap of the training tasks, and what is held out.
struct Split {
  std::vector<uint32_t> train, held_out;
};

Split SplitTasks(const FitData& data, uint64_t seed) {
  std::vector<uint64_t> tasks(data.task);
  std::ranges::sort(tasks);
  tasks.erase(std::ranges::unique(tasks).begin(), tasks.end());
  std::vector<uint64_t> kept;
  for (const uint64_t task : tasks) {
    if (MixSeed(seed, task) % kHeldOutShare != 0) kept.push_back(task);
  }
  if (kept.empty()) kept = tasks;
  std::unordered_map<uint64_t, int> copies;
  Rng rng(seed, 7);
  for (size_t i = 0; i < kept.size(); ++i) ++copies[kept[rng.Below(kept.size())]];
  Split split;
  for (uint32_t i = 0; i < data.size(); ++i) {
    const auto found = copies.find(data.task[i]);
    if (found != copies.end()) {
      split.train.insert(split.train.end(), static_cast<size_t>(found->second), i);
    } else if (MixSeed(seed, data.task[i]) % kHeldOutShare == 0) {
      split.held_out.push_back(i);
    }
  }
  if (split.held_out.empty()) split.held_out = split.train;
  if (split.held_out.size() > kHeldOutRows) {  // evenly, by lot
    for (size_t i = 0; i < kHeldOutRows; ++i) {
      std::swap(split.held_out[i], split.held_out[i + rng.Below(split.held_out.size() - i)]);
    }
    split.held_out.resize(kHeldOutRows);
  }
  return split;
}

WorldMember NewMember(const WorldFitOptions& options, uint64_t seed) {
  WorldMember member{
      Mlp<float>(Sizes(WorldMember::kBaseInputs, options.base_hidden), Activation::kSilu),
      Mlp<float>(Sizes(WorldMember::kEffectInputs, options.effect_hidden), Activation::kSilu)};
  Rng rng(seed, 1);
  member.base.Initialise(rng, std::numbers::sqrt2, 0.1);
  member.effect.Initialise(rng, std::numbers::sqrt2, 0.0);  // no effect until data shows one
  return member;
}

WorldMember FitMember(const FitData& all, const FitData& randomised, const WorldFitOptions& options,
                      size_t index, const std::function<void(const WorldFitProgress&)>& progress) {
  const uint64_t seed = MixSeed(options.seed, index);
  WorldMember member = NewMember(options, seed);
  WorldFitProgress at{.member = index, .members = options.members};
  const Progress report = [&](int epoch, double held_out) {
    at.epoch = epoch + 1;
    at.held_out = held_out;
    if (progress) progress(at);
  };
  const auto stage = [&](bool effect, int round) {
    at.effect = effect;
    at.round = round;
    at.epochs = effect ? options.effect_epochs : options.epochs;
    const FitData& data = effect ? randomised : all;
    Split split = SplitTasks(data, seed);
    Task task{.data = data, .effect = effect};
    if (effect || round > 0) {
      task.other = Outputs(data, effect ? member.base : member.effect, !effect, options.threads);
    }
    Trainer trainer(task, effect ? member.effect : member.base,
                    {.epochs = at.epochs,
                     .patience = effect ? options.effect_patience : options.patience,
                     .batch = effect ? kEffectBatch : options.batch,
                     .rows_per_epoch = effect ? 0 : options.rows_per_epoch,
                     .learning_rate = options.learning_rate,
                     .decay = effect ? options.effect_decay : 0.0,
                     .seed = MixSeed(seed, static_cast<uint64_t>(2 * round + (effect ? 1 : 0))),
                     .threads = options.threads});
    trainer.Run(std::move(split.train), split.held_out, report);
  };
  for (int round = 0; round < options.rounds; ++round) {
    stage(false, round);
    if (randomised.size() == 0) break;
    stage(true, round);
  }
  return member;
}

/// What a checkpoint must agree with to be gone on from.
std::string Recipe(const Dataset& data, const WorldFitOptions& o) {
  return fmt::format(
      "{} rows {} seed {} base {} effect {} epochs {} {} batch {} per {} rate {} decay {} stop {} "
      "{} rounds {}",
      data.digest(), data.size(), o.seed, fmt::join(o.base_hidden, "x"),
      fmt::join(o.effect_hidden, "x"), o.epochs, o.effect_epochs, o.batch, o.rows_per_epoch,
      o.learning_rate, o.effect_decay, o.patience, o.effect_patience, o.rounds);
}

/// Members of a checkpoint made by the same recipe.
std::vector<WorldMember> Resume(const WorldFitOptions& options, const std::string& recipe) {
  if (options.checkpoint.empty() || !std::filesystem::exists(options.checkpoint)) return {};
  WorldModel saved = WorldModel::Load(options.checkpoint);
  if (saved.provenance["recipe"] != recipe || saved.members.size() > options.members) return {};
  return std::move(saved.members);
}

}  // namespace

WorldModel FitWorld(const Dataset& data, const WorldFitOptions& options,
                    const std::function<void(const WorldFitProgress&)>& progress,
                    WorldFitReport* report) {
  const auto begun = std::chrono::steady_clock::now();
  const EventFeatures features(data.feature_names(), data.source());
  if (options.members < 1) throw Error(ErrorCode::kUsage, "world: 0 members; give at least 1");
  const std::vector<uint32_t> rows = UsableRows(data);
  if (rows.empty()) {
    throw Error(ErrorCode::kBadInput, data.source() + ": no row to learn from; record longer");
  }
  std::vector<uint32_t> drawn;
  if (data.has(Column::kBehavior)) {
    std::ranges::set_intersection(RandomisedRows(data), rows, std::back_inserter(drawn));
  }
  WorldModel model;
  FitScales(data, features, rows, model);
  const FitData all = FitData::Of(data, features, model, rows, options.threads);
  const FitData randomised = FitData::Of(data, features, model, drawn, options.threads);
  model.provenance["recipe"] = Recipe(data, options);
  model.provenance["seed"] = std::to_string(options.seed);
  model.provenance["data_digest"] = data.digest();
  model.provenance["rows"] = std::to_string(rows.size());
  model.provenance["randomised_rows"] = std::to_string(drawn.size());
  model.members = Resume(options, model.provenance["recipe"]);
  for (size_t m = model.members.size(); m < options.members; ++m) {
    model.members.push_back(FitMember(all, randomised, options, m, progress));
    if (!options.checkpoint.empty() && m + 1 < options.members) model.Save(options.checkpoint);
  }
  if (!options.checkpoint.empty()) std::filesystem::remove(options.checkpoint);
  if (report != nullptr) {
    const auto beyond = std::ranges::count_if(rows, [&](uint32_t row) {
      return std::log1p(static_cast<double>(data.delta()[row].next_wait_us)) > WaitBins::kHigh;
    });
    report->rows = rows.size();
    report->randomised_rows = drawn.size();
    report->tasks = std::set<uint64_t>(all.task.begin(), all.task.end()).size();
    report->dropped = data.size() - rows.size();
    report->overflow = static_cast<double>(beyond) / static_cast<double>(rows.size());
    report->seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }
  return model;
}

WorldModel RefitEffect(const WorldModel& model, const Dataset& data,
                       std::span<const double> actions, uint64_t seed, unsigned threads) {
  const EventFeatures features(data.feature_names(), data.source());
  WorldModel refit = model;
  refit.members.resize(1);
  WorldMember& member = refit.members.front();
  Rng rng(seed, 1);
  member.effect.Initialise(rng, std::numbers::sqrt2, 0.0);
  if (!data.has(Column::kBehavior)) return refit;
  FitData randomised = FitData::Of(data, features, model, RandomisedRows(data), threads);
  if (randomised.size() == 0) return refit;
  std::vector<uint32_t> entries(randomised.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    entries[i] = i;
    randomised.action[i] = static_cast<float>(std::clamp(actions[randomised.row[i]], -1.0, 1.0));
  }
  const Task task{.data = randomised,
                  .effect = true,
                  .other = Outputs(randomised, member.base, false, threads)};
  const WorldFitOptions defaults;
  Trainer trainer(task, member.effect,
                  {.epochs = kRefitEpochs,
                   .patience = kRefitEpochs,
                   .batch = kEffectBatch,
                   .learning_rate = defaults.learning_rate,
                   .decay = defaults.effect_decay,
                   .seed = MixSeed(seed, 1),
                   .threads = threads});
  trainer.Run(std::move(entries), {}, {});
  return refit;
}

}  // namespace kernelx
