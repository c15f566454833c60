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
        {"tick-200", kPeriodic, 1, 1000, 200},
        {"hog", kHog, 4}}},
      {"messaging",
       "three periodic tasks beside hogs, a disk writer and a messaging crowd of 40",
       {{"tick-2ms", kPeriodic, 1, 2000, 60},
        {"tick-5ms", kPeriodic, 1, 5000, 200},
        {"tick-12ms", kPeriodic, 1, 12000, 500},
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
      {"train-a",
       "to learn on: periodic tasks, a server, hogs, batch jobs, a crowd, program starts",
       {{"pulse-700us", kPeriodic, 1, 700, 30},
        {"pulse-3ms", kPeriodic, 1, 3000, 150},
        {"pulse-8ms", kPeriodic, 1, 8000, 900},
        {"pulse-20ms", kPeriodic, 1, 20000, 1500},
        {"reply", kEcho, 1, 2500, 80},
        {"spinner", kHog, 2},
        {"job", kBatch, 2},
        {"talk", kMessaging, 20},
        {"starter", kFork, 1}}},
      {"train-b",
       "to learn on: irregular and periodic tasks, servers, hogs, a crowd, a disk writer",
       {{"beat-1500us", kPeriodic, 1, 1500, 50},
        {"beat-6ms", kPeriodic, 1, 6000, 400},
        {"now-and-then", kIrregular, 2, 4000, 150},
        {"answer", kEcho, 2, 3500, 120},
        {"spinner", kHog, 3},
        {"talk", kMessaging, 32},
        {"flush", kDisk, 1}}},
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
