// Compares rotary frequencies with values computed by hand from the papers' formulas.

#include "model/math/rotary.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

TEST_CASE("pair i rotates by base^(-2i/width) radians per position", "[rotary]") {
  CHECK(rotary({.base = 16}, 4, 1).frequency == std::vector<double>{1, 0.25});
  CHECK(rotary({.base = 16}, 4, 1).scale == 1);
}

TEST_CASE("linear RoPE scaling divides every frequency by the factor", "[rotary]") {
  const Rope r{.base = 16, .scaling = RopeScaling::linear, .factor = 8};
  CHECK(rotary(r, 4, 1).frequency == std::vector<double>{0.125, 0.03125});
}

TEST_CASE("dynamic RoPE scaling changes the base only beyond the trained length", "[rotary]") {
  const Rope r{.base = 16, .scaling = RopeScaling::dynamic, .factor = 2, .trained = 8};
  CHECK(rotary(r, 4, 8).frequency == std::vector<double>{1, 0.25});
  // 16 tokens: 16 x (2 x 16/8 - 1)^(4/2) = 144, with square root 12.
  CHECK(rotary(r, 4, 16).frequency[1] == Approx(1 / 12.0));
}

TEST_CASE("llama3 scaling slows pairs below one rotation, keeps those above four, interpolates in between",
          "[rotary]") {
  // Over 64 trained tokens a pair of frequency f makes 64 f / 2 pi rotations: 10.2, 2.55 and 0.64 for 1, 1/4 and 1/16.
  const Rope r{.base = 64, .scaling = RopeScaling::llama3, .factor = 8, .trained = 64};
  const std::vector<double> f = rotary(r, 6, 1).frequency;
  CHECK(f[0] == 1);
  const double saved = (64 * 0.25 / full_turn - 1) / 3;
  CHECK(f[1] == Approx(saved * 0.25 + (1 - saved) * 0.25 / 8));
  CHECK(f[2] == Approx(1 / 16.0 / 8));
}

TEST_CASE("yarn keeps fast pairs, slows slow ones, and scales the rotated values", "[rotary]") {
  // Width 8 and base 10000 give frequencies of 1, 0.1, 0.01 and 0.001, or 652, 65, 6.5 and 0.65 rotations in 4096
  // tokens. 32 rotations are at pair 1.31 and 1 rotation at pair 2.81, so the ramp goes from pair 1 to pair 3.
  const Rope r{.scaling = RopeScaling::yarn, .factor = 4, .trained = 4096, .attention_factor = 1.14};
  const Rotary y = rotary(r, 8, 1);
  CHECK(y.frequency[0] == 1);
  CHECK(y.frequency[1] == Approx(0.1));
  CHECK(y.frequency[2] == Approx(0.01 * (0.5 + 0.5 / 4)));
  CHECK(y.frequency[3] == Approx(0.001 / 4));
  CHECK(y.scale == 1.14);
}
