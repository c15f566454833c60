// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace kernelx {

/// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011). A draw is a pure function
/// of (key, counter), so results do not depend on threads, batch shape or order of evaluation.
class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  /// The ten-round bijection of `counter` under `key`.
  static constexpr Block Generate(Block counter, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
      counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
                 static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    return counter;
  }
};

/// A stream of numbers named by (seed, stream): two streams never overlap, and copying an `Rng`
/// copies its place in the stream (which is how clones share their luck).
class Rng {
 public:
  explicit Rng(uint64_t seed = 0, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  /// 64 uniform bits.
  uint64_t Bits() {
    if ((next_ & 1) == 0) {
      const uint64_t block = next_ >> 1;
      const auto b =
          Philox::Generate({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                            static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                           {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
      high_ = (uint64_t{b[2]} << 32) | b[3];
      ++next_;
      return (uint64_t{b[0]} << 32) | b[1];
    }
    ++next_;
    return high_;
  }

  /// Uniform in [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1.0p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }

  /// Uniform in 0 .. n-1; n >= 1 (Lemire's multiply-shift; bias below n / 2^64).
  uint64_t Below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits()) * n) >> 64);
  }

  /// Standard normal by Box-Muller, in double precision; uses two uniforms a call.
  double Normal() {
    const double u = 1.0 - Uniform();  // (0, 1]: its logarithm is finite
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * Uniform());
  }

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t next_ = 0;
  uint64_t high_ = 0;
};

/// Mixes words into one seed (SplitMix64's finaliser), to derive independent streams by name.
constexpr uint64_t MixSeed(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9E3779B97F4A7C15 * (b + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace kernelx
