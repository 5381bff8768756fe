// Memory that engines grant to the cache, and blocks of layers with unequal bytes per token.

#include "serve/fleet/fleet.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr EngineLimits limits{.pass_tokens = 64, .sequences = 4, .block_tokens = 1};
constexpr Bytes device{1'000'000'000};

EngineMemory memory(CacheGrant grant, Bytes granted, double share = 1) {
  EngineTerms terms;
  terms.libraries = Bytes(10'000'000);
  terms.grant = grant;
  terms.share_of_free = share;
  return engine_memory(even(), Plan{}, {}, granted, limits, terms);
}
Bytes sum(const EngineMemory& m) { return m.weights + m.activations + m.libraries + m.kv_cache; }

}  // namespace

TEST_CASE("a static memory fraction covers weights and cache, but not activations", "[engine-memory]") {
  const EngineMemory share = memory(CacheGrant::share, device), fixed = memory(CacheGrant::static_share, device);
  CHECK(fixed.kv_cache == share.kv_cache + share.activations);
  CHECK(fixed.granted == device + share.activations);
  CHECK((sum(share) == share.granted && sum(fixed) == fixed.granted));
}

TEST_CASE("a cache granted a share of free memory leaves the rest unused", "[engine-memory]") {
  const EngineMemory whole = memory(CacheGrant::whole, device), part = memory(CacheGrant::share_of_free, device, 0.5);
  CHECK(part.kv_cache.value == Approx(0.5 * static_cast<double>(whole.kv_cache.value)).margin(1));
  CHECK(sum(part) == part.granted);
}

// 2 layers that see all tokens with 4096 bytes per token, 10 with a window of 1024 tokens and 8192 bytes: one group of
// 2 whole layers with blocks of 32 tokens, and 5 groups of 2 layers with blocks of 16.
TEST_CASE("layers with fewer cache bytes per token have longer cache blocks", "[engine-memory]") {
  const SchedulerRules rules{.pass_tokens = 8192,
                             .block_tokens = 32,
                             .limited_block_tokens = 16,
                             .blocks = 282'234,
                             .whole_groups = 1,
                             .limited_groups = 5};
  const Reach window{.tokens = 1024};
  CHECK(blocks_of(rules, window, 251'000) == 7844 + 5 * 65);
  CHECK(most_blocks_of(rules, window, 251'000) == 7844 + 5 * 577);
  CHECK(most_sequences(rules, window, 251'000) == 26);
}
