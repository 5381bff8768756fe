// 'llmcalc serve': a server under traffic.

#include <csignal>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const std::string llama = "serve llama-3.1-8b --hardware h100 ";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string shown(const std::string& arguments) {
  const test::Ran r = test::llmcalc(arguments);
  INFO(r.err);
  CHECK(r.code == 0);
  return r.out;
}

}  // namespace

TEST_CASE("a serving report has the JSON keys that other programs read", "[serve][contract][cli]") {
  const json::Value r = test::ask(llama + "--rate 4 --slo-ttft 500ms --slo-tpot 33ms --price 2 --num-requests 500");
  const json::Value& s = r["serving"];
  for (const char* time : {"ttft_s", "tpot_s", "itl_s", "latency_s"})
    for (const char* of : {"mean", "p50", "p90", "p95", "p99", "p999"}) {
      CAPTURE(time, of);
      CHECK(s[time].contains(of));
    }
  for (const char* key : {"throughput_in_tok_s", "throughput_out_tok_s", "goodput_req_s", "capacity_req_s",
                          "kv_occupancy", "utilization", "usd_per_1m_input", "usd_per_1m_output", "joules_per_token"}) {
    CAPTURE(key);
    CHECK(s.contains(key));
  }
  CHECK(r["inputs"]["rate"] == 4);
  CHECK(r["inputs"]["memory_utilization"] == 0.92);
  CHECK(r["layout"]["gpus"] == 1);
  CHECK(r["timeline"].size() > 1);
}

TEST_CASE("the same seed reproduces a run, and another seed changes it", "[serve][cli]") {
  const std::string run = llama + "--rate 4 --num-requests 300 --lengths lognormal:1 --json --seed ";
  CHECK(shown(run + "7") == shown(run + "7"));
  CHECK(shown(run + "7") != shown(run + "8"));
}

TEST_CASE("input and output token prices add up to the GPU cost", "[serve][cli]") {
  const json::Value s = test::ask(llama + "--tp 2 --rate 4 --price 3 --num-requests 500")["serving"];
  const double in = s["usd_per_1m_input"], out = s["usd_per_1m_output"];
  const double per_second =
      (in * s["throughput_in_tok_s"].get<double>() + out * s["throughput_out_tok_s"].get<double>()) / 1e6;
  CHECK(per_second == Approx(2 * 3.0 / 3600).epsilon(1e-12));
  CHECK(s["usd_per_h"] == 6);
}

TEST_CASE("at the break-even rate, an API costs the same as the server", "[serve][cli]") {
  // 2048 tokens at 0.5 and 256 at 1.5 USD per million cost 0.001408 USD; a GPU of 3.6 USD/h costs 0.001 USD/s.
  const json::Value s =
      test::ask(llama + "--rate 4 --arrivals constant --price 3.6 --api-price 0.5,1.5 --num-requests 200")["serving"];
  CHECK(s["break_even_req_s"].get<double>() == Approx(0.001 / 0.001408).epsilon(1e-9));
}

TEST_CASE("a rate beyond capacity is reported as overload, and the run ends", "[serve][cli]") {
  const json::Value r = test::ask(llama + "--rate 1000 --num-requests 2000");
  const double capacity = r["serving"]["capacity_req_s"];
  CHECK(capacity > 1);
  CHECK(capacity < 100);
  CHECK(has(shown(llama + "--rate 1000 --num-requests 2000"), "overload"));
}

TEST_CASE("with one request, the mean time between tokens equals the time per token", "[serve][cli]") {
  const json::Value s = test::ask(llama + "--rate 0.005 --num-requests 1 --generate 256")["serving"];
  CHECK(s["itl_s"]["mean"].get<double>() == Approx(s["tpot_s"]["mean"].get<double>()).epsilon(1e-12));
}

TEST_CASE("the mean cache occupancy of several engines never exceeds the maximum", "[serve][cli]") {
  for (const char* engines : {"--replicas 16 --rate 140", "--pools 2P6D --rate 20", "--rate 5"}) {
    CAPTURE(engines);
    const json::Value r = test::ask(llama + "--num-requests 2000 " + engines);
    CHECK(r["serving"]["kv_occupancy"] <= r["serving"]["kv_occupancy_max"]);
    CHECK(r["serving"]["kv_occupancy_max"] <= 1);
    for (const json::Value& sample : r["timeline"]) CHECK(sample["kv_occupancy"] <= 1);
  }
}

