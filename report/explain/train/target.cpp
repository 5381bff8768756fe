// Changes that would reach the speed of --target.

#include "ask/request/target.hpp"
#include "report/explain/definition.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// The target time. A rate counts as the time per token.
Formula asked_time(S s) {
  const auto& target = s.request().target;
  return {"t_ask", {{"t_ask", "target time, s", number_text(target ? target->time.value : 1)}}};
}
Formula factor(S s) {
  return {"beta_t/beta",
          {as_symbol(s, "beta_t", "minimum memory bandwidth for the target, bytes/s", "target.memory_bytes_per_s")}};
}

constexpr std::string_view searched = "bisection on the estimated time";
constexpr std::string_view wants_target = "--target SPEED and a change that reaches it";
constexpr std::string_view one_change = "all else unchanged; for the given software stack, if any";

constexpr Definition target_table[] = {
    {"target.time_per_token_s", "target time per token", "s", asked_time,
     "one sequence, halfway through the generation", "--target", "--target \"50 tokens/s\" or \"20 ms\""},
    {"target.ttft_s", "target time to first token", "s", asked_time, "all prompts of the batch in one pass", "--target",
     "--target \"TTFT 0.5 s\""},
    {"target.bandwidth_factor", "minimum memory bandwidth to reach the target, relative to the device", "", factor,
     one_change, searched, wants_target},
    {"target.memory_bytes_per_s", "minimum memory bandwidth to reach the target", "bytes/s",
     [](S s) { return from_engine(s, "beta_t", "searched in steps of 1 MB/s", "target.memory_bytes_per_s"); },
     one_change, searched, wants_target},
    {"target.batch", "largest batch that reaches the target and fits", "sequences",
     [](S s) { return from_engine(s, "B_t", "sequences; one more exceeds the limit", "target.batch"); }, one_change,
     searched, wants_target},
    {"target.tp", "minimum number of tensor-parallel devices that reaches the target and fits the plan", "",
     [](S s) { return from_engine(s, "T_t", "first of 1, 2, 4, ... that reaches the target", "target.tp"); },
     "within one link domain, dividing the heads evenly", "trial of each number with the estimated time", wants_target},
};

/// The longest step that meets the target, in the form in which the user specified the target.
Formula asked_step(S s) {
  const auto& target = s.request().target;
  const SpeedTarget t = target.value_or(SpeedTarget{});
  switch (t.kind) {
    case TargetKind::rate:
      return {"n_r*m*B*S/r_ask", {{"r_ask", "target tokens/s", number_text(1 / t.time.value)}}};
    case TargetKind::utilization:
      return {"n_r*m*F_model/(u_ask*gpus*pi)", {{"u_ask", "target MFU", number_text(t.amount)}}};
    case TargetKind::days:
      return {"n_r*m*B*S*days_ask*86400/D_run", {{"days_ask", "target days", number_text(t.amount)}}};
    case TargetKind::time:
    case TargetKind::first_token:
      break;
  }
  return {"t_ask", {{"t_ask", "target time, s", number_text(t.time.value)}}};
}
/// The lowest hardware rate that meets the target, relative to the device's.
Formula least(S s, const char* what, const char* path) { return from_engine(s, "x_t", what, path); }

constexpr std::string_view wants_step = "--target SPEED and a change that reaches it";
constexpr Definition step_target_table[] = {
    {"step_target.step_s", "longest step time that reaches the target", "s", asked_step,
     "target set as step time, tokens/s of all GPUs, MFU, or days of the run", "--target",
     "--target \"8 s\", \"60000 tokens/s\", \"45 % MFU\" or \"30 days\""},
    {"step_target.reached", "is the target reached?", "",
     [](S s) -> Formula {
       return {"step_time/t_max",
               {as_symbol(s, "t_max", "longest step time that reaches the target, s", "step_target.step_s")}};
     },
     "requires that the plan fits", "--target", "--target SPEED", "yes if this is at most 1 and the plan fits"},
    {"step_target.bandwidth_factor", "minimum memory bandwidth to reach the target, relative to the device", "",
     [](S s) { return least(s, "searched in steps of 1 MB/s", "step_target.bandwidth_factor"); }, one_change, searched,
     wants_step},
    {"step_target.peak_factor", "minimum matmul peak to reach the target, relative to the device", "",
     [](S s) {
       return least(s, "searched in steps of 1 GFLOP/s, all formats scaled equally", "step_target.peak_factor");
     },
     one_change, searched, wants_step},
    {"step_target.link_factor", "minimum link bandwidth to reach the target, relative to the device", "",
     [](S s) { return least(s, "searched in steps of 1 MB/s", "step_target.link_factor"); }, one_change, searched,
     wants_step},
    {"step_target.network_factor", "minimum network bandwidth to reach the target, relative to the device", "",
     [](S s) { return least(s, "searched in steps of 1 MB/s", "step_target.network_factor"); }, one_change, searched,
     wants_step},
    {"step_target.gpus", "minimum number of GPUs that reaches the target and fits the plan", "",
     [](S s) { return from_engine(s, "n_t", "replicas that share the same global batch", "step_target.gpus"); },
     "whole replicas of the same layout", "trial of each number with the estimated time", wants_step},
};

}  // namespace

std::span<const Definition> step_target_definitions() { return step_target_table; }
std::span<const Definition> target_definitions() { return target_table; }

}  // namespace llmcalc::explain
