// Runs the program with --device cuda on the stand-in. Its kernels compute no results, so losses and tokens are
// meaningless; bytes, counts, calls and errors are valid.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using llmcalc::test::Ran;
namespace json = llmcalc::json;

namespace {

Ran on_standin(const std::string& arguments, const std::string& environment = "") {
  return llmcalc::test::llmcalc(arguments + " --device cuda", {.before = environment});
}

/// Describes the failure of a run that should exit with code 0; empty on success.
std::string failure(const std::string& arguments, const std::string& environment = "") {
  const Ran r = on_standin(arguments, environment);
  return r.code == 0 ? "" : "exit code " + std::to_string(r.code) + ": " + r.err + r.out;
}

/// Two layers of a known family, small enough to run in a second.
struct Shape {
  std::string name, kv_heads, head_width, qk_norm, mlp, activation, norm, position;
};
const Shape gpt{"gpt", "4", "64", "none", "plain", "gelu_tanh", "layer_norm", R"({"kind": "learned", "rows": 256})"};
const Shape llama{"llama", "2", "64", "none", "gated", "silu", "rms_norm", R"({"kind": "rope"})"};
const Shape qwen3{"qwen3", "2", "128", "per_head", "gated", "silu", "rms_norm", R"({"kind": "rope"})"};

/// Writes a model file of this shape and returns its path.
std::string model_file(const Shape& s) {
  const std::string path = llmcalc::test::scratch() + "/" + s.name + ".json";
  const std::string bias = s.mlp == "plain" ? "true" : "false";
  llmcalc::test::write_file(
      path, R"({"llmcalc_model": 1, "name": "small-)" + s.name + R"(", "title": "small", "layers": 2, "hidden": 256,
"vocabulary": 512, "context": 256, "block": "serial", "attention": {"kind": "grouped", "heads": 4, "kv_heads": )" +
                s.kv_heads + R"(, "head_width": )" + s.head_width + R"(, "qkv_bias": )" + bias + R"(, "out_bias": )" +
                bias + R"(, "qk_norm": ")" + s.qk_norm + R"(", "sinks": false}, "mlp": {"kind": ")" + s.mlp +
                R"(", "width": 512, "activation": ")" + s.activation + R"(", "bias": )" + bias +
                R"(}, "norm": {"kind": ")" + s.norm +
                R"(", "placement": "pre", "per_layer": 2, "final": true, "embedding": false}, "position": )" +
                s.position + R"(, "head": {"tied": true, "bias": false}})");
  return path;
}

/// Writes a text file to learn from and returns its path.
std::string text_file() {
  const std::string path = llmcalc::test::scratch() + "/text.txt";
  std::string text;
  for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i * i) + "\n";
  llmcalc::test::write_file(path, text);
  return path;
}

bool begins(const std::string& s, const std::string& with) { return s.rfind(with, 0) == 0; }
std::string word(const json::Value& row, const char* key) {
  return row.contains(key) ? row.at(key).get<std::string>() : "";
}

/// Routing depends on kernels' results: on the stand-in, experts receive no tokens, so their FLOPs are missing.
bool is_of_experts(const json::Value& row, bool model_has_experts) {
  const std::string op = word(row, "operator");
  return begins(word(row, "quantity"), "FLOPs") && (op.empty() ? model_has_experts : begins(op, "mlp.expert"));
}

/// The rows of a case with unexpected differences.
std::vector<std::string> wrong_rows(const json::Value& of_case) {
  const json::Value& rows = of_case.at("rows");
  const bool experts = std::any_of(rows.begin(), rows.end(),
                                   [](const json::Value& r) { return begins(word(r, "operator"), "mlp.expert"); });
  std::vector<std::string> wrong;
  for (const json::Value& r : rows)
    if (!r.at("equal").get<bool>() && !is_of_experts(r, experts)) wrong.push_back(r.dump());
  return wrong;
}

/// Number of llmcalc messages on stderr, excluding notes and progress.
int sentences(const std::string& err) {
  std::istringstream lines(err);
  int n = 0;
  for (std::string line; std::getline(lines, line);) n += begins(line, "llmcalc: ") && !begins(line, "llmcalc: note");
  return n;
}

