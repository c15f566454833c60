// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/mlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/nn/packet.h"

namespace kernelx {
namespace {

using packet::Load;
using packet::Packet;
using packet::Product;
using packet::Set;
using packet::Store;

constexpr size_t kPad = 16;

size_t Padded(size_t n) { return (n + kPad - 1) / kPad * kPad; }

template <typename T>
Packet<T> Sigmoid(const Packet<T>& x) {
  const Packet<T> half = Set(T{0.5});
  return packet::ei::pmadd(half, packet::Tanh(packet::ei::pmul(half, x)), half);
}

/// `rows` x `columns` row-major with orthonormal rows (columns, if there are fewer) times `gain`:
/// Gram-Schmidt, done twice, on normal draws, which makes the law uniform over such matrices.
std::vector<double> Orthogonal(size_t rows, size_t columns, double gain, Rng& rng) {
  const size_t count = std::min(rows, columns);
  const size_t length = std::max(rows, columns);
  std::vector<std::vector<double>> basis(count, std::vector<double>(length));
  const auto dot = [](const auto& a, const auto& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  for (size_t i = 0; i < count; ++i) {
    for (double& x : basis[i]) x = rng.Normal();
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < i; ++j) {
        const double along = dot(basis[i], basis[j]);
        for (size_t k = 0; k < length; ++k) basis[i][k] -= along * basis[j][k];
      }
    }
    const double norm = std::sqrt(dot(basis[i], basis[i]));
    for (double& x : basis[i]) x /= norm;
  }
  std::vector<double> matrix(rows * columns);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      matrix[r * columns + c] = gain * (rows <= columns ? basis[r][c] : basis[c][r]);
    }
  }
  return matrix;
}

}  // namespace

const char* ActivationName(Activation activation) {
  return activation == Activation::kTanh ? "tanh" : "silu";
}

Activation ActivationNamed(const std::string& name) {
  if (name == "tanh") return Activation::kTanh;
  if (name == "silu") return Activation::kSilu;
  throw Error(ErrorCode::kBadInput,
              fmt::format("[nn.ActivationNamed] unknown activation '{}'; use tanh or silu", name));
}

template <typename T>
Mlp<T>::Mlp(std::vector<size_t> sizes, Activation activation)
    : sizes_(std::move(sizes)), activation_(activation) {
  if (sizes_.size() < 2 || std::ranges::count(sizes_, size_t{0}) > 0) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("[nn.Mlp] layer sizes [{}]; give at least inputs and outputs, each >= 1",
                    fmt::join(sizes_, ", ")));
  }
  size_t offset = 0;
  size_t transposed = 0;
  for (size_t l = 0; l + 1 < sizes_.size(); ++l) {
    layers_.push_back({.inputs = sizes_[l],
                       .outputs = sizes_[l + 1],
                       .input_stride = Padded(sizes_[l]),
                       .output_stride = Padded(sizes_[l + 1]),
                       .offset = offset,
                       .transposed_offset = transposed});
    offset += (sizes_[l] + 1) * Padded(sizes_[l + 1]);
    if (l > 0) transposed += sizes_[l + 1] * Padded(sizes_[l]);
  }
  parameters_.assign(offset, T{0});
  transposed_.assign(transposed, T{0});
}

template <typename T>
void Mlp<T>::Initialise(Rng& rng, double hidden_gain, double output_gain) {
  Modify([&](std::span<T> packed) {
    std::ranges::fill(packed, T{0});
    for (size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      const double gain = l + 1 == layers_.size() ? output_gain : hidden_gain;
      const auto drawn = Orthogonal(layer.outputs, layer.inputs, gain, rng);
      PackWeight(packed, l, std::vector<T>(drawn.begin(), drawn.end()));
    }
  });
}

template <typename T>
size_t Mlp<T>::parameter_count() const {
  size_t n = 0;
  for (const Layer& layer : layers_) n += (layer.inputs + 1) * layer.outputs;
  return n;
}

template <typename T>
void Mlp<T>::Refresh() {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Strided = Eigen::OuterStride<>;
  const auto index = [](size_t n) { return static_cast<Eigen::Index>(n); };
  for (size_t l = 1; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const Eigen::Map<const Matrix, 0, Strided> from(parameters_.data() + layer.offset,
                                                    index(layer.outputs), index(layer.inputs),
                                                    Strided(index(layer.output_stride)));
    Eigen::Map<Matrix, 0, Strided> to(transposed_.data() + layer.transposed_offset,
                                      index(layer.inputs), index(layer.outputs),
                                      Strided(index(layer.input_stride)));
    to = from.transpose();
  }
}

template <typename T>
std::vector<T> Mlp<T>::UnpackWeight(std::span<const T> packed, size_t layer) const {
  const Layer& l = layers_[layer];
  std::vector<T> weight(l.outputs * l.inputs);
  for (size_t i = 0; i < l.inputs; ++i) {
    for (size_t o = 0; o < l.outputs; ++o) {
      weight[o * l.inputs + i] = packed[l.offset + i * l.output_stride + o];
    }
  }
  return weight;
}

