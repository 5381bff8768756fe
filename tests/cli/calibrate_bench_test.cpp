// 'llmcalc calibrate --bench FILE': a hardware file from a benchmark of a served model.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "presets/estimators/inference_estimator.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

std::string bench_path(const std::string& name) { return test::scratch() + "/" + name; }

/// Writes a file, and returns its path.
std::string bench_written(const std::string& name, const std::string& text) {
  test::write_file(bench_path(name), text);
  return bench_path(name);
}

/// The JSON of vllm bench serve with these times in milliseconds, and this model.
std::string vllm_result(double ttft, double tpot, const std::string& model = "meta-llama/Llama-3.1-8B-Instruct") {
  return fmt::format(R"({{"date": "20261130-141502", "backend": "vllm", "model_id": "{}", "num_prompts": 200,
"request_rate": "inf", "max_concurrency": 16, "duration": 40.0, "completed": 200, "total_input_tokens": 204800,
"total_output_tokens": 25600, "output_throughput": 640.0, "mean_ttft_ms": {}, "mean_tpot_ms": {}}})",
                     model, ttft, tpot);
}

std::string llama_result(const std::string& ngl = "99", const std::string& type = "llama 8B Q8_0") {
  return "| model | size | params | backend | ngl | test | t/s |\n| - | - | - | - | - | - | - |\n| " + type +
         " | 7.95 GiB | 8.03 B | CUDA | " + ngl + " | pp512 | 9000.50 ± 1.00 |\n| " + type +
         " | 7.95 GiB | 8.03 B | CUDA | " + ngl + " | tg128 | 95.25 ± 0.10 |\n";
}

const json::Value& figure(const json::Value& report, const std::string& key) {
  for (const json::Value& f : report["figures"])
    if (f["figure"] == key) return f;
  throw std::runtime_error("no " + key);
}

std::string all_notes(const json::Value& report) { return report["notes"].dump(); }

/// Calibrates with --bench, and returns the hardware file.
json::Value calibrated(const std::string& arguments, const std::string& out) {
  test::ask("calibrate --force --bench " + arguments + " --out " + bench_path(out));
  return json::parse(test::read_file(bench_path(out)), out);
}

std::string bench_refusal(const std::string& arguments) {
  const test::Ran r = test::llmcalc("calibrate " + arguments + " --out " + bench_path("refused.json"));
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  CHECK_FALSE(std::filesystem::exists(bench_path("refused.json")));
  return r.err;
}

/// The hardware file of H100 with these ratios of a run.
std::string h100_with(const std::string& name, const std::string& ratios, const std::string& engine = "vllm") {
  const std::string base = bench_written("base.json", vllm_result(150, 12));
  json::Value file = calibrated(base + " --hardware h100", "base-hardware.json");
  file["served"] =
      json::parse(R"({"engine": ")" + engine + R"(", "model": "m", "file": "b.json", )" + ratios + "}", "served");
  return bench_written(name, file.dump());
}

double seconds_of(const json::Value& report, const char* section, const char* key) {
  return report[section][key].get<double>();
}

double width_of(const json::Value& report, const char* section, const char* key) {
  return report[section][std::string(key) + "_high_s"].get<double>() /
         report[section][std::string(key) + "_s"].get<double>();
}

}  // namespace

TEST_CASE("a benchmark gives the ratio of measured to predicted times, with its provenance", "[calibrate][bench]") {
  const std::string bench = bench_written("bench.json", vllm_result(150, 12));
  const json::Value report =
      test::ask("calibrate --bench " + bench + " --hardware h100 --out " + bench_path("here.json"));
  const json::Value& tpot = figure(report, "tpot_ms");
  CHECK(tpot["measured"] == 12);
  CHECK(tpot["time_ratio"].get<double>() == 12 / tpot["predicted"].get<double>());
  const json::Value& rate = figure(report, "output_tok_s");
  CHECK(rate["time_ratio"].get<double>() == rate["predicted"].get<double>() / 640);
  const json::Value served = json::parse(test::read_file(bench_path("here.json")), "here.json")["served"];
  CHECK(served["decode"] == tpot["time_ratio"]);
  CHECK(served["prompt"] == figure(report, "ttft_ms")["time_ratio"]);
  CHECK(served["prompt_class"] == "first token");
  CHECK(served["engine"] == "vllm");
  CHECK(served["model"] == "llama-3.1-8b");
  CHECK(served["date"] == "2026-11-30");
  CHECK(served["file"] == "bench.json");
}

