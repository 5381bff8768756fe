#include "serve/fleet.hpp"

#include "serve/fleet_loop.hpp"

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

Count longest_sequence(const SchedulerRules& rules, const Reach& reach) {
  Count fits = 0, too_long = rules.blocks / rules.whole_groups * rules.block_tokens + 1;
  while (too_long - fits > 1) {
    const Count middle = fits + (too_long - fits) / 2;
    (blocks_of(rules, reach, middle) <= rules.blocks ? fits : too_long) = middle;
  }
  return fits;
}

}  // namespace llmcalc
