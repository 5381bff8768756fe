#include "evidence/convert/training/training_offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <regex>

#include "evidence/convert/training/training_row.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

struct OffloadWord {
  const char* words;  ///< pattern for the whole name
  Ratio Offload::*share;
};
constexpr OffloadWord offload_words[] = {
    {"(cpu )?activations?", &Offload::activations},
    {"(cpu )?(optimi[sz]er( states?)?|adam|states?)|zero offload|deepspeedcpuadam", &Offload::optimizer},
    {"weights|param(eter)?s", &Offload::weights}};

/// Rounds a fraction to a ratio in millionths, which keeps byte counts exact.
Ratio whole_ratio(double share) {
  constexpr Count parts = 1'000'000;
  const Count n = std::llround(share * static_cast<double>(parts)), common = std::gcd(n, parts);
  return {n / common, parts / common};
}

/// The text without the destination, such as "to CPU" in "optimizer states to CPU" or "(CPU)" in "optimizer (CPU)".
std::string without_place(const std::string& text) {
  static const std::regex place(" *(?:\\((?:cpu|host)\\)|(?:to|on|in) (?:the )?(?:cpu|host)(?: memory)?)");
  return std::regex_replace(text, place, "");
}

/// Adds a part such as "optimizer:0.5". Returns false if it is not understood.
bool add_part(Offload& all, const std::string& part) {
  static const std::regex shape("^ *([a-z ]+?) *(?:: *(0?\\.[0-9]{1,6}|1(?:\\.0*)?))? *$");
  std::smatch found;
  if (!std::regex_match(part, found, shape)) return false;
  for (const OffloadWord& word : offload_words) {
    if (!std::regex_match(found[1].str(), std::regex(word.words))) continue;
    all.*word.share = found[2].matched ? whole_ratio(leading_real(found[2])) : Ratio{1, 1};
    return true;
  }
  return false;
}

bool says_none(const std::string& text) {
  return text.empty() || text == "none" || text == "no" || text == "false" || text == "off";
}

}  // namespace

Offload offload_of(const TrainingRow& row, std::string& skip) {
  Offload all;
  std::string text = lower(row.parallelism.offload);
  if (const double layers = row.activation_offload_layers.value_or(0); layers > 0)
    all.activations = whole_ratio(std::min(1.0, layers / static_cast<double>(row.model.layers)));
  if (says_none(text)) return all;
  std::replace(text.begin(), text.end(), '_', ' ');
  std::replace(text.begin(), text.end(), '+', ',');
  std::replace(text.begin(), text.end(), '-', ' ');
  text = without_place(text);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (!add_part(all, text.substr(at, end - at)))
      skip = fmt::format("the offload {} cannot be expressed in a plan", in_quotes(row.parallelism.offload));
    at = end + 1;
  }
  return all;
}

}  // namespace llmcalc
