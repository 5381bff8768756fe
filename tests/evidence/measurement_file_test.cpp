// Measurements as requests: reading, rejection, and conversion from the old schema.

#include "evidence/rows/measurement_file.hpp"

#include "evidence/accuracy.hpp"
#include "evidence/convert/convert.hpp"
#include "evidence/rows/inference_measurement.hpp"
#include "evidence/rows/training_measurement.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using Catch::Contains;
using llmcalc::test::sentence;

namespace {

/// A row with the minimum of keys; `changed` is applied as a JSON merge patch.
std::string row(const std::string& changed = "{}") {
  auto v = json::parse(R"({"id": "a", "command": "train", "model": "llama-3.1-8b", "hardware": "h100-sxm-80gb",
    "inputs": {"dp": 8, "zero": 3, "seq": 4096, "global_batch": 8}, "measured": {"step_time_s": 1.5}})",
                       "row");
  v.merge_patch(json::parse(changed, "patch"));
  return v.dump();
}

TrainingCase only(const std::string& changed = "{}") { return read_measurements(row(changed), "f").training.at(0); }

std::string refused(const std::string& text) {
  return sentence([&] { read_measurements(text, "my.jsonl"); });
}

/// Every n-th published row in the old schema, as text.
std::string some_old_rows(std::string_view name, Count every) {
  json::Value rows = json::Value::array();
  Count n = 0;
  for_each_row(published_text(name), std::string(name), [&](const json::Value& r, Count) {
    if (n++ % every == 0) rows.push_back(test::in_old_schema(r));
  });
  return rows.dump();
}

/// Published rows by id.
std::map<std::string, json::Value> published_by_id(std::string_view name) {
  std::map<std::string, json::Value> all;
  for_each_row(published_text(name), std::string(name),
               [&](const json::Value& r, Count) { all[r.at("id").get<std::string>()] = r; });
  return all;
}

}  // namespace

TEST_CASE("a measurement row is a request with defaults for unstated inputs", "[measurement]") {
  const TrainingCase c = only();
  CHECK(c.head.id == "a");
  CHECK(c.head.model == "llama-3.1-8b");
  CHECK(c.head.gpus == 8);
  CHECK(c.layout.dp == 8);
  CHECK(c.layout.zero == Zero::weights);
  CHECK((c.plan.seq == 4096 && c.plan.micro_batch == 1 && c.plan.global_batch == 8));
  CHECK(c.stack.name == "torch-fsdp");
  CHECK(c.step == Seconds(1.5));
  CHECK(c.recomputed == Recomputed());
  CHECK(only(R"({"software": "torchtitan"})").stack.name == "torchtitan");
  CHECK(only(R"({"inputs": {"tp": 2}})").stack.name == "megatron-lm");
  CHECK(only(R"({"inputs": {"recompute": "full"}})").recomputed.every_layer());
  CHECK(only(R"({"inputs": {"attention": "naive"}})").attention.kernel == AttentionKernel::unfused);
}

TEST_CASE("hardware in a measurement is a preset, or a preset with some values changed", "[measurement]") {
  const TrainingCase c = only(R"({"hardware": {"like": "h100-sxm-80gb", "memory_bytes": 1000,
      "links": [{"ranks": 4, "bandwidth_bytes_per_s": 1e9, "latency_s": 1e-6}]}})");
  CHECK(c.cluster().device.memory == Bytes(1000));
  CHECK(c.cluster().device.bandwidth == only().cluster().device.bandwidth);
  REQUIRE(c.cluster().levels.size() == 1);
  CHECK((c.cluster().levels[0].ranks == 4 && c.cluster().levels[0].bandwidth == BytesPerSecond(1e9)));
  CHECK(c.on.preset);
  CHECK_FALSE(only(R"({"hardware": {"like": "h100-sxm-80gb", "name": "mine"}})").on.preset);
}

TEST_CASE("an inference figure preserves its key and unit", "[measurement]") {
  const MeasurementFile f = read_measurements(
      R"({"id": "i", "command": "infer", "model": "llama-3.1-8b", "hardware": "l40s", "engine": "vllm",
          "inputs": {"batch": 4, "prompt": 512, "generate": 128}, "measured": {"tpot_ms": 9, "ttft_ms": 200}})",
      "f");
  const InferenceCase& c = f.inference.at(0);
  CHECK((c.batch == 4 && c.prompt == 512 && c.generate == 128));
  REQUIRE(c.figures.size() == 2);
  CHECK(c.figures[0].value == Approx(9e-3));
  CHECK(accuracy(f, AccuracyKind::inference).rows.size() == 2);
}

