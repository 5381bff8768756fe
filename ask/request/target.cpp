#include "ask/request/target.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "ask/request/options/option_values.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view first_token_prefix = "ttft ";
constexpr std::array<std::string_view, 3> rate_units{"tokens/s", "token/s", "tok/s"};
constexpr std::array<std::string_view, 3> utilization_units{"% mfu", "%mfu", "mfu"};
constexpr std::array<std::string_view, 2> day_units{"days", "day"};

/// The text without its unit: "50" for "50 tokens/s"; unchanged if it does not end in one of these units.
template <std::size_t n>
std::string_view without(const std::array<std::string_view, n>& units, std::string_view text) {
  for (const std::string_view unit : units)
    if (lower(text).ends_with(unit)) {
      text.remove_suffix(unit.size());
      return text.ends_with(' ') ? text.substr(0, text.size() - 1) : text;
    }
  return text;
}

/// Reads an MFU: "45 % MFU" and "0.45 MFU" are both 0.45.
double utilization_of(std::string_view text, std::string_view number, std::string_view where) {
  const double x = parse_positive_real(number, where);
  const double share = text.find('%') == std::string_view::npos ? x : x / 100;
  if (share > 1) throw InputError("an MFU above 100 %");
  return share;
}

SpeedTarget parsed_target(std::string_view text, std::string_view where) {
  if (lower(text).starts_with(first_token_prefix))
    return {TargetKind::first_token, parse_seconds(text.substr(first_token_prefix.size()), where)};
  if (const std::string_view rate = without(rate_units, text); rate != text)
    return {TargetKind::rate, Seconds(1 / parse_positive_real(rate, where))};
  if (const std::string_view share = without(utilization_units, text); share != text)
    return {TargetKind::utilization, Seconds(1), utilization_of(text, share, where)};
  if (const std::string_view days = without(day_units, text); days != text)
    return {TargetKind::days, Seconds(1), parse_positive_real(days, where)};
  return {TargetKind::time, parse_seconds(text, where)};
}

[[noreturn]] void refuse_target(std::string_view text, std::string_view where) {
  refuse_value(where,
               "a speed above 0: tokens/s (\"50 tokens/s\"), time per token or training step (\"20 ms\"), time to "
               "first token (\"TTFT 0.5 s\"), MFU (\"45 % MFU\") or days of a run (\"30 days\")",
               text);
}

}  // namespace

SpeedTarget read_target(std::string_view text, std::string_view where) {
  SpeedTarget target;
  try {
    target = parsed_target(text, where);
  } catch (const InputError&) {
    refuse_target(text, where);
  }
  if (!std::isnormal(target.time.value) || !std::isnormal(1 / target.time.value)) refuse_target(text, where);
  return target;
}

std::string target_text(const SpeedTarget& target) {
  const double t = target.time.value;
  switch (target.kind) {
    case TargetKind::time:
      return t < 1 ? fmt::format("{:g} ms", 1000 * t) : fmt::format("{:g} s", t);
    case TargetKind::rate:
      return fmt::format("{:g} tokens/s", 1 / t);
    case TargetKind::first_token:
      return fmt::format("TTFT {:g} s", t);
    case TargetKind::utilization:
      return fmt::format("{:g} % MFU", 100 * target.amount);
    case TargetKind::days:
      return fmt::format("{:g} days", target.amount);
  }
  return "";
}

}  // namespace llmcalc
