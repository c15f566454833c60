// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/mlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

template <typename T>
std::vector<T> RandomColumns(size_t rows, size_t columns, uint64_t seed) {
  Rng rng(seed);
  std::vector<T> x(rows * columns);
  for (T& v : x) v = static_cast<T>(rng.Normal());
  return x;
}

template <typename T>
Mlp<T> RandomNet(std::vector<size_t> sizes, Activation activation, uint64_t seed = 5) {
  Mlp<T> net(std::move(sizes), activation);
  Rng rng(seed);
  net.Initialise(rng, std::sqrt(2.0), 1.0);
  net.Modify([&](std::span<T> packed) {  // biases that are not zero
    for (size_t l = 0; l < net.layers().size(); ++l) {
      std::vector<T> bias(net.layers()[l].outputs);
      for (T& b : bias) b = static_cast<T>(0.3 * rng.Normal());
      net.PackBias(packed, l, bias);
    }
  });
  return net;
}

template <typename T>
typename MlpGradient<T>::Fill FillFrom(const std::vector<T>& x) {
  return [&x](MlpBlock<T>& block, size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) {
      const auto input = block.input(c - begin);
      std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(c * input.size()), input.size(),
                  input.begin());
    }
  };
}

/// The obvious forward pass, from the file layout, in double.
std::vector<double> Reference(const Mlp<double>& net, std::vector<double> x) {
  for (size_t l = 0; l < net.layers().size(); ++l) {
    const auto weight = net.UnpackWeight(net.parameters(), l);
    const auto bias = net.UnpackBias(net.parameters(), l);
    std::vector<double> y(bias);
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
      if (l + 1 == net.layers().size()) continue;
      y[o] =
          net.activation() == Activation::kTanh ? std::tanh(y[o]) : y[o] / (1.0 + std::exp(-y[o]));
    }
    x = y;
  }
  return x;
}

TEST(Mlp, ForwardMatchesTheObviousLoops) {
  for (const Activation activation : {Activation::kTanh, Activation::kSilu}) {
    const auto net = RandomNet<double>({7, 20, 33, 3}, activation);
    std::vector<double> scratch(net.scratch_size());
    std::vector<double> out(3);
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const auto x = RandomColumns<double>(7, 1, seed);
      net.Evaluate(x, out, scratch);
      const auto expected = Reference(net, x);
      for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(out[k], expected[k], 1e-13);
    }
  }
}

TEST(Mlp, AColumnIsBitEqualAloneAndInAnyBatch) {
  for (const Activation activation : {Activation::kTanh, Activation::kSilu}) {
    const auto net = RandomNet<float>({24, 64, 50, 2}, activation);
    constexpr size_t kColumns = 67;
    const auto x = RandomColumns<float>(24, kColumns, 1);
    std::vector<float> alone(2 * kColumns);
    std::vector<float> scratch(net.scratch_size());
    for (size_t c = 0; c < kColumns; ++c) {
      net.Evaluate({x.data() + 24 * c, 24}, {alone.data() + 2 * c, 2}, scratch);
    }
    for (size_t n : {1, 2, 3, 4, 5, 7, 16, 63, 67}) {
      MlpBlock<float> block(net, kColumns);
      for (size_t c = 0; c < n; ++c) std::copy_n(x.data() + 24 * c, 24, block.input(c).begin());
      block.Forward(net, n);
      for (size_t c = 0; c < n; ++c) {
        ASSERT_EQ(std::memcmp(block.output(c).data(), alone.data() + 2 * c, 8), 0) << n << ' ' << c;
      }
    }
  }
}

