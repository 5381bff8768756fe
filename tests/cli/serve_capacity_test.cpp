// A server's capacity: as measured, as derived from the limits of a pass, and within latency limits.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const std::string llama = "serve llama-3.1-8b --hardware h100 ";
const std::string mixtral = "serve mixtral-8x7b --hardware h100 ";

std::string rate_text(double rate) { return " --rate " + std::to_string(rate); }

double capacity_of(const std::string& server, const std::string& traffic = " --rate 1 --num-requests 500") {
  return test::ask(server + traffic)["serving"]["capacity_req_s"];
}

/// Number of waiting requests at time t.
double waiting_at(const json::Value& timeline, double t) {
  for (const json::Value& sample : timeline)
    if (sample["start_s"].get<double>() + sample["length_s"].get<double>() > t) return sample["waiting"];
  return timeline.back()["waiting"];
}

/// Growth of the queue, per request, while the second half of the requests arrives.
double growth(const std::string& server, double rate) {
  constexpr double n = 20'000;
  const json::Value timeline = test::ask(server + rate_text(rate) + " --num-requests 20000")["timeline"];
  return (waiting_at(timeline, 0.98 * n / rate) - waiting_at(timeline, n / 2 / rate)) / (n / 2);
}

}  // namespace

TEST_CASE("a server's queue does not grow below capacity, and grows above it", "[serve][capacity][cli][long]") {
  const std::string server = GENERATE_COPY(values<std::string>(
      {llama + "--max-seqs 128", llama + "--max-batched-tokens 512", llama + "--shared-prefix 2000 --prompt 500",
       mixtral + "--tp 4 --shared-prefix 8000 --prompt 500 --max-seqs 256", mixtral + "--dp 4 --ep 4 --max-seqs 64",
       llama + "--pp 2 --max-seqs 128"}));
  CAPTURE(server);
  const double capacity = capacity_of(server);
  // At 1.1 times the capacity, 0.1 / 1.1 of all arrivals wait.
  CHECK(growth(server, 0.95 * capacity) < 0.02);
  CHECK(growth(server, 1.1 * capacity) > 0.05);
}

TEST_CASE("a server's capacity does not depend on the given rate", "[serve][capacity][cli][long]") {
  for (const std::string& server :
       {llama + "--max-batched-tokens 512", mixtral + "--tp 4 --shared-prefix 8000 --prompt 500",
        std::string("serve llama-3.1-70b --hardware h100 --tp 2 --pp 4"), mixtral + "--dp 8 --ep 8"}) {
    CAPTURE(server);
    const double capacity = capacity_of(server);
    for (const double part : {0.3, 0.9, 3.0})
      CHECK(capacity_of(server, rate_text(part * capacity) + " --num-requests 2000") == Approx(capacity).epsilon(0.01));
  }
}

TEST_CASE("throughput under overload is shown if it differs from the capacity", "[serve][capacity][cli][long]") {
  // Preemptions, cached turns, and identical requests in lockstep on the ranks of a pipeline.
  for (const auto& [options, factor] :
       {std::pair{"--prompt 1 --generate 1000", 0.89}, std::pair{"--turns 4", 0.77}, std::pair{"--pp 4", 1.23}}) {
    CAPTURE(options);
    const std::string server = llama + options;
    const json::Value alone = test::ask(server + " --rate 1 --num-requests 500")["serving"];
    const double overloaded = alone["overloaded_req_s"];
    CHECK(overloaded == Approx(factor * alone["capacity_req_s"].get<double>()).epsilon(0.03));
    const double generate = std::string(options).find("1000") == std::string::npos ? 256 : 1000;
    double tokens = 0, time = 0;
    const json::Value run = test::ask(server + rate_text(1.5 * overloaded) + " --num-requests 30000");
    for (const json::Value& s : run["timeline"]) {
      if (s["start_s"] < 5000 / overloaded || s["start_s"] > 15000 / overloaded) continue;
      tokens += s["tokens"].get<double>();
      time += s["length_s"].get<double>();
    }
    // Preempted sequences accumulate slowly: the rate falls by up to 7 % between the shorter run and this one.
    CHECK(tokens / time / generate == Approx(overloaded).epsilon(0.08));
  }
  CHECK_FALSE(test::ask(llama + "--rate 1 --num-requests 500")["serving"].contains("overloaded_req_s"));
}

TEST_CASE("the capacity computed from pass limits is within an eighth of the simulated one",
          "[serve][steady-state][cli][long]") {
  for (const std::string& server :
       {llama, llama + "--max-batched-tokens 512", llama + "--max-batched-tokens 256 --prompt 200 --generate 50",
        std::string("serve qwen3-0.6b --hardware h100 --max-batched-tokens 512"),
        mixtral + "--tp 4 --max-batched-tokens 512", llama + "--shared-prefix 2000 --prompt 500",
        mixtral + "--tp 4 --shared-prefix 8000 --prompt 500", llama + "--lengths lognormal:2",
        mixtral + "--dp 8 --ep 8 --lengths lognormal:2", llama + "--max-seqs 8", llama + "--max-chunk 128",
        llama + "--draft-tokens 2 --acceptance 0.7", llama + "--batching prompts-first",
        llama + "--pp 4 --lengths lognormal:0.5",
        std::string("serve llama-3.1-70b --hardware h100 --tp 2 --pp 4 --lengths lognormal:0.5")}) {
    CAPTURE(server);
    const json::Value r = test::ask(server + " --rate 1 --num-requests 3000");
    CHECK(r["steady_state"]["capacity_req_s"].get<double>() ==
          Approx(r["serving"]["capacity_req_s"].get<double>()).epsilon(0.125));
  }
}

