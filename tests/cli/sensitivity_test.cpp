// The effect of a ten percent higher rate on a time.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

/// Checks that no higher rate lengthens the time and that the most important one shortens it.
void check_never_slower(const json::Value& changes) {
  REQUIRE(changes.size() >= 3);
  double most = 0;
  for (const auto& [rate, change] : changes.items()) {
    INFO(rate);
    CHECK(change.get<double>() <= 1e-12);
    most = std::min(most, change.get<double>());
  }
  CHECK(most < -0.01);
}

}  // namespace

TEST_CASE("a ten percent higher rate never lengthens a step, even with mixed layers in several chunks",
          "[train][cli]") {
  const std::string plan = "train deepseek-v3 --sp --pp 16 --chunks 2 --zero 1 --recompute full ";
  for (const char* on : {"--hardware b200 --gpus 512 --tp 8 --global-batch 512",
                         "--hardware mi300x --gpus 256 --tp 4 --global-batch 256"}) {
    CAPTURE(on);
    check_never_slower(test::ask(plan + on)["sensitivity"]);
  }
}

TEST_CASE("a ten percent higher rate never increases the time per token", "[infer][cli]") {
  check_never_slower(test::ask("infer llama-3.1-70b --hardware h100 --tp 4")["decode_sensitivity"]);
}