void check_sentence(const Ran& r, const std::string& part) {
  INFO(r.err);
  CHECK(r.code == 2);
  CHECK(sentences(r.err) == 1);
  CHECK(r.err.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("bytes and operators of the small suite on a GPU match their predictions", "[program]") {
  const Ran r = on_standin("validate --suite small --json");
  INFO(r.err);
  REQUIRE((r.code == 0 || r.code == 1));
  const json::Value cases = json::Value::parse(r.out).at("cases");
  CHECK(cases.size() > 50);
  for (const json::Value& c : cases) {
    INFO(word(c, "case"));
    CHECK(wrong_rows(c).empty());
    CHECK(word(c, "order").empty());
  }
}

TEST_CASE("a small model trains and infers on a GPU in fp32 and bf16", "[program]") {
  for (const char* precision : {"fp32", "bf16"}) {
    INFO(precision);
    CHECK(failure("validate " + model_file(gpt) + " --seq 64 --precision " + precision).empty());
  }
}

TEST_CASE("small models of other families train and infer on a GPU in fp32 and bf16", "[program][long]") {
  for (const Shape& s : {llama, qwen3})
    for (const char* precision : {"fp32", "bf16"}) {
      INFO(s.name << " " << precision);
      CHECK(failure("validate " + model_file(s) + " --seq 64 --precision " + precision).empty());
    }
}

TEST_CASE("deterministic mode and disabled graphs break no rule of the CUDA runtime", "[program]") {
  const std::string run = "validate " + model_file(gpt) + " --precision bf16";
  CHECK(failure(run, "LLMCALC_DETERMINISTIC=1").empty());
  CHECK(failure(run, "LLMCALC_GRAPHS=0").empty());
}

TEST_CASE("gpu-report generates a page from the results of validate on a GPU", "[program]") {
  if (std::system("command -v python3 >/dev/null") != 0) {
    WARN("not tested: there is no python3");
    return;
  }
  const std::string step = R"({"exit_code": 0, "seconds": 1, "result": json.load(sys.stdin)})";
  const std::string all = R"({"date": "today", "commit": "none", "steps": {"train_gpt2_124m": )" + step + "}}";
  const std::string page =
      "| python3 -c 'import json, sys; print(json.dumps(" + all + "))' | scripts/gpu-report /dev/stdin";
  const Ran r =
      llmcalc::test::llmcalc("validate " + model_file(gpt) + " --seq 64 --device cuda --json", {.behind = page});
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(r.out.find("| train_gpt2_124m | 0 | 1 |") != std::string::npos);
  CHECK(r.out.find("| GPT-2 124M, training | training | backward | mma |  |") != std::string::npos);
}

TEST_CASE("a model trained on a GPU learns a text and continues it", "[program]") {
  const std::string checkpoint = llmcalc::test::scratch() + "/text.safetensors";
  CHECK(failure("learn " + text_file() + " --steps 4 --out " + checkpoint).empty());
  CHECK(failure("generate " + checkpoint + " line --tokens 8").empty());
  CHECK(failure("generate " + checkpoint + " line --tokens 8 --compare-kv-cache --temperature 0").empty());
}

TEST_CASE("calibration breaks no runtime rule and rejects a device whose kernels take no time", "[program][long]") {
  const std::string out = llmcalc::test::scratch() + "/calibrated.json";
  check_sentence(on_standin("calibrate --out " + out), "inconsistent measurements");
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("a missing GPU, or one that is too old, is reported with a message", "[program]") {
  const std::string run = "validate " + model_file(gpt) + " --infer";
  check_sentence(on_standin(run, "LLMCALC_STANDIN_DEVICES=0"), "no usable GPU");
  check_sentence(on_standin(run, "LLMCALC_STANDIN_CAPABILITY=7.5"), "compute capability 7.5");
}

TEST_CASE("a device error ends every command with exit code 2 and a message", "[program]") {
  const std::string model = model_file(llama);
  // An early call, one in the first step, one in a recording, and two during replay.
  for (const char* call : {"3", "20", "300", "1500", "3000"}) {
    INFO("call " << call);
    check_sentence(on_standin("validate " + model, "LLMCALC_STANDIN_FAIL=" + std::string(call)), "launch failure");
  }
  const std::string out = llmcalc::test::scratch() + "/failed";
  const std::string failing = "LLMCALC_STANDIN_FAIL=400";
  check_sentence(on_standin("calibrate --out " + out, failing), "");
  check_sentence(on_standin("learn " + text_file() + " --steps 4 --out " + out, failing), "");
}

TEST_CASE("a model that exceeds the device's memory is rejected", "[program]") {
  const std::string run = "validate " + model_file(llama);
  check_sentence(on_standin(run, "LLMCALC_STANDIN_MEMORY=575000000"), "available");
  check_sentence(on_standin(run, "LLMCALC_STANDIN_MEMORY=540000000"),
                 "ran out of memory");  // not even the library fits
}

TEST_CASE("a failed allocation is retried or reported as out of memory", "[program]") {
  int went_on = 0;
  for (const int n : {31, 34, 35, 38}) {
    const Ran r = on_standin("validate " + model_file(llama), "LLMCALC_STANDIN_FAIL=" + std::to_string(n) + ":2");
    INFO("call " << n);
    if (r.code != 0) check_sentence(r, "memory");
    went_on += r.code == 0;
  }
  CHECK(went_on > 0);
}
