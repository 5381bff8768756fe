// Replays of recorded runs.

#include "evidence/replay.hpp"

#include "evidence/convert/run_conversion.hpp"
#include "evidence/errors.hpp"
#include "presets/estimators/engine_scheduler.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;

namespace {

const RecordedRun& first_run() {
  static const RecordedRun run = test::old_runs()[0];
  return run;
}
RunCase case_of(const RecordedRun& run) { return run_case(run, test::devices_once()); }

/// Every pass takes 10 ms.
PassTimes even_passes() {
  PassTimes t;
  t.rows = PassRowTimes({{1, ticks(Seconds(0.01))}});
  return t;
}

/// Requests with one prompt token, at these times and with these numbers of generated tokens.
RecordedRun run_of(const std::vector<std::pair<double, Count>>& requests) {
  RecordedRun run = first_run();
  run.requests.clear();
  run.seconds.clear();
  for (const auto& [at, tokens] : requests)
    run.requests.push_back({.id = "r",
                            .queued = Seconds(at),
                            .first_token = Seconds(at + 0.5),
                            .last_token = Seconds(at + 1.5),
                            .prompt = 1,
                            .generated = tokens});
  return run;
}

double value_of(const std::vector<RunFigure>& all, std::string_view key) {
  return std::find_if(all.begin(), all.end(), [&](const RunFigure& f) { return f.key == key; })->value;
}

}  // namespace

TEST_CASE("request times count from arrival, and throughput from the first arrival to the last token", "[recorded]") {
  const RequestTimes t = recorded_times(case_of(run_of({{2, 1}, {3, 11}})));
  CHECK(t.first_token == std::vector{Seconds(0.5), Seconds(0.5)});
  CHECK(t.latency == std::vector{Seconds(1.5), Seconds(1.5)});
  REQUIRE(t.per_token.size() == 1);  // a single token has no time per token
  CHECK(t.per_token[0].value == Approx(0.1));
  CHECK(t.tokens_per_s == Approx(12 / 2.5));  // from 2 s to 4.5 s
}

TEST_CASE("a replay serves requests pass by pass, no earlier than they arrive", "[recorded]") {
  const RecordedRun run = run_of({{2, 3}, {3, 1}});
  const Replay r = replay(case_of(run), even_passes());
  CHECK(r.passes == 4);
  CHECK(r.times.first_token[0].value == Approx(0.01));
  CHECK(r.times.latency[0].value == Approx(0.03));
  CHECK(r.times.per_token[0].value == Approx(0.01));
  CHECK(r.times.latency[1].value == Approx(0.01));
  CHECK(r.times.tokens_per_s == Approx(4 / 1.01));
}

TEST_CASE("a router balances dense engines by load, and engines that share experts run in lockstep", "[recorded]") {
  RecordedRun run = run_of({{0, 2}, {0, 2}, {0, 2}, {0, 2}});
  run.max_num_seqs = 1;
  CHECK(replay(case_of(run), even_passes()).times.latency[3].value == Approx(0.08));
  run.data_ranks = 2;
  CHECK(replay(case_of(run), even_passes()).times.latency[3].value == Approx(0.04));
  run.model = "Qwen/Qwen3-30B-A3B";
  run.expert_parallel = true;
  CHECK(replay(case_of(run), even_passes()).times.latency[3].value == Approx(0.04));
}

TEST_CASE("the figures of a run are means and percentiles in milliseconds", "[recorded]") {
  RequestTimes t;
  t.tokens_per_s = 7;
  for (int i = 1; i <= 101; ++i) t.first_token.push_back(Seconds(i * 1e-3));
  t.latency = {Seconds(2)};
  const std::vector<RunFigure> all = run_figures(t);
  CHECK(value_of(all, "ttft_mean_ms") == Approx(51));
  CHECK(value_of(all, "ttft_p50_ms") == Approx(51));
  CHECK(value_of(all, "ttft_p90_ms") == Approx(91));
  CHECK(value_of(all, "ttft_p99_ms") == Approx(100));
  CHECK(value_of(all, "latency_p90_ms") == Approx(2000));
  CHECK(value_of(all, "throughput_tok_s") == 7);
  CHECK(all.size() == 9);  // no request has a second token
}

TEST_CASE("token rates over time add up to the total tokens of the run", "[recorded]") {
  const RecordedRun& run = first_run();
  const Replay r = replay(case_of(run), even_passes());
  double predicted = 0;
  for (const RateOverTime& rate : r.rates) predicted += rate.predicted * (rate.end - rate.begin).value;
  double tokens = 0;
  for (const RecordedRequest& request : run.requests) tokens += static_cast<double>(request.generated);
  CHECK(predicted == Approx(tokens).epsilon(1e-6));
}

TEST_CASE("sliding-window layers have separate cache block groups", "[recorded]") {
  const RunCase c = case_of(first_run());
  const SchedulerRules dense = scheduler_rules(c.arch, c.memory, c.limits, c.stack);
  CHECK(dense.blocks == c.memory.blocks);
  CHECK(dense.limited_groups == 0);
  CHECK(dense.sequences == 128);
  Arch gemma = c.arch;  // five of six layers have a window
  gemma.layers = 48;
  for (Count i = 0; i < 48; ++i)
    if (i % 6 != 5) gemma.local.layers.insert(i);
  gemma.local.reach.tokens = 1024;
  const SchedulerRules mixed = scheduler_rules(gemma, c.memory, c.limits, c.stack);
  CHECK(mixed.whole_groups == 1);
  CHECK(mixed.limited_groups == 5);
  CHECK(mixed.blocks == 6 * c.memory.blocks);
  Arch mistral = c.arch;  // every layer has a window
  for (Count i = 0; i < mistral.layers; ++i) mistral.local.layers.insert(i);
  mistral.local.reach.tokens = 4096;
  const SchedulerRules windows = scheduler_rules(mistral, c.memory, c.limits, c.stack);
  CHECK(windows.whole_groups == 0);
  CHECK(windows.limited_groups == 1);
  CHECK(windows.blocks == c.memory.blocks);
  Arch pooled = mistral;  // windows in addition to keys of groups of earlier tokens, whose number grows
  pooled.attention = AttentionKind::compressed;
  CHECK(scheduler_rules(pooled, c.memory, c.limits, c.stack).whole_groups == 1);
}
