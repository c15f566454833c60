// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernelx/ab/experiment.h"
#include "kernelx/act/actuator.h"
#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr int kReadyMs = 10'000;
constexpr int kOffMs = 5'000;
constexpr int kOracleNice = -10;
constexpr uint64_t kOracleSliceNs = 100'000;

class IdleArm final : public Arm {
 public:
  explicit IdleArm(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
};

class LiveArm final : public Arm {
 public:
  LiveArm(std::string name, std::string program, std::string policy, std::vector<std::string> flags)
      : name_(std::move(name)),
        program_(std::move(program)),
        policy_(std::move(policy)),
        flags_(std::move(flags)) {}
  ~LiveArm() override { LiveArm::Off(); }
  LiveArm(const LiveArm&) = delete;
  LiveArm& operator=(const LiveArm&) = delete;

  [[nodiscard]] std::string name() const override { return name_; }

  void On(const Load& load) override {
    std::array<int, 2> ready{}, out{};
    if (pipe2(ready.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorCode::kFile, fmt::format("arm {}: {}", name_, std::strerror(errno)));
    }
    // The knobs are tried by the caller once, not in every window.
    std::vector<std::string> words = {program_,
                                      "live",
                                      "--policy",
                                      policy_,
                                      "--tree",
                                      std::to_string(load.root()),
                                      "--quiet",
                                      "--json",
                                      "--no-probe",
                                      "--ready-fd",
                                      std::to_string(ready[1])};
    words.insert(words.end(), flags_.begin(), flags_.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      fcntl(ready[1], F_SETFD, 0);
      dup2(out[1], STDOUT_FILENO);
      execv(program_.c_str(), argv.data());
      _exit(127);
    }
    close(ready[1]);
    close(out[1]);
    out_fd_ = out[0];
    pollfd look{.fd = ready[0], .events = POLLIN, .revents = 0};
    char byte = 0;
    const bool acts = poll(&look, 1, kReadyMs) == 1 && read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (acts) return;
    Off();
    throw Error(
        status_ == 3 ? ErrorCode::kMissingCapability : ErrorCode::kFile,
        fmt::format("arm {}: `kernelx live` did not start (exit {}); its reason stands above",
                    name_, status_));
  }

  nlohmann::json Off() override {
    if (pid_ <= 0) return nullptr;
    kill(pid_, SIGTERM);
    std::string text;
    std::array<char, 4096> buffer{};
    pollfd look{.fd = out_fd_, .events = POLLIN, .revents = 0};
    ssize_t n = 0;
    while (poll(&look, 1, kOffMs) == 1 && (n = read(out_fd_, buffer.data(), buffer.size())) > 0) {
      text.append(buffer.data(), static_cast<size_t>(n));
    }
    close(out_fd_);
    int status = 0;
    if (n != 0) kill(pid_, SIGKILL);  // its supervisor puts everything back
    waitpid(pid_, &status, 0);
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
    return nlohmann::json::parse(text, nullptr, false);
  }

 private:
  std::string name_, program_, policy_;
  std::vector<std::string> flags_;
  pid_t pid_ = -1;
  int out_fd_ = -1;
  int status_ = 0;
};

class OracleArm final : public Arm {
 public:
  OracleArm() = default;
  ~OracleArm() override { OracleArm::Off(); }
  OracleArm(const OracleArm&) = delete;
  OracleArm& operator=(const OracleArm&) = delete;

  [[nodiscard]] std::string name() const override { return kOracleArm; }

  void On(const Load& load) override {
    for (size_t g = 0; g < load.spec().groups.size(); ++g) {
      if (!load.spec().groups[g].latency()) continue;
      for (const pid_t pid : load.Pids(g)) {
        touched_.push_back(pid);
        if (WriteSched(pid, kOracleNice, kOracleSliceNs, nullptr) == ApplyResult::kRefused) {
          Off();
          throw Error(ErrorCode::kMissingCapability,
                      "arm oracle: may not lower a nice value; run as root");
        }
      }
    }
  }

  nlohmann::json Off() override {
    for (const pid_t pid : touched_) WriteSched(pid, 0, 0, nullptr);
    touched_.clear();
    return nullptr;
  }

 private:
  std::vector<pid_t> touched_;
};

class CommandArm final : public Arm {
 public:
  CommandArm(std::string name, std::string on, std::string off)
      : name_(std::move(name)), on_(std::move(on)), off_(std::move(off)) {}
  ~CommandArm() override {
    try {
      CommandArm::Off();
    } catch (const Error&) {
      // Said where it was met first.
    }
  }
  CommandArm(const CommandArm&) = delete;
  CommandArm& operator=(const CommandArm&) = delete;

  [[nodiscard]] std::string name() const override { return name_; }
  void On(const Load& load) override {
    setenv("KERNELX_LOAD_PID", std::to_string(load.root()).c_str(), 1);
    is_on_ = true;
    if (const int status = std::system(on_.c_str()); status != 0) {
      throw Error(ErrorCode::kFile, fmt::format("arm {}: `{}` failed", name_, on_));
    }
  }
  nlohmann::json Off() override {
    if (!std::exchange(is_on_, false)) return nullptr;
    if (const int status = std::system(off_.c_str()); status != 0) {
      throw Error(ErrorCode::kFile, fmt::format("arm {}: `{}` failed", name_, off_));
    }
    return nullptr;
  }

 private:
  std::string name_, on_, off_;
  bool is_on_ = false;
};

}  // namespace

std::unique_ptr<Arm> MakeIdleArm(const std::string& name) {
  return std::make_unique<IdleArm>(name);
}

std::unique_ptr<Arm> MakeLiveArm(const std::string& name, const std::string& program,
                                 const std::string& policy, const std::vector<std::string>& flags) {
  return std::make_unique<LiveArm>(name, program, policy, flags);
}

std::unique_ptr<Arm> MakeOracleArm() { return std::make_unique<OracleArm>(); }

std::unique_ptr<Arm> MakeCommandArm(const std::string& name, const std::string& text) {
  const size_t split = text.find(';');
  if (split == std::string::npos) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--arm {}={}: needs two commands, 'on;off'", name, text));
  }
  return std::make_unique<CommandArm>(name, text.substr(0, split), text.substr(split + 1));
}

}  // namespace kernelx
