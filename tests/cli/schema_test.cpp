// All --json output conforms to the JSON Schema: a key has one meaning, and unknown values are absent.

#include <algorithm>
#include <sstream>

#include "report/schema.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/presets/checkpoint_writer.hpp"

using namespace llmcalc;

namespace {

bool is_of(const json::Value& v, const std::string& type) {
  if (type == "object") return v.is_object();
  if (type == "array") return v.is_array();
  if (type == "string") return v.is_string();
  if (type == "boolean") return v.is_boolean();
  return type == "integer" ? v.is_number_integer() : v.is_number();
}

bool is_of_one(const json::Value& v, const json::Value& types) {
  if (types.is_string()) return is_of(v, types.get<std::string>());
  return std::any_of(types.begin(), types.end(), [&](const json::Value& t) { return is_of(v, t.get<std::string>()); });
}

/// The schema of a member: by its name, else by a suffix of its name (a pattern such as "_text$"), else the schema of
/// additional members.
json::Value schema_of(const std::string& key, const json::Value& schema) {
  const json::Value properties = schema.value("properties", json::Value::object());
  if (properties.contains(key)) return properties[key];
  const json::Value patterns = schema.value("patternProperties", json::Value::object());
  for (const auto& [pattern, of] : patterns.items())
    if (key.ends_with(pattern.substr(0, pattern.size() - 1))) return of;
  return schema.value("additionalProperties", json::Value(true));
}

/// The first violation of the schema; empty if there is none. Supports the keywords that our schema uses.
std::string flaw(const json::Value& v, const json::Value& schema, const std::string& where) {
  if (schema.is_boolean()) return schema.get<bool>() ? "" : where + " is not in the schema";
  if (schema.contains("const") && v != schema["const"]) return where + " is not " + schema["const"].dump();
  if (schema.contains("type") && !is_of_one(v, schema["type"])) return where + " is no " + schema["type"].dump();
  for (const json::Value& key : schema.value("required", json::Value::array()))
    if (!v.contains(key.get<std::string>())) return where + " lacks " + key.get<std::string>();
  if (v.is_object())
    for (const auto& [key, part] : v.items())
      if (const std::string f = flaw(part, schema_of(key, schema), where + "." + key); !f.empty()) return f;
  if (v.is_array() && schema.contains("items"))
    for (const json::Value& part : v)
      if (const std::string f = flaw(part, schema["items"], where + "[]"); !f.empty()) return f;
  return "";
}

bool has_null(const json::Value& v) {
  if (v.is_null()) return true;
  return v.is_structured() && std::any_of(v.begin(), v.end(), has_null);
}

const char* const commands[] = {
    "params deepseek-v3",
    "params gpt2",
    "memory gpt2",
    "memory llama-3.1-70b --train --tp 8 --recompute full --hardware h100",
    "memory deepseek-v2-lite --infer --ops --hardware rtx-4090",
    "flops gpt-3-175b --seq 2048 --ops",
    "flops gemma-3-27b --tokens 1T --recompute selective",
    "train gpt-3-175b --hardware a100 --gpus 1024 --tp 8 --tokens 300B --price 2 --watts 400 --co2 0.4 --ops",
    "train llama-3.1-8b --hardware h100 --seq 131072",
    "train llama-3.1-8b --hardware h100 --measured-tokens-per-s 10k --efficiency 0.5",
    "infer llama-3.1-70b --hardware h100 --tp 8 --batch 100 --prompt 4096 --ops",
    "infer gpt2 --hardware h100 --no-kv-cache",
    "infer llama-3.1-8b --hardware h100 --precision fp8",
    "infer deepseek-v4-flash --hardware b200 --tp 8",
    "infer llama-3.1-70b --hardware h200 --target '50 tokens/s'",
    "infer llama-3.1-8b --hardware rtx-4090 --batch 4 --target 'TTFT 0.1 s'",
    "infer llama-3.1-8b --hardware h100 --target '20 ms'",
    "train llama-3.1-8b --hardware h100 --gpus 8 --fsdp --measured-tokens-per-s 45k",
    "infer falcon-40b --hardware a100 --batch 64 --roofline step",
    "report deepseek-v3 --hardware h200 --tp 8",
    "explain",
    "explain overlap",
    "explain glossary",
    "compare --of 'train gpt2 --hardware h100' --vs '--dp 2' --vs '--hardware a100'",
    "train llama-3.1-70b --hardware h100",
    "list hardware --here",
    "explain all llama-3.1-8b --hardware h100 --tokens 1T",
    "explain attn.q llama-3.1-8b",
    "explain ridge h100",
    "accuracy training",

    "accuracy inference",
    "accuracy serving",
    "diagnose tests/cli/logs/vllm-v1.log --hardware h100",
    "diagnose tests/cli/logs/out-of-memory.log llama-3.1-8b --fsdp --dp 8",
    "diagnose tests/cli/logs/memory-summary.log",
    "diagnose tests/cli/logs/sglang-draft.log",
    "diagnose tests/cli/logs/llama-cpp.log",
    "diagnose tests/cli/logs/tgi.log mistral-7b-v0.1",
    "diagnose tests/cli/logs/megatron.log gpt2",
    "scaling --compute 1e24",
    "scaling --params 70B --fit chinchilla-3",
    "collective all-reduce --bytes 1GB --ranks 8 --hardware h100",
    "collective all-to-all --bytes 1GB --ranks 8 --bandwidth 50GB/s --latency 5us",
    "serve llama-3.1-8b --hardware h100 --rate 4 --slo-ttft 500ms --shared-prefix 100 --api-price 1,2 --num-requests "
    "300",
    "serve llama-3.1-70b --hardware h100 --rate 1",
    "plan serve llama-3.1-8b --hardware h100,l40s --rate 4 --slo-ttft 500ms --top 2",
    "fit --hardware rtx-4090",
    "list models",
    "list hardware",
    "list dtypes",
    "list families",
    "check",
    "validate docs/examples/tiny-llama.json --seq 8",
    "validate docs/examples/tiny-llama.json --seq 8 --train --hardware h100 --repeats 2",
};

}  // namespace

