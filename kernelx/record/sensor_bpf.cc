// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The BPF rung: loads the program that is carried in this library, and inflates what it writes.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "kernelx/ground/error.h"
#include "kernelx/record/sensor.h"
#include "kernelx/record/sensor_bpf.h"
#include "kernelx/record/sensor_event.h"

extern "C" const char kx_sensor_bpf_begin[];
extern "C" const char kx_sensor_bpf_end[];

namespace kernelx {
namespace {

constexpr uint64_t kDrainsPerCount = 64;
constexpr const char* kCgroupMounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

[[noreturn]] void Refuse(const std::string& what, int error) {
  const char* mend = "run `kernelx doctor`";
  if (error == EPERM || error == EACCES) {
    mend = "run as root, or give the program CAP_BPF, CAP_PERFMON and CAP_SYS_NICE";
  } else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
    mend = "this kernel has no BTF (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF";
  }
  throw Error(ErrorCode::kMissingCapability,
              fmt::format("BPF sensor: {}: {}; {}", what, std::strerror(error), mend));
}

int Silent(libbpf_print_level /*level*/, const char* /*format*/, va_list /*arguments*/) {
  return 0;
}

kx_comm PackComm(const std::string& comm) {
  std::array<char, 16> bytes{};
  std::memcpy(bytes.data(), comm.data(), std::min<size_t>(comm.size(), 15));
  return std::bit_cast<kx_comm>(bytes);
}

/// The id the kernel knows a cgroup by is the inode of its folder in the v2 hierarchy.
uint64_t CgroupId(const std::string& path) {
  for (const char* mount : kCgroupMounts) {
    if (access(fmt::format("{}/cgroup.controllers", mount).c_str(), F_OK) != 0) continue;
    const std::string full =
        path.starts_with('/') && path.starts_with(mount) ? path : fmt::format("{}/{}", mount, path);
    struct stat status {};
    if (stat(full.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return status.st_ino;
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("cgroup '{}': no such group in the v2 hierarchy; name a folder below the "
                          "cgroup2 mount",
                          path));
}

template <typename T>
void CheckCount(const std::vector<T>& given, size_t most, const char* what) {
  if (given.size() <= most) return;
  throw Error(ErrorCode::kUsage, fmt::format("{} {} given; at most {} are possible, or target a "
                                             "cgroup or a process tree",
                                             given.size(), what, most));
}

kx_config MakeConfig(const SensorOptions& options) {
  const TargetSpec& target = options.target;
  CheckCount(target.comms, KX_MAX_COMMS, "command names");
  CheckCount(target.uids, KX_MAX_UIDS, "user ids");
  CheckCount(target.cgroups, KX_MAX_CGROUPS, "cgroups");
  CheckCount(options.ignored_tgids, KX_MAX_IGNORED, "processes to ignore");
  kx_config config{};
  for (const std::string& comm : target.comms) config.comms[config.n_comms++] = PackComm(comm);
  for (const uint32_t uid : target.uids) config.uids[config.n_uids++] = uid;
  for (const std::string& path : target.cgroups) {
    config.cgroups[config.n_cgroups++] = CgroupId(path);
  }
  for (const int32_t tgid : options.ignored_tgids) {
    config.ignored_tgids[config.n_ignored++] = static_cast<uint32_t>(tgid);
  }
  config.use_tgids = !target.pids.empty() || !target.tree_roots.empty();
  config.inherit = !target.tree_roots.empty();
  config.kernel_threads = target.kernel_threads;
  config.everything = target.everything();
  config.least_gap_ns = options.least_gap_ns;
  return config;
}

void Inflate(const kx_switch_in& from, SchedEvent& to) {
  auto& f = to.state.features;
  f[kSlotCpu] = from.cpu;
  f[kSlotPrio] = from.prio;
  f[kSlotStaticPrio] = from.static_prio;
  f[kSlotNormalPrio] = from.normal_prio;
  f[kSlotExecNs] = from.exec_ns;
  f[kSlotVruntimeNs] = from.vruntime_ns;
  f[kSlotMigrations] = from.migrations;
  f[kSlotCpusAllowed] = from.cpus_allowed;
  f[kSlotRunnable] = from.runnable;
  f[kSlotWokenBy] = from.woken_by;
  f[kSlotWakerPid] = from.waker_pid;
  f[kSlotSleepUs] = from.sleep_ns / 1000;
  f[kSlotSwitches] = from.cpu_switches;
  f[kSlotVoluntary] = from.voluntary;
  f[kSlotInvoluntary] = from.involuntary;
  f[kSlotSliceNs] = from.slice_ns;
  f[kSlotUtilAvg] = from.util_avg;
  f[kSlotPreviousPrio] = from.previous_prio;
  f[kSlotPreempted] = from.preempted;
  f[kSlotTgid] = from.tgid;
  f[kSlotCpuSinceWakeNs] = from.cpu_since_wake_ns;
  f[kSlotRunnableAvg] = from.runnable_avg;
  f[kSlotStartNs] = from.start_ns;
  f[kSlotWaitUs] = from.wait_ns / 1000;
  to.state.timestamp_ns = from.timestamp_ns;
  to.state.pid = static_cast<int32_t>(from.pid);
  to.state.cpu = from.cpu;
  std::memcpy(to.comm.data(), from.comm, to.comm.size());
  to.comm.back() = '\0';
  to.cgroup_id = from.cgroup_id;
  to.session = static_cast<int32_t>(from.session);
  to.parent_tgid = static_cast<int32_t>(from.parent_tgid);
  to.uid = from.uid;
  to.sched_class = from.sched_class;
}

class BpfSensor final : public Sensor {
 public:
  explicit BpfSensor(const SensorOptions& options) : inherit_(!options.target.tree_roots.empty()) {
    libbpf_set_print(Silent);
    // Kernels before 5.11 charge maps against this limit; later ones do not mind.
    const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
    Load(options);
    for (const int32_t pid : options.target.pids) AddProcess(pid, 0);
    for (const int32_t root : options.target.tree_roots) AddTree(root);
    if (options.measure_cost) stats_fd_ = bpf_enable_stats(BPF_STATS_RUN_TIME);
    Attach();
  }

  ~BpfSensor() override {
    if (stats_fd_ >= 0) close(stats_fd_);
    for (bpf_link* link : links_) bpf_link__destroy(link);
    ring_buffer__free(ring_);
    bpf_object__close(object_);
  }
  BpfSensor(const BpfSensor&) = delete;
  BpfSensor& operator=(const BpfSensor&) = delete;

  [[nodiscard]] std::string rung() const override { return "bpf"; }

  void Drain(SensorSink& sink) override {
    batch_.clear();
    ring_buffer__consume(ring_);
    // CPUs share one ring; a record may enter it a little after a later one of another CPU.
    order_.resize(batch_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    const auto time = [&](uint32_t i) { return batch_[i].event.state.timestamp_ns; };
    const auto earlier = [&](uint32_t a, uint32_t b) { return time(a) < time(b); };
    if (!std::is_sorted(order_.begin(), order_.end(), earlier)) {
      std::stable_sort(order_.begin(), order_.end(), earlier);
    }
    // Asking the kernel costs a system call: seldom, and when there is reason to.
    const bool crowded = batch_.size() * sizeof(kx_switch_in) > ring_bytes_ / 2;
    if (crowded || ++drains_ % kDrainsPerCount == 0) {
      const uint64_t dropped = Counters().dropped;
      if (dropped > told_dropped_) {
        sink.OnLost(dropped - told_dropped_);
        told_dropped_ = dropped;
      }
    }
    for (const uint32_t i : order_) {
      const Item& item = batch_[i];
      if (item.exit) {
        sink.OnExit(item.event.state.pid, item.event.state.features[kSlotStartNs]);
      } else {
        sink.OnEvent(item.event);
        ++events_;
      }
    }
  }

  [[nodiscard]] SensorStats stats() const override {
    const kx_counters counters = Counters();
    return {.events = events_,
            .dropped = counters.dropped,
            .filtered = counters.filtered,
            .kernel_s = KernelSeconds(),
            .thinned = counters.thinned,
            .collided = counters.collided};
  }

  void AddTree(int32_t root_tgid) override {
    if (!inherit_) {
      throw Error(ErrorCode::kState, "Sensor::AddTree: opened without a process tree to follow");
    }
    for (const int32_t tgid : TreeOf(root_tgid)) AddProcess(tgid, 1);
  }

 private:
  struct Item {
    SchedEvent event;
    bool exit = false;
  };

  void Load(const SensorOptions& options) {
    LIBBPF_OPTS(bpf_object_open_opts, open, .object_name = "kernelx");
    object_ = bpf_object__open_mem(
        kx_sensor_bpf_begin, static_cast<size_t>(kx_sensor_bpf_end - kx_sensor_bpf_begin), &open);
    if (object_ == nullptr) Refuse("cannot be opened", errno);
    try {
      const kx_config config = MakeConfig(options);
      bpf_map* constants = bpf_object__find_map_by_name(object_, "kernelx.rodata");
      if (constants == nullptr ||
          bpf_map__set_initial_value(constants, &config, sizeof(config)) != 0) {
        Refuse("does not take its configuration", EINVAL);
      }
      ring_bytes_ = std::bit_ceil(options.buffer_bytes);
      bpf_map__set_max_entries(bpf_object__find_map_by_name(object_, "events"),
                               static_cast<uint32_t>(ring_bytes_));
      if (const int error = bpf_object__load(object_); error != 0)
        Refuse("cannot be loaded", -error);
      ring_ = ring_buffer__new(bpf_object__find_map_fd_by_name(object_, "events"), &BpfSensor::Take,
                               this, nullptr);
      if (ring_ == nullptr) Refuse("has no ring buffer", errno);
    } catch (...) {
      bpf_object__close(object_);
      throw;
    }
    targets_ = bpf_object__find_map_fd_by_name(object_, "target_tgids");
    counters_ = bpf_object__find_map_fd_by_name(object_, "counters");
  }

  void Attach() {
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_) {
      bpf_link* link = bpf_program__attach(program);
      if (link == nullptr) {
        const int error = errno;
        const std::string name = bpf_program__section_name(program);
        for (bpf_link* made : links_) bpf_link__destroy(made);
        ring_buffer__free(ring_);
        bpf_object__close(object_);
        Refuse(fmt::format("cannot attach to {}", name), error);
      }
      links_.push_back(link);
    }
  }

  void AddProcess(int32_t tgid, uint8_t inherited) const {
    const auto key = static_cast<uint32_t>(tgid);
    bpf_map_update_elem(targets_, &key, &inherited, BPF_ANY);
  }

  [[nodiscard]] kx_counters Counters() const {
    std::vector<kx_counters> each(static_cast<size_t>(libbpf_num_possible_cpus()));
    const uint32_t zero = 0;
    kx_counters sum{};
    if (bpf_map_lookup_elem(counters_, &zero, each.data()) != 0) return sum;
    for (const kx_counters& cpu : each) {
      sum.dropped += cpu.dropped;
      sum.filtered += cpu.filtered;
      sum.collided += cpu.collided;
      sum.thinned += cpu.thinned;
    }
    return sum;
  }

  [[nodiscard]] double KernelSeconds() const {
    if (stats_fd_ < 0) return 0.0;
    uint64_t run_ns = 0;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_) {
      bpf_prog_info info{};
      uint32_t size = sizeof(info);
      if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) {
        run_ns += info.run_time_ns;
      }
    }
    return static_cast<double>(run_ns) / 1e9;
  }

  static int Take(void* self, void* data, size_t size) {
    auto& sensor = *static_cast<BpfSensor*>(self);
    uint32_t kind = 0;
    if (size < sizeof(kx_exit)) return 0;
    std::memcpy(&kind, data, sizeof(kind));
    if (kind == KX_SWITCH_IN && size >= sizeof(kx_switch_in)) {
      Inflate(*static_cast<const kx_switch_in*>(data), sensor.batch_.emplace_back().event);
      sensor.last_ns_ = sensor.batch_.back().event.state.timestamp_ns;
    } else if (kind == KX_EXIT) {
      const auto& gone = *static_cast<const kx_exit*>(data);
      Item& item = sensor.batch_.emplace_back();
      item.exit = true;
      item.event.state.pid = static_cast<int32_t>(gone.pid);
      item.event.state.features[kSlotStartNs] = gone.start_ns;
      item.event.state.timestamp_ns = sensor.last_ns_;  // an exit follows what came before it
    }
    return 0;
  }

  bpf_object* object_ = nullptr;
  ring_buffer* ring_ = nullptr;
  std::vector<bpf_link*> links_;
  std::vector<Item> batch_;
  std::vector<uint32_t> order_;  ///< of the batch, by time
  int targets_ = -1;
  int counters_ = -1;
  int stats_fd_ = -1;
  bool inherit_;
  uint64_t events_ = 0;
  uint64_t told_dropped_ = 0;
  uint64_t last_ns_ = 0;
  size_t ring_bytes_ = 0;
  uint64_t drains_ = 0;
};

}  // namespace

std::unique_ptr<Sensor> OpenBpfSensor(const SensorOptions& options) {
  return std::make_unique<BpfSensor>(options);
}

bool BuiltWithBpf() { return true; }

}  // namespace kernelx
