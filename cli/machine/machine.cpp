#include "cli/machine/machine.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "cli/machine/nvidia.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

namespace fs = std::filesystem;

/// The first line of a file; empty if unreadable.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return printable(line);
}

/// The text after "key:" in a line; absent for other lines.
std::optional<std::string> value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::size_t start = line.find_first_not_of(" \t", colon + 1);
  return start == std::string_view::npos ? "" : printable(line.substr(start));
}

/// A count at the beginning of the text; 0 if the text does not begin with a count.
Count count_in(std::string_view text) {
  Count n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

void read_processor(const fs::path& root, Machine& m) {
  std::ifstream file(root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("processor")) ++m.threads;
    if (const auto name = value_of(line, "model name"); name && m.processor.empty()) m.processor = *name;
  }
}

void read_memory(const fs::path& root, Machine& m) {
  constexpr Count kibi = 1024;
  std::ifstream file(root / "proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (const auto kilobytes = value_of(line, "MemTotal")) m.memory = Bytes(mul(count_in(*kilobytes), kibi));
}

/// Adds the GPUs of the amdgpu driver, which reports their memory in sysfs.
void add_amd_gpus(const fs::path& root, Machine& m) {
  std::error_code failed;
  std::vector<fs::path> cards;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/drm", failed))
    if (const std::string name = entry.path().filename();
        name.starts_with("card") && name.find('-') == std::string::npos)
      cards.push_back(entry.path() / "device");
  std::sort(cards.begin(), cards.end());
  for (const fs::path& card : cards) {
    const std::string bytes = first_line(card / "mem_info_vram_total"), name = first_line(card / "product_name");
    if (!bytes.empty()) m.gpus.push_back({name.empty() ? "AMD GPU" : name, Bytes(count_in(bytes))});
  }
}

}  // namespace

Machine read_machine(const fs::path& root) {
  Machine m;
  if (root == "/") m.gpus = nvidia_gpus();
  add_amd_gpus(root, m);
  read_processor(root, m);
  read_memory(root, m);
  return m;
}

}  // namespace llmcalc
