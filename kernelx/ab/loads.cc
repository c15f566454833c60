// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The table of loads. A new one is a row here.
#include <fmt/format.h>

#include "kernelx/ab/load.h"
#include "kernelx/ground/error.h"

namespace kernelx {

const std::vector<LoadSpec>& Loads() {
  using enum WorkKind;
  static const std::vector<LoadSpec> loads = {
      {"hogs",
       "two periodic tasks beside four CPU hogs",
       {{"tick-100", kPeriodic, 1, 1000, 100},
        {"tick-300", kPeriodic, 1, 1000, 300},
        {"hog", kHog, 4}}},
      {"messaging",
       "three periodic tasks beside hogs, a disk writer and a messaging crowd of 40",
       {{"tick-1ms", kPeriodic, 1, 1000, 80},
        {"tick-4ms", kPeriodic, 1, 4000, 300},
        {"tick-10ms", kPeriodic, 1, 10000, 800},
        {"hog", kHog, 4},
        {"disk", kDisk, 1},
        {"crowd", kMessaging, 40}}},
      {"server",
       "two socket servers with open-loop clients beside batch jobs and program starts",
       {{"echo-fast", kEcho, 1, 1500, 60},
        {"echo-slow", kEcho, 1, 4000, 250},
        {"batch", kBatch, 3},
        {"forker", kFork, 1}}},
      {"mixed",
       "periodic tasks and a socket server beside hogs and a crowd of 20",
       {{"tick-2ms", kPeriodic, 1, 2000, 150},
        {"tick-5ms", kPeriodic, 1, 5000, 500},
        {"echo", kEcho, 1, 3000, 120},
        {"hog", kHog, 2},
        {"crowd", kMessaging, 20}}},
      {"crowd",
       "two socket servers beside a messaging crowd of 40 and a disk writer",
       {{"echo-fast", kEcho, 1, 2000, 60},
        {"echo-slow", kEcho, 1, 5000, 200},
        {"crowd", kMessaging, 40},
        {"disk", kDisk, 1}}},
      {"bursty",
       "tasks that wake at random times beside batch jobs and program starts",
       {{"random-2ms", kIrregular, 2, 2000, 100},
        {"random-6ms", kIrregular, 1, 6000, 400},
        {"batch", kBatch, 4},
        {"forker", kFork, 1}}},
  };
  return loads;
}

const LoadSpec& FindLoad(const std::string& name) {
  std::string names;
  for (const LoadSpec& load : Loads()) {
    if (load.name == name) return load;
    names += (names.empty() ? "" : ", ") + load.name;
  }
  throw Error(ErrorCode::kUsage, fmt::format("load '{}': there are {}", name, names));
}

}  // namespace kernelx