TEST_CASE("every report conforms to the JSON Schema and contains no null", "[contract][cli][long]") {
  const json::Value schema = report_json_schema();
  std::vector<std::string> all(std::begin(commands), std::end(commands));
  all.push_back("calibrate --from evidence/operators/rtx-pro-6000/llama-3.1-8b --out " + test::scratch() +
                "/tables.json");
  const test::CheckpointFolder folder;
  const test::LlamaSizes tiny{.d = 256, .layers = 2, .vocabulary = 512, .heads = 4, .kv = 2, .head_dim = 64, .ff = 512};
  const auto format = [](const std::string& name, Count) { return name == "attn_v" ? "Q6_K" : "Q4_K"; };
  const std::string gguf = write_gguf(folder, "m.gguf", llama_keys(tiny), gguf_llama(tiny, format));
  all.push_back("accuracy memory " + test::measurements("experts"));
  all.push_back("show " + gguf);
  all.push_back("infer " + gguf + " --hardware h100");
  for (const std::string& command : all) {
    CAPTURE(command);
    const json::Value report = test::ask(command);
    CHECK(flaw(report, schema, "report") == "");
    CHECK_FALSE(has_null(report));
  }
}

TEST_CASE("the schema rejects unknown keys and wrong types", "[contract][cli]") {
  const json::Value schema = report_json_schema();
  json::Value report = test::ask("memory gpt2 --train");
  report["memory"]["weights_bytes"] = "many";
  CHECK(flaw(report, schema, "report").find("report.memory.weights_bytes is no") == 0);
  report = test::ask("memory gpt2 --train");
  report["memory"]["kv_cache_bytes"] = 0;
  CHECK(flaw(report, schema, "report") == "report.memory.kv_cache_bytes is not in the schema");
  report.erase("command");
  CHECK(flaw(report, schema, "report") == "report lacks command");
}

TEST_CASE("docs/report.schema.json matches the program's schema", "[contract][cli]") {
  CHECK(json::parse(test::read_file(LLMCALC_SOURCE_DIR "/docs/report.schema.json"), "the schema") ==
        report_json_schema());
}

TEST_CASE("every published and example measurement conforms to docs/measurement.schema.json", "[contract][cli]") {
  const json::Value schema = json::parse(test::read_file(LLMCALC_SOURCE_DIR "/docs/measurement.schema.json"), "schema");
  for (const char* file : {"evidence/training.jsonl", "evidence/inference.jsonl", "evidence/serving.jsonl",
                           "docs/examples/measurements.jsonl"}) {
    std::istringstream lines(test::read_file(std::string(LLMCALC_SOURCE_DIR "/") + file));
    for (std::string line; std::getline(lines, line);) {
      const json::Value row = json::parse(line, file);
      CAPTURE(file, row["id"]);
      REQUIRE(flaw(row, schema, "row") == "");
    }
  }
}

TEST_CASE("the example measurements are predicted from presets", "[contract][cli]") {
  const json::Value report = test::ask("accuracy docs/examples/measurements.jsonl");
  CHECK(report["rows"].size() == 3);
  CHECK(report["skipped"].empty());
}
