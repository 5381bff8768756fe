// What would reach the speed of --target.

#include "report/explain/definition.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// The time that is asked for; a rate is put in as it was given.
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
constexpr std::string_view one_change = "all else as it is; under the engine, where there is one";

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

}  // namespace

std::span<const Definition> target_definitions() { return target_table; }

}  // namespace llmcalc::explain