TEST_CASE("a measurement file in JSON Lines or as an array may mix rows of several commands", "[measurement]") {
  const std::string other = R"({"id": "i", "command": "infer", "model": "gpt2", "hardware": "l40s",
      "measured": {"tpot_ms": 9}})";
  std::string line = json::parse(other, "other").dump();
  for (const std::string& text : {row() + "\n\n" + line + "\n", "[" + row() + ",\n" + line + "]"}) {
    const MeasurementFile f = read_measurements(text, "f");
    CHECK((f.training.size() == 1 && f.inference.size() == 1));
    CHECK((f.has(MeasurementKind::training) && f.has(MeasurementKind::inference)));
    CHECK_FALSE(f.has(MeasurementKind::serving));
  }
}

TEST_CASE("the error for an invalid measurement is one sentence with file, line and row", "[measurement]") {
  CHECK(refused("[]") == "my.jsonl: expected rows: a JSON array, or one object per line");
  CHECK(refused(row(R"({"id": null})")) == "my.jsonl:1: \"id\" is missing; every row needs a unique id");
  CHECK(refused(row() + "\n" + row()) ==
        "my.jsonl:2, row \"a\": line 1 has a row with the same id; ids must be unique");
  CHECK(refused(row(R"({"command": "sing"})")) ==
        "my.jsonl:1, row \"a\", \"command\": expected train, infer or serve, got \"sing\"");
  CHECK(refused(row(R"({"hardware": null})")) == "my.jsonl:1, row \"a\": \"hardware\" is missing");
  CHECK(refused(row(R"({"inputs": {"dq": 8}})")) ==
        "my.jsonl:1, row \"a\", \"inputs\": unknown input \"dq\", did you mean \"dp\"?");
  CHECK_THAT(refused(row(R"({"inputs": {"dp": 2.5}})")), Contains("--dp: expected a positive whole number"));
  CHECK_THAT(refused(row(R"({"speed": 3})")), Contains("my.jsonl:1, row \"a\": unknown key \"speed\""));
  CHECK_THAT(refused(row(R"({"measured": {"step_time_s": null}})")), Contains("no quantity; add step_time_s"));
  CHECK_THAT(refused(row(R"({"software": {"attention": {"kernel": "fast"}}})")),
             Contains("expected unfused|fused-softmax|flash-1|flash-2|vendor|flash, got \"fast\""));
}

TEST_CASE("the error for a file in the old schema names the command that converts it", "[measurement]") {
  CHECK(refused(some_old_rows("training.jsonl", 1000)) ==
        "my.jsonl:1: no \"command\": this file has the schema of earlier versions; 'llmcalc accuracy convert my.jsonl "
        "NEW' converts it");
  CHECK_THAT(refused(R"({"name": "run", "requests": []})"), Contains("accuracy convert"));
}

TEST_CASE("converting rows of the old schema reproduces the published rows", "[measurement]") {
  for (const auto& [name, every] : {std::pair{"training.jsonl", Count{40}}, {"inference.jsonl", Count{20}}}) {
    const std::map<std::string, json::Value> published = published_by_id(name);
    const Converted all = convert(some_old_rows(name, every), name);
    CHECK(all.rows.size() >= 35);
    for (const json::Value& r : all.rows) {
      INFO(r.at("id"));
      CHECK(r == published.at(r.at("id").get<std::string>()));
    }
  }
}

TEST_CASE("the converter keeps a row without a request, with the reason", "[measurement]") {
  const Converted all =
      convert(R"([{"id": "a", "new": 1, "model": {"layers": 2, "hidden": 64, "heads": 4, "seq_len": 64},
    "hardware": {"gpu": "A100-SXM", "count": 8}, "scope": "forward pass", "measured": {"iteration_time_s": 1.5}}])",
              "f");
  REQUIRE(all.rows.size() == 1);
  REQUIRE(all.unconverted.size() == 1);
  CHECK(all.unconverted[0].reason == "the time covers only the forward pass, not a step");
  CHECK(all.unknown_keys == std::vector<std::string>{"new"});
  CHECK(all.rows[0].at("stated").at("new") == 1);
  const Accuracy a = accuracy(read_measurements(all.rows[0].dump(), "g"), AccuracyKind::training);
  CHECK(a.rows.empty());
  REQUIRE(a.skipped.size() == 1);
  CHECK(a.skipped[0].reason == all.unconverted[0].reason);
  CHECK_THAT(sentence([&] { convert(all.rows[0].dump(), "f"); }), Contains("needs no conversion"));
}

TEST_CASE("every published request round-trips through a measurement file", "[measurement]") {
  const MeasurementFile t = published_measurements(MeasurementKind::training);
  CHECK(t.training.size() == 1785);
  for (std::size_t i = 0; i < t.training.size(); i += 60) {
    const TrainingCase& c = t.training[i];
    const json::Value written = training_measurement_json(c, json::Value::object());
    const TrainingCase again = read_training_measurement(json::Object(written, "again"), "again");
    INFO(c.head.id);
    CHECK((again.arch == c.arch && again.plan == c.plan && again.layout == c.layout && again.step == c.step));
  }
  const MeasurementFile f = published_measurements(MeasurementKind::inference);
  CHECK((f.inference.size() == 3400 && f.serving.size() == 2));
}
