#include "model/cuda/instruments/nvml.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace llmcalc::model::cuda {
namespace {

// Constants of nvml.h, which few toolkits include.
constexpr int success = 0, too_small = 7;
constexpr int sm_clock = 1, memory_clock = 2, gpu_temperature = 0;
using Bits = unsigned long long;

struct NvmlReason {
  Bits bit;
  const char* word;
};
constexpr std::array<NvmlReason, 9> reasons{{{0x1, "idle"},
                                             {0x2, "application clocks"},
                                             {0x4, "power cap"},
                                             {0x8, "hardware slowdown"},
                                             {0x10, "sync boost"},
                                             {0x20, "software thermal slowdown"},
                                             {0x40, "hardware thermal slowdown"},
                                             {0x80, "power brake"},
                                             {0x100, "display clocks"}}};

std::vector<std::string> words(Bits set) {
  std::vector<std::string> all;
  for (const NvmlReason& r : reasons)
    if ((set & r.bit) != 0) all.emplace_back(r.word), set &= ~r.bit;
  if (set == 0) return all;
  std::array<char, 32> rest{};
  std::snprintf(rest.data(), rest.size(), "reason %#llx", set);
  all.emplace_back(rest.data());
  return all;
}

std::optional<double> scaled(std::optional<unsigned> value, double unit) {
  return value ? std::optional(*value * unit) : std::nullopt;
}

}  // namespace

/// nvmlMemory_v2_t
struct Nvml::Memory {
  unsigned version = sizeof(Memory) | (2U << 24);
  unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};

Nvml::Nvml(const std::string& pci, const std::string& library) : library_({library}) {
  if (!library_.open()) {
    missing_ = "the driver's management library (NVML) was not found (" + library_.missing() + ")";
    return;
  }
  auto* const init = library_.find<int()>("nvmlInit_v2");
  auto* const handle = library_.find<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || handle == nullptr)
    missing_ = "the driver's management library (NVML) is too old";
  else if (init() != success || handle(pci.c_str(), &device_) != success)
    missing_ = "the driver's management library (NVML) does not find the board at " + pci;
}

template <typename T>
std::optional<T> Nvml::ask(const char* function) const {
  auto* const f = library_.find<int(void*, T*)>(function);
  T value{};
  return missing_.empty() && f != nullptr && f(device_, &value) == success ? std::optional(value) : std::nullopt;
}
template <typename T>
std::optional<T> Nvml::ask(const char* function, int which) const {
  auto* const f = library_.find<int(void*, int, T*)>(function);
  T value{};
  return missing_.empty() && f != nullptr && f(device_, which, &value) == success ? std::optional(value) : std::nullopt;
}

std::optional<double> Nvml::clock(const char* function, int which) const {
  return scaled(ask<unsigned>(function, which), 1e6);  // MHz
}

std::optional<std::string> Nvml::text(const char* function) const {
  auto* const f = library_.find<int(void*, char*, unsigned)>(function);
  std::array<char, 96> name{};
  if (!missing_.empty() || f == nullptr || f(device_, name.data(), name.size()) != success) return std::nullopt;
  return name.data();
}

std::optional<std::string> Nvml::driver() const {
  auto* const f = library_.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  std::array<char, 96> version{};
  if (!missing_.empty() || f == nullptr || f(version.data(), version.size()) != success) return std::nullopt;
  return version.data();
}

std::optional<std::vector<std::string>> Nvml::throttled() const {
  std::optional<Bits> set = ask<Bits>("nvmlDeviceGetCurrentClocksEventReasons");
  if (!set) set = ask<Bits>("nvmlDeviceGetCurrentClocksThrottleReasons");  // the name before driver 535
  return set ? std::optional(words(*set)) : std::nullopt;
}

std::optional<Nvml::Memory> Nvml::memory() const { return ask<Memory>("nvmlDeviceGetMemoryInfo_v2"); }

std::optional<double> Nvml::watts() const { return scaled(ask<unsigned>("nvmlDeviceGetPowerUsage"), 1e-3); }

std::optional<double> Nvml::joules() const {
  const auto millijoules = ask<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
  return millijoules ? std::optional(static_cast<double>(*millijoules) * 1e-3) : std::nullopt;
}

std::optional<Bytes> Nvml::used() const {
  const auto m = memory();
  return m ? std::optional(Bytes(static_cast<Count>(m->used))) : std::nullopt;
}

/// Excludes one compute process: this program, which cannot be found by its process ID, because that may be unknown in
/// a container.
std::optional<int> Nvml::other_processes() const {
  auto* const f = library_.find<int(void*, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  if (!missing_.empty() || f == nullptr) return std::nullopt;
  unsigned n = 0;  // requests no entries, only their number
  const int status = f(device_, &n, nullptr);
  if (status != success && status != too_small) return std::nullopt;
  return std::max(0, static_cast<int>(n) - 1);
}

Board Nvml::board() const {
  Board b{.name = text("nvmlDeviceGetName"),
          .driver = driver(),
          .sm_clock = clock("nvmlDeviceGetClockInfo", sm_clock),
          .sm_clock_max = clock("nvmlDeviceGetMaxClockInfo", sm_clock),
          .memory_clock = clock("nvmlDeviceGetClockInfo", memory_clock),
          .memory_clock_max = clock("nvmlDeviceGetMaxClockInfo", memory_clock),
          .watts = watts(),
          .watts_limit = scaled(ask<unsigned>("nvmlDeviceGetEnforcedPowerLimit"), 1e-3),
          .celsius = scaled(ask<unsigned>("nvmlDeviceGetTemperature", gpu_temperature), 1),
          .throttled = throttled(),
          .reserved = {},
          .other_processes = other_processes()};
  if (const auto m = memory()) b.reserved = Bytes(static_cast<Count>(m->reserved));
  return b;
}

void EnergyMeter::start() {
  begin_ = std::chrono::steady_clock::now();
  joules_ = board_.joules();
}

std::optional<Energy> EnergyMeter::stop() const {
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
  const std::optional<double> now = board_.joules();
  if (!joules_ || !now) return std::nullopt;
  return Energy{*now - *joules_, Seconds(time.count())};
}

}  // namespace llmcalc::model::cuda
