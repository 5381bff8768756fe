// Host offload in inference: bytes on the host, and their transfer time.

#include "calc/infer.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr double way = 50e9;

Cluster card_with_host() {
  Cluster c = device(989.4e12, 3.35e12, 450e9);
  c.device.host.link = BytesPerSecond(way);
  return c;
}

Plan offloading(const Offload& o) {
  Plan p;
  p.batch = 4;
  p.prompt = 100;
  p.generate = 28;
  p.offload = o;
  return p;
}

double seconds_of_step(const Arch& a, const Plan& p) {
  return decode(a, p, {}, card_with_host(), 100).bound.total().value;
}

}  // namespace

TEST_CASE("a decode step transfers the offloaded share of its blocks over the link", "[offload][infer]") {
  const Arch a = llama31_8b();
  // 32 layers of q and out 4096 x 4096, k and v 4096 x 1024, and three matrices 4096 x 14336, in 16 bits
  const double blocks = 2.0 * 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336);
  const double more = seconds_of_step(a, offloading({.weights = {1, 2}})) - seconds_of_step(a, offloading({}));
  CHECK(more == Approx(blocks / 2 / way).epsilon(1e-9));
}

TEST_CASE("a decode step transfers only the offloaded experts that its tokens are routed to", "[offload][infer]") {
  const Arch a = mixtral_8x7b();
  const Plan all = offloading({.experts = {1, 1}}), none = offloading({});
  const double reached = 8 * (1 - 0.75 * 0.75 * 0.75 * 0.75);  // experts reached by 4 tokens, 2 of 8 each
  const double bytes = reached * 32 * 3 * 4096 * 14336 * 2;
  CHECK(seconds_of_step(a, all) - seconds_of_step(a, none) == Approx(bytes / way).epsilon(1e-9));
}

TEST_CASE("a decode step transfers the offloaded share of its cache", "[offload][infer]") {
  const Arch a = llama31_8b();
  const double bytes = 4.0 * 100 * 32 * 2 * 1024 * 2;
  const double more = seconds_of_step(a, offloading({.cache = {1, 4}})) - seconds_of_step(a, offloading({}));
  CHECK(more == Approx(bytes / 4 / way).epsilon(1e-9));
}

TEST_CASE("host and device together hold as many bytes as a device without offload", "[offload][infer]") {
  const Arch a = mixtral_8x7b();
  const Memory alone = inference_memory(a, offloading({}));
  const Memory both = inference_memory(a, offloading({.weights = {1, 2}, .experts = {3, 4}, .cache = {1, 4}}));
  CHECK(both.weights + both.kv_cache + both.host == alone.weights + alone.kv_cache);
  CHECK(alone.peak - both.peak == both.host);
  const Bytes experts(Count{8} * 32 * 3 * 4096 * 14336 * 2),
      attention(Count{32} * 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024));
  const Bytes router(Count{32} * 2 * 8 * 4096), cache(Count{4} * 128 * 32 * 2 * 1024 * 2);
  CHECK(both.host == share_of(experts, {3, 4}) + share_of(attention + router, {1, 2}) + share_of(cache, {1, 4}));
}