TEST_CASE("throughput of one engine stays within its capacity, and overload is reported only with a queue",
          "[serve][cli]") {
  constexpr double measured_within = 0.01;
  for (const char* load : {"--rate 9.4 --num-requests 20000", "--rate 5 --turns 4 --num-requests 20000",
                           "--rate 1000 --num-requests 3000", "--rate 1000 --num-requests 5"}) {
    CAPTURE(load);
    const json::Value s = test::ask(llama + load)["serving"];
    CHECK(s["throughput_req_s"].get<double>() <= (1 + measured_within) * s["capacity_req_s"].get<double>());
  }
  CHECK_FALSE(has(shown(llama + "--rate 5 --turns 4 --num-requests 20000"), "overload"));
  CHECK_FALSE(has(shown(llama + "--rate 1000 --num-requests 5"), "overload"));
  CHECK(has(shown(llama + "--rate 12 --num-requests 5000"), "overload"));
}

TEST_CASE("the capacity of replicas is a multiple of one engine's capacity", "[serve][cli]") {
  const auto capacity = [](const std::string& n) {
    return test::ask(llama + "--rate 2 --num-requests 500 --replicas " + n)["serving"]["capacity_req_s"].get<double>();
  };
  CHECK(capacity("600") == Approx(600 * capacity("1")).epsilon(1e-12));
}

TEST_CASE("answers of one token omit the time per token", "[serve][cli]") {
  const std::string one = llama + "--rate 5 --generate 1 --num-requests 200";
  const json::Value r = test::ask(one);
  CHECK_FALSE(r["serving"].contains("tpot_s"));
  CHECK_FALSE(r["serving"].contains("itl_s"));
  CHECK_FALSE(has(shown(one), "per token "));
}

TEST_CASE("a server that misses its limits suggests a load that meets them", "[serve][cli]") {
  const std::string limits = llama + "--num-requests 3000 --slo-ttft ";
  CHECK(has(shown(limits + "200ms --rate 9"), "instead"));
  CHECK(has(shown(limits + "1ms --rate 5"), "without queueing, TTFT is"));
  CHECK_FALSE(has(shown(limits + "1s --rate 1"), "instead"));
}