TEST(Mlp, GradientMatchesCentralDifferences) {
  for (const Activation activation : {Activation::kTanh, Activation::kSilu}) {
    auto net = RandomNet<double>({5, 9, 17, 2}, activation);
    constexpr size_t kColumns = 150;  // more than a block a shard
    const auto x = RandomColumns<double>(5, kColumns, 2);
    MlpGradient<double> pass(net);
    std::array<double, MlpGradient<double>::kShards> sums{};
    const auto loss = [&](MlpBlock<double>& block, size_t begin, size_t end, size_t shard) {
      for (size_t c = 0; c < end - begin; ++c) {
        const auto y = block.output(c);
        sums[shard] += std::sin(y[0]) * y[1];
        block.output_gradient(c)[0] = std::cos(y[0]) * y[1];
        block.output_gradient(c)[1] = std::sin(y[0]);
      }
    };
    const auto value = [&] {
      sums.fill(0.0);
      pass.Run(net, kColumns, 1, FillFrom(x), loss);
      return MlpGradient<double>::TreeSum(sums);
    };
    value();
    const std::vector<double> gradient(pass.gradient().begin(), pass.gradient().end());
    double worst = 0.0;
    double largest = 0.0;
    size_t checked = 0;
    constexpr double kStep = 1e-6;
    for (size_t i = 0; i < gradient.size(); ++i) {
      if (net.parameters()[i] == 0.0) {  // padding
        EXPECT_EQ(gradient[i], 0.0);
        continue;
      }
      const double at = net.parameters()[i];
      const auto with = [&](double w) {
        net.Modify([&](std::span<double> p) { p[i] = w; });
        return value();
      };
      const double numeric = (with(at + kStep) - with(at - kStep)) / (2 * kStep);
      with(at);
      worst = std::max(worst, std::abs(numeric - gradient[i]));
      largest = std::max(largest, std::abs(numeric));
      ++checked;
    }
    EXPECT_EQ(checked, net.parameter_count());
    EXPECT_LE(worst / largest, 1e-7);
  }
}

TEST(Mlp, GradientIsBitEqualForAnyThreadCount) {
  const auto net = RandomNet<float>({24, 64, 64, 2}, Activation::kTanh);
  for (const size_t columns : {3UL, 64UL, 1000UL}) {
    const auto x = RandomColumns<float>(24, columns, 3);
    const auto loss = [](MlpBlock<float>& block, size_t begin, size_t end, size_t) {
      for (size_t c = 0; c < end - begin; ++c) {
        for (size_t k = 0; k < 2; ++k) block.output_gradient(c)[k] = block.output(c)[k];
      }
    };
    MlpGradient<float> pass(net);
    pass.Run(net, columns, 1, FillFrom(x), loss);
    const std::vector<float> one(pass.gradient().begin(), pass.gradient().end());
    EXPECT_GT(std::ranges::max(one), 0.0F);
    for (const unsigned threads : {2U, 4U}) {
      pass.Run(net, columns, threads, FillFrom(x), loss);
      EXPECT_EQ(std::memcmp(one.data(), pass.gradient().data(), one.size() * sizeof(float)), 0);
    }
  }
}

TEST(Mlp, InitialWeightsAreOrthogonal) {
  Mlp<double> net({24, 64, 10, 2}, Activation::kTanh);
  Rng rng(9);
  net.Initialise(rng);
  const auto gram = [&](size_t layer, size_t a, size_t b, bool rows) {
    const auto w = net.UnpackWeight(net.parameters(), layer);
    const size_t in = net.layers()[layer].inputs;
    double sum = 0.0;
    for (size_t k = 0; k < (rows ? in : net.layers()[layer].outputs); ++k) {
      sum += rows ? w[a * in + k] * w[b * in + k] : w[k * in + a] * w[k * in + b];
    }
    return sum;
  };
  EXPECT_NEAR(gram(0, 3, 3, false), 2.0, 1e-12);  // tall: columns, gain sqrt 2
  EXPECT_NEAR(gram(0, 3, 20, false), 0.0, 1e-12);
  EXPECT_NEAR(gram(1, 9, 9, true), 2.0, 1e-12);  // wide: rows
  EXPECT_NEAR(gram(1, 0, 9, true), 0.0, 1e-12);
  EXPECT_NEAR(gram(2, 1, 1, true), 1e-4, 1e-16);  // last: gain 0.01
  for (const double b : net.UnpackBias(net.parameters(), 0)) EXPECT_EQ(b, 0.0);
  EXPECT_EQ(Mlp<float>({24, 64, 64, 2}, Activation::kTanh).parameter_count(), 5890U);
}

TEST(Mlp, RefusesSizesThatMakeNoSense) {
  EXPECT_THROW(Mlp<float>({3}, Activation::kTanh), Error);
  EXPECT_THROW(Mlp<float>({3, 0, 2}, Activation::kTanh), Error);
  EXPECT_THROW((void)ActivationNamed("relu"), Error);
  EXPECT_EQ(ActivationNamed(ActivationName(Activation::kSilu)), Activation::kSilu);
}

}  // namespace
}  // namespace kernelx
