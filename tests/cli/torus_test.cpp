// Collectives over a torus, with their explanations.

#include "calc/cluster.hpp"
#include "presets/load.hpp"
#include "report/explain/explanation.hpp"
#include "report/explain/general.hpp"
#include "report/explain/parts.hpp"
#include "tests/catch.hpp"
#include "tests/cli/expression.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

TEST_CASE("an all-to-all over a TPU v5e pod moves eight times its bytes over four links", "[collective][cli]") {
  const json::Value r = test::ask("collective all-to-all --bytes 1GiB --ranks 256 --hardware tpu-v5e");
  REQUIRE(r["algorithms"].size() == 1);
  const json::Value& way = r["algorithms"][0];
  CHECK(way["volume_bytes"] == 8.0 * 1073741824);  // 8 hops on average
  CHECK(way["bound_time_s"].get<double>() == Approx(8.0 * 1073741824 / (4 * 45e9)).epsilon(1e-12));  // 47.7 ms
  CHECK(way["rounds"] == 16);  // half of each of the two rings of 16
  CHECK(r["notes"].dump().find("a torus of 16 (ring) x 16 (ring): each has 4 links") != std::string::npos);
  // Eight of its chips form a 2 x 4 slice without a ring. The middle link of the busier axis carries 1 GiB.
  const json::Value few = test::ask("collective all-to-all --bytes 1GiB --ranks 8 --hardware tpu-v5e")["algorithms"][0];
  CHECK(few["bound_time_s"].get<double>() == Approx(1073741824 / 45e9).epsilon(1e-12));
  // A switch is unaffected: seven messages of 0.6 us and 7/8 GiB over 450 GB/s.
  const json::Value h100 = test::ask("collective all-to-all --bytes 1GiB --ranks 8 --hardware h100")["algorithms"][0];
  CHECK(h100["bound_time_s"].get<double>() == Approx(7 * 0.6e-6 + 7.0 / 8 * 1073741824 / 450e9).epsilon(1e-12));
}

TEST_CASE("a collective's torus formulas reproduce the times of TPU slices", "[explain]") {
  Link v5e = load_hardware("tpu-v5e").cluster.levels[0];
  v5e.latency = Seconds(1e-6);
  // 16 x 16 is two rings with 8 + 8 steps and four links of 45 GB/s. 4 x 4 is two lines with 3 + 3 steps and two links.
  for (const auto& [ranks, steps, side, links] : {std::array{256, 16, 16, 2}, {16, 6, 4, 1}}) {
    const std::vector<explain::Symbol> values{{"n", "", std::to_string(ranks)},
                                              {"h_t", "", std::to_string(steps)},
                                              {"d", "", std::to_string(side)},
                                              {"c", "", std::to_string(links)},
                                              {"M", "", "1073741824"},
                                              {"alpha", "", "1e-6"},
                                              {"beta_t", "", std::to_string(links * 90) + "e9"},
                                              {"w", "", "45e9"}};
    for (const explain::Definition& d : explain::general_definitions()) {
      if (!d.path.starts_with("collective.")) continue;
      const CollectiveOp op = parse<CollectiveOp>(d.path.substr(11)).value();
      const explain::Variant v = explain::general_variants(d).back();
      REQUIRE(v.when == "torus");
      const Seconds t =
          collective_time(op, default_algorithm(op), Bytes(Count{1} << 30), ranks, joining_ranks(v5e, ranks));
      INFO(d.path << " over " << ranks << ": " << v.formula.expression);
      CHECK(static_cast<double>(expression::approximate(joined(substituted(v.formula, values)))) ==
            Approx(t.value).epsilon(1e-12));
    }
  }
}
