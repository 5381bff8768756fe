#include "evidence/names/device_name.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <regex>

#include "calc/elementary.hpp"
#include "evidence/names/cloud_instance.hpp"
#include "evidence/names/words.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Words that do not distinguish devices.
constexpr std::string_view empty_words[] = {
    "nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "intel", "apple",       "google", "aws",
    "amazon", "huawei",  "cloud", "gpu", "gpus",   "chip",     "card",  "accelerator", "dgx",    "hgx",
    "gen",    "edition", "the",   "hbm", "gddr",   "memory",   "nvl72", "nvl36",       "tensor", "core",
};
/// Form factors. A name may have them in addition to the preset's words, since the preset implies them.
constexpr std::string_view form_words[] = {"sxm", "pcie", "oam", "nvlink", "gcd", "air"};

/// A name that sources use although it is not a product name, and the preset that it refers to.
struct OtherName {
  std::string_view name, preset;
};
constexpr OtherName other_names[] = {
    {"blackwell sm 100", "b200-sxm-180gb"},
    {"trainium 1", "trainium"},
    {"tpu v 5 lite", "tpu-v5e"},
    {"tpu v 5 litepod", "tpu-v5e"},
    {"neuroncore v 2", "trainium"},
    {"rtx 6000 ada generation", "rtx-6000-ada"},
    {"tpu 7 x", "tpu-v7x"},
    {"rtx pro 6000 blackwell workstation", "rtx-pro-6000-blackwell"},
    {"rtx pro 6000 blackwell server", "rtx-pro-6000-blackwell-server"},
    {"a 100 sxm", "a100-sxm-80gb"},
    {"h 20 3 e", "h20-96gb"},
    {"p 100", "p100-pcie-16gb"},
};

template <std::size_t N>
bool is_in(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::optional<Count> whole_word(const std::string& word) {
  Count n = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(n) : std::nullopt;
}

/// Whether a number is a size, a core count or a power rather than part of the name, judging by the word after it.
bool takes_number(DeviceName& name, Count n, const std::string& unit) {
  // "40G" in "A100 40G" is a size, but "A10G" is a name.
  if (unit == "gb" || unit == "gib" || (unit == "g" && n >= 16)) {
    name.memory_gb = static_cast<double>(n);
    return true;
  }
  if (unit == "core" || unit == "cores") {
    name.cores = n;
    return true;
  }
  return unit == "w" || unit == "watt" || unit == "watts";
}

/// Whether word i is a generation suffix: the "4" of "sxm4" (split into "sxm", "4") or the "2" and "e" of "hbm2e". Such
/// words are dropped, because the product name implies them.
bool is_generation(const std::vector<std::string>& words, std::size_t i) {
  if (i == 0 || words[i].size() > 1) return false;
  const std::string& before = words[i - 1];
  if (before == "sxm" || before == "hbm" || before == "gddr" || before == "gen") return true;
  return i > 1 && (words[i] == "e" || words[i] == "x") && (words[i - 2] == "hbm" || words[i - 2] == "gddr");
}

void keep_words(DeviceName& name, const std::vector<std::string>& words, std::vector<std::string>& to) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto n = whole_word(words[i]);
    if (n && i + 1 < words.size() && takes_number(name, *n, words[i + 1])) {
      ++i;
      continue;
    }
    if (words[i] == "nvl" && i + 1 < words.size() &&
        (words[i + 1] == "72" || words[i + 1] == "36" || words[i + 1] == "4")) {
      ++i;  // skips the rack size
      continue;
    }
    if (!is_in(empty_words, words[i]) && !is_generation(words, i)) to.push_back(words[i]);
  }
}

/// The name without a device count, as in "8x H100", "8xH100", "H100 x8" and "h100x8". The x in "MI300X 192" is part of
/// the name.
std::string without_number_of_devices(std::string_view text) {
  static const std::regex before("^[0-9]{1,6}[xX] ?(?=[A-Za-z])"), behind("( [xX] ?|[0-9][xX])([0-9]{1,6})$");
  const std::string name = std::regex_replace(std::string(text.substr(0, 200)), before, "");
  std::smatch found;
  if (!std::regex_search(name, found, behind)) return name;
  const auto saved = static_cast<std::size_t>(found.position(0)) + (found[1].str()[0] == ' ' ? 0 : 1);
  return name.substr(0, saved);
}

