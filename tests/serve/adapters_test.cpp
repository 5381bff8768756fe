// Low-rank adapters chosen by requests: bytes and time.

#include "serve/adapters.hpp"

#include "calc/infer.hpp"
#include "serve/times/pass_times.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"
#include "tests/serve/fast_card.hpp"

using namespace llmcalc;

namespace {

/// Sum of the input and output widths of q, k, v, out, gate, up and down of Llama-3.1-8B.
constexpr Count widths = (4096 + 4096) + 2 * (4096 + 1024) + (4096 + 4096) + 3 * (4096 + 14336);

Cluster bare_card() {
  Cluster c = test::fast_card();
  c.device.achieved = {};
  return c;
}

double adapter_time(Count rows, const ServedAdapters& a) {
  const Plan plan = with_batch({}, rows);
  return adapter_seconds(test::llama31_8b(), plan, {}, bare_card().device, decode_step(plan, 1), Phase::decode, a)
      .value;
}

}  // namespace

TEST_CASE("every resident adapter stores A and B for each target matrix", "[serve][adapters]") {
  const Arch arch = test::llama31_8b();
  CHECK(adapter_bytes(arch, {}, {}, {.resident = 8, .rank = 16}) == Bytes(Count{8} * 32 * 16 * widths * 2));
  CHECK(adapter_bytes(arch, {}, {}, {}) == Bytes());
  const ServedAdapters of_q{.resident = 1, .rank = 16, .targets = LoraTarget::q};
  CHECK(adapter_bytes(arch, {}, {}, of_q) == Bytes(Count{32} * 16 * 8192 * 2));
}

TEST_CASE("a pass reads one adapter per row, up to the number of resident adapters", "[serve][adapters]") {
  const ServedAdapters eight{.resident = 8, .rank = 16}, one{.resident = 1, .rank = 16};
  const double read = 32.0 * 16 * widths * 2 / 2e12;  // one adapter at the card's bandwidth
  CHECK(adapter_time(1, eight) == Approx(adapter_time(1, one)));
  CHECK(adapter_time(1, one) > read);
  CHECK(adapter_time(4, eight) - adapter_time(4, one) == Approx(3 * read).epsilon(1e-9));
  CHECK(adapter_time(64, eight) - adapter_time(64, one) == Approx(7 * read).epsilon(1e-9));
}

TEST_CASE("adapters add their time to a pass", "[serve][adapters]") {
  const Arch arch = test::llama31_8b();
  const ServedAdapters eight{.resident = 8, .rank = 16};
  const PassTimes plain = pass_times(arch, {}, {}, bare_card());
  const PassTimes with = pass_times(arch, {}, {}, bare_card(), {.adapters = eight});
  CHECK(seconds(with.rows.at(16) - plain.rows.at(16)).value == Approx(adapter_time(16, eight)).epsilon(1e-6));
}
