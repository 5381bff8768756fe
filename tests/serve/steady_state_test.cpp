// Capacity derived from a pass's limits, compared with arithmetic and with simulations.

#include "serve/times/steady_state.hpp"

#include <cmath>

#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"
#include "tests/serve/fast_card.hpp"

using namespace llmcalc;
using test::one_second;

namespace {

using Kind = Distribution::Kind;

PassTimes second_per_thousand() {
  PassTimes t;
  t.prompts[0].push({.query = one_second / 1000});
  return t;
}

/// Llama-3.1 8B, sequences of 600 + 200 tokens.
struct Chat {
  PassTimes times = pass_times(test::llama31_8b(), {}, {}, test::fast_card());
  Fleet fleet{.server = {.scheduler = {.sequences = 64, .blocks = 20'000}}};
  SteadyLoad load(double rate) const { return {.rate = rate, .prompt = 600, .generate = 200}; }
  Served simulated(double rate, Count requests) const {
    const RequestTraffic t = open_traffic({.count = requests,
                                           .interval = {.kind = Kind::exponential, .mean = 1 / rate},
                                           .prompt = {.mean = 600},
                                           .generate = {.mean = 200},
                                           .seed = 11});
    return served(serve(fleet, times, t), t, 1);
  }
};

}  // namespace

TEST_CASE("a server that takes one second per request, one at a time, serves one request per second",
          "[serve][steady-state]") {
  const Fleet alone{.server = {.scheduler = {.pass_tokens = 1 << 20, .sequences = 1}}};
  const SteadyState s =
      steady_state(alone, second_per_thousand(), {.rate = 0.5, .prompt = 1000, .generate = 1, .variation = 0.5});
  CHECK(s.capacity == Approx(1).epsilon(1e-12));
  CHECK(s.load == Approx(0.5).epsilon(1e-12));
  CHECK(s.limit == SteadyLimit::sequences);
}

TEST_CASE("the computed capacity of a server with one request at a time equals its rate under overload",
          "[serve][steady-state]") {
  Chat chat;
  chat.fleet.server.scheduler.sequences = 1;
  const SteadyState s = steady_state(chat.fleet, chat.times, chat.load(0.1));
  CHECK(s.limit == SteadyLimit::sequences);
  CHECK(chat.simulated(2 * s.capacity, 1000).request_rate == Approx(s.capacity).epsilon(1e-3));
}

TEST_CASE("capacity equals the answer rate of an overloaded simulated server", "[serve][steady-state]") {
  const Chat chat;
  const SteadyState s = steady_state(chat.fleet, chat.times, chat.load(1));
  CHECK(s.limit == SteadyLimit::sequences);
  CHECK(chat.simulated(2 * s.capacity, 4000).request_rate == Approx(s.capacity).epsilon(0.05));
}

TEST_CASE("capacity bounds contain the rates of simulated servers with whole and chunked prompts",
          "[serve][steady-state]") {
  const Chat chat;
  for (const Count budget : {256, 1024, 8192})
    for (const auto& [prompt, generate] : {std::pair{100.0, 400.0}, {2000.0, 100.0}, {8000.0, 64.0}, {8000.0, 500.0}}) {
      CAPTURE(budget, prompt, generate);
      Fleet fleet = chat.fleet;
      fleet.server.scheduler.pass_tokens = budget;
      const SteadyState s =
          steady_state(fleet, chat.times, {.rate = 1, .prompt = prompt, .generate = generate, .variation = 0.25});
      const RequestTraffic t = open_traffic({.count = 2500,
                                             .interval = {.kind = Kind::exponential, .mean = 0.5 / s.capacity},
                                             .prompt = {.mean = prompt},
                                             .generate = {.kind = Kind::gamma, .mean = generate, .spread = 0.5},
                                             .seed = 3});
      const double answered = served(serve(fleet, chat.times, t), t, 1).request_rate;
      CHECK(answered > s.least_capacity());
      CHECK(answered < s.most_capacity());
    }
}

TEST_CASE("beyond capacity, the queue grows at the rate of unserved requests", "[serve][steady-state]") {
  const Chat chat;
  const double capacity = steady_state(chat.fleet, chat.times, chat.load(1)).capacity;
  const SteadyState s = steady_state(chat.fleet, chat.times, chat.load(capacity + 3));
  CHECK(s.growth == Approx(3));
}

TEST_CASE("capacity is multiplied by replicas and limited by cache blocks", "[serve][steady-state]") {
  Chat chat;
  const double one = steady_state(chat.fleet, chat.times, chat.load(1)).capacity;
  chat.fleet.replicas = 3;
  CHECK(steady_state(chat.fleet, chat.times, chat.load(1)).capacity == Approx(3 * one));
  chat.fleet.server.scheduler.blocks = 500;
  const SteadyState few = steady_state(chat.fleet, chat.times, chat.load(1));
  CHECK(few.limit == SteadyLimit::blocks);
  CHECK(few.capacity < 3 * one);
}
