// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "kernelx/nn/mlp.h"
#include "kernelx/nn/safetensors.h"

namespace kernelx {

/// Adds `PREFIX.l0.weight` (out x in), `PREFIX.l0.bias`, `PREFIX.l1.weight` ... from a packed
/// vector of `net`: its parameters, or moments of an optimiser.
void AddMlpTensors(Safetensors& file, const std::string& prefix, const Mlp<float>& net,
                   std::span<const float> packed);

/// The reverse, into `packed`. Throws kBadInput when a tensor is missing or misshapen.
void ReadMlpTensors(const Safetensors& file, const std::string& prefix, const Mlp<float>& net,
                    std::span<float> packed);

/// A network with the shape of the tensors `PREFIX.l*.weight` and their values.
[[nodiscard]] Mlp<float> ReadMlp(const Safetensors& file, const std::string& prefix,
                                 Activation activation);

}  // namespace kernelx
