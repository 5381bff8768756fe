#include "report/target.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "report/option_values.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view first_token_prefix = "ttft ";

/// "50 " of "50 tokens/s"; the text itself where it is no rate.
std::string_view without_rate(std::string_view text) {
  constexpr std::array<std::string_view, 3> units{"tokens/s", "token/s", "tok/s"};
  for (const std::string_view unit : units)
    if (lower(text).ends_with(unit)) {
      text.remove_suffix(unit.size());
      return text.ends_with(' ') ? text.substr(0, text.size() - 1) : text;
    }
  return text;
}

SpeedTarget parsed_target(std::string_view text, std::string_view where) {
  if (lower(text).starts_with(first_token_prefix))
    return {parse_seconds(text.substr(first_token_prefix.size()), where), true};
  const std::string_view rate = without_rate(text);
  if (rate != text) return {Seconds(1 / parse_positive_real(rate, where))};
  return {parse_seconds(text, where)};
}

[[noreturn]] void refuse_target(std::string_view text, std::string_view where) {
  refuse_value(where,
               "a speed of one sequence above 0 (\"50 tokens/s\"), a time per token (\"20 ms\") or a time to the first "
               "token (\"TTFT 0.5 s\")",
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
  return target.first_token ? fmt::format("TTFT {:g} s", target.time.value)
                            : fmt::format("{:g} tokens/s", 1 / target.time.value);
}

}  // namespace llmcalc
