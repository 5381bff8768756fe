// Downloaded checkpoint folders: generate, validate and perplexity, and damaged folders.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

namespace fs = std::filesystem;
const std::string fixtures = LLMCALC_SOURCE_DIR "/tests/learn";

/// A copy of a checkpoint from tests/learn/checkpoints, with a tokenizer if its vocabulary is large enough.
std::string folder(const std::string& name, const std::string& copy) {
  const std::string to = test::scratch() + "/" + copy;
  fs::remove_all(to);
  fs::copy(fixtures + "/checkpoints/" + name, to);
  if (name == "qwen3") fs::copy_file(fixtures + "/tokenizers/qwen.json", to + "/tokenizer.json");
  return to;
}

/// Edits a JSON file in place.
template <typename F>
void edit(const std::string& file, const F& change) {
  json::Value v = json::Value::parse(test::read_file(file));
  change(v);
  test::write_file(file, v.dump());
}

void refused(const std::string& arguments, const std::string& part) {
  const test::Ran r = test::llmcalc(arguments);
  INFO(arguments << ": " << r.err);
  CHECK(r.code == 2);
  CHECK(r.err.find(part) != std::string::npos);
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("a model folder continues a prompt identically with and without the cache", "[checkpoint]") {
  const std::string go = "generate " + folder("qwen3", "text") + " 'the first day' --temperature 0 --tokens 12";
  const test::Ran r = test::llmcalc(go + " --compare-kv-cache");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(r.out.starts_with("the first day"));
  CHECK(r.err.find("12 tokens, identical with and without the cache") != std::string::npos);
}

TEST_CASE("a file inside a model folder can be given instead of the folder", "[checkpoint]") {
  const std::string at = folder("qwen3", "part"), rest = " 'the' --temperature 0 --tokens 3";
  const std::string whole = test::llmcalc("generate " + at + "/" + rest).out;
  CHECK(whole.starts_with("the"));
  CHECK(test::llmcalc("generate " + at + "/model.safetensors" + rest).out == whole);
  CHECK(test::llmcalc("generate " + at + "/config.json" + rest).out == whole);
}

TEST_CASE("any end token of generation_config.json ends generation", "[checkpoint]") {
  const std::string at = folder("qwen3", "ends");
  const auto generated = [&] {
    return test::ask("generate " + at + " 'the' --temperature 0 --tokens 5")["generation"];
  };
  const json::Value ids = generated()["token_ids"];
  CHECK(ids.size() == 5);
  test::write_file(at + "/generation_config.json", json::Value{{"eos_token_id", {339, ids[2]}}}.dump());
  const json::Value ended = generated();
  CHECK(ended["ended"] == "end of text");
  CHECK(ended["token_ids"].size() == 2);
}

TEST_CASE("validate runs a model folder with its own weights and finds the predicted bytes and FLOPs", "[checkpoint]") {
  for (const std::string name :
       {"gpt2-prefixed", "llama-3", "mistral", "qwen2-yarn", "gemma-2", "gemma-3", "mixtral", "ouro"}) {
    const test::Ran r =
        test::llmcalc("validate " + folder(name, "v") + " --seq 8 --micro-batch 1 --prompt 5 --generate 3");
    INFO(name << r.out << r.err);
    CHECK(r.code == 0);
    CHECK(r.out.find("the weights are from") != std::string::npos);
  }
  refused(
      "validate " + folder("gemma-2", "v") + " --seq 8 --attention naive",
      "naive attention does not save the scores, which the gradient of the score cap requires; use --attention flash");
  const std::string coded = " --infer --weight-precision int8 --kv-precision fp8 --prompt 5 --generate 3";
  CHECK(test::llmcalc("validate " + folder("mixtral", "v") + coded).code == 0);
}

TEST_CASE("perplexity does not depend on the evaluation window if the text fits in it", "[checkpoint]") {
  const std::string at = folder("qwen3", "p"), file = test::scratch() + "/p.txt";
  test::write_file(file, "the first day of the year, and the end of the text.\n");
  const json::Value whole = test::ask("perplexity " + at + " " + file);
  const double loss = whole["prediction"]["loss"].get<double>();
  CHECK(whole["prediction"]["perplexity"].get<double>() == Approx(std::exp(loss)));
  CHECK(loss > 2);  // 340 tokens, random weights
  const json::Value same = test::ask("perplexity " + at + " " + file + " --window 64");
  CHECK(same["prediction"]["loss"] == loss);
  const json::Value short_ = test::ask("perplexity " + at + " " + file + " --window 2");
  CHECK(short_["prediction"]["loss"].get<double>() != Approx(loss));
  refused("perplexity " + at + " " + file + " --window 65", "the model's context is 64 tokens");
}

TEST_CASE("a prompt longer than the context is rejected, and generation stops at the context's end", "[checkpoint]") {
  const std::string at = folder("qwen3", "c");
  refused("generate " + at + " '" + std::string(80, '!') + "'",
          "the prompt has 80 tokens but the model has 64 tokens of context");
  const test::Ran r = test::llmcalc("generate " + at + " '" + std::string(60, '!') + "' --tokens 50 --temperature 0");
  CHECK(r.err.find("the text ends at the model's context limit of 64 tokens") != std::string::npos);
}

TEST_CASE("the error for a folder with a missing file names the file", "[checkpoint]") {
  const auto without = [](const char* name, const std::string& part) {
    const std::string at = folder(name, "without");
    fs::remove(at + "/" + part);
    return "generate " + at + " hello";
  };
  refused(without("qwen3", "tokenizer.json"), "has neither tokenizer.json nor tokenizer.model");
  refused(without("qwen3", "config.json"), "has no config.json");
  refused(without("qwen3", "model.safetensors"), "contains no GGUF or safetensors files");
  refused(without("llama-3", "model-00002-of-00003.safetensors"), "lists the shard");
}

TEST_CASE("the error for a config that disagrees with the tensors names the tensor", "[checkpoint]") {
  const auto with = [](const char* name, const char* key, const json::Value& value) {
    const std::string at = folder(name, "edited");
    edit(at + "/config.json", [&](json::Value& v) { v[key] = value; });
    return "generate " + at + " hello";
  };
  refused(with("qwen3", "intermediate_size", 25), "expected shape [25, 16] from config.json, got [24, 16]");
  refused(with("qwen3", "num_hidden_layers", 3),
          "\"model.layers.2.input_layernorm.weight\", required by config.json, is missing");
  refused(with("qwen3", "num_hidden_layers", 1), "the model in config.json has no such weight");
  refused(with("qwen3", "model_type", "falcon"), "checkpoints of model_type \"falcon\" cannot be run");
  refused(with("qwen3", "rope_scaling", {{"rope_type", "longrope"}, {"factor", 2.0}}), "rotary scaling \"longrope\"");
  refused(with("qwen3", "quantization_config", {{"quant_method", "gptq"}, {"bits", 4}}),
          "quantized weights cannot be run");
}

TEST_CASE("a truncated shard or a wrong index is rejected", "[checkpoint]") {
  const std::string at = folder("llama-3", "cut"), shard = at + "/model-00001-of-00003.safetensors";
  fs::resize_file(shard, fs::file_size(shard) - 10);
  refused("generate " + at + " hello", "model-00001-of-00003.safetensors'");
  const std::string lying = folder("llama-3", "lying"), index = lying + "/model.safetensors.index.json";
  edit(index, [](json::Value& v) { v["weight_map"]["model.norm.weight"] = "model-00001-of-00003.safetensors"; });
  refused("generate " + lying + " hello", "assigns tensor \"model.norm.weight\" to '" + lying +
                                              "/model-00001-of-00003.safetensors', which does not contain it");
  edit(index, [](json::Value& v) { v["weight_map"]["model.norm.weight"] = "../x.safetensors"; });
  refused("generate " + lying + " hello", "expected the name of a file in the index's folder");
}
