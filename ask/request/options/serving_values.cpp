#include "ask/request/options/serving_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ask/request/options/option_values.hpp"
#include "text/error.hpp"
#include "text/file_access.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

/// The rest of the text after the prefix `begin`, such as "gamma:"; absent without this prefix.
std::optional<std::string_view> behind(std::string_view begin, std::string_view text) {
  if (!lower(text).starts_with(begin)) return std::nullopt;
  return text.substr(begin.size());
}

std::vector<std::string_view> split_at(char mark, std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(mark);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Reads one pool's size: "2P" in "2P6D".
Count pool_size(std::string_view text, char letter, std::string_view where, std::string_view whole) {
  if (text.size() < 2 || lower(text).back() != letter)
    refuse_value(where, "numbers of prefill and decode engines, for example 2P6D", whole);
  const std::string of(where);
  return parse_positive(text.substr(0, text.size() - 1),
                        of + (letter == 'p' ? ", prefill engines" : ", decode engines"));
}

}  // namespace

namespace {

constexpr double longest_time = 1e9;                       ///< longest time in seconds: 30 years
constexpr double slowest_rate = 1e-6, fastest_rate = 1e9;  ///< range of rates, in requests per second
constexpr double most_variation = 100;                     ///< largest ratio of standard deviation to mean

/// Reads a ratio of standard deviation to mean, above 0.
double read_variation(std::string_view text, std::string_view where) {
  const double cv = parse_positive_real(text, where);
  if (cv > most_variation) refuse_value(where, "a standard deviation of at most 100 times the mean", text);
  return cv;
}

}  // namespace

Seconds read_time(std::string_view text, std::string_view where) {
  const Seconds t = parse_seconds(text, where, Bare::allowed);
  if (t.value > longest_time) refuse_value(where, "a time of at most 1e9 s", text);
  return t;
}

Seconds read_limit(std::string_view text, std::string_view where) {
  const Seconds t = read_time(text, where);
  if (t.value <= 0) refuse_value(where, "a time limit above 0", text);
  constexpr double probably_milliseconds = 10;
  const bool is_bare = text.find_first_not_of("0123456789.") == std::string_view::npos;
  if (is_bare && t.value >= probably_milliseconds)
    throw InputError(
        fmt::format("{} {}: a number without unit is in seconds; write {}ms or {}s", where, text, text, text));
  return t;
}

Seconds read_duration(std::string_view text, std::string_view where) {
  const Seconds t = read_time(text, where);
  if (t.value <= 0) refuse_value(where, "an arrival period above 0", text);
  return t;
}

double read_request_rate(std::string_view text, std::string_view where) {
  const double rate = parse_positive_real(text, where);
  if (rate < slowest_rate || rate > fastest_rate)
    refuse_value(where, "a rate from 1e-6 to 1e9 requests per second", text);
  return rate;
}

double read_arrivals(std::string_view text, std::string_view where) {
  if (same_spelling(text, "poisson")) return 1;
  if (same_spelling(text, "constant")) return 0;
  if (const auto variation = behind("gamma:", text)) return read_variation(*variation, where);
  refuse_value(where, "poisson, constant or gamma:CV", text);
}

double read_percentile(std::string_view text, std::string_view where) {
  const double p = parse_real(text, where);
  if (p <= 0 || p >= 100) refuse_value(where, "a percentile above 0 and below 100", text);
  return p;
}

Count read_drafts(std::string_view text, std::string_view where) {
  const Count n = parse_positive(text, where);
  if (n > most_drafts) refuse_value(where, fmt::format("at most {} tokens", most_drafts), text);
  return n;
}

Pools read_pools(std::string_view text, std::string_view where) {
  const std::size_t letter = lower(text).find('p');
  if (letter == std::string_view::npos)
    refuse_value(where, "numbers of prefill and decode engines, for example 2P6D", text);
  return {pool_size(text.substr(0, letter + 1), 'p', where, text),
          pool_size(text.substr(letter + 1), 'd', where, text)};
}

ServedAdapters read_adapters(std::string_view text, std::string_view where) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    refuse_value(where, "the number of resident adapters and their rank, for example 8:16, or with matrices, 8:16:q,v",
                 text);
  const LoraText each = read_lora(text.substr(colon + 1), where);
  return {parse_positive(text.substr(0, colon), where), each.rank, each.targets};
}

ApiPrice read_api_price(std::string_view text, std::string_view where) {
  const std::vector<std::string_view> parts = split_at(',', text);
  if (parts.size() != 2)
    refuse_value(where, "two prices per million tokens, for input and output, for example 0.5,1.5", text);
  return {parse_real(parts[0], where), parse_real(parts[1], where)};
}

std::vector<double> read_acceptance(std::string_view text, std::string_view where) {
  std::vector<double> all;
  for (const std::string_view part : split_at(',', text)) all.push_back(parse_share(part, where));
  if (static_cast<Count>(all.size()) > most_drafts)
    refuse_value(where, fmt::format("at most {} positions", most_drafts), text);
  return all;
}

std::string read_words(std::string_view text, std::string_view) { return std::string(text); }

std::string arrivals_text(double variation) {
  if (variation == 0) return "constant";
  return variation == 1 ? "poisson" : fmt::format("gamma:{:g}", variation);
}

std::string adapters_text(const ServedAdapters& a) {
  return fmt::format("{}:{}", a.resident, lora_text(a.rank, a.targets));
}

std::string pools_text(const Pools& pools) { return fmt::format("{}P{}D", pools.prefill, pools.decode); }

std::string acceptance_text(const std::vector<double>& acceptance) {
  return fmt::format("{}", fmt::join(acceptance, ","));
}

LengthsText read_lengths(std::string_view text, std::string_view where) {
  if (same_spelling(text, "constant")) return {};
  if (const auto variation = behind("lognormal:", text)) return {read_variation(*variation, where)};
  require_file_access(std::string(text));
  return {0, std::string(text)};
}

std::string lengths_text(const LengthsText& lengths) {
  if (!lengths.file.empty()) return lengths.file;
  return lengths.variation == 0 ? "constant" : fmt::format("lognormal:{:g}", lengths.variation);
}

}  // namespace llmcalc
