#include "evidence/convert/old_file.hpp"

#include "evidence/convert/row_arch.hpp"

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using llmcalc::test::sentence;

namespace {

/// A training row with the minimum of keys; `changed` is applied as a JSON merge patch.
std::string training(const std::string& changed = "{}") {
  auto row = json::parse(R"({"id": "a", "model": {"layers": 2, "hidden": 64, "heads": 4},
    "hardware": {"gpu": "A100-SXM", "count": 8}, "measured": {"iteration_time_s": 1.5}})",
                         "row");
  row.merge_patch(json::parse(changed, "patch"));
  return row.dump();
}

std::string inference(const std::string& changed = "{}") {
  auto row = json::parse(R"({"id": "i", "model": {"arch": {"layers": 2, "hidden": 64, "heads": 4}},
    "hardware": {"accelerator": "NVIDIA L40S", "count": 1}, "measured": {"tpot_ms": 9}})",
                         "row");
  row.merge_patch(json::parse(changed, "patch"));
  return row.dump();
}

std::string refused(const std::string& text) {
  return sentence([&] { read_old_file(text, "my.json"); });
}
std::string refused_row(const std::string& changed) { return refused("[\n" + training(changed) + "\n]"); }
std::string refused_inference(const std::string& changed) { return refused("[\n" + inference(changed) + "\n]"); }

}  // namespace

TEST_CASE("the kind of a file is inferred from the keys of its rows", "[measurement]") {
  const OldFile t = read_old_file("[" + training() + "]", "t");
  CHECK(t.kind == MeasurementKind::training);
  REQUIRE(t.training.size() == 1);
  CHECK(t.training[0].measured.iteration_time_s == 1.5);
  CHECK_FALSE(t.training[0].model.vocab);
  const OldFile i = read_old_file("[" + inference() + "]", "i");
  CHECK(i.kind == MeasurementKind::inference);
  REQUIRE(i.inference.size() == 1);
  CHECK(i.inference[0].measured == std::vector<std::pair<std::string, double>>{{"tpot_ms", 9}});
}

TEST_CASE("the error for an invalid old-schema file is one sentence with file, line and row", "[measurement]") {
  CHECK(refused("[") == "my.json:1:2: unexpected end of input; the file is truncated or not JSON");
  CHECK(refused("[\n{\"id\": \"a\",}]") == "my.json:2:12: unexpected '}'; the file is not JSON from here on");
  CHECK(refused("[]") == "my.json:1: the list is empty; a file of measurements has at least one row");
  CHECK(refused("{}") ==
        "my.json:1: expected a list of rows in square brackets or a recorded run in braces, with \"requests\"");
  CHECK_THAT(refused("\n\n {\n}"), Catch::StartsWith("my.json:3: expected a list of rows"));
  CHECK_THAT(refused("\n[\n]"), Catch::StartsWith("my.json:2: the list is empty"));
  CHECK(refused("[{\"id\": \"b\"},\n{\"id\": \"a\",\n\"id\": \"b\"}]") ==
        "my.json:3: key \"id\" appears twice; remove one");
  CHECK(refused("[\n\n3]") == "my.json:3: expected an object in braces, got 3");
  CHECK(refused("[\n{}]") == "my.json:2: \"id\" is missing; every row needs a unique id");
  CHECK(refused("[" + training() + ",\n" + training() + "]") ==
        "my.json:2, row \"a\": line 1 has a row with the same id; ids must be unique");
  CHECK(refused("[" + training() + ",\n" + inference() + "]") ==
        "my.json:2, row \"i\": a row of inference among rows of training; use a separate file for each");
  CHECK(refused("[\n{\"id\": \"a\", \"measured\": {}}]").starts_with("my.json:2, row \"a\": neither a measurement of"));
}

