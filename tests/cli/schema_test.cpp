// All --json output conforms to the JSON Schema: a key has one meaning, and unknown values are absent.

#include <algorithm>
#include <regex>
#include <sstream>

#include "report/schema/report_schema.hpp"
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

/// The schema of a member: by its name, else by a pattern, else the schema of additional members.
json::Value schema_of(const std::string& key, const json::Value& schema) {
  const json::Value properties = schema.value("properties", json::Value::object());
  if (properties.contains(key)) return properties[key];
  const json::Value patterns = schema.value("patternProperties", json::Value::object());
  for (const auto& [pattern, part] : patterns.items())
    if (std::regex_search(key, std::regex(pattern))) return part;
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

/// The commands of tests/schemas/commands.txt, which tests/schemas/conform.py also validates.
std::vector<std::string> sampled_commands() {
  std::istringstream lines(test::read_file(LLMCALC_SOURCE_DIR "/tests/schemas/commands.txt"));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

}  // namespace

TEST_CASE("every report conforms to the JSON Schema and contains no null", "[contract][cli][long]") {
  const json::Value schema = report_json_schema();
  std::vector<std::string> all = sampled_commands();
  all.insert(all.end(), {"explain all llama-3.1-8b --hardware h100 --tokens 1T", "accuracy inference"});  // slow
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
    const json::Value answer = test::ask(command);
    if (answer.contains("llmcalc")) CHECK(flaw(answer, schema, "report") == "");  // not a file or a launch text
    CHECK_FALSE(has_null(answer));
  }
}

TEST_CASE("an unknown schema is refused with the nearest name", "[contract][cli]") {
  test::refused("schema trian",
                "unknown schema \"trian\", did you mean \"train\"? ('llmcalc schema --help' lists all)");
  test::refused("schema schema", "unknown schema \"schema\" ('llmcalc schema --help' lists all)");
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
