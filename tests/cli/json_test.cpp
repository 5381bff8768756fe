#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

// Field names of the JSON schema, which must not change because other programs rely on them.

namespace {

void has(const json::Value& report, const char* section, std::initializer_list<const char*> keys) {
  INFO(section);
  REQUIRE(report.contains(section));
  for (const char* key : keys) {
    INFO(key);
    CHECK(report[section].contains(key));
  }
}

/// Whether a value contains no null.
bool whole(const json::Value& v) {
  if (v.is_null()) return false;
  if (v.is_structured())
    for (const json::Value& part : v)
      if (!whole(part)) return false;
  return true;
}

}  // namespace

TEST_CASE("a report's JSON has every key of schema 2 and no null", "[contract][cli]") {
  const json::Value r = ask(
      "report llama-3.1-70b --hardware h100 --tp 8 --gpus 64 --tokens 15T --price 2.5 --watts 700 --pue 1.1 --co2 0.4");
  CHECK(r["llmcalc"]["schema"] == 2);
  CHECK(r["command"] == "report");
  has(r, "model", {"name", "source"});
  has(r, "inputs", {"seq",          "micro_batch", "global_batch", "batch",
                    "prompt",       "generate",    "precision",    "weight_precision",
                    "kv_precision", "optimizer",   "master",       "gradient_bytes",
                    "tp",           "sp",          "cp",           "pp",
                    "ep",           "dp",          "zero",         "gpus",
                    "recompute",    "attention",   "dropout",      "softmax_store",
                    "glu_store",    "norm_stats",  "logits",       "attention_flops",
                    "params_in_6n", "roofline",    "efficiency",   "memory_utilization",
                    "kv_cache",     "tokens",      "price",        "watts",
                    "pue",          "co2"});
  has(r, "parameters",
      {"total", "active", "non_embedding", "embedding", "position", "attention", "mlp", "norm", "lm_head"});
  has(r, "kv_cache", {"bytes_per_token", "bytes_per_sequence", "bytes_total"});
  has(r, "memory",
      {"weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "logits_bytes", "workspace_bytes",
       "total_bytes", "peak_bytes", "capacity_bytes", "fits"});
  has(r, "inference_memory",
      {"weights_bytes", "kv_cache_bytes", "workspace_bytes", "total_bytes", "peak_bytes", "capacity_bytes", "fits"});
  has(r, "flops", {"forward", "backward", "recompute", "model_total", "hardware_total", "executed", "per_token"});
  has(r, "step",
      {"time_s", "bound_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "mfu", "hfu", "bound", "breakdown_s"});
  has(r, "run", {"tokens", "days", "gpu_hours", "energy_kwh", "co2_kg", "cost_usd"});
  has(r, "prefill", {"time_s", "flops", "bound"});
  has(r, "decode", {"time_per_token_s", "tokens_per_s", "bound"});
  has(r, "end_to_end", {"ttft_s", "total_s"});
  has(r, "limits", {"max_batch", "max_context"});
  CHECK(whole(r));
}

TEST_CASE("the JSON of validate names the model, machine and options", "[contract][cli]") {
  const std::string tiny = "validate docs/examples/tiny-llama.json --seq 8 --train ";
  const json::Value plain = ask(tiny), timed = ask(tiny + "--hardware h100 --repeats 2");
  for (const json::Value& r : {plain, timed}) {
    CHECK(r["model"] == ask("params docs/examples/tiny-llama.json")["model"]);
    has(r, "conventions", {"multiply_add", "executed"});
    has(r, "inputs", {"seq", "micro_batch", "precision", "optimizer"});
    CHECK_FALSE(r["inputs"].contains("prompt"));
    CHECK(r["inputs"]["device"] == "cpu");
    CHECK(r["inputs"]["train"] == true);
    CHECK(r["inputs"]["infer"] == false);
    CHECK(whole(r));
  }
  CHECK_FALSE(plain.contains("hardware"));
  CHECK_FALSE(plain["inputs"].contains("repeats"));
  CHECK(timed["hardware"] == ask("train gpt2 --hardware h100")["hardware"]);
  CHECK(timed["inputs"]["repeats"] == 2);
  CHECK(timed["inputs"]["check_time"] == false);
}

TEST_CASE("inapplicable keys are absent, but a count of zero is present", "[contract][cli]") {
  const json::Value r = ask("train gpt2 --hardware h100");
  CHECK_FALSE(r.contains("run"));
  CHECK_FALSE(ask("memory gpt2").contains("hardware"));
  CHECK_FALSE(ask("memory gpt2")["memory"].contains("fits"));
  CHECK(ask("params gpt2")["parameters"]["lm_head"] == 0);
}

TEST_CASE("FLOPs above 2^64 print every digit", "[contract][cli]") {
  // 6 x 405,853,388,800 x 15.6e12 = 37987877191680000000000000
  const test::Ran r = test::llmcalc("flops llama-3.1-405b --tokens 15.6T --json");
  CHECK(r.out.find("\"6nd_run\": 37987877191680000000000000") != std::string::npos);
}

TEST_CASE("the memory command shows training memory, inference memory, or both", "[contract][cli]") {
  CHECK(ask("memory gpt2 --train")["memory"]["gradients_bytes"] == 4 * 124439808);
  CHECK_FALSE(ask("memory gpt2 --train").contains("kv_cache"));
  CHECK(ask("memory gpt2 --infer")["inference_memory"]["weights_bytes"] == 2 * 124439808);
  CHECK(ask("memory gpt2").contains("inference_memory"));
}

TEST_CASE("the MFU of a measured throughput is computed over all GPUs", "[contract][cli]") {
  const json::Value r = ask("train gpt-3-175b --hardware a100 --tp 8 --gpus 1024 --measured-tokens-per-s 140k");
  const double per_token = r["flops"]["per_token"].get<double>();
  CHECK(r["run"]["mfu"].get<double>() == Approx(per_token * 140e3 / (1024 * 312e12)).epsilon(1e-12));
}

TEST_CASE("text, Markdown and JSON carry the same numbers", "[contract][cli]") {
  const std::string total = "405,853,388,800";
  CHECK(test::llmcalc("params llama-3.1-405b --exact").out.find(total) != std::string::npos);
  CHECK(test::llmcalc("params llama-3.1-405b --exact --markdown").out.find(total) != std::string::npos);
  CHECK(ask("params llama-3.1-405b")["parameters"]["total"] == 405853388800);
}

TEST_CASE("an imported config gives the same answer as the preset made from it", "[contract][cli]") {
  test::write_file(test::scratch() + "/config.json",
                   R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                       "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
                       "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": false})");
  const std::string path = test::scratch() + "/config.json";
  CHECK(ask("params " + path)["parameters"] == [] {
    json::Value preset = ask("params llama-3-8b")["parameters"];
    preset.erase("published");
    return preset;
  }());
  const test::Ran imported = test::llmcalc("import " + path);
  REQUIRE(imported.code == 0);
  test::write_file(test::scratch() + "/imported.json", imported.out);
  CHECK(ask("params " + test::scratch() + "/imported.json")["parameters"]["total"] == 8030261248);
}

TEST_CASE("a saved report equals the output of the same command run later", "[contract][cli]") {
  const std::string path = test::scratch() + "/saved.json";
  for (const char* command :
       {"report falcon-40b --hardware a100 --tp 4 --prompt 1792 --recompute full --dropout --no-kv-cache",
        "memory gpt2 --infer --kv-precision fp8", "flops gpt-3-175b --tokens 300B", "params mixtral-8x7b",
        "infer deepseek-v3 --hardware h200 --tp 8 --precision fp8 --memory-utilization 0.9 --ops",
        "train llama-3-8b --hardware h100 --efficiency 0.6 --logits chunked:4 --norm-stats off", "scaling --params 70B",
        "scaling --compute 5.76e23 --fit besiroglu", "collective all-reduce --bytes 1GiB --ranks 8 --hardware h100",
        "collective broadcast --bytes 400MB --ranks 64 --bandwidth 25GB/s --latency 5us",
        "collective all-gather --bytes 1GB --ranks 4"}) {
    const test::Ran saved = test::llmcalc(std::string(command) + " --json");
    REQUIRE(saved.code == 0);
    test::write_file(path, saved.out);
    const test::Ran same = test::llmcalc("check --baseline " + path);
    INFO("llmcalc " << command << "\n" << same.out << same.err);
    CHECK(same.code == 0);
  }
}

TEST_CASE("check against a baseline lists changed, missing and new numbers", "[contract][cli]") {
  const std::string path = test::scratch() + "/saved.json";
  const test::Ran saved = test::llmcalc("params gpt2 --json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = saved.out;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    test::write_file(path, text.replace(at, from.size(), to));
    return test::llmcalc("check --baseline " + path);
  };
  const test::Ran moved = with("\"total\": 124439808", "\"total\": 124000000");
  CHECK(moved.code == 1);
  CHECK(moved.out.find("124439808") != std::string::npos);
  CHECK(moved.out.find("+0.355 %") != std::string::npos);  // 124439808/124000000 = 1.003547
  const test::Ran other = with("\"total\"", "\"sum\"");
  CHECK(other.code == 1);
  CHECK(other.out.find("gone") != std::string::npos);
  CHECK(other.out.find("new") != std::string::npos);
  CHECK(other.out.find("2 values changed, appeared or disappeared") != std::string::npos);
}

TEST_CASE("a tolerance accepts only relative differences below it", "[contract][cli]") {
  const std::string path = test::scratch() + "/saved.json";
  std::string text = test::llmcalc("params gpt2 --json").out;
  text.replace(text.find("124439808"), 9, "124000000");
  test::write_file(path, text);
  CHECK(test::llmcalc("check --baseline " + path + " --tolerance 0.0036").code == 0);
  CHECK(test::llmcalc("check --baseline " + path + " --tolerance 0.0035").code == 1);
}

TEST_CASE("a file that is not a report or has another schema is rejected as a baseline", "[contract][cli]") {
  const std::string path = test::scratch() + "/saved.json";
  const auto refusal = [&](const std::string& text) {
    test::write_file(path, text);
    const test::Ran r = test::llmcalc("check --baseline " + path);
    CHECK(r.code == 2);
    return r.err;
  };
  CHECK(refusal(R"({"answer": 42})").find("is not an llmcalc report; save one with --json") != std::string::npos);
  CHECK(refusal(R"({"command": "params", "llmcalc": {"schema": 1}})")
            .find("the report has schema 1, but this llmcalc reads schema 2") != std::string::npos);
  CHECK(refusal(R"({"command": "list", "llmcalc": {"schema": 2}})").find("'llmcalc list' cannot be compared") !=
        std::string::npos);
}

TEST_CASE("check finds no difference for any preset", "[textbook][cli]") {
  const test::Ran r = test::llmcalc("check");
  CHECK(r.code == 0);
  CHECK(r.out.find("no differences") != std::string::npos);
}
