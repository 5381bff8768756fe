// The long run against theory, and against simulations.

#include "serve/steady_state.hpp"

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

TEST_CASE("One request at a time waits as Pollaczek and Khinchine say, exactly", "[serve][steady-state]") {
  const Fleet alone{.server = {.scheduler = {.pass_tokens = 1 << 20, .sequences = 1}}};
  for (const double rate : {0.1, 0.5, 0.9}) {
    for (const double variation : {0.0, 0.5}) {
      const SteadyState s = steady_state(alone, second_per_thousand(),
                                         {.rate = rate, .prompt = 1000, .generate = 1, .variation = variation});
      REQUIRE(s.times);
      CHECK(s.capacity == Approx(1).epsilon(1e-12));
      CHECK(s.times->wait.value == Approx((1 + variation) / 2 * rate / (1 - rate)).epsilon(1e-12));
      CHECK(s.times->latency.value == Approx(s.times->wait.value + 1).epsilon(1e-12));
    }
  }
}

TEST_CASE("One request at a time has its passes to itself, and a server of that kind is as fast",
          "[serve][steady-state]") {
  Chat chat;
  chat.fleet.server.scheduler.sequences = 1;
  const double capacity = steady_state(chat.fleet, chat.times, chat.load(0.1)).capacity;
  const SteadyState s = steady_state(chat.fleet, chat.times, chat.load(capacity / 2));
  const Served run = chat.simulated(capacity / 2, 200'000);
  REQUIRE(s.times);
  CHECK(s.limit == SteadyLimit::sequences);
  CHECK(s.times->per_token.value == Approx(run.per_token.mean.value).epsilon(1e-3));
  CHECK(s.times->first_token.value == Approx(run.first_token.mean.value).epsilon(0.02));
  CHECK(chat.simulated(2 * capacity, 1000).request_rate == Approx(capacity).epsilon(1e-3));
}

TEST_CASE("The wait for a place follows how even arrivals are", "[serve][steady-state]") {
  const Fleet alone{.server = {.scheduler = {.pass_tokens = 1 << 20, .sequences = 1}}};
  const auto wait = [&](double arrivals) {
    return steady_state(alone, second_per_thousand(),
                        {.rate = 0.5, .prompt = 1000, .generate = 1, .arrivals = arrivals})
        .times->wait.value;
  };
  CHECK(wait(0) == 0);  // D/D/1: nobody waits
  CHECK(wait(1) == Approx(0.5));
  CHECK(wait(16) == Approx(8));
}

TEST_CASE("Capacity is what a simulated server answers when more comes", "[serve][steady-state]") {
  const Chat chat;
  const SteadyState s = steady_state(chat.fleet, chat.times, chat.load(1));
  CHECK(s.limit == SteadyLimit::sequences);
  CHECK(chat.simulated(2 * s.capacity, 4000).request_rate == Approx(s.capacity).epsilon(0.05));
}

TEST_CASE("Below capacity, tokens take as long as in a simulation", "[serve][steady-state]") {
  const Chat chat;
  const double capacity = steady_state(chat.fleet, chat.times, chat.load(1)).capacity;
  for (const double load : {0.05, 0.2, 0.4, 0.6}) {
    const SteadyState s = steady_state(chat.fleet, chat.times, chat.load(load * capacity));
    const Served run = chat.simulated(load * capacity, 4000);
    REQUIRE(s.times);
    CAPTURE(load);
    CHECK(s.times->per_token.value == Approx(run.per_token.mean.value).epsilon(0.05));
    CHECK(s.times->first_token.value == Approx(run.first_token.mean.value).epsilon(0.15));
    CHECK(s.times->latency.value == Approx(run.latency.mean.value).epsilon(0.05));
  }
}

TEST_CASE("Beyond capacity the queue grows by what is not served", "[serve][steady-state]") {
  const Chat chat;
  const double capacity = steady_state(chat.fleet, chat.times, chat.load(1)).capacity;
  const SteadyState s = steady_state(chat.fleet, chat.times, chat.load(capacity + 3));
  CHECK_FALSE(s.times);
  CHECK(s.growth == Approx(3));
}

TEST_CASE("Replicas and ranks multiply the capacity; blocks limit it", "[serve][steady-state]") {
  Chat chat;
  const double one = steady_state(chat.fleet, chat.times, chat.load(1)).capacity;
  chat.fleet.replicas = 3;
  CHECK(steady_state(chat.fleet, chat.times, chat.load(1)).capacity == Approx(3 * one));
  chat.fleet.server.scheduler.blocks = 500;
  const SteadyState few = steady_state(chat.fleet, chat.times, chat.load(1));
  CHECK(few.limit == SteadyLimit::blocks);
  CHECK(few.capacity < 3 * one);
}

TEST_CASE("Users of a closed loop are where Little's law has them", "[serve][steady-state]") {
  const Chat chat;
  SteadyLoad load = chat.load(0);
  load.rate = closed_rate(chat.fleet, chat.times, load, 16, Seconds(2));
  const SteadyState s = steady_state(chat.fleet, chat.times, load);
  REQUIRE(s.times);
  CHECK(load.rate * (s.times->latency.value + 2) == Approx(16));
  const RequestTraffic t = closed_traffic({.users = 16,
                                           .count = 4000,
                                           .prompt = {.mean = 600},
                                           .generate = {.kind = Kind::gamma, .mean = 200, .spread = 0.3},
                                           .think = {.kind = Kind::exponential, .mean = 2}});
  CHECK(served(serve(chat.fleet, chat.times, t), t, 1).request_rate == Approx(load.rate).epsilon(0.05));
}
