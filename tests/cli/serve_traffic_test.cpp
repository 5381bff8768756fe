// 'llmcalc serve': options that shape the traffic.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string llama = "serve llama-3.1-8b --hardware h100 --num-requests 400 ";

/// Mean tokens per answer.
double mean_answer(const json::Value& report) {
  const json::Value& s = report["serving"];
  return s["throughput_out_tok_s"].get<double>() / s["throughput_req_s"].get<double>();
}

}  // namespace

TEST_CASE("request lengths are drawn from a table of weights", "[serve][cli]") {
  const std::string path = test::scratch() + "/lengths.csv";
  test::write_file(path,
                   "up_to,prompts,answers\n100,1,0\n200,0,0\n300,0,1\n");  // prompts up to 100, answers of 201 to 300
  const json::Value r = test::ask(llama + "--rate 5 --lengths " + path);
  CHECK(mean_answer(r) == Approx(250).epsilon(0.03));
  const json::Value& s = r["serving"];
  CHECK(s["throughput_in_tok_s"].get<double>() / s["throughput_req_s"].get<double>() == Approx(50).epsilon(0.08));
}

TEST_CASE("log-normal lengths keep their mean and raise the latency tail", "[serve][cli]") {
  const json::Value even = test::ask(llama + "--rate 5"), spread = test::ask(llama + "--rate 5 --lengths lognormal:1");
  CHECK(mean_answer(even) == Approx(256).epsilon(1e-9));
  CHECK(mean_answer(spread) == Approx(256).epsilon(0.15));
  CHECK(spread["serving"]["latency_s"]["p99"] > even["serving"]["latency_s"]["p99"]);
}

TEST_CASE("with burstier arrivals the first token takes longer", "[serve][cli]") {
  const auto wait = [](const std::string& arrivals) {
    return test::ask(llama + "--rate 8 --arrivals " + arrivals)["serving"]["ttft_s"]["p95"].get<double>();
  };
  CHECK(wait("constant") < wait("poisson"));
  CHECK(wait("poisson") < wait("gamma:3"));
}

TEST_CASE("users who start together wait longer for their first tokens, and all their requests count", "[serve][cli]") {
  const auto served = [](const std::string& start) {
    return test::ask("serve llama-3.1-8b --hardware h100 --users 64 --prompt 500 --generate 100" + start)["serving"];
  };
  const json::Value together = served(" --start together"), apart = served("");
  CHECK(together["requests"] == 640);
  CHECK(together["counted_requests"] == 640);
  CHECK(together["ttft_s"]["mean"] > 2 * apart["ttft_s"]["mean"].get<double>());
  CHECK(together["throughput_out_tok_s"] < apart["throughput_out_tok_s"]);
}

TEST_CASE("a single user who starts together with nobody waits for no first wave", "[serve][cli]") {
  const auto first = [](const std::string& start) {
    return test::ask(llama + "--users 1" + start)["serving"]["ttft_s"]["mean"];
  };
  CHECK(first(" --start together") == first(" --start spread"));
}

TEST_CASE("--start needs users and a known word", "[serve][cli]") {
  test::refused("serve llama-3.1-8b --hardware h100 --rate 3 --start together",
                "--start has no effect without --users; add --users, or omit --start");
  test::refused(llama + "--users 3 --start tgether", "--start: expected together or spread, got \"tgether\"");
}

TEST_CASE("the interval of a server's throughput carries over to prices, and the arrivals limit it", "[serve][cli]") {
  const auto ends = [](const json::Value& s, const std::string& key) {
    const double value = s[key];
    return std::pair(s[key + "_low"].get<double>() / value, s[key + "_high"].get<double>() / value);
  };
  const json::Value users = test::ask(llama + "--users 8 --price 2")["serving"];
  const auto [slow, fast] = ends(users, "throughput_out_tok_s");
  CHECK(slow == Approx(1 / ends(users, "capacity_req_s").second));
  CHECK(fast == Approx(1 / ends(users, "capacity_req_s").first));
  CHECK(ends(users, "usd_per_1m_output").first == Approx(1 / fast));
  CHECK(ends(users, "usd_per_1m_output").second == Approx(1 / slow));
  const json::Value idle = test::ask(llama + "--rate 1")["serving"];
  CHECK(ends(idle, "throughput_out_tok_s") == std::pair(1.0, 1.0));
  const json::Value thinking = test::ask(llama + "--users 8 --think-time 20s")["serving"];
  CHECK(ends(thinking, "throughput_req_s").first > slow);
  const json::Value busy = test::ask(llama + "--rate 9")["serving"];
  CHECK(ends(busy, "throughput_req_s").first == Approx(busy["capacity_req_s_low"].get<double>() / 9));
  CHECK(ends(busy, "throughput_req_s").second == 1);
}

