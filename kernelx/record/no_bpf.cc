// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ground/error.h"
#include "kernelx/record/sensor_bpf.h"

namespace kernelx {

std::unique_ptr<Sensor> OpenBpfSensor(const SensorOptions& /*options*/) {
  throw Error(ErrorCode::kMissingCapability,
              "BPF sensor: not in this build; install clang and libbpf-dev and build again");
}

bool BuiltWithBpf() { return false; }

}  // namespace kernelx
