// A server's pipelines: stages, pace, memory, micro-batches.

#include "serve/times/stages.hpp"

#include "calc/memory.hpp"
#include "calc/step/row_time.hpp"
#include "serve/engine_memory.hpp"
#include "serve/fleet/fleet.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"
#include "tests/serve/fast_card.hpp"

using namespace llmcalc;

namespace {

Layout pipeline_of_ranks(Count n) {
  Layout l;
  l.pp = n;
  return l;
}

std::vector<Count> layers_of_stages(Count layers, Count stages) {
  std::vector<Count> all;
  for (Count i = 0; i < stages; ++i) all.push_back(served_stage(layers, stages, i).layers());
  return all;
}

}  // namespace

TEST_CASE("layers left over by an even split go to the stages before the last one", "[serve][stages]") {
  CHECK(layers_of_stages(32, 4) == std::vector<Count>{8, 8, 8, 8});
  CHECK(layers_of_stages(61, 8) == std::vector<Count>{7, 7, 8, 8, 8, 8, 8, 7});
  CHECK(layers_of_stages(7, 4) == std::vector<Count>{2, 2, 2, 1});
  CHECK(served_stage(7, 4, 3).end == 7);
  CHECK(served_stage(7, 4, 3).head);
  CHECK_FALSE(served_stage(7, 4, 3).embedding);
}

TEST_CASE("a pass through equal stages adds two sends per boundary, at the pace of the head's stage",
          "[serve][stages]") {
  const Arch arch = test::llama31_8b();
  const Cluster card = test::fast_card();
  const PassTimes one = pass_times(arch, {}, {}, card), four = pass_times(arch, {}, pipeline_of_ranks(4), card);
  for (const Count n : {8, 512, 2048}) {
    const Prices p = price_prefill(arch, with_batch({}, 1), pipeline_of_ranks(4), card.device, n);
    const double send = send_seconds(p, pipeline_of_ranks(4), card, Efficiency::estimated).value;
    CHECK(seconds(four.rows.at(n) - one.rows.at(n)).value == Approx(6 * send).epsilon(1e-6));
    CHECK(seconds(four.head.at(n)).value == Approx(4 * seconds(one.head.at(n)).value).epsilon(1e-9));
  }
  CHECK(four.decodes[0][0].key == one.decodes[0][0].key);
}

TEST_CASE("pipeline stages of 8 and 7 layers run at the pace of 8 layers", "[serve][stages]") {
  Arch arch = test::llama31_8b();
  arch.layers = 61;
  const PassTimes one = pass_times(arch, {}, {}, test::fast_card());
  const PassTimes eight = pass_times(arch, {}, pipeline_of_ranks(8), test::fast_card());
  const double key = static_cast<double>(one.decodes[0][0].key);
  CHECK(static_cast<double>(eight.decodes[0][0].key) == Approx(key * 64 / 61).epsilon(1e-9));
  CHECK(eight.head.at(8) < 8 * one.head.at(8));  // the last stage has one layer fewer
}

TEST_CASE("pipeline stages together hold one copy of the model, and the fullest stage limits the cache",
          "[serve][stages]") {
  const Arch arch = test::llama31_8b();
  const EngineLimits limits{.pass_tokens = 512, .sequences = 8, .block_tokens = 16};
  const Bytes granted(Count{40} << 30);
  const EngineMemory one = engine_memory(arch, {}, {}, granted, limits, {});
  const EngineMemory two = engine_memory(arch, {}, pipeline_of_ranks(2), granted, limits, {});
  CHECK(2 * two.weights == one.weights + Bytes(2 * arch.hidden));  // the last stage has the final norm
  CHECK(2 * two.token_cache == one.token_cache);
  CHECK(two.kv_cache == granted - two.weights - two.activations);
  CHECK(two.kv_tokens > 2 * one.kv_tokens);
}

TEST_CASE("with a tied head, the first and the last stage both store the embedding table", "[serve][stages]") {
  Arch arch = test::llama31_8b();
  arch.tied_head = true;
  const Prices all = price_holdings(arch, {});
  const EngineLimits limits{.pass_tokens = 512, .sequences = 8, .block_tokens = 16};
  const EngineMemory two = engine_memory(arch, {}, pipeline_of_ranks(2), Bytes(Count{40} << 30), limits, {});
  CHECK(2 * two.weights ==
        weights_bytes(all, Plan().weight_precision) + all.embedding().weights + Bytes(2 * arch.hidden));
}

TEST_CASE("micro-batches divide sequences and blocks, and each has capacity for at least one request",
          "[serve][stages]") {
  const EngineRules engine{.scheduler = {.sequences = 64, .blocks = 100}, .ranks = 2};
  const EngineRules four = with_micro_batches(engine, {}, 4, 160);
  CHECK(four.ranks == 8);
  CHECK(four.scheduler.sequences == 16);
  CHECK(four.scheduler.blocks == 25);
  CHECK(with_micro_batches(engine, {}, 4, 16 * 34).ranks == 4);  // 100 blocks hold two sequences of 34 blocks
  CHECK(with_micro_batches(engine, {}, 4, 16 * 200).ranks == 2);
}

TEST_CASE("ranks that share experts each process the mean number of rows", "[serve][stages]") {
  PassTimes times = test::even_times();
  times.experts = PassRowTimes({{1, test::one_second}, {11, 11 * test::one_second}});
  const RequestTraffic t{.requests = {test::request(10, 1)}};
  const ServerRun alone = serve({}, times, t), shared = serve({.server = {.ranks = 2}}, times, t);
  CHECK(alone.end == 12 * test::one_second);  // 1 + 10 x 0.1 + 10
  CHECK(shared.end == 7 * test::one_second);  // 1 + 10 x 0.1 + 5
}
