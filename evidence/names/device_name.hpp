#pragma once
/// The preset that a measurement's device means. Sources write "NVIDIA H100-SXM5-80GB", "4090", "A100-80GB (form factor
/// not stated)": letter case, vendor, punctuation, memory size and remarks do not count.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/hardware_file.hpp"

namespace llmcalc {

/// A device as a source names it, taken apart.
struct DeviceName {
  std::vector<std::string> words;   ///< letters and digits apart, in order: "rtx" "4090", "h" "100" "sxm"
  std::vector<std::string> remark;  ///< those in parentheses or behind a comma
  std::optional<double> memory_gb;  ///< "80GB", "184 GiB"
  std::optional<Count> cores;       ///< "40-core GPU"
};
DeviceName device_name(std::string_view text);

/// The hardware presets, read once.
class Devices {
 public:
  Devices();
  /// The preset that `name` means, or null. A memory size, stated beside the name or in it, decides among presets that
  /// differ by it; a number of cores likewise.
  const HardwareCard* find(std::string_view name, std::optional<double> memory_gb = {}) const;
  const HardwareCard* called(std::string_view preset) const;
  const std::vector<HardwareCard>& all() const { return cards_; }

 private:
  struct Spelling {
    DeviceName name;
    std::size_t card;
  };
  /// The preset whose words the name has without gaps: "RTXPRO6000".
  const HardwareCard* written_together(const DeviceName& name) const;

  std::vector<HardwareCard> cards_;
  std::vector<Spelling> spellings_;
};

}  // namespace llmcalc
