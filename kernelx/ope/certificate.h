// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The certificate: does the action move the outcome, in the recording and in the dynamics built
// from it? Looks only at outcomes (wait, CPU time, time to the next event), never at a reward term
// that reads the action.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/dataset/dataset.h"

namespace kernelx {

struct CertificateOptions {
  std::string dynamics = "nearest";
  int permutations = 100;  ///< of the logged actions, for the null distributions
  int states = 256;        ///< recorded states at which the dynamics is asked
  uint64_t seed = 0;
  unsigned threads = 0;
};

/// The change of the mean of an outcome per unit of action, after one event. Outcomes are
/// logarithms: ln(1 + us).
struct Effect {
  std::string name;
  double effect = 0.0;       ///< in the dynamics: (mean at +0.8 - mean at -0.8) / 1.6, same states
  double null95 = 0.0;       ///< 95 % quantile of |effect| when the logged actions are permuted
  double p = 1.0;            ///< share of permutations with at least this |effect|
  double data_effect = 0.0;  ///< in the recording: least-squares slope over the randomised rows
  double data_low = 0.0;     ///< its 95 % interval, clustered by task; NaN with one task
  double data_high = 0.0;
  double data_p = 1.0;  ///< by permutation
};

/// The effect on the next wait among the tasks of one command name.
struct GroupEffect {
  std::string comm;
  size_t rows = 0;  ///< randomised rows
  double effect = 0.0;
  double data_effect = 0.0;
  double data_low = 0.0;
  double data_high = 0.0;
};

enum class CertificateVerdict : uint8_t { kActs, kActionBlind, kNoActionVariation };

struct Certificate {
  CertificateVerdict verdict = CertificateVerdict::kNoActionVariation;
  std::string why;  ///< one sentence
  std::string dynamics;
  size_t rows = 0;  ///< randomised rows used
  size_t tasks = 0;
  bool propensities_known = false;
  std::vector<Effect> outcomes;  ///< wait, exec, next_event
  Effect placebo;                ///< the wait before the action; only the data_ fields, and null95
  bool placebo_ok = false;       ///< indistinguishable from none (permutation p > 0.01)
  std::vector<GroupEffect> groups;
};

std::string_view VerdictName(CertificateVerdict verdict);

/// Rows used: those of `RandomisedRows`. Actions are permuted within a task, in blocks: a draw each
/// where the recording tells, else runs of one standing action, so that what is sticky stays so.
/// `acts` needs the effect on the wait to stand out (p <= 0.01) in the recording and in the
/// dynamics, both in the same direction, and the placebo to be null.
Certificate CheckEnv(const Dataset& dataset, const CertificateOptions& options);

}  // namespace kernelx
