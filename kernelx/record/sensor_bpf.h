// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The BPF rung behind sensor.h: sensor_bpf.cc, or no_bpf.cc where the build has no clang or libbpf.
#pragma once

#include <memory>

#include "kernelx/record/sensor.h"

namespace kernelx {

/// Throws kMissingCapability with the kernel's reason and the mend.
[[nodiscard]] std::unique_ptr<Sensor> OpenBpfSensor(const SensorOptions& options);
[[nodiscard]] bool BuiltWithBpf();

}  // namespace kernelx