TEST_CASE("the interval of a KV cache is a share of the granted memory", "[serve][cli]") {
  const json::Value m = test::ask(llama + "--rate 1")["engine_memory"];
  const double share = 0.025 * m["granted_bytes"].get<double>() / m["kv_cache_bytes"].get<double>();
  CHECK(m["kv_tokens_low"].get<double>() == Approx((1 - share) * m["kv_tokens"].get<double>()).epsilon(1e-4));
  CHECK(m["kv_tokens_high"].get<double>() == Approx((1 + share) * m["kv_tokens"].get<double>()).epsilon(1e-4));
}

TEST_CASE("drafts and separate pools have a wider interval, which names its single source", "[serve][cli]") {
  const auto width = [](const json::Value& r) {
    const json::Value& t = r["serving"]["tpot_s"];
    return t["mean_high"].get<double>() / t["mean"].get<double>();
  };
  const double plain = width(test::ask(llama + "--rate 1"));
  for (const std::string mode : {"--pools 1P1D", "--draft-model llama-3.2-1b --draft-tokens 2 --acceptance 0.7"}) {
    CAPTURE(mode);
    const json::Value r = test::ask(llama + "--rate 1 " + mode);
    CHECK(width(r) > plain);
    CHECK_THAT(r["notes"].dump(), Contains("all of one source"));
  }
}

TEST_CASE("users who think longer send fewer requests", "[serve][cli]") {
  const auto rate = [](const std::string& options) {
    return test::ask(llama + "--users 8 " + options)["serving"]["throughput_req_s"].get<double>();
  };
  CHECK(rate("--think-time 20s") < 8 / 20.0);  // Little's law: users over think time and latency
  CHECK(rate("") > rate("--think-time 20s"));
}

TEST_CASE("the request rate of thinking users obeys Little's law", "[serve][cli]") {
  const json::Value r = test::ask(
      "serve llama-3.1-8b --hardware h100 --users 1000 --think-time 60s --prompt 500 --generate 30 --price 2");
  const json::Value& s = r["serving"];
  const double rate = s["throughput_req_s"], law = 1000 / (60 + s["latency_s"]["mean"].get<double>());
  CHECK(rate == Approx(law).epsilon(0.02));
  CHECK(s["throughput_out_tok_s"].get<double>() == Approx(30 * rate));
  CHECK(s["throughput_in_tok_s"].get<double>() == Approx(500 * rate));
  CHECK(s["counted_requests"].get<double>() == Approx(rate * s["counted_s"].get<double>()));
  CHECK(s["counted_requests"] < s["requests"]);
  CHECK(s["duty_cycle"].get<double>() == Approx(rate / s["capacity_req_s"].get<double>()));
  // The cost per second equals the cost of the tokens processed in a second.
  const double dollars = rate * (500 * s["usd_per_1m_input"].get<double>() + 30 * s["usd_per_1m_output"].get<double>());
  CHECK(dollars / 1e6 == Approx(2.0 / 3600));
}

TEST_CASE("the throughput with immediate requests does not depend on the run's length", "[serve][cli]") {
  const auto tokens = [](Count users, Count rounds) {
    return test::ask("serve llama-3.1-8b --hardware h100 --prompt 500 --generate 100 --users " + std::to_string(users) +
                     " --num-requests " + std::to_string(rounds * users))["serving"]["throughput_out_tok_s"]
        .get<double>();
  };
  for (const Count users : {16, 300}) CHECK(tokens(users, 20) == Approx(tokens(users, 200)).epsilon(0.01));
}

