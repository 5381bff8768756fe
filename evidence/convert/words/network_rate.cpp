#include "evidence/convert/words/network_rate.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <vector>

#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Parts of the text between commas, semicolons and plus signs.
std::vector<std::string> clauses(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == ',' || c == ';' || c == '+')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

bool has_one(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return text.find(w) != std::string::npos; });
}

/// Replaces number words before adapter rates with digits: "eight 400-gigabit NICs".
std::string with_digits(std::string text) {
  static const std::pair<std::regex, const char*> numbers[] = {
      {std::regex("\\b[Oo]ne\\b"), "1"}, {std::regex("\\b[Tt]wo\\b"), "2"},   {std::regex("\\b[Ff]our\\b"), "4"},
      {std::regex("\\b[Ss]ix\\b"), "6"}, {std::regex("\\b[Ee]ight\\b"), "8"}, {std::regex("\\b[Ss]ixteen\\b"), "16"}};
  for (const auto& [word, digits] : numbers) text = std::regex_replace(text, word, digits);
  return text;
}

/// Bits per second of a number with this unit. Empty if the unit is not a unit of rate ("GB" of memory).
std::optional<double> bits_of(double number, const std::string& unit) {
  const std::string small = lower(unit);
  const double scale = small[0] == 't' ? 1e12 : 1e9;
  const bool per_second = small.ends_with("/s") || small.ends_with("ps") || small.ends_with("/sec");
  const bool bytes =
      small.find("byte") != std::string::npos || (unit.size() > 1 && unit[1] == 'B' && unit != "GBE" &&
                                                  !small.ends_with("bit") && unit.find("PS") == std::string::npos);
  if (bytes && !per_second) return std::nullopt;
  return number * scale * (bytes ? 8 : 1);
}

/// A rate of one adapter or of all adapters together, and the stated number of adapters (0: not stated).
struct RateSaid {
  double bits = 0;
  Count adapters = 0;
};

std::optional<RateSaid> rate_by_number(const std::string& clause) {
  static const std::string unit =
      "((?:[TtGg](?:[bB](?:it|its|yte|ytes|E)?)?|[Gg]iga(?:bit|byte)s?|[Tt]era(?:bit|byte)s?)"
      "(?:/s|/[Ss]ec|ps|PS)?)(?![A-Za-z])";
  static const std::string number = "([0-9]{1,9}(?:\\.[0-9]{1,9})?)[ -]?";
  static const std::regex patterns[] = {
      std::regex("([0-9]{1,4}) ?(?:NIC|nic|HCA|port|adapter|rail|link|card)s? ?(?:[x@]|of|at)? ?" + number + unit),
      std::regex("\\b([0-9]{1,2}) " + number + unit + " (?:NIC|nic|HCA|port|adapter|rail|link|card)"),
      std::regex("(?:([0-9]{1,6}) ?[xX] ?)?(?:[A-Za-z][A-Za-z0-9 -]*?[ (])?" + number + unit)};
  for (const std::regex& pattern : patterns) {
    std::smatch found;
    if (!std::regex_search(clause, found, pattern)) continue;
    const auto bits = bits_of(leading_real(found[2]), found[3]);
    if (bits) return RateSaid{*bits, found[1].matched ? leading_whole(found[1]) : 0};
  }
  return std::nullopt;
}

/// An InfiniBand generation, and its rate in Gb/s over four lanes.
struct InfiniBandKind {
  const char* name;
  double gigabits;
};
constexpr std::array infiniband_kinds{InfiniBandKind{"qdr", 40},  InfiniBandKind{"fdr", 56},
                                      InfiniBandKind{"edr", 100}, InfiniBandKind{"hdr", 200},
                                      InfiniBandKind{"ndr", 400}, InfiniBandKind{"xdr", 800}};

/// Rate in text that names an InfiniBand generation with a number of adapters or a rate: "4x HDR200", "NDR400", "1x
/// HDR".
std::optional<RateSaid> rate_by_generation(const std::string& clause) {
  static const std::regex pattern("(?:([0-9]{1,2}) ?x ?)?\\b(qdr|fdr|edr|hdr|ndr|xdr)[ -]?([0-9]{2,3})?\\b");
  const std::string text = lower(clause);
  std::smatch found;
  if (!std::regex_search(text, found, pattern) || (!found[1].matched && !found[3].matched)) return std::nullopt;
  const auto* generation = std::find_if(infiniband_kinds.begin(), infiniband_kinds.end(),
                                        [&](const InfiniBandKind& g) { return found[2] == g.name; });
  const double gigabits = found[3].matched ? leading_real(found[3]) : generation->gigabits;
  return RateSaid{gigabits * 1e9, found[1].matched ? leading_whole(found[1]) : 0};
}

/// Bits per second of the fastest adapter, and of the fastest Ethernet adapter in nodes with only one.
constexpr double fastest_adapter = 800e9, fastest_single = 100e9;

NetworkShare share_of(const RateSaid& said, const std::string& clause, Count per_node) {
  const std::string text = lower(clause);
  const double devices = static_cast<double>(per_node),
               adapters = said.adapters > 0 ? static_cast<double>(said.adapters) : 1;
  const auto share = [](double bits, bool assumed) { return NetworkShare{BytesPerSecond(bits / 8), assumed}; };
  if (has_one(text, {"per gpu", "per device", "per accelerator", "/gpu", "each gpu", "per chip"}))
    return share(adapters * said.bits, false);
  if (said.adapters > 0) return share(adapters * said.bits / devices, false);
  if (has_one(text, {"per node", "per host", "per instance", "per server", "per machine", "/node"}))
    return share(said.bits / devices, false);
  const bool ethernet = has_one(text, {"ethernet", "gbe", "tcp"});
  const bool of_node =
      said.bits > fastest_adapter || has_one(text, {"efa"}) || (ethernet && said.bits <= fastest_single);
  return share(of_node ? said.bits / devices : said.bits, of_node);
}

bool is_for_storage(const std::string& clause) {
  return has_one(lower(clause), {"storage", "management", "pcie", "dpu"});
}

}  // namespace

std::optional<NetworkShare> network_share(const std::string& text, Count devices_per_node) {
  const std::vector<std::string> all = clauses(with_digits(text.substr(0, 500)));
  for (const bool with_ethernet : {false, true})
    for (const std::string& clause : all) {
      if (is_for_storage(clause) || (!with_ethernet && has_one(lower(clause), {"ethernet"}))) continue;
      auto said = rate_by_number(clause);
      if (!said) said = rate_by_generation(clause);
      if (said) return share_of(*said, clause, devices_per_node);
    }
  return std::nullopt;
}

}  // namespace llmcalc