TEST_CASE("a benchmark is predicted as by accuracy", "[calibrate][bench]") {
  const std::string bench = bench_written("bench.json", vllm_result(150, 12));
  const json::Value report = test::ask("calibrate --force --bench " + bench +
                                       " --hardware h100 --software vllm@0.10.0" + " --out " + bench_path("here.json"));
  const std::string row = bench_written(
      "row.jsonl",
      R"({"id": "r", "command": "infer", "model": "llama-3.1-8b", "hardware": "h100-sxm-80gb", "inputs": {"batch": 16,
"prompt": 1024, "generate": 128}, "engine": {"name": "vllm", "version": "0.10.0"}, "load": {"kind": "concurrency",
"start": "together", "requests": 200}, "measured": {"tpot_ms": 12, "ttft_ms": 150}})");
  std::string line = test::read_file(row);
  std::replace(line.begin(), line.end(), '\n', ' ');
  test::write_file(row, line + "\n");
  const json::Value rows = test::ask("accuracy inference " + row)["rows"];
  for (const json::Value& r : rows)
    CHECK(r["predicted"].get<double>() ==
          Approx(figure(report, r["quantity"].get<std::string>())["predicted"].get<double>()).epsilon(1e-9));
}

TEST_CASE("estimates for the same engine scale by the square root of the ratio", "[calibrate][bench]") {
  const std::string infer = "infer llama-3.1-8b --software vllm --prompt 1024 --generate 128 --hardware ";
  const json::Value plain = test::ask(infer + h100_with("plain.json", R"("decode": 1, "prompt": 1)")),
                    slow = test::ask(infer + h100_with("slow.json", R"("decode": 1.44, "prompt": 2.25)"));
  CHECK(seconds_of(slow, "decode", "time_per_token_s") ==
        Approx(1.2 * seconds_of(plain, "decode", "time_per_token_s")).epsilon(1e-12));
  CHECK(seconds_of(slow, "prefill", "time_s") == Approx(1.5 * seconds_of(plain, "prefill", "time_s")).epsilon(1e-12));
  CHECK_THAT(all_notes(slow), Contains("decode passes by 1.2, the square root of 1.44") &&
                                  Contains("prompt passes by 1.5, the square root of 2.25"));
  const json::Value preset = test::ask(infer + "h100");
  CHECK(seconds_of(plain, "decode", "time_per_token_s") == seconds_of(preset, "decode", "time_per_token_s"));
}

TEST_CASE("communication between devices scales by the same factor", "[calibrate][bench]") {
  const std::string infer = "infer llama-3.1-70b --software vllm --tp 4 --hardware ";
  const json::Value plain = test::ask(infer + h100_with("plain.json", R"("decode": 1, "prompt": 1)")),
                    slow = test::ask(infer + h100_with("slow.json", R"("decode": 1.44, "prompt": 1.44)"));
  CHECK(seconds_of(slow, "decode", "time_per_token_s") ==
        Approx(1.2 * seconds_of(plain, "decode", "time_per_token_s")).epsilon(1e-12));
  CHECK(seconds_of(slow, "prefill", "time_s") == Approx(1.2 * seconds_of(plain, "prefill", "time_s")).epsilon(1e-12));
}

TEST_CASE("a benchmark faster than the datasheet allows does not move estimates below their bound",
          "[calibrate][bench]") {
  const json::Value fast = test::ask("infer llama-3.1-8b --software vllm --hardware " +
                                     h100_with("fast.json", R"("decode": 0.01, "prompt": 0.01)"));
  for (const char* section : {"decode", "prefill"}) {
    INFO(fast[section].dump());
    const char* key = section == std::string("decode") ? "time_per_token" : "time";
    const double estimate = fast[section][std::string(key) + "_s"].get<double>();
    CHECK(estimate <= fast[section][std::string(key) + "_high_s"].get<double>());
    CHECK(estimate > 0);
  }
}

TEST_CASE("a server's decode passes scale, and a search for its layout uses them", "[calibrate][bench]") {
  const std::string slow = h100_with("slow.json", R"("decode": 4, "prompt": 4, "prompt_class": "first token")"),
                    plain = h100_with("plain.json", R"("decode": 1, "prompt": 1)");
  const std::string serve =
      "serve llama-3.1-8b --software vllm --users 8 --prompt 512 --generate 64 --num-requests 40 --hardware ";
  const json::Value before = test::ask(serve + plain), after = test::ask(serve + slow);
  const auto tpot = [](const json::Value& r) { return r["serving"]["tpot_s"]["mean"].get<double>(); };
  CHECK(tpot(after) == Approx(2 * tpot(before)).epsilon(0.02));
  CHECK_THAT(all_notes(after), Contains("estimates are scaled by a run of vllm with m (b.json)"));
  const json::Value fit = test::ask("fit --context 8k --software vllm --hardware " + slow);
  CHECK_THAT(all_notes(fit), Contains("estimates are scaled by a run of vllm"));
}

