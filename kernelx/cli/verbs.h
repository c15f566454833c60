// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The list of verbs, in the order of the data path.
#pragma once

#include <CLI/CLI.hpp>

namespace kernelx::cli {

void AddInspect(CLI::App& root);
void AddConvert(CLI::App& root);
void AddPreprocess(CLI::App& root);
void AddRollout(CLI::App& root);
void AddSimulate(CLI::App& root);
void AddCheckEnv(CLI::App& root);
void AddRunqueue(CLI::App& root);
void AddWorld(CLI::App& root);
void AddTrain(CLI::App& root);
void AddEvaluate(CLI::App& root);
void AddDemo(CLI::App& root);
void AddBench(CLI::App& root);
void AddDoctor(CLI::App& root);
void AddRecord(CLI::App& root);
void AddLive(CLI::App& root);
void AddRestore(CLI::App& root);
void AddTop(CLI::App& root);
void AddAb(CLI::App& root);

inline constexpr void (*kVerbs[])(CLI::App&) = {
    AddDoctor,   AddRecord,   AddInspect, AddConvert, AddPreprocess, AddRollout,
    AddSimulate, AddCheckEnv, AddWorld,   AddTrain,   AddEvaluate,   AddLive,
    AddRestore,  AddTop,      AddAb,      AddDemo,    AddBench,      AddRunqueue};

}  // namespace kernelx::cli
