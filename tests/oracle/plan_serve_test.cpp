// `plan serve` compared with a brute-force search: `serve` runs every number of tensor-parallel ranks with one or more
// engines and several draws of the traffic.

#include <optional>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

constexpr int draws = 3;

/// Whether that many engines meet the latency limits in every draw of the traffic; empty if the draws differ.
std::optional<bool> keeps(const std::string& question, Count ranks, Count engines) {
  int saved = 0;
  for (int seed = 0; seed < draws; ++seed) {
    const std::string router = engines > 1 ? " --router least-loaded --replicas " + std::to_string(engines) : "";
    const json::Value r =
        test::ask("serve " + question + " --tp " + std::to_string(ranks) + router + " --seed " + std::to_string(seed));
    saved += r["serving"]["slo_met"].get<double>() >= 0.95;
  }
  return saved == draws ? std::optional(true) : saved == 0 ? std::optional(false) : std::nullopt;
}

/// The fewest engines of that many ranks that meet the latency limits; empty if even `most` engines do not.
std::optional<Count> fewest(const std::string& question, Count ranks, Count most) {
  for (Count n = 1; n <= most; ++n) {
    const std::optional<bool> saved = keeps(question, ranks, n);
    INFO("a margin that chance decides: " << question << ", " << ranks << " ranks, " << n << " engines");
    REQUIRE(saved);
    if (*saved) return n;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("plan serve finds the fewest GPUs among all layouts and engine counts", "[oracle][serve]") {
  const std::vector<std::string> questions{
      "llama-3.1-8b --hardware h100 --rate 110 --prompt 512 --generate 64 --num-requests 600 --slo-ttft 400ms "
      "--slo-tpot 25ms",
      "llama-3.1-8b --hardware h100 --rate 5 --prompt 2048 --generate 64 --num-requests 300 --slo-tpot 8ms"};
  for (const std::string& q : questions) {
    CAPTURE(q);
    Count best = 1 << 20;
    for (Count ranks = 1; ranks <= 8; ranks *= 2) {
      const Count most = (best - 1) / ranks;  // engines that use fewer GPUs than the best result so far
      if (const auto n = fewest(q, ranks, std::min<Count>(most, 6))) best = *n * ranks;
    }
    const json::Value plan = test::ask("plan serve " + q)["plans"][0];
    CHECK(plan["layout"]["gpus"].get<Count>() == best);
  }
}