TEST_CASE("the theoretical capacity of sessions does not depend on the given rate",
          "[serve][steady-state][cli][long]") {
  // With few sessions the cache holds all earlier turns. At capacity, other sessions evict them.
  const std::string server =
      "serve qwen3-32b --hardware h100 --tp 2 --prompt 500 --generate 300 --turns 6 --think-time ";
  const auto ask = [&](const char* options) { return test::ask(server + options + " --num-requests 3000"); };
  const auto theory = [](const json::Value& r) { return r["steady_state"]["capacity_req_s"].get<double>(); };
  const auto measured = [](const json::Value& r) { return r["serving"]["capacity_req_s"].get<double>(); };
  const json::Value few = ask("20 --rate 0.5"), many = ask("20 --rate 4"), at_once = ask("0 --rate 0.5");
  REQUIRE(few["serving"]["prefix_hits"] > 1.2 * many["serving"]["prefix_hits"].get<double>());
  CHECK(theory(few) == theory(many));
  CHECK(theory(few) == Approx(measured(few)).epsilon(0.125));
  for (const char* other : {"llama-3.1-8b --hardware h100 --turns 10 --think-time 60 --prompt 300 --generate 200",
                            "llama-3.1-70b --hardware h200 --tp 4 --turns 6 --think-time 20 --prompt 1000"}) {
    CAPTURE(other);
    const json::Value r = test::ask("serve " + std::string(other) + " --rate 2 --num-requests 3000");
    CHECK(theory(r) == Approx(measured(r)).epsilon(0.125));
  }
  CHECK(few["steady_state"]["limit"] == "KV cache blocks");
  // Theory ignores queues that empty the cache: it overestimates long sessions with little cache, and those at once.
  const json::Value longer = test::ask(
      "serve llama-3.1-70b --hardware h200 --tp 4 --turns 8 --think-time 20 --prompt 1000 --rate 2 --num-requests "
      "3000");
  CHECK(theory(longer) > measured(longer));
  CHECK(theory(longer) < 1.45 * measured(longer));
  CHECK(theory(at_once) < 1.25 * measured(at_once));
}

TEST_CASE("sessions can be sustained at capacity, but not much above it", "[serve][capacity][cli][long]") {
  // With more live sessions, each has less in the cache and takes longer, so even more sessions are live. A server
  // may take hours to lose its cache in this way.
  const std::string server =
      "serve qwen3-32b --hardware h100 --tp 2 --prompt 500 --generate 300 --turns 6 --think-time 20 ";
  const double capacity = capacity_of(server, rate_text(3));
  const auto longest_queue = [&](double part, int seed) {
    double most = 0;
    const std::string options = rate_text(part * capacity) + " --num-requests 60000 --seed " + std::to_string(seed);
    const json::Value timeline = test::ask(server + options)["timeline"];
    for (const json::Value& s : timeline) most = std::max(most, s["waiting"].get<double>());
    return most;
  };
  for (const int seed : {0, 1, 2}) {
    CHECK(longest_queue(0.97, seed) < 20);
    CHECK(longest_queue(1.05, seed) > 100);
  }
}

TEST_CASE("the suggested smaller load meets the limits and does not exceed the capacity",
          "[serve][capacity][cli][long]") {
  const std::string limits = " --slo-ttft 200ms --slo-tpot 30ms";
  for (const std::string& load : {std::string("--rate 9.6"), std::string("--rate 10.3"), std::string("--users 400"),
                                  std::string("--rate 30 --pools 1P1D")}) {
    CAPTURE(load);
    const json::Value r = test::ask(llama + load + limits);
    REQUIRE(r["serving"]["slo_met"] < 0.95);
    const std::string text = r["verdict"]["text"][1], label = "instead: ";
    REQUIRE(text.starts_with(label));
    const double most = std::stod(text.substr(label.size()));
    const bool users = load.find("users") != std::string::npos;
    if (!users) CHECK(most <= r["serving"]["capacity_req_s"].get<double>());
    const std::string rest = load.find("--pools") == std::string::npos ? "" : " --pools 1P1D";
    const std::string at = users ? "--users " + std::to_string(static_cast<int>(most)) : rate_text(most);
    CHECK(test::ask(llama + at + rest + limits)["serving"]["slo_met"] >= 0.95);
    const std::string more =
        users ? "--users " + std::to_string(static_cast<int>(1.1 * most) + 1) : rate_text(1.1 * most);
    CHECK(test::ask(llama + more + rest + limits)["serving"]["slo_met"] < 0.95);
  }
}

TEST_CASE("the duty cycle is the share of the capacity in use", "[serve][capacity][cli]") {
  const json::Value s = test::ask(llama + "--rate 3 --num-requests 3000")["serving"];
  CHECK(s["duty_cycle"].get<double>() * s["capacity_req_s"].get<double>() ==
        Approx(s["throughput_req_s"].get<double>()).epsilon(1e-12));
  CHECK(s["duty_cycle"].get<double>() == Approx(0.3).margin(0.05));
}
