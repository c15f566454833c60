// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Words and figures that the terminal, the JSON and the page have in common, so that a number
// reads the same in all three.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/evaluate/evaluation.h"

namespace kernelx {

/// One sentence: what the estimate is, and what it is not.
std::string_view Meaning();

/// True for dynamics whose next state never reads the action.
bool ActionBlind(std::string_view dynamics);

/// How much the dynamics' own score is worth, in a sentence.
std::string ModelCaveat(const Evaluation& evaluation);

/// Where the action of `best-constant` came from, in words.
std::string BestConstantOrigin(const Evaluation& evaluation);

/// Three decimals, fewer for large values; "-" for what is no number. Zero has no sign.
std::string Figure(double value);
/// The same with its sign: for differences and actions.
std::string SignedFigure(double value);
/// "lo .. hi"; "-" when either end is no number.
std::string IntervalFigure(const Interval& interval);
std::string SignedIntervalFigure(const Interval& interval);
/// 20187 as "20,187".
std::string CountFigure(size_t count);

bool IsBuiltIn(std::string_view policy);

/// The policies the comparison is about, in order: the candidates (no built-ins, or built-ins named
/// by the caller, which come before `none`), or all when there are none. Pointers into
/// `evaluation`.
std::vector<const PolicyScore*> Subjects(const Evaluation& evaluation);

/// Policies whose action depends on the task in a way worth drawing: the subjects, then
/// `interactive` and `heuristic`. Constants and `random` do the same whatever the task.
std::vector<const PolicyScore*> Shaped(const Evaluation& evaluation);

/// The row for `policy` against `versus` by `estimator`, or null.
const PairedRow* FindPair(const std::vector<PairedRow>& rows, std::string_view policy,
                          std::string_view versus, std::string_view estimator);

/// What policies are compared with, in the order of `policies`.
std::vector<std::string> Baselines(const Evaluation& evaluation);

/// Reasons why some of `rows` are not evaluable, each once.
std::vector<std::string> Reasons(const std::vector<PairedRow>& rows);

}  // namespace kernelx
