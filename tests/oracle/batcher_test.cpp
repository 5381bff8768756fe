// `serve` compared with a batcher written from vLLM's scheduler: every request's first and last token, to the tick.

#include "tests/oracle/batcher.hpp"

#include "serve/fleet/fleet.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"
#include "tests/serve/fast_card.hpp"

using namespace llmcalc;

namespace {

using oracle::Arrival;
using oracle::Outcome;
using oracle::Pass;
using oracle::Settings;

/// n new tokens of a sequence after `past` others are n past + n (n + 1) / 2 query-key pairs.
CoreWork core_of(const oracle::Scheduled& s) {
  return {s.tokens, s.past + s.tokens, s.tokens * s.past + s.tokens * (s.tokens + 1) / 2};
}
/// The engine's description of a pass, from which its time follows.
PassWork work_of(const Pass& pass) {
  PassWork w;
  for (const oracle::Scheduled& s : pass) {
    (s.decodes ? w.decoded : w.prompt_tokens) += s.tokens;
    (s.decodes ? w.decoding : w.chunks) += 1;
    (s.decodes ? w.decodes : w.prompts)[0] += core_of(s);
    w.sampled += s.samples ? 1 : 0;
  }
  return w;
}

Fleet fleet_of(const Settings& s) {
  return {.server = {.scheduler = {.pass_tokens = s.budget,
                                   .sequences = s.sequences,
                                   .chunk_tokens = s.threshold,
                                   .whole_prompt_fits = s.reserves_prompt,
                                   .block_tokens = s.block,
                                   .blocks = s.blocks}}};
}

std::vector<Outcome> served_by_engine(const Settings& s, const PassTimes& times, const RequestTraffic& traffic) {
  std::vector<Outcome> all;
  for (const AnswerTimes& a : serve(fleet_of(s), times, traffic).answers)
    all.push_back({a.first, a.last, static_cast<Count>(a.preemptions)});
  return all;
}

std::vector<Outcome> served_by_oracle(const Settings& s, const PassTimes& times, const RequestTraffic& traffic) {
  std::vector<Arrival> jobs;
  for (const ServerRequest& q : traffic.requests) jobs.push_back({ticks(q.at), q.prompt, q.generate});
  return oracle::Batcher(s, jobs, [&](const Pass& p) { return times.pass(work_of(p)); }).run();
}

/// Checks that `serve` and the batcher agree, and returns the number of preemptions.
Count agree(const Settings& s, const PassTimes& times, const RequestTraffic& traffic) {
  const std::vector<Outcome> expected = served_by_oracle(s, times, traffic), got = served_by_engine(s, times, traffic);
  Count preemptions = 0;
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, traffic.requests[i].prompt, traffic.requests[i].generate);
    CHECK(got[i].first == expected[i].first);
    CHECK(got[i].last == expected[i].last);
    CHECK(got[i].preemptions == expected[i].preemptions);
    preemptions += expected[i].preemptions;
  }
  return preemptions;
}

const PassTimes& llama() {
  static const PassTimes times = pass_times(test::llama31_8b(), {}, {}, test::fast_card());
  return times;
}

RequestTraffic written(const std::vector<std::array<double, 3>>& rows) {
  RequestTraffic t;
  for (const auto& [at, prompt, output] : rows) {
    ServerRequest q;
    q.at = Seconds(at);
    q.prompt = static_cast<Count>(prompt);
    q.generate = static_cast<Count>(output);
    t.requests.push_back(q);
  }
  return t;
}
RequestTraffic drawn(double rate, Count n, double prompt, double output, std::uint64_t seed) {
  using Kind = Distribution::Kind;
  return open_traffic({.count = n,
                       .interval = {.kind = Kind::exponential, .mean = 1 / rate},
                       .prompt = {.kind = Kind::log_normal, .mean = prompt, .spread = 1},
                       .generate = {.kind = Kind::gamma, .mean = output, .spread = 0.7},
                       .seed = seed});
}

}  // namespace

TEST_CASE("in a hand-computed schedule, decoding goes first and prompts are truncated to the remaining budget",
          "[oracle][serve]") {
  // Passes of 10 tokens and 2 ticks. The second request, 20 tokens long, arrives in the first one's first pass of 4.
  // Its chunks: 9 with a decoded token, 9, then the last 2; so its first token comes with the fourth pass.
  const RequestTraffic t = written({{0, 4, 5}, {1e-18, 20, 2}});
  std::vector<Count> tokens;
  oracle::Batcher b({.budget = 10}, {{0, 4, 5}, {1, 20, 2}}, [&](const Pass& p) {
    tokens.push_back(p.back().tokens);
    return Ticks{2};
  });
  const std::vector<Outcome> all = b.run();
  CHECK(tokens == std::vector<Count>{4, 9, 9, 2, 1});
  CHECK(all == std::vector<Outcome>{{2, 10, 0}, {8, 10, 0}});
  CHECK(agree({.budget = 10}, llama(), t) == 0);
}

TEST_CASE("in a hand-computed schedule, the newest sequence is preempted and recomputes its tokens",
          "[oracle][serve]") {
  // Four blocks of 4 tokens. Two prompts of 7 tokens use two blocks each, which store 8 tokens including the first
  // output. The second output of the first sequence needs a third block, so the second sequence is preempted. It
  // recomputes 7 + 1 or 2 tokens when the first sequence ends.
  oracle::Batcher b({.budget = 100, .block = 4, .blocks = 4}, {{0, 7, 4}, {0, 7, 4}},
                    [](const Pass&) { return Ticks{1}; });
  const std::vector<Outcome> all = b.run();
  CHECK(all[0] == Outcome{1, 4, 0});
  CHECK(all[1].first == 1);
  CHECK(all[1].preemptions == 1);
  CHECK(all[1].last == 6);  // pass 5: its earlier 9 tokens, and its third output; pass 6: the fourth
  CHECK(agree({.budget = 100, .block = 4, .blocks = 4}, llama(), written({{0, 7, 4}, {0, 7, 4}})) == 1);
}

TEST_CASE("serve matches the reference batcher request by request", "[oracle][serve]") {
  const std::vector<Settings> all{
      {},                                  // one prompt per pass, or several
      {.budget = 512},                     // chunked prefill
      {.budget = 2048, .threshold = 256},  // at most 256 tokens of a prompt per pass
      {.budget = 2048, .sequences = 6},    // few slots
      {.budget = 1024, .blocks = 400},     // preemption
      {.budget = 512, .blocks = 420, .reserves_prompt = false},
      {.budget = 300, .sequences = 9, .threshold = 100, .block = 5, .blocks = 1500},
  };
  Count preemptions = 0;
  for (const Settings& s : all)
    for (const double rate : {2.0, 12.0}) {
      CAPTURE(s.budget, s.sequences, s.threshold, s.blocks, rate);
      preemptions += agree(s, llama(), drawn(rate, 60, 700, 80, 5));
    }
  CHECK(preemptions > 20);
}

TEST_CASE("serve matches the reference batcher on a burst, and on requests of one token", "[oracle][serve]") {
  std::vector<std::array<double, 3>> rows;
  for (int i = 0; i < 24; ++i)
    rows.push_back({i < 12 ? 0.0 : 0.05 * i, 100.0 + 137 * (i % 7), i % 5 == 0 ? 1.0 : 10.0 + 9 * (i % 4)});
  for (const Count budget : {64, 1000, 8192})
    for (const Count blocks : {90, 100'000})
      CHECK(agree({.budget = budget, .blocks = blocks}, llama(), written(rows)) >= 0);
}
