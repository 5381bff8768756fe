// FLOPs per token under each convention.

#include "ask/answer/conventions.hpp"

#include "calc/run.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("a step's FLOPs per token match the figures of each convention's authors", "[conventions]") {
  Plan p;
  p.seq = 1024;
  p.micro_batch = p.global_batch = 1;
  const auto all = conventions(load_model("gpt-2-124m").arch, p);
  const auto of = [&](const std::string& key) {
    for (const Convention& c : all)
      if (c.key == key) return c.flops_per_token;
    return 0.0;
  };
  // N = 124,439,808, of which 786,432 positions; 6 L D S = 6 x 12 x 768 x 1024 = 56,623,104.
  CHECK(of("six_n") == 746638848);
  CHECK(of("llm_c") == 746638848 + 56623104);
  CHECK(of("palm") == 746638848 + 2 * 56623104);
  CHECK(of("nanogpt") == 746638848 - 6 * 786432 + 2 * 56623104);
  CHECK(of("executed") > 0);
}

TEST_CASE("llm.c's published utilization follows from its published throughput", "[conventions]") {
  // GPT-2 1558M on 8 H100: 381,369 tokens/s, 47.3 % of 989.4 TFLOP/s. Its vocabulary is padded by 47 rows of 1600.
  Plan p;
  p.seq = 1024;
  p.micro_batch = p.global_batch = 16;
  for (const Convention& c : conventions(load_model("gpt-2-1.5b").arch, p)) {
    if (c.key != "llm_c") continue;
    const double padded = c.flops_per_token + 6.0 * 47 * 1600;
    CHECK(mfu(padded, 381369, 8, FlopsPerSecond(989.4e12)) == Approx(0.473).epsilon(0.001));
  }
}
