// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Multilayer perceptrons: forward and backward passes over blocks of columns. A column is one
// sample, its features contiguous. Instantiated for float (use) and double (gradient tests).
// Not here: losses, data, and any layer that is not dense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernelx/ground/rng.h"
#include "kernelx/nn/aligned.h"

namespace kernelx {

/// Of the hidden layers; the output layer is linear.
enum class Activation : uint8_t { kTanh, kSilu };

[[nodiscard]] const char* ActivationName(Activation activation);
/// Throws kBadInput for a name that is none.
[[nodiscard]] Activation ActivationNamed(const std::string& name);

/// A network's shape and weights.
///
/// Parameters are one packed vector: layer after layer, for each input a row of output weights,
/// then the row of biases; rows are padded with zeros to a multiple of 16. Gradients and optimiser
/// moments share the layout (padding stays zero), `PackWeight` and its kin translate to the
/// out x in row-major form of files.
template <typename T>
class Mlp {
 public:
  struct Layer {
    size_t inputs, outputs;
    size_t input_stride, output_stride;  ///< padded to 16
    size_t offset;                       ///< of the first weight row in the packed vector
    size_t transposed_offset;            ///< in the copy used backwards
  };

  Mlp() = default;
  /// `sizes` from inputs to outputs, at least two entries, each >= 1 (kUsage). Weights are zero.
  Mlp(std::vector<size_t> sizes, Activation activation);

  /// Orthogonal weights, zero biases; the last layer is scaled by `output_gain`.
  void Initialise(Rng& rng, double hidden_gain = 1.4142135623730951, double output_gain = 0.01);

  [[nodiscard]] const std::vector<size_t>& sizes() const { return sizes_; }
  [[nodiscard]] Activation activation() const { return activation_; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] size_t input_size() const { return sizes_.front(); }
  [[nodiscard]] size_t output_size() const { return sizes_.back(); }
  /// Weights and biases, padding not counted.
  [[nodiscard]] size_t parameter_count() const;

  [[nodiscard]] std::span<const T> parameters() const { return parameters_; }
  /// Changes the packed parameters by `change(span)` and refreshes what is derived from them.
  template <typename Change>
  void Modify(const Change& change) {
    change(std::span<T>(parameters_));
    Refresh();
  }

  /// Layer `layer` of a packed vector as out x in row-major weights, and as biases.
  [[nodiscard]] std::vector<T> UnpackWeight(std::span<const T> packed, size_t layer) const;
  [[nodiscard]] std::vector<T> UnpackBias(std::span<const T> packed, size_t layer) const;
  void PackWeight(std::span<T> packed, size_t layer, std::span<const T> weight) const;
  void PackBias(std::span<T> packed, size_t layer, std::span<const T> bias) const;

  /// One column: `input` has input_size() values, `output` room for output_size(). `scratch` has
  /// scratch_size() values and is the caller's, so that any number of threads may evaluate. Does
  /// not allocate; bit-equal to the same column of an `MlpBlock` of any size.
  void Evaluate(std::span<const T> input, std::span<T> output, std::span<T> scratch) const;
  [[nodiscard]] size_t scratch_size() const;

 private:
  template <typename>
  friend class MlpBlock;

  void Refresh();
  void ForwardLayer(size_t layer, size_t columns, const T* input, T* pre, T* output) const;

  std::vector<size_t> sizes_;
  Activation activation_ = Activation::kTanh;
  std::vector<Layer> layers_;
  AlignedVector<T> parameters_;
  AlignedVector<T> transposed_;  // weights of layers 1.. as out x in, for the way back
};

/// The working memory of one pass over up to `capacity` columns: small enough to stay in cache,
/// allocated once. Not shared between threads.
template <typename T>
class MlpBlock {
 public:
  static constexpr size_t kColumns = 64;

  explicit MlpBlock(const Mlp<T>& net, size_t capacity = kColumns);

  [[nodiscard]] size_t capacity() const { return capacity_; }
  /// Write before `Forward`.
  [[nodiscard]] std::span<T> input(size_t column);
  /// Valid after `Forward`.
  [[nodiscard]] std::span<const T> output(size_t column) const;
  /// d loss / d output; write before `Backward`.
  [[nodiscard]] std::span<T> output_gradient(size_t column);

  /// The first `columns` columns.
  void Forward(const Mlp<T>& net, size_t columns);
  /// Gradient of the parameters, summed over the columns of the last `Forward`, into the packed
  /// `gradient`: added to it, or written over it.
  void Backward(const Mlp<T>& net, size_t columns, std::span<T> gradient, bool add);

 private:
  void WeightGradient(const typename Mlp<T>::Layer& layer, size_t l, size_t columns,
                      std::span<T> gradient, bool add);
  void ValueGradient(const Mlp<T>& net, size_t l, size_t columns);

  size_t capacity_;
  std::vector<size_t> strides_;
  std::vector<size_t> sizes_;
  std::vector<AlignedVector<T>> values_;     // [0] input, [l + 1] output of layer l
  std::vector<AlignedVector<T>> pre_;        // before a SiLU; empty for tanh
  std::vector<AlignedVector<T>> gradients_;  // of values_[l + 1]
};

/// The gradient of a sum over any number of columns, bit-identical for any number of threads: the
/// columns are cut into kShards fixed parts whose gradients are added in a fixed binary tree.
template <typename T>
class MlpGradient {
 public:
  static constexpr size_t kShards = 8;

  explicit MlpGradient(const Mlp<T>& net);

  /// Fills the inputs of columns [begin, end) of the batch into columns 0.. of `block`.
  using Fill = std::function<void(MlpBlock<T>& block, size_t begin, size_t end)>;
  /// Reads the outputs, writes the output gradients. `shard` < kShards tells where to keep sums
  /// without a race.
  using Loss = std::function<void(MlpBlock<T>& block, size_t begin, size_t end, size_t shard)>;

  /// Forward, loss and backward over `columns` columns; the sum is then in `gradient()`. With one
  /// thread it does not allocate.
  void Run(const Mlp<T>& net, size_t columns, unsigned threads, const Fill& fill, const Loss& loss);
  /// Forward only: `loss` reads the outputs.
  void Evaluate(const Mlp<T>& net, size_t columns, unsigned threads, const Fill& fill,
                const Loss& loss);

  [[nodiscard]] std::span<T> gradient() { return gradient_; }

  /// ((s0+s1)+(s2+s3))+((s4+s5)+(s6+s7)): the order in which shards are summed.
  static double TreeSum(std::span<const double, kShards> s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }

 private:
  void Pass(const Mlp<T>& net, size_t columns, unsigned threads, const Fill& fill, const Loss& loss,
            bool backward);
  void SumShards();

  std::vector<MlpBlock<T>> blocks_;
  std::vector<AlignedVector<T>> shards_;
  AlignedVector<T> gradient_;
};

extern template class Mlp<float>;
extern template class Mlp<double>;
extern template class MlpBlock<float>;
extern template class MlpBlock<double>;
extern template class MlpGradient<float>;
extern template class MlpGradient<double>;

}  // namespace kernelx
