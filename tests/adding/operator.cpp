// An operator kind, as described in docs/adding.md.

#include "calc/cost/shape_costs.hpp"
#include "tests/catch.hpp"

namespace llmcalc::shape_costs {

/// y (rows, width) = x filtered along the tokens, with `taps` weights shared by all channels.
struct Filter {
  Count rows = 0, width = 0, taps = 0;
  constexpr bool operator==(const Filter&) const = default;
};

namespace {

// ---- Filter: `taps` multiply-adds per element.
Cost forward(const Filter& s, const Pricing& p, const Stored&) {
  const Flops f = flops(2, s.rows, s.width, s.taps);
  return {f, f, {.activations = 2 * bytes(p.activation, d(s.rows) * d(s.width))}};
}

}  // namespace

TEST_CASE("the example operator does 60 FLOPs for 3 rows of 5 channels with 2 taps", "[adding]") {
  const Cost c = forward(Filter{3, 5, 2}, {.activation = dtypes::bf16}, {});
  CHECK(c.model == Flops(60));
  CHECK(c.moved.total() == 2 * 2 * 15);  // read and written, 2 bytes each
}

}  // namespace llmcalc::shape_costs
