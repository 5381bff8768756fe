#include "evidence/convert/device_class.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <string>

#include "evidence/names/words.hpp"

namespace llmcalc {

namespace {

/// A pattern for device names, and the preset that represents them. The first match wins.
struct DeviceKind {
  const char* words;  ///< pattern in which letters and digits are separate words: " mi 350 x "
  std::string_view preset;
};
constexpr std::array device_kinds{
    DeviceKind{" (jetson|tegra|xavier) ", "jetson-agx-orin-64gb"},
    DeviceKind{" ryzen ai ", "strix-halo"},
    DeviceKind{" (epyc|ryzen|threadripper) ", "amd-epyc-9654"},
    DeviceKind{" (graviton|neoverse|cortex|grace|altra|axion|cobalt|kunpeng) ", "nvidia-grace-cpu"},
    DeviceKind{" (snapdragon|raspberry|exynos|dimensity|kirin|tensor g|pixel|rk|rpi) ", "nvidia-grace-cpu"},
    DeviceKind{" (xeon|core i|i [3579]|core ultra|cpu) ", "intel-xeon-platinum-8480-plus"},
    DeviceKind{" (iphone|ipad) ", "m1"},
    DeviceKind{" arc ", "arc-pro-b60"},
    DeviceKind{" (radeon|rx) ", "rx-7900-xtx"},
    DeviceKind{" mi (50|60|100|2[0-9][0-9]) ", "mi210"},
    DeviceKind{" mi (35|4)[0-9]* ", "mi355x"},
    DeviceKind{" mi ", "mi300x"},
    DeviceKind{" tpu (v )?[1-3] ", "tpu-v3"},
    DeviceKind{" tpu (v )?4 ", "tpu-v4"},
    DeviceKind{" tpu (v )?5 p ", "tpu-v5p"},
    DeviceKind{" tpu (v )?6 ", "tpu-v6e"},
    DeviceKind{" tpu (v )?[7-9] ", "tpu-v7x"},
    DeviceKind{" tpu ", "tpu-v5e"},
    DeviceKind{" trainium [3-9] ", "trainium3"},
    DeviceKind{" trainium ", "trainium2"},
    DeviceKind{" inferentia ", "inferentia2"},
    DeviceKind{" gaudi [3-9] ", "gaudi-3"},
    DeviceKind{" gaudi ", "gaudi-2"},
    DeviceKind{" ascend ", "ascend-910b"},
    DeviceKind{" m 1 ", "m1-max"},
    DeviceKind{" m 2 ", "m2-max"},
    DeviceKind{" m 3 ", "m3-max"},
    DeviceKind{" m 4 (pro|max|ultra) ", "m4-max"},
    DeviceKind{" m [5-9] ", "m5-max"},
    DeviceKind{" apple ", "m2-max"},
    DeviceKind{" (rtx pro|rtx 6000 pro) ", "rtx-pro-6000-blackwell"},
    DeviceKind{" ada ", "rtx-6000-ada"},
    DeviceKind{" rtx a ", "rtx-a6000"},
    DeviceKind{" (quadro|titan) rtx ", "t4"},
    DeviceKind{" titan v ", "v100-sxm2-32gb"},
    DeviceKind{" (gtx|titan|quadro) ", "p100-pcie-16gb"},
    DeviceKind{" 20[5-9]0 ", "t4"},
    DeviceKind{" 30[5-9]0 ", "rtx-3090"},
    DeviceKind{" 50[5-9]0 ", "rtx-5090"},
    DeviceKind{" (rtx|40[5-9]0) ", "rtx-4090"},
    DeviceKind{" (k|m|p) (4|6|10|20|40|60|80|100) ", "p100-pcie-16gb"},
    DeviceKind{" v 100 ", "v100-sxm2-32gb"},
    DeviceKind{" t [0-9]+ ", "t4"},
    DeviceKind{" a (30|100|800) ", "a100-sxm-80gb"},
    DeviceKind{" a [0-9]+ ", "a10"},
    DeviceKind{" l [0-9]+ ", "l40s"},
    DeviceKind{" h 20 ", "h20-96gb"},
    DeviceKind{" h 800 ", "h800-sxm-80gb"},
    DeviceKind{" (b|gb) [0-9]+ ", "b200-sxm-180gb"},
    DeviceKind{" (rubin|vr) ", "b300-sxm-288gb"},
};

/// The name split into words of letters and words of digits, in lower case: " tesla p 40 ".
std::string spaced(std::string_view name) {
  std::string out = " ";
  for (const std::string& word : words_of(name.substr(0, 200))) out += word + " ";
  return out;
}

}  // namespace

std::string_view stand_in(std::string_view device) {
  const std::string name = spaced(device);
  const auto* kind = std::find_if(device_kinds.begin(), device_kinds.end(),
                                  [&](const DeviceKind& k) { return std::regex_search(name, std::regex(k.words)); });
  return kind == device_kinds.end() ? "h100-sxm-80gb" : kind->preset;
}

}  // namespace llmcalc