TEST_CASE("later turns of a session hit the cache", "[serve][cli]") {
  const json::Value r = test::ask(llama + "--rate 4 --turns 4 --prompt 500 --generate 100");
  CHECK(r["serving"]["prefix_hits"] > 0.5);  // 0, 600, 1200 and 1800 of 500, 1100, 1700 and 2300 tokens are cached
}

TEST_CASE("drafts shorten the time per token", "[serve][cli]") {
  const auto per_token = [](const std::string& options) {
    return test::ask(llama + "--rate 2 " + options)["serving"]["tpot_s"]["mean"].get<double>();
  };
  CHECK(per_token("--draft-tokens 2 --acceptance 0.9 --draft-model llama-3.2-1b") < per_token(""));
  CHECK(per_token("--draft-tokens 2 --acceptance 0.9") < per_token("--draft-tokens 2 --acceptance 0.1"));
}

TEST_CASE("MTP modules can draft: the engine loads them, and their passes take time", "[serve][cli][mtp]") {
  const auto asked = [](const std::string& options) {
    return test::ask(
        "serve glm-4.5-air --hardware h200 --tp 4 --rate 2 --num-requests 100 --draft-tokens 1 "
        "--acceptance 0.9 " +
        options);
  };
  const json::Value with = asked("--mtp 1"), without = asked("");
  const auto weights = [](const json::Value& r) { return r["engine_memory"]["weights_bytes"].get<Count>(); };
  const json::Value model = test::ask("params glm-4.5-air")["parameters"];
  CHECK(weights(with) >
        weights(without) + model["mtp"].get<Count>() / 4 * 2);  // norms and projection are replicated on every rank
  CHECK(with["serving"]["tpot_s"]["mean"] < test::ask("serve glm-4.5-air --hardware h200 --tp 4 --rate 2 "
                                                      "--num-requests 100")["serving"]["tpot_s"]["mean"]);
  CHECK(with["serving"]["ttft_s"]["mean"] > without["serving"]["ttft_s"]["mean"]);  // prompts pass through the module
}

TEST_CASE("with separate decode engines, times between tokens are even", "[serve][cli]") {
  const json::Value one = test::ask(llama + "--rate 8 --replicas 3"),
                    apart = test::ask(llama + "--rate 8 --pools 1P2D");
  CHECK(apart["layout"]["gpus"] == one["layout"]["gpus"]);
  CHECK(apart["serving"]["itl_s"]["p99"] < one["serving"]["itl_s"]["p99"]);
}

TEST_CASE("first tokens wait for an engine that polls for requests between decode passes", "[serve][cli]") {
  const auto first = [](const std::string& options) {
    return test::ask(llama + "--software sglang --users 16 " + options)["serving"]["ttft_s"]["mean"].get<double>();
  };
  CHECK(first("--poll-interval 1") == first(""));
  CHECK(first("--poll-interval 30") > 1.5 * first(""));
}

TEST_CASE("SGLang's name of the poll interval is read from and written to its command", "[serve][cli]") {
  const json::Value r = test::ask(
      "serve --hardware h100 --users 16 --num-requests 50 --from 'python -m sglang.launch_server --model-path "
      "meta-llama/Llama-3.1-8B --scheduler-recv-interval 10'");
  CHECK(r["inputs"]["poll_interval"] == 10);
  CHECK_THAT(test::llmcalc(llama + "--software sglang --users 16 --poll-interval 10 --emit sglang").out,
             Contains("--scheduler-recv-interval 10"));
  CHECK_THAT(test::llmcalc(llama + "--users 16 --poll-interval 10 --emit vllm").err,
             Contains("the launch table of vllm has no setting for it"));
}

TEST_CASE("the batching of an answer is that of its engine", "[serve][cli]") {
  CHECK(test::ask(llama + "--users 16")["inputs"]["batching"] == "continuous");
  CHECK(test::ask(llama + "--users 16 --software sglang")["inputs"]["batching"] == "prompts-first");
  CHECK_THAT(test::llmcalc(llama + "--software sglang --users 16 --emit sglang").out,
             !Contains("--enable-mixed-chunk"));
}
