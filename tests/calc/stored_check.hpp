#pragma once
/// Comparison of the tensors saved for backward with the textbook's table of stored tensors.

#include "calc/memory.hpp"
#include "calc/textbook/stored.hpp"
#include "tests/catch.hpp"

namespace llmcalc::test {

/// Checks one sequence of `tokens` in 16 bits, with and without recomputation.
inline void check_stored(const Arch& a, Count tokens) {
  for (const Recompute r : {Recompute::none, Recompute::full}) {
    const Plan plan{.seq = tokens, .micro_batch = 1, .global_batch = 1, .recompute = r};
    const Prices prices = price(a, plan, {}, {});
    const textbook::MicroBatch<textbook::Fraction> m{.B = 1, .S = tokens, .p = 2, .log_sum_exps = false};
    CHECK(saved_bytes(prices, plan, whole_model(prices.kinds)) ==
          textbook::stored(a, textbook::exact_sizes(a), m, r).bytes(2).bytes());
  }
}

}  // namespace llmcalc::test
