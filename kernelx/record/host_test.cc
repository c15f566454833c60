// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/host.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "kernelx/ground/testing.h"

namespace kernelx {
namespace {

/// A host made of files.
class FakeHost {
 public:
  FakeHost() {
    Set("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    Set("/sys/kernel/btf/vmlinux", "btf");
    Set("/sys/fs/cgroup/cgroup.controllers", "cpu");
  }
  void Set(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.path() + path).parent_path());
    folder_.Write(path.substr(1), text);
  }
  void Remove(const std::string& path) const { std::filesystem::remove(folder_.path() + path); }
  [[nodiscard]] HostCheck Check(const std::string& name) const {
    for (const HostCheck& check : CheckHost(folder_.path()).checks) {
      if (check.name == name) return check;
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }
  [[nodiscard]] HostReport Report() const { return CheckHost(folder_.path()); }

 private:
  TempFolder folder_;
};

TEST(HostTest, EachMissingCapabilityIsNamedWithItsMend) {
  const FakeHost host;
  EXPECT_TRUE(host.Check("btf").ok);
  EXPECT_TRUE(host.Check("bpf rights").ok);
  EXPECT_TRUE(host.Check("nice rights").ok);

  host.Remove("/sys/kernel/btf/vmlinux");
  EXPECT_FALSE(host.Check("btf").ok);
  EXPECT_NE(host.Check("btf").mend.find("CONFIG_DEBUG_INFO_BTF"), std::string::npos);
  EXPECT_FALSE(host.Report().can_record());
  host.Set("/sys/kernel/btf/vmlinux", "btf");

  host.Set("/proc/self/status", "CapEff:\t0000000000000000\n");
  EXPECT_FALSE(host.Check("bpf rights").ok);
  EXPECT_FALSE(host.Check("nice rights").ok);
  EXPECT_FALSE(host.Check("nice rights").mend.empty());
  EXPECT_FALSE(host.Report().can_record());
  EXPECT_FALSE(host.Report().can_act());

  // CAP_BPF 39 and CAP_PERFMON 38 without CAP_SYS_NICE 23: may look, may not touch.
  host.Set("/proc/self/status", "CapEff:\t000000c000000000\n");
  EXPECT_TRUE(host.Check("bpf rights").ok);
  EXPECT_FALSE(host.Check("nice rights").ok);
  EXPECT_FALSE(host.Report().can_act());
}

TEST(HostTest, ReadsTheStateOfTheKernel) {
  const FakeHost host;
  host.Set("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
  EXPECT_FALSE(host.Check("lockdown").ok);
  host.Set("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
  EXPECT_TRUE(host.Check("lockdown").ok);

  host.Set("/sys/kernel/sched_ext/state", "enabled\n");
  host.Set("/sys/kernel/sched_ext/root/ops", "lavd\n");
  EXPECT_FALSE(host.Check("sched_ext").ok);
  EXPECT_NE(host.Check("sched_ext").detail.find("lavd"), std::string::npos);
  host.Set("/sys/kernel/sched_ext/state", "disabled\n");
  EXPECT_TRUE(host.Check("sched_ext").ok);

  host.Set("/proc/sys/kernel/sched_autogroup_enabled", "1\n");
  EXPECT_NE(host.Check("autogroup").detail.find("on:"), std::string::npos);
  host.Remove("/sys/fs/cgroup/cgroup.controllers");
  EXPECT_FALSE(host.Check("cgroup").ok);
  host.Set("/sys/fs/cgroup/unified/cgroup.controllers", "");
  EXPECT_NE(host.Check("cgroup").detail.find("hybrid"), std::string::npos);
}

TEST(HostTest, TracefsIsTheSecondRung) {
  const FakeHost host;
  EXPECT_FALSE(host.Check("tracefs").ok);
  host.Remove("/sys/kernel/btf/vmlinux");
  EXPECT_EQ(host.Report().rung(), "");
  host.Set("/sys/kernel/tracing/instances/none", "");
  EXPECT_TRUE(host.Check("tracefs").ok);
  EXPECT_EQ(host.Report().rung(), "tracefs");
  EXPECT_TRUE(host.Report().can_record());
}

}  // namespace
}  // namespace kernelx
