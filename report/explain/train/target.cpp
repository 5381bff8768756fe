// Changes that would reach the speed of --target.

#include "ask/request/target.hpp"
#include "report/explain/definition.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// The target time; a rate appears as given.
Formula asked_time(S s) {
  const auto& target = s.request().target;
  return {"t_ask", {{"t_ask", "seconds asked for", number_text(target ? target->time.value : 1)}}};
}
Formula factor(S s) {
  return {"beta_t/beta",
          {as_symbol(s, "beta_t", "least memory bandwidth that does, bytes/s", "target.memory_bytes_per_s")}};
}

constexpr std::string_view searched = "a bisection of the estimated time";
constexpr std::string_view wants_target = "--target SPEED, and a change that reaches it";
constexpr std::string_view one_change = "all else as it is; under the software, where there is some";

constexpr Definition target_table[] = {
    {"target.time_per_token_s", "time of a token that is asked for", "s", asked_time,
     "of one sequence, halfway through the generation", "--target", "--target \"50 tokens/s\" or \"20 ms\""},
    {"target.ttft_s", "time to the first token that is asked for", "s", asked_time, "prompts of the batch in one pass",
     "--target", "--target \"TTFT 0.5 s\""},
    {"target.bandwidth_factor", "least memory bandwidth that reaches the target, over the device's", "", factor,
     one_change, searched, wants_target},
    {"target.memory_bytes_per_s", "least memory bandwidth that reaches the target", "bytes/s",
     [](S s) { return from_engine(s, "beta_t", "found in steps of 1 MB/s", "target.memory_bytes_per_s"); }, one_change,
     searched, wants_target},
    {"target.batch", "largest batch that reaches the target and fits", "sequences",
     [](S s) { return from_engine(s, "B_t", "sequences, one more is too many", "target.batch"); }, one_change, searched,
     wants_target},
    {"target.tp", "fewest tensor-parallel devices that reach the target and hold the plan", "",
     [](S s) { return from_engine(s, "T_t", "the first of 1, 2, 4, ... that does", "target.tp"); },
     "inside one domain of links, dividing the heads", "trial of each with the estimated time", wants_target},
};

/// The longest step that meets the target, in the form given.
Formula asked_step(S s) {
  const auto& target = s.request().target;
  const SpeedTarget t = target.value_or(SpeedTarget{});
  switch (t.kind) {
    case TargetKind::rate:
      return {"n_r*m*B*S/r_ask", {{"r_ask", "tokens/s asked for", number_text(1 / t.time.value)}}};
    case TargetKind::utilization:
      return {"n_r*m*F_model/(u_ask*gpus*pi)", {{"u_ask", "MFU asked for", number_text(t.amount)}}};
    case TargetKind::days:
      return {"n_r*m*B*S*days_ask*86400/D_run", {{"days_ask", "days asked for", number_text(t.amount)}}};
    case TargetKind::time:
    case TargetKind::first_token:
      break;
  }
  return {"t_ask", {{"t_ask", "seconds asked for", number_text(t.time.value)}}};
}
/// The lowest hardware rate that meets the target, relative to the device's.
Formula least(S s, const char* what, const char* path) { return from_engine(s, "x_t", what, path); }

constexpr std::string_view wants_step = "--target SPEED, and a change that reaches it";
constexpr Definition step_target_table[] = {
    {"step_target.step_s", "longest step that reaches the target", "s", asked_step,
     "a step as such; by tokens/s of all GPUs, MFU, or days of the run", "--target",
     "--target \"8 s\", \"60000 tokens/s\", \"45 % MFU\" or \"30 days\""},
    {"step_target.reached", "is the target reached?", "",
     [](S s) -> Formula {
       return {"step_time/t_max", {as_symbol(s, "t_max", "longest step that reaches it, s", "step_target.step_s")}};
     },
     "and does the plan fit", "--target", "--target SPEED", "yes where this is at most 1 and the plan fits"},
    {"step_target.bandwidth_factor", "least memory bandwidth that reaches the target, over the device's", "",
     [](S s) { return least(s, "found in steps of 1 MB/s", "step_target.bandwidth_factor"); }, one_change, searched,
     wants_step},
    {"step_target.peak_factor", "least matmul peak that reaches the target, over the device's", "",
     [](S s) { return least(s, "found in steps of 1 GFLOP/s, all formats alike", "step_target.peak_factor"); },
     one_change, searched, wants_step},
    {"step_target.link_factor", "least bandwidth of the link that reaches the target, over the device's", "",
     [](S s) { return least(s, "found in steps of 1 MB/s", "step_target.link_factor"); }, one_change, searched,
     wants_step},
    {"step_target.network_factor", "least bandwidth of the network that reaches the target, over the device's", "",
     [](S s) { return least(s, "found in steps of 1 MB/s", "step_target.network_factor"); }, one_change, searched,
     wants_step},
    {"step_target.gpus", "fewest GPUs that reach the target and hold the plan", "",
     [](S s) {
       return from_engine(s, "n_t", "replicas among which the same global batch is shared out", "step_target.gpus");
     },
     "whole replicas of the same layout", "trial of each with the estimated time", wants_step},
};

}  // namespace

std::span<const Definition> step_target_definitions() { return step_target_table; }
std::span<const Definition> target_definitions() { return target_table; }

}  // namespace llmcalc::explain
