// Memory of a serving engine: its formula, its terms, its blocks.

#include "serve/engine_memory.hpp"

#include "calc/memory.hpp"
#include "serve/fleet/fleet.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;

namespace {

constexpr EngineLimits small{.pass_tokens = 512, .sequences = 8, .block_tokens = 16};
constexpr Bytes gib{Count{1} << 30};

/// Two layers that divide evenly over two ranks: h 26, f 80, 4 heads of width 5 in 2 groups, V 104.
Arch even_llama() {
  Arch a = test::tiny_llama();
  a.heads = 4;
  a.kv_heads = 2;
  a.mlp_width = 80;
  a.vocabulary = 104;
  return a;
}

Plan of_16_bits() {
  Plan p;
  p.batch = 1;
  return p;
}
Layout tensor_ranks(Count n) {
  Layout l;
  l.tp = n;
  return l;
}

}  // namespace

TEST_CASE("an engine's activation memory is one MLP's intermediates plus hidden states", "[engine-memory]") {
  const Arch arch = even_llama();
  for (const Count t : {1, 2}) {
    // 2 T (3 f/t + 4 h)
    const Count expected = 2 * 512 * (3 * arch.mlp_width / t + 4 * arch.hidden);
    CHECK(profiled_activations(arch, of_16_bits(), tensor_ranks(t), small, 0) == Bytes(expected));
  }
}

TEST_CASE("a large sampler sets the activation memory and is replicated across ranks", "[engine-memory]") {
  const Arch arch = even_llama();
  const EngineLimits many{.pass_tokens = 16, .sequences = 4096, .block_tokens = 16};
  const Count sampler = 38 * 4096 * arch.vocabulary + 2 * 16 * arch.hidden;  // c S V + 2 T h
  CHECK(profiled_activations(arch, of_16_bits(), {}, many, 38) == Bytes(sampler));
  CHECK(profiled_activations(arch, of_16_bits(), tensor_ranks(2), many, 38) == Bytes(sampler));
}

TEST_CASE("the terms of an engine's memory add up to the granted bytes", "[engine-memory]") {
  const Arch arch = even_llama();
  const EngineTerms terms{.logit_bytes = 15,
                          .libraries = Bytes(100),
                          .graphs = Bytes(20),
                          .adapters = Bytes(3),
                          .draft = Bytes(400),
                          .draft_token_cache = Bytes(64)};
  const EngineMemory m = engine_memory(arch, of_16_bits(), {}, gib, small, terms);
  CHECK(m.weights + m.draft + m.adapters + m.activations + m.libraries + m.graphs + m.kv_cache == gib);
  CHECK(m.token_cache == cache_bytes_per_token(arch, of_16_bits()) + Bytes(64));
  CHECK(m.kv_tokens == 16 * m.blocks);
  CHECK(m.kv_tokens * m.token_cache <= m.kv_cache);
  CHECK((m.kv_tokens + 16) * m.token_cache > m.kv_cache);
}

TEST_CASE("a model that does not fit leaves a negative cache and no tokens", "[engine-memory]") {
  const EngineMemory m = engine_memory(even_llama(), of_16_bits(), {}, Bytes(1000), small, {});
  CHECK(m.kv_cache < Bytes());
  CHECK(m.kv_tokens == 0);
}

TEST_CASE("a sequence uses entire cache blocks, and a sliding window uses up to one block more", "[engine-memory]") {
  const SchedulerRules whole{.blocks = 15}, window{.blocks = 15, .whole_groups = 0, .limited_groups = 1};
  const Reach reach{.tokens = 20};
  CHECK(blocks_of(whole, {}, 33) == 3);
  CHECK(blocks_of(window, reach, 20) == 2);
  CHECK(blocks_of(window, reach, 33) == 3);  // two blocks for 20 tokens, and one
  CHECK(blocks_of(window, reach, 10000) == 3);
}

TEST_CASE("concurrent sequences are limited by cache blocks and by the engine's maximum", "[engine-memory]") {
  const SchedulerRules rules{.sequences = 7, .blocks = 15};
  CHECK(most_sequences(rules, {}, 33) == 5);
  CHECK(most_sequences(rules, {}, 49) == 3);
  CHECK(most_sequences(rules, {}, 1) == 7);
  CHECK(longest_sequence(rules, {}) == 15 * 16);
}

TEST_CASE("blocks of a prefix shared by all sequences are stored once", "[engine-memory]") {
  const SchedulerRules rules{.sequences = 100, .block_tokens = 16, .blocks = 40, .prefix_cache = true};
  CHECK(shared_blocks(rules, 100) == 6);  // only full blocks
  CHECK(most_sequences(rules, {}, 160) == 4);
  CHECK(most_sequences(rules, {}, 160, 100) == 8);  // (40 - 6) / (10 - 6)
  SchedulerRules without = rules;
  without.prefix_cache = false;
  CHECK(most_sequences(without, {}, 160, 100) == 4);
  CHECK(most_sequences(rules, {}, 2000, 1000) == 0);
}

TEST_CASE("a cache of only windowed layers holds sequences of any length if one window fits", "[engine-memory]") {
  const SchedulerRules rules{
      .pass_tokens = 1, .sequences = 100, .block_tokens = 16, .blocks = 15, .whole_groups = 0, .limited_groups = 1};
  CHECK(longest_sequence(rules, {.tokens = 60}) == any_length);
  CHECK(most_sequences(rules, {.tokens = 60}, 1'000'000) == 3);  // four blocks for 60 tokens, and one
  CHECK(most_sequences(rules, {.tokens = 60}, 20) == 7);
  CHECK(longest_sequence(rules, {.tokens = 300}) == 15 * 16);
}

TEST_CASE("a cache of only recurrent states holds sequences of any length", "[engine-memory]") {
  const SchedulerRules rules = of_states_alone({.sequences = 100, .prefix_cache = true}, 5);
  CHECK(longest_sequence(rules, {}) == any_length);
  CHECK(most_sequences(rules, {}, 1) == 5);
  CHECK(most_sequences(rules, {}, 1'000'000) == 5);
  CHECK(longest_sequence(of_states_alone({}, 0), {}) == 0);
  Count most = 0;
  const ServerWatch watch{.pass = [&](const PassRecord& p) { most = std::max(most, p.in_progress); }};
  const RequestTraffic t{.requests = std::vector<ServerRequest>(20, test::request(500, 300))};
  const ServerRun run = serve({.server = {.scheduler = rules}}, test::even_times(), t, watch);
  CHECK(most == 5);
  CHECK(run.most_blocks == 5);
  CHECK(run.tokens == 20 * 300);
}