template <typename T>
std::vector<T> Mlp<T>::UnpackBias(std::span<const T> packed, size_t layer) const {
  const Layer& l = layers_[layer];
  const auto row = packed.subspan(l.offset + l.inputs * l.output_stride, l.outputs);
  return {row.begin(), row.end()};
}

template <typename T>
void Mlp<T>::PackWeight(std::span<T> packed, size_t layer, std::span<const T> weight) const {
  const Layer& l = layers_[layer];
  for (size_t i = 0; i < l.inputs; ++i) {
    for (size_t o = 0; o < l.outputs; ++o) {
      packed[l.offset + i * l.output_stride + o] = weight[o * l.inputs + i];
    }
  }
}

template <typename T>
void Mlp<T>::PackBias(std::span<T> packed, size_t layer, std::span<const T> bias) const {
  const Layer& l = layers_[layer];
  std::ranges::copy(bias, packed.subspan(l.offset + l.inputs * l.output_stride).begin());
}

template <typename T>
void Mlp<T>::ForwardLayer(size_t layer, size_t columns, const T* input, T* pre, T* output) const {
  const Layer& l = layers_[layer];
  const T* weight = parameters_.data() + l.offset;
  const T* bias = weight + l.inputs * l.output_stride;
  const Product<T> product{.lanes = l.output_stride,
                           .columns = columns,
                           .depth = l.inputs,
                           .a = weight,
                           .a_depth_stride = l.output_stride,
                           .b = input,
                           .b_depth_stride = 1,
                           .b_column_stride = l.input_stride,
                           .c = output,
                           .c_column_stride = l.output_stride};
  const auto start = [bias](size_t lane, size_t /*column*/) { return Load(bias + lane); };
  if (layer + 1 == layers_.size()) {
    packet::Multiply(product, start, [](const Packet<T>& z, size_t, size_t) { return z; });
  } else if (activation_ == Activation::kTanh) {
    packet::Multiply(product, start,
                     [](const Packet<T>& z, size_t, size_t) { return packet::Tanh(z); });
  } else {
    packet::Multiply(product, start, [&](const Packet<T>& z, size_t lane, size_t column) {
      if (pre != nullptr) Store(pre + column * l.output_stride + lane, z);
      return packet::ei::pmul(z, Sigmoid<T>(z));
    });
  }
}

template <typename T>
size_t Mlp<T>::scratch_size() const {
  size_t widest = Padded(sizes_.front());
  for (const Layer& layer : layers_) widest = std::max(widest, layer.output_stride);
  return 2 * widest;
}

template <typename T>
void Mlp<T>::Evaluate(std::span<const T> input, std::span<T> output, std::span<T> scratch) const {
  T* from = scratch.data();
  T* to = scratch.data() + scratch_size() / 2;
  std::ranges::copy(input, from);
  for (size_t l = 0; l < layers_.size(); ++l) {
    ForwardLayer(l, 1, from, nullptr, to);
    std::swap(from, to);
  }
  std::copy_n(from, sizes_.back(), output.begin());
}

template <typename T>
MlpBlock<T>::MlpBlock(const Mlp<T>& net, size_t capacity)
    : capacity_(capacity), sizes_(net.sizes()) {
  for (size_t l = 0; l < sizes_.size(); ++l) {
    strides_.push_back(Padded(sizes_[l]));
    values_.emplace_back(capacity * strides_[l], T{0});
    const bool hidden = l > 0 && l + 1 < sizes_.size();
    const bool silu = hidden && net.activation() == Activation::kSilu;
    pre_.emplace_back(silu ? capacity * strides_[l] : 0, T{0});
    gradients_.emplace_back(l > 0 ? capacity * strides_[l] : 0, T{0});
  }
}

template <typename T>
std::span<T> MlpBlock<T>::input(size_t column) {
  return {values_.front().data() + column * strides_.front(), sizes_.front()};
}

template <typename T>
std::span<const T> MlpBlock<T>::output(size_t column) const {
  return {values_.back().data() + column * strides_.back(), sizes_.back()};
}

template <typename T>
std::span<T> MlpBlock<T>::output_gradient(size_t column) {
  return {gradients_.back().data() + column * strides_.back(), sizes_.back()};
}

template <typename T>
void MlpBlock<T>::Forward(const Mlp<T>& net, size_t columns) {
  for (size_t l = 0; l < net.layers_.size(); ++l) {
    net.ForwardLayer(l, columns, values_[l].data(), pre_[l + 1].data(), values_[l + 1].data());
  }
}

template <typename T>
void MlpBlock<T>::Backward(const Mlp<T>& net, size_t columns, std::span<T> gradient, bool add) {
  for (size_t l = net.layers_.size(); l-- > 0;) {
    WeightGradient(net.layers_[l], l, columns, gradient, add);
    if (l > 0) ValueGradient(net, l, columns);
  }
}