TEST_CASE("a run of one engine does not change estimates for another", "[calibrate][bench]") {
  const std::string infer = "infer llama-3.1-8b --software sglang --hardware ";
  const json::Value r = test::ask(infer + h100_with("slow.json", R"("decode": 4)"));
  CHECK(seconds_of(r, "decode", "time_per_token_s") ==
        seconds_of(test::ask(infer + "h100"), "decode", "time_per_token_s"));
  CHECK_THAT(all_notes(r), Contains("does not change estimates for sglang"));
}

TEST_CASE("a run narrows the intervals of the times that it measured, and widens none", "[calibrate][bench]") {
  const std::string infer = "infer llama-3.1-8b --software vllm --hardware ";
  const json::Value plain = test::ask(infer + "h100"),
                    decoded = test::ask(infer + h100_with("slow.json", R"("decode": 1.21)"));
  CHECK(width_of(decoded, "decode", "time_per_token") < width_of(plain, "decode", "time_per_token"));
  CHECK(width_of(decoded, "prefill", "time") == Approx(width_of(plain, "prefill", "time")));
  const InferenceEstimator& e = inference_estimator();
  for (const auto& c : choices<InferenceClass>) {
    INFO(c.name);
    CHECK(e.after_a_run(c.value, e.interval(c.value)).factor <= e.interval(c.value).factor);
    CHECK(e.after_a_run(c.value, e.interval_of_new(c.value)).factor <= e.interval_of_new(c.value).factor);
  }
}

TEST_CASE("llama-bench gives both ratios of a single sequence", "[calibrate][bench]") {
  const std::string bench = bench_written("llama.md", llama_result());
  const json::Value file = calibrated(bench + " --hardware rtx-4090 --model llama-3.1-8b", "llama.json");
  CHECK(file["served"]["engine"] == "llama.cpp");
  CHECK(file["served"]["prompt_class"] == "prefill");
  CHECK(file["served"]["decode"].is_number());
  CHECK(file["name"] == "rtx-4090");
  CHECK_FALSE(file.contains("aliases"));
  const json::Value r =
      test::ask("infer llama-3.1-8b --weight-precision gguf:q8_0 --hardware " + bench_path("llama.json"));
  CHECK_THAT(all_notes(r), Contains("estimates are scaled by a run of llama.cpp"));
}

TEST_CASE("a missing input of a benchmark is named with its option", "[calibrate][bench][errors]") {
  const std::string vllm = bench_written("bench.json", vllm_result(150, 12)),
                    other = bench_written("other.json", vllm_result(150, 12, "acme/nothing-7b")),
                    llama = bench_written("llama.md", llama_result()),
                    host = bench_written("host.md", llama_result("10")),
                    plain = bench_written("plain.md", llama_result("99", "llama 8B"));
  CHECK(bench_refusal("--bench " + vllm) == "llmcalc: " + vllm + " does not state the device; add --hardware HW\n");
  CHECK_THAT(bench_refusal("--bench " + other + " --hardware h100"),
             Contains("'acme/nothing-7b', which is no preset; add --model MODEL"));
  CHECK_THAT(bench_refusal("--bench " + llama + " --hardware rtx-4090"), Contains("add --model MODEL"));
  CHECK_THAT(bench_refusal("--bench " + plain + " --hardware rtx-4090 --model llama-3.1-8b"),
             Contains("does not state the format of the weights; add --weight-precision"));
  CHECK_THAT(bench_refusal("--bench " + host + " --hardware rtx-4090 --model llama-3.1-8b"),
             Contains("only 10 of 32 layers were on the device"));
  CHECK_THAT(bench_refusal("--bench " + vllm + " --hardware h100 --device cpu"), Contains("omit one of them"));
  CHECK_THAT(bench_refusal("--from x --bench " + vllm), Contains("omit one of them"));
  CHECK_THAT(bench_refusal("--tp 2"), Contains("--tp describes the server of --bench FILE"));
  CHECK_THAT(bench_refusal("--bench " + bench_written("none.txt", "nothing\n") + " --hardware h100"),
             Contains("expected the output of vllm bench serve, sglang.bench_serving or llama-bench"));
  CHECK_THAT(bench_refusal("--bench " + bench_written("slow.json", vllm_result(150, 1e-4)) + " --hardware h100"),
             Contains("slow.json"));
}
