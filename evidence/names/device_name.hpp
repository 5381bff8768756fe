#pragma once
/// Finds the preset for a measurement's device. Sources write "NVIDIA H100-SXM5-80GB", "4090", "A100-80GB (form factor
/// not stated)": letter case, vendor, punctuation, memory size and remarks are ignored.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/hardware_file.hpp"

namespace llmcalc {

/// Parts of a device name as a source writes it.
struct DeviceName {
  std::vector<std::string> words;   ///< letters and digits separated, in order: "rtx" "4090", "h" "100" "sxm"
  std::vector<std::string> remark;  ///< words in parentheses or after a comma in the name
  std::optional<double> memory_gb;  ///< memory size in the name: "80GB", "184 GiB"
  std::optional<Count> cores;       ///< core count in the name: "40-core GPU"
};
DeviceName device_name(std::string_view text);

/// The hardware presets, loaded once.
class Devices {
 public:
  Devices();
  /// The preset for `name`, or null. If several presets match, a memory size (stated separately or in the name) or a
  /// core count selects among them.
  const HardwareCard* find(std::string_view name, std::optional<double> memory_gb = {}) const;
  const HardwareCard* called(std::string_view preset) const;
  const std::vector<HardwareCard>& all() const { return cards_; }

 private:
  struct Spelling {
    DeviceName name;
    std::size_t card;
  };
  /// The preset whose words, joined without spaces, equal the name: "RTXPRO6000".
  const HardwareCard* written_together(const DeviceName& name) const;

  std::vector<HardwareCard> cards_;
  std::vector<Spelling> spellings_;
};

}  // namespace llmcalc