/// The outer products of what came into the layer and the gradient of what went out; the biases are
/// the row of an input that is always one.
template <typename T>
void MlpBlock<T>::WeightGradient(const typename Mlp<T>::Layer& layer, size_t l, size_t columns,
                                 std::span<T> gradient, bool add) {
  static constexpr T kOne{1};
  const Product<T> weights{.lanes = layer.output_stride,
                           .columns = layer.inputs,
                           .depth = columns,
                           .a = gradients_[l + 1].data(),
                           .a_depth_stride = layer.output_stride,
                           .b = values_[l].data(),
                           .b_depth_stride = layer.input_stride,
                           .b_column_stride = 1,
                           .c = gradient.data() + layer.offset,
                           .c_column_stride = layer.output_stride};
  Product<T> biases = weights;
  biases.columns = 1;
  biases.b = &kOne;
  biases.b_depth_stride = 0;
  biases.c += layer.inputs * layer.output_stride;
  for (const Product<T>& p : {weights, biases}) {
    const auto store = [](const Packet<T>& g, size_t, size_t) { return g; };
    if (add) {
      const auto old = [&p](size_t lane, size_t column) {
        return Load(p.c + column * p.c_column_stride + lane);
      };
      packet::Multiply(p, old, store);
    } else {
      packet::Multiply(
          p, [](size_t, size_t) { return Set(T{0}); }, store);
    }
  }
}

/// Through the weights of layer `l` and the activation below it.
template <typename T>
void MlpBlock<T>::ValueGradient(const Mlp<T>& net, size_t l, size_t columns) {
  namespace ei = packet::ei;
  const auto& layer = net.layers_[l];
  const Product<T> back{.lanes = layer.input_stride,
                        .columns = columns,
                        .depth = layer.outputs,
                        .a = net.transposed_.data() + layer.transposed_offset,
                        .a_depth_stride = layer.input_stride,
                        .b = gradients_[l + 1].data(),
                        .b_depth_stride = 1,
                        .b_column_stride = layer.output_stride,
                        .c = gradients_[l].data(),
                        .c_column_stride = layer.input_stride};
  const auto zero = [](size_t, size_t) { return Set(T{0}); };
  if (net.activation() == Activation::kTanh) {
    const T* y = values_[l].data();
    packet::Multiply(back, zero, [&](const Packet<T>& g, size_t lane, size_t column) {
      const Packet<T> v = Load(y + column * layer.input_stride + lane);
      return ei::pmul(g, ei::psub(Set(T{1}), ei::pmul(v, v)));
    });
  } else {
    const T* pre = pre_[l].data();
    packet::Multiply(back, zero, [&](const Packet<T>& g, size_t lane, size_t column) {
      const Packet<T> z = Load(pre + column * layer.input_stride + lane);
      const Packet<T> s = Sigmoid<T>(z);
      return ei::pmul(g, ei::pmadd(ei::pmul(z, s), ei::psub(Set(T{1}), s), s));
    });
  }
}

template <typename T>
MlpGradient<T>::MlpGradient(const Mlp<T>& net)
    : blocks_(kShards, MlpBlock<T>(net)),
      shards_(kShards, AlignedVector<T>(net.parameters().size(), T{0})),
      gradient_(net.parameters().size(), T{0}) {}

template <typename T>
void MlpGradient<T>::Pass(const Mlp<T>& net, size_t columns, unsigned threads, const Fill& fill,
                          const Loss& loss, bool backward) {
  ParallelFor(kShards, threads, [&](size_t first, size_t last) {
    for (size_t s = first; s < last; ++s) {
      MlpBlock<T>& block = blocks_[s];
      const size_t end = columns * (s + 1) / kShards;
      bool add = false;
      for (size_t begin = columns * s / kShards; begin < end; begin += block.capacity()) {
        const size_t stop = std::min(end, begin + block.capacity());
        fill(block, begin, stop);
        block.Forward(net, stop - begin);
        loss(block, begin, stop, s);
        if (backward) block.Backward(net, stop - begin, shards_[s], add);
        add = true;
      }
      if (backward && !add) std::ranges::fill(shards_[s], T{0});
    }
  });
}

template <typename T>
void MlpGradient<T>::Run(const Mlp<T>& net, size_t columns, unsigned threads, const Fill& fill,
                         const Loss& loss) {
  Pass(net, columns, threads, fill, loss, true);
  SumShards();
}

template <typename T>
void MlpGradient<T>::Evaluate(const Mlp<T>& net, size_t columns, unsigned threads, const Fill& fill,
                              const Loss& loss) {
  Pass(net, columns, threads, fill, loss, false);
}

template <typename T>
void MlpGradient<T>::SumShards() {
  static_assert(kShards == 8);
  const T* s[kShards];
  for (size_t i = 0; i < kShards; ++i) s[i] = shards_[i].data();
  T* out = gradient_.data();
  for (size_t i = 0; i < gradient_.size(); ++i) {
    out[i] =
        ((s[0][i] + s[1][i]) + (s[2][i] + s[3][i])) + ((s[4][i] + s[5][i]) + (s[6][i] + s[7][i]));
  }
}

template class Mlp<float>;
template class Mlp<double>;
template class MlpBlock<float>;
template class MlpBlock<double>;
template class MlpGradient<float>;
template class MlpGradient<double>;

}  // namespace kernelx
