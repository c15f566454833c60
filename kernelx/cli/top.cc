// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "kernelx/cli/target_flags.h"
#include "kernelx/cli/top_view.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/error.h"

namespace kernelx::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr double kStaleSeconds = 5.0;  // `live` publishes every second

struct TopFlags {
  TargetSpec target;
  std::string rung;
  double seconds = 1.0;
  bool once = false;
  bool json = false;
};

/// The screen while we have it; as it was, from destruction on.
class Terminal {
 public:
  Terminal() {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 ||
        tcgetattr(STDIN_FILENO, &before_) != 0) {
      throw Error(ErrorCode::kUsage, "top: needs a terminal; --once prints one frame without");
    }
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    Put("\x1b[?1049h\x1b[?25l");  // a screen of its own, no cursor
  }
  ~Terminal() {
    Put("\x1b[?25h\x1b[?1049l");
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void Show(const TopModel& model) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size = {24, 80, 0, 0};
    std::string screen = "\x1b[H";
    const auto lines = Frame(model, size.ws_col, size.ws_row - 1);
    for (const std::string& line : lines) screen += line + "\x1b[K\n";
    Put(screen + "\x1b[J" + fmt::format("\x1b[{};1Hq quits", size.ws_row));
  }

  /// Waits for a key; true for one that ends the view, or when the terminal has gone.
  static bool QuitPressed(int wait_ms) {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    if (poll(&in, 1, wait_ms) <= 0) return false;
    char key = 0;
    const ssize_t got = read(STDIN_FILENO, &key, 1);
    return got == 0 || (got < 0 && errno != EINTR) || key == 'q' || key == 'Q';
  }

 private:
  static void Put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t put = write(STDOUT_FILENO, text.data(), text.size());
      if (put <= 0) return;
      text.remove_prefix(static_cast<size_t>(put));
    }
  }
  termios before_{};
};

/// What a `live` that runs publishes; null when none does.
nlohmann::json ReadLiveStatus() {
  const char* chosen = std::getenv("KERNELX_RUN_DIR");
  const std::string folder = chosen != nullptr && *chosen != '\0' ? chosen : "/run/kernelx";
  const std::string path = folder + "/live.json";
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return nullptr;
  const auto age = std::chrono::system_clock::now() -
                   std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  if (std::chrono::duration<double>(age).count() > kStaleSeconds) return nullptr;
  std::ifstream file(path);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || !json.contains("pid")) return nullptr;
  const bool gone = kill(json["pid"].get<pid_t>(), 0) != 0 && errno == ESRCH;
  return gone ? nlohmann::json(nullptr) : json;
}

/// Looks at what `live` publishes while one runs, else through a sensor of its own.
class Source {
 public:
  explicit Source(const TopFlags& flags) : flags_(flags), status_(ReadLiveStatus()) {
    if (status_.is_null()) OpenOwn();
  }

  /// Call often: empties the sensor's buffer.
  void Drain() {
    if (sensor_) sensor_->Drain(gatherer_);
  }

  TopModel Look() {
    const double seconds = std::chrono::duration<double>(Clock::now() - looked_).count();
    looked_ = Clock::now();
    nlohmann::json status = ReadLiveStatus();
    if (!status.is_null()) {
      sensor_.reset();
      std::swap(status, status_);
      return ModelOfLive(status_, status, seconds);
    }
    status_ = nullptr;
    if (!sensor_) OpenOwn();
    Drain();
    return gatherer_.Look(*sensor_, seconds);
  }

 private:
  void OpenOwn() {
    gatherer_ = {};
    sensor_ = OpenSensor({.target = flags_.target, .ignored_tgids = {getpid()}}, flags_.rung);
  }

  const TopFlags& flags_;
  nlohmann::json status_;
  std::unique_ptr<Sensor> sensor_;
  TopGatherer gatherer_;
  Clock::time_point looked_ = Clock::now();
};

void Once(const TopFlags& flags, Source& source) {
  const auto end = Clock::now() + std::chrono::duration<double>(flags.seconds);
  while (Clock::now() < end && !StopAsked()) {
    source.Drain();
    std::this_thread::sleep_for(milliseconds(20));
  }
  const TopModel model = source.Look();
  if (flags.json) {
    fmt::print("{}\n", ToJson(model).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const std::string& line : Frame(model, 80, 24)) fmt::print("{}\n", line);
}

void Top(const TopFlags& flags) {
  if (flags.json && !flags.once) {
    throw Error(ErrorCode::kUsage, "top: --json prints one frame; give --once with it");
  }
  CatchStopSignals();
  Source source(flags);
  if (flags.once) return Once(flags, source);
  std::signal(SIGWINCH, [](int /*signal*/) {});  // ends the wait for a key
  Terminal terminal;
  auto next = Clock::now() + milliseconds(200);  // the first look soon
  while (!StopAsked()) {
    source.Drain();
    if (Terminal::QuitPressed(20)) return;
    if (Clock::now() < next) continue;
    next = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(flags.seconds));
    terminal.Show(source.Look());
  }
}

}  // namespace

void AddTop(CLI::App& root) {
  const auto flags = std::make_shared<TopFlags>();
  CLI::App& verb = AddVerb(root, "top", "who waits, and which nudges stand, on the terminal",
                           "  kernelx top --once --seconds 0.5\n"
                           "  kernelx top --once --json --seconds 0.5\n");
  AddTargetFlags(verb, flags->target);
  verb.add_option("--seconds", flags->seconds, "time between two looks")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("S");
  verb.add_option("--sensor", flags->rung, "bpf or tracefs; else the best there is")
      ->type_name("RUNG");
  verb.add_flag("--once", flags->once, "one frame of 80x24 to stdout, without a terminal");
  verb.add_flag("--json", flags->json, "that frame as JSON, with every task");
  verb.callback([flags] { Top(*flags); });
}

}  // namespace kernelx::cli