TEST_CASE("missing keys, wrong types and physically impossible values are rejected", "[measurement]") {
  CHECK(refused_row(R"({"measured": null})") == "my.json:2, row \"a\": \"measured\" is missing");
  CHECK(refused_row(R"({"model": {"layers": null}})") ==
        "my.json:2, row \"a\", \"model\": \"layers\" is missing; every measurement requires it");
  CHECK(refused_row(R"({"hardware": {"gpu": null}})") ==
        "my.json:2, row \"a\", \"hardware\": \"gpu\" is missing; a measurement must state its device");
  CHECK(refused_row(R"({"measured": {"iteration_time_s": "1.5 s"}})") ==
        "my.json:2, row \"a\", \"measured\", \"iteration_time_s\": expected a finite number, got \"1.5 s\"");
  CHECK(refused_row(R"({"measured": {"iteration_time_s": 0}})") ==
        "my.json:2, row \"a\", \"measured\", \"iteration_time_s\": expected a number above 0, got 0");
  CHECK(refused_row(R"({"measured": {"iteration_time_s": -3}})") ==
        "my.json:2, row \"a\", \"measured\", \"iteration_time_s\": expected a number above 0, got -3");
  CHECK(refused_row(R"({"measured": {"mfu": 1.2}})") ==
        "my.json:2, row \"a\", \"measured\", \"mfu\": expected a fraction of the peak, above 0 and at most 1, got 1.2");
  CHECK(refused_row(R"({"measured": {"mfu": 41}})") ==
        "my.json:2, row \"a\", \"measured\", \"mfu\": expected a fraction of the peak, above 0 and at most 1, got 41");
  CHECK(refused_row(R"({"hardware": {"count": -8}})") ==
        "my.json:2, row \"a\", \"hardware\", \"count\": expected a whole number of at least 1, got -8");
  CHECK(refused_row(R"({"parallelism": {"zero_stage": 4}})") ==
        "my.json:2, row \"a\", \"parallelism\", \"zero_stage\": expected 0 to 3, got 4");
  CHECK(refused_row(R"({"parallelism": {"tp": 2.5}})") ==
        "my.json:2, row \"a\", \"parallelism\", \"tp\": expected a whole number of at least 1, got 2.5");
  CHECK(refused_inference(R"({"measured": {"tpot_ms": 0}})") ==
        "my.json:2, row \"i\", \"measured\", \"tpot_ms\": expected a number above 0, got 0");
  CHECK(refused_inference(R"({"measured": {"mfu_pct": 140}})") ==
        "my.json:2, row \"i\", \"measured\", \"mfu_pct\": expected at most 100 % of the peak, got 140");
  CHECK(refused_inference(R"({"batch": {"input_len": -1}})") ==
        "my.json:2, row \"i\", \"batch\", \"input_len\": expected a number of at least 0, got -1");
}

TEST_CASE("a file with unknown keys is accepted, and each key is reported once", "[measurement]") {
  const std::string extra = R"({"new": 1, "measured": {"joules": 3}})";
  const OldFile f =
      read_old_file("[" + training(extra) + "," + training(R"({"id": "b", "measured": {"joules": 4}})") + "]", "f");
  CHECK(f.training.size() == 2);
  CHECK(f.unknown_keys == std::vector<std::string>{"measured.joules", "new"});
}

TEST_CASE("every key of the published measurements is known, and every row keeps its source", "[measurement]") {
  const OldFile t = test::old_file("training.jsonl"), i = test::old_file("inference.jsonl");
  CHECK(t.training.size() == 1785);
  CHECK(t.unknown_keys == std::vector<std::string>{});
  CHECK(i.inference.size() == 3400);
  CHECK(i.unknown_keys == std::vector<std::string>{});
  for (const TrainingRow& r : t.training)
    CHECK((!r.source.title.empty() && !r.source.url.empty() && !r.family.empty()));
  for (const InferenceRow& r : i.inference) CHECK((!r.source.title.empty() && !r.source.url.empty()));
}

TEST_CASE("a config.json in a row determines the model's dimensions", "[measurement-file]") {
  const std::string config = R"("config": {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "num_hidden_layers": 3, "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 512, "vocab_size": 1000, "max_position_embeddings": 4096})";
  const OldFile training =
      read_old_file(R"([{"id": "a", "model": {"layers": 2, "hidden": 64, "heads": 4, "seq_len": 128, )" + config +
                        R"(}, "hardware": {"gpu": "A100-SXM", "count": 8}, "measured": {"iteration_time_s": 1.5}}])",
                    "f");
  const Arch trained = arch_of(training.training.at(0)).arch;
  CHECK((trained.layers == 3 && trained.hidden == 256 && trained.kv_heads == 2 && trained.vocabulary == 1000));
  const OldFile inference =
      read_old_file(R"([{"id": "a", "model": {"arch": {"layers": 2, "hidden": 64, "heads": 4}, )" + config +
                        R"(}, "hardware": {"accelerator": "L40S", "count": 1}, "measured": {"tpot_ms": 9}}])",
                    "f");
  CHECK(arch_of(inference.inference.at(0)).arch == trained);
}
