// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/mlp_file.h"

#include <fmt/format.h>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

std::string WeightName(const std::string& prefix, size_t layer) {
  return fmt::format("{}.l{}.weight", prefix, layer);
}
std::string BiasName(const std::string& prefix, size_t layer) {
  return fmt::format("{}.l{}.bias", prefix, layer);
}

}  // namespace

void AddMlpTensors(Safetensors& file, const std::string& prefix, const Mlp<float>& net,
                   std::span<const float> packed) {
  for (size_t l = 0; l < net.layers().size(); ++l) {
    const auto& layer = net.layers()[l];
    file.Add(WeightName(prefix, l), {layer.outputs, layer.inputs}, net.UnpackWeight(packed, l));
    file.Add(BiasName(prefix, l), {layer.outputs}, net.UnpackBias(packed, l));
  }
}

void ReadMlpTensors(const Safetensors& file, const std::string& prefix, const Mlp<float>& net,
                    std::span<float> packed) {
  for (size_t l = 0; l < net.layers().size(); ++l) {
    const auto& layer = net.layers()[l];
    net.PackWeight(packed, l, file.Float(WeightName(prefix, l), {layer.outputs, layer.inputs}));
    net.PackBias(packed, l, file.Float(BiasName(prefix, l), {layer.outputs}));
  }
}

Mlp<float> ReadMlp(const Safetensors& file, const std::string& prefix, Activation activation) {
  std::vector<size_t> sizes;
  for (size_t l = 0; l == 0 || file.Has(WeightName(prefix, l)); ++l) {
    const auto& shape = file.ShapeOf(WeightName(prefix, l));
    if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("[nn.ReadMlp] tensor '{}' is no matrix; write the file again",
                              WeightName(prefix, l)));
    }
    if (l == 0) sizes.push_back(shape[1]);
    sizes.push_back(shape[0]);
  }
  Mlp<float> net(sizes, activation);
  net.Modify([&](std::span<float> packed) { ReadMlpTensors(file, prefix, net, packed); });
  return net;
}

}  // namespace kernelx