/// The text with JAX's name of a TPU slice, such as "v5p-128" (generation and number of cores or chips), replaced by
/// "tpu v5p".
std::string with_tpu(const std::string& text) {
  static const std::regex slice("^ *(v[2-7][epx]?)(?:-[0-9]{1,6})? *$", std::regex::icase);
  return std::regex_replace(text, slice, "tpu $1");
}

/// Whether `whole` has the words of `part` in the same order, possibly with words between them.
bool holds_in_order(const std::vector<std::string>& whole, const std::vector<std::string>& part) {
  std::size_t next = 0;
  for (const std::string& word : whole)
    if (next < part.size() && word == part[next]) ++next;
  return next == part.size();
}

bool all_explained(const std::vector<std::string>& words, const std::vector<std::string>& by) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return is_in(form_words, word) || std::find(by.begin(), by.end(), word) != by.end();
  });
}

/// The words of a name, followed by the words of its remark.
std::vector<std::string> all_words(const DeviceName& name) {
  std::vector<std::string> out = name.words;
  out.insert(out.end(), name.remark.begin(), name.remark.end());
  return out;
}

/// The preset's words, followed by the words of its architecture, which a name may include: "H100 Hopper".
std::vector<std::string> with_architecture(std::vector<std::string> words, const HardwareCard& card) {
  for (std::string& word : words_of(card.architecture))
    if (word.size() > 2 && std::isalpha(static_cast<unsigned char>(word[0])) != 0) words.push_back(std::move(word));
  return words;
}

bool means(const DeviceName& name, const DeviceName& preset, const HardwareCard& card) {
  if (preset.words.empty() || (preset.cores && preset.cores != name.cores)) return false;
  return holds_in_order(all_words(name), preset.words) &&
         all_explained(name.words, with_architecture(preset.words, card));
}

/// Words joined without spaces: "RTXPRO6000" for "RTX PRO 6000".
std::string in_one_row(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += word;
  return all;
}

}  // namespace

DeviceName device_name(std::string_view said) {
  DeviceName name;
  const std::string whole = with_tpu(without_number_of_devices(said));
  const std::string_view text = whole;
  const std::size_t remark = std::min({text.find('('), text.find(','), text.size()});
  keep_words(name, words_of(text.substr(0, remark)), name.words);
  keep_words(name, words_of(text.substr(remark)), name.remark);
  return name;
}

Devices::Devices() {
  for (const Builtin& preset : builtin_hardware()) {
    cards_.push_back(load_hardware(preset));
    const std::size_t card = cards_.size() - 1;
    spellings_.push_back({device_name(preset.name), card});
    for (const std::string_view alias : preset.aliases) spellings_.push_back({device_name(alias), card});
    for (const OtherName& other : other_names)
      if (other.preset == preset.name) spellings_.push_back({device_name(other.name), card});
  }
}

const HardwareCard* Devices::called(std::string_view preset) const {
  const auto found = std::find_if(cards_.begin(), cards_.end(), [&](const auto& c) { return c.name == preset; });
  return found == cards_.end() ? nullptr : &*found;
}

const HardwareCard* Devices::find(std::string_view text, std::optional<double> memory_gb) const {
  const DeviceName name = device_name(text);
  if (!memory_gb) memory_gb = name.memory_gb;
  const HardwareCard* best = nullptr;
  std::size_t best_words = 0;
  double best_distance = 0;
  for (const Spelling& s : spellings_) {
    const HardwareCard& card = cards_[s.card];
    if (!means(name, s.name, card)) continue;
    const std::size_t words = s.name.words.size() + (s.name.cores ? 1 : 0);
    const double gib = static_cast<double>(card.cluster.device.memory.value) / 0x1p30;
    const double distance = memory_gb ? std::fabs(elementary::log(*memory_gb / gib)) : 0;
    // Most matching words first, then nearest memory size; on ties, the first preset.
    const bool better = best == nullptr || words > best_words || (words == best_words && distance < best_distance);
    if (!better) continue;
    best = &card;
    best_words = words;
    best_distance = distance;
  }
  if (best == nullptr) best = written_together(name);
  if (best == nullptr) best = called(device_of_instance(text));
  return best;
}

const HardwareCard* Devices::written_together(const DeviceName& name) const {
  const std::string word = in_one_row(all_words(name));
  const auto found = std::find_if(spellings_.begin(), spellings_.end(),
                                  [&](const Spelling& s) { return in_one_row(s.name.words) == word; });
  return found == spellings_.end() ? nullptr : &cards_[found->card];
}

}  // namespace llmcalc
