// A textbook formula, as described in docs/adding.md.

#include "calc/parameters.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

namespace llmcalc {
namespace {

using test::gpt3;

/// 12 L D^2: weights of a plain MHA stack. Excludes embedding, positions, biases, norms. Kaplan et al. 2020.
template <class N>
N weights_12ld2(const N& layers, const N& hidden) {
  return N(12) * layers * hidden * hidden;
}

TEST_CASE("12 L D^2 equals GPT-3's attention and MLP parameters minus nine biases of width D per layer", "[textbook]") {
  const Parameters p = parameters(gpt3());  // q, k, v, o: 4 D; up: 4 D; down: D
  CHECK(p.attention + p.mlp == weights_12ld2<Count>(96, 12288) + 9 * 96 * 12288);
}

}  // namespace
}  // namespace llmcalc
