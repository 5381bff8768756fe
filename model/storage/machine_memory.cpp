#include "model/storage/machine_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "text/error.hpp"

namespace llmcalc::model {
namespace {

std::optional<Bytes> of_machine() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  Count kib = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kib) return Bytes(mul(kib, 1024));
  return std::nullopt;
}

/// Limit minus usage of the control group that this process sees as its root, such as a container's.
std::optional<Bytes> of_group() {
  Count limit = 0, used = 0;
  if (!(std::ifstream("/sys/fs/cgroup/memory.max") >> limit)) return std::nullopt;  // "max", or no such file
  if (!(std::ifstream("/sys/fs/cgroup/memory.current") >> used)) return std::nullopt;
  return Bytes(std::max<Count>(limit - used, 0));
}

std::string text(Bytes b) {
  const bool large = b.value >= Count{1} << 30;
  const double n = static_cast<double>(b.value) / static_cast<double>(Count{1} << (large ? 30 : 20));
  return fmt::format("{:.{}f} {} ({} bytes)", n, n < 100 ? 1 : 0, large ? "GiB" : "MiB", b.value);
}

}  // namespace

std::optional<Bytes> available_memory() {
  const auto machine = of_machine(), group = of_group();
  if (machine && group) return std::min(machine, group);
  return machine ? machine : group;
}

void refuse_beyond_memory(Bytes needed, const char* what, const char* advice, const AvailableMemory& room) {
  if (room.bytes && needed > *room.bytes)
    throw InputError(
        fmt::format("{} needs {} and {} has {} available; {}", what, text(needed), room.of, text(*room.bytes), advice));
}

}  // namespace llmcalc::model