TEST_CASE("serve's JSON includes run length, power, cache tokens and default limits", "[serve][cli]") {
  const json::Value r = test::ask(llama + "--rate 5 --num-requests 300");
  CHECK(r["serving"]["requests"] == 300);
  CHECK(r["serving"]["duration_s"].get<double>() * r["serving"]["throughput_req_s"].get<double>() == Approx(300));
  CHECK(r["serving"]["watts"].get<double>() < 700);
  CHECK(test::ask(llama + "--rate 5 --num-requests 300 --watts 700")["serving"]["watts"] == 700);
  CHECK(r["engine_memory"]["kv_tokens"] == 16 * r["engine_memory"]["blocks"].get<Count>());
  CHECK(r["inputs"]["max_batched_tokens"] == 8192);
  CHECK(r["inputs"]["max_seqs"] == 1024);
  CHECK(r["inputs"]["num_requests"] == 300);
  CHECK_FALSE(r["inputs"].contains("watts"));
  CHECK(test::ask(llama + "--rate 5")["inputs"]["num_requests"] == 10'000);
}

TEST_CASE("steady-state theory gives a capacity range but no times, and no capacity for fixed batches",
          "[serve][cli]") {
  const auto theory = [](const std::string& options) {
    return test::ask(llama + "--num-requests 300 " + options)["steady_state"];
  };
  const auto number = [](const json::Value& s, const char* key) { return s[key].get<double>(); };
  const json::Value open = theory("--rate 8"), users = theory("--users 20"), in_step = theory("--rate 8 --pp 4");
  // The range is an eighth in both directions; for identical requests in a pipeline it extends to 30 % above theory.
  CHECK(number(open, "capacity_req_s_low") == Approx(number(open, "capacity_req_s") / 1.125));
  CHECK(number(open, "capacity_req_s_high") == Approx(number(open, "capacity_req_s") / 0.875));
  CHECK(number(in_step, "capacity_req_s_high") == Approx(number(in_step, "capacity_req_s") / 0.7));
  CHECK(number(open, "load") == Approx(8 / number(open, "capacity_req_s")));
  CHECK_FALSE(users.contains("load"));  // the users' request rate depends on their waiting time
  for (const char* key : {"wait_s", "ttft_s", "tpot_s", "latency_s", "decoding"}) CHECK_FALSE(open.contains(key));
  CHECK(theory("--rate 8 --batching static").is_null());
}

TEST_CASE("a request log gives the same result in JSON Lines and in CSV", "[serve][cli]") {
  std::string lines, table = "arrival,prompt,generated,session,id\n";
  for (int i = 0; i < 40; ++i) {
    lines += "{\"id\": \"a\", \"arrival\": " + std::to_string(5 + i) +
             ", \"prompt\": 700, \"generated\": 30, \"session\": \"s" + std::to_string(i % 4) + "\"}\n";
    table += std::to_string(5 + i) + ",700,30,s" + std::to_string(i % 4) + ",a\n";
  }
  test::write_file(test::scratch() + "/log.jsonl", lines);
  test::write_file(test::scratch() + "/log.csv", table);
  const json::Value a = test::ask(llama + "--requests " + test::scratch() + "/log.jsonl"),
                    b = test::ask(llama + "--requests " + test::scratch() + "/log.csv");
  CHECK(a["serving"] == b["serving"]);
  CHECK(a["serving"]["latency_s"]["mean"] > 0);
  CHECK(has(a["notes"].dump(), "id"));  // an unused field is named
}

TEST_CASE("a log exported by a spreadsheet gives the same result", "[serve][cli]") {
  const std::string plain = "arrival,prompt,generated\n0,700,30\n1,900,20\n",
                    quoted = "\xEF\xBB\xBF\"arrival\",\"prompt\",\"generated\"\r\n\"0\",\"700\",\"30\"\r\n1,900,20\r\n",
                    lines =
                        "\xEF\xBB\xBF{\"arrival\": 0, \"prompt\": 700, \"generated\": 30}\n"
                        "{\"arrival\": 1, \"prompt\": 900, \"generated\": 20}\n";
  const auto served = [](const char* name, const std::string& log) {
    test::write_file(test::scratch() + "/" + name, log);
    return test::ask(llama + "--requests " + test::scratch() + "/" + name)["serving"];
  };
  const json::Value as_usual = served("plain.csv", plain);
  CHECK(served("quoted.csv", quoted) == as_usual);
  CHECK(served("marked.jsonl", lines) == as_usual);
}

TEST_CASE("concurrent sequences share one copy of a prefix", "[serve][cli]") {
  const std::string run = llama + "--rate 2 --num-requests 300 --prompt 500 --shared-prefix 4000";
  const Count shared = test::ask(run)["engine_memory"]["most_sequences"],
              alone = test::ask(run + " --prefix-cache off")["engine_memory"]["most_sequences"];
  CHECK(shared > 4 * alone);
  // Beyond capacity, about as many requests as fit are in progress; preemption explains the difference.
  double most = 0;
  const json::Value overloaded = test::ask(run + "0");
  for (const json::Value& sample : overloaded["timeline"]) most = std::max(most, sample["in_progress"].get<double>());
  CHECK(most <= static_cast<double>(shared) * 1.1);
}

TEST_CASE("a server without enough memory for the model states the limit and a remedy", "[serve][cli]") {
  const test::Ran r = test::llmcalc("serve llama-3.1-70b --hardware h100 --rate 1");
  CHECK(r.code == 0);
  CHECK(has(r.out, "fits    no: weights (131.4 GiB)"));
  CHECK(has(r.out, "to fit  --weight-precision fp8"));
  CHECK(has(test::llmcalc("serve llama-3.1-70b --hardware h100 --rate 1 --full").out, "--tp 2 (70.50"));
  CHECK(test::llmcalc("serve llama-3.1-70b --hardware h100 --rate 1 --require-fit").code == 1);
  CHECK(has(test::llmcalc("serve gpt-oss-120b --hardware h100 --rate 1 --weight-precision bf16 --full").out,
            "experts=mxfp4"));
}

TEST_CASE("Ctrl-C prints the results of an interrupted run", "[serve][cli]") {
  const test::Ran r = test::signaled(llama + "--rate 20 --num-requests 20M --lengths lognormal:1", {SIGINT},
                                     std::chrono::milliseconds(400));
  CHECK((r.code == 130 || r.code == 0));  // a fast machine may have finished
  CHECK(has(r.out, "first token"));
  CHECK((r.code == 0) == !has(r.out, "stopped early"));
}

TEST_CASE("Ctrl-C while requests are being generated ends the run", "[serve][cli]") {
  const test::Ran r = test::signaled(llama + "--rate 5 --num-requests 90M", {SIGINT}, std::chrono::milliseconds(200));
  CHECK(r.code == 130);
  CHECK(has(r.out, "stopped early"));
  CHECK(r.seconds_to_end < 5);
}

// Not under sanitizers, which reserve more address space than the limit. The release build runs [long] tests.
TEST_CASE("more requests than memory can hold are rejected with a reason", "[serve][cli][long]") {
  const test::Ran r = test::llmcalc(llama + "--rate 5 --num-requests 100M", {.before = "ulimit -v 2000000;"});
  CHECK(r.code == 2);
  CHECK(has(r.err, "not enough memory for this many requests; reduce --num-requests"));
}

TEST_CASE("serve computes a prefix shared by all prompts once", "[serve][cli]") {
  const std::string run = llama + "--rate 4 --num-requests 300 --prompt 1000 --shared-prefix 3000 --prefix-cache ";
  const json::Value saved = test::ask(run + "on")["serving"], again = test::ask(run + "off")["serving"];
  CHECK(saved["prefix_hits"].get<double>() == Approx(3000.0 / 4000).margin(0.01));
  CHECK(saved["ttft_s"]["mean"] < again["ttft_s"]["mean"]);
}
