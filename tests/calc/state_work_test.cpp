// FLOPs of recurrences and convolutions, model and executed, counted by hand: heads of N x P, T tokens, chunks of C.

#include "calc/cost/cost.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

constexpr Count sequences = 3, heads = 4, queries = 10, p = 5, groups = 2, n = 7;
constexpr Count rows = sequences * queries, state = heads * n * p;

LinearAttention shape(StateRule rule, Count chunk) {
  return {.sequences = sequences,
          .heads = heads,
          .queries = queries,
          .head_dim = p,
          .key_heads = groups,
          .key_dim = n,
          .rule = rule,
          .chunk = chunk};
}

const Pricing train{};

}  // namespace

TEST_CASE("a recurrent state requires one matmul to update and one to read; the delta rule reads it twice",
          "[cost][state]") {
  const Cost ssm = forward(shape(StateRule::state_space, 0), train), delta = forward(shape(StateRule::delta, 0), train);
  CHECK(ssm.executed == Flops(4 * rows * state));
  CHECK(delta.executed == Flops(6 * rows * state));
  CHECK(ssm.model == Flops(6 * rows * state));  // the decay is a separate pass over the state
  CHECK(delta.model == Flops(8 * rows * state));
  // Two matmuls for each forward matmul, plus the recomputed states, which need every forward matmul except the one
  // that computes the output from the state.
  CHECK(backward(shape(StateRule::state_space, 0), train).executed == Flops((8 + 2) * rows * state));
  CHECK(backward(shape(StateRule::delta, 0), train).executed == Flops((12 + 4) * rows * state));
  CHECK(backward(shape(StateRule::delta, 0), train).model == Flops(16 * rows * state));
}

TEST_CASE("a state with separate removal and insertion keys is read and updated with each key", "[cost][state]") {
  const Cost rwkv = forward(shape(StateRule::removal, 0), train);
  CHECK(rwkv.executed == Flops(8 * rows * state));
  CHECK(rwkv.model == Flops(10 * rows * state));  // plus the decay
  CHECK(backward(shape(StateRule::removal, 0), train).executed == Flops((16 + 6) * rows * state));
  // Chunks of 4, 4 and 2: four kinds of scores; two matmuls with the linear system and its right-hand side, two for the
  // output, two reads of the state and two of its updates.
  const Count places = sequences * (4 * 4 + 4 * 4 + 2 * 2);
  const Count done = 8 * places * heads * (n + p) + 8 * rows * state;
  const Count reading = 4 * places * heads * p + 2 * rows * state;
  CHECK(forward(shape(StateRule::removal, 4), train).executed == Flops(static_cast<Int128>(done)));
  CHECK(backward(shape(StateRule::removal, 4), train).executed == Flops(static_cast<Int128>(3 * done - reading)));
}

TEST_CASE("chunks of four tokens compute 4 x 4 scores, and a last chunk of two tokens only 2 x 2", "[cost][state]") {
  const Count places = sequences * (4 * 4 + 4 * 4 + 2 * 2);
  const Count ssm = 2 * places * groups * n + 2 * places * heads * p + 4 * rows * state;
  const Count delta = 4 * places * heads * (n + p) + 6 * rows * state;
  const Count reading = 2 * places * heads * p + 2 * rows * state;
  CHECK(forward(shape(StateRule::state_space, 4), train).executed == Flops(static_cast<Int128>(ssm)));
  CHECK(forward(shape(StateRule::delta, 4), train).executed == Flops(static_cast<Int128>(delta)));
  CHECK(backward(shape(StateRule::state_space, 4), train).executed == Flops(static_cast<Int128>(3 * ssm - reading)));
  CHECK(backward(shape(StateRule::delta, 4), train).executed == Flops(static_cast<Int128>(3 * delta - reading)));
}

TEST_CASE("a chunk is shortened to the sequence length, and a single token uses the recurrent form", "[cost][state]") {
  for (const StateRule rule : {StateRule::state_space, StateRule::delta}) {
    CHECK(forward(shape(rule, 64), train).executed == forward(shape(rule, queries), train).executed);
    LinearAttention one = shape(rule, 64);
    one.queries = 1;
    CHECK(forward(one, train).executed == Flops((rule == StateRule::delta ? 6 : 4) * sequences * state));
  }
}

TEST_CASE("a convolution with an activation recomputes its sums in backward", "[cost][state]") {
  Convolution s{.sequences = sequences, .queries = queries, .channels = 9, .taps = 4};
  const Count once = 2 * rows * 9 * 4;
  CHECK(forward(s, train).executed == Flops(static_cast<Int128>(once)));
  CHECK(backward(s, train).executed == Flops(static_cast<Int128>(2 * once)));
  s.activated = true;
  CHECK(backward(s, train).executed == Flops(static_cast<Int128>(3 * once)));
  CHECK(backward(s, train).model == Flops(static_cast<Int128>(2 * once)));
}
