#include <fmt/format.h>

#include "presets/estimators/power_estimate.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/interval.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

bool of_prompts(std::string_view section) { return section == "prefill"; }

Symbol pass_seconds(S s, const std::string& section) {
  return as_symbol(s, "t_p", "time of the pass, s", section + (of_prompts(section) ? ".time_s" : ".time_per_token_s"));
}
Symbol mean_watts(S s, const std::string& section) {
  return as_symbol(s, "W_p", "mean power of one GPU, W", section + ".watts");
}

/// --watts as specified, or a share of the rated power.
template <Letters section>
Formula watts_of_pass(S s) {
  if (s.request().run.watts) return {"watts"};
  const PowerParameters& p = power_estimate().parameters;
  return {"watts*min(1, p_0 + p_c*(F_p/(gpus*pi*t_p))^(1/2))",
          {{"p_0", "share of the rated power of a pass without FLOPs", number_text(p.base)},
           {"p_c", "additional share at the peak FLOP/s", number_text(p.compute)},
           as_symbol(s, "F_p", "model FLOPs of the pass", fmt::format("{}.flops", section.text)),
           pass_seconds(s, section.text)}};
}

Formula end_of_watts(S s, const char* expression, const char* section) {
  return {expression,
          {mean_watts(s, section),
           {"w_p", "factor of the interval of power", number_text(power_estimate().interval.factor)}}};
}
template <Letters section>
Formula least_watts(S s) {
  return end_of_watts(s, "W_p/w_p", section.text);
}
template <Letters section>
Formula most_watts(S s) {
  return end_of_watts(s, "min(W_p*w_p, watts)", section.text);
}

template <Letters section>
Formula joules(S s) {
  return {of_prompts(section.text) ? "gpus*W_p*t_p/(B*n_in)" : "gpus*W_p*t_p/B",
          {mean_watts(s, section.text), pass_seconds(s, section.text)}};
}

constexpr std::string_view shares = "without the host and cooling; at most the rated power";
constexpr std::string_view power_source = "presets/estimates/power.json, fitted to one source";
constexpr std::string_view rated = "a device of known power";
constexpr std::string_view rated_range = "a device of known power, without --watts";
constexpr std::string_view joint = "the intervals of power and time, whose relative errors add in squares";
constexpr std::string_view joint_range = "a device of known power, and an estimate with a known interval";

constexpr Definition power_table[] = {
    {"prefill.watts", "mean power of one GPU in prefill", "W", watts_of_pass<"prefill">, shares, power_source, rated},
    {"prefill.watts_low", "power in prefill, low end of the 90 % interval", "W", least_watts<"prefill">, shares,
     power_source, rated_range},
    {"prefill.watts_high", "power in prefill, high end of the 90 % interval", "W", most_watts<"prefill">, shares,
     power_source, rated_range},
    {"prefill.joules_per_token", "energy per prompt token", "J", joules<"prefill">, "all GPUs", power_source, rated},
    {"prefill.joules_per_token_low", "energy per prompt token, low end of the 90 % interval", "J",
     end_at<"prefill.joules_per_token", "low">, joint, power_source, joint_range},
    {"prefill.joules_per_token_high", "energy per prompt token, high end of the 90 % interval", "J",
     end_at<"prefill.joules_per_token", "high">, joint, power_source, joint_range},
    {"decode.watts", "mean power of one GPU in a decode step", "W", watts_of_pass<"decode">, shares, power_source,
     rated},
    {"decode.watts_low", "power in decode, low end of the 90 % interval", "W", least_watts<"decode">, shares,
     power_source, rated_range},
    {"decode.watts_high", "power in decode, high end of the 90 % interval", "W", most_watts<"decode">, shares,
     power_source, rated_range},
    {"decode.joules_per_token", "energy per generated token", "J", joules<"decode">, "all GPUs, without the prompt",
     power_source, rated},
    {"decode.joules_per_token_low", "energy per generated token, low end of the 90 % interval", "J",
     end_at<"decode.joules_per_token", "low">, joint, power_source, joint_range},
    {"decode.joules_per_token_high", "energy per generated token, high end of the 90 % interval", "J",
     end_at<"decode.joules_per_token", "high">, joint, power_source, joint_range},
};

}  // namespace

std::span<const Definition> power_definitions() { return power_table; }

}  // namespace llmcalc::explain
