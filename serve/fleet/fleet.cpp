#include "serve/fleet/fleet.hpp"

#include "serve/fleet/fleet_loop.hpp"

namespace llmcalc {

ServerRun serve(const Fleet& fleet, const PassTimes& times, const RequestTraffic& traffic, const ServerWatch& watch) {
  FleetLoop loop(traffic, watch);
  loop.add(fleet, times);
  return loop.run();
}

ServerRun serve(const Disaggregated& pools, const PassTimes& prompt_times, const PassTimes& answer_times,
                const RequestTraffic& traffic, const ServerWatch& watch) {
  FleetLoop loop(traffic, watch);
  Fleet prompts = pools.prompts;
  prompts.server.scheduler.prompts_only = true;
  loop.add(prompts, prompt_times, pools.transfer);
  loop.add(pools.answers, answer_times);
  return loop.run();
}

EngineRules with_micro_batches(const EngineRules& engine, const Reach& reach, Count stages, Count longest) {
  EngineRules cut = engine;
  SchedulerRules& s = cut.scheduler;
  const Count one = std::max<Count>(1, blocks_of(s, reach, longest));
  const Count parts = std::clamp<Count>(std::min(s.sequences, s.blocks / one), 1, stages);
  s.sequences /= parts;
  s.blocks /= parts;
  cut.ranks = mul(engine.ranks, parts);
  return cut;
}

Count longest_sequence(const SchedulerRules& rules, const Reach& reach) {
  const Count of_whole = rules.whole_groups, of_windows = rules.limited_groups;
  if (of_whole == 0 && most_blocks_of(rules, reach, any_length) <= rules.blocks) return any_length;
  Count fits = 0, too_long = 1;
  if (of_whole > 0)
    too_long = rules.blocks / of_whole * rules.block_tokens + 1;
  else if (of_windows > 0)
    too_long = rules.blocks / of_windows * limited_block(rules) + 1;
  while (too_long - fits > 1) {
    const Count middle = fits + (too_long - fits) / 2;
    (most_blocks_of(rules, reach, middle) <= rules.blocks ? fits : too_long) = middle;
  }
  return fits;
}

Count shared_blocks(const SchedulerRules& rules, Count prefix) {
  return rules.prefix_cache ? rules.whole_groups * (prefix / rules.block_tokens) : 0;
}

Count most_sequences(const SchedulerRules& rules, const Reach& reach, Count tokens, Count prefix) {
  const Count once = shared_blocks(rules, prefix), each = most_blocks_of(rules, reach, tokens) - once;
  if (each <= 0) return rules.sequences;
  return std::clamp<Count>((rules.blocks - once) / each, 0, rules.sequences);
}

}  // namespace llmcalc
