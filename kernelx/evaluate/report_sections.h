// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kernelx/evaluate/report.h"

namespace kernelx {

struct Section {
  std::string id;     ///< of the anchor; shown in the navigation
  std::string title;  ///< the question it answers
  std::string html;   ///< empty: there is nothing to show, leave the section out
};

// What logged outcomes say.
Section VerdictSection(const Evaluation& evaluation);
Section TermSection(const Evaluation& evaluation);
Section SensitivitySection(const Evaluation& evaluation);

// What the policies do.
Section BehaviourSection(const Evaluation& evaluation);

// What the environment is worth, and how the policy came about.
Section CertificateSection(const Certificate& certificate);
Section TrainingSection(const std::vector<TrainingPoint>& training);
Section ProvenanceSection(const ReportInputs& inputs);

}  // namespace kernelx
