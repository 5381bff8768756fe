// Options that training stacks set, and frozen weights that they widen.

#include "ask/request/options/options.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const std::string lora = "memory llama-3.1-8b --train --lora 8 --seq 2048 --micro-batch 2 --hardware h100 --software ";

json::Value memory(const std::string& more) { return test::ask(lora + more); }

}  // namespace

TEST_CASE("options that a stack sets apply unless given explicitly", "[software][cli]") {
  const json::Value v = memory("llama-factory");
  CHECK(v["inputs"]["recompute"] == "full");
  CHECK(v["inputs"]["logits"] == "bytes:14");
  CHECK(v["memory"]["logits_bytes"] == 14 * Count{2} * 2048 * 128256);
  CHECK_THAT(v["notes"].dump(), Catch::Contains("llama-factory sets --recompute full, --logits bytes:14"));
  const json::Value own = memory("llama-factory --recompute none --logits fp32");
  CHECK(own["inputs"]["recompute"] == "none");
  CHECK(own["memory"]["logits_bytes"] == 4 * Count{2} * 2048 * 128256);
}

TEST_CASE("versions of a stack differ in recomputation and in the bytes of logits", "[software][cli]") {
  CHECK(memory("trl@0.18")["inputs"]["recompute"] == "none");
  CHECK(memory("trl@0.22")["inputs"]["recompute"] == "full");
  const json::Value chunked = memory("trl@1.6");
  CHECK(chunked["memory"]["logits_bytes"] == 4 * Count{256} * 128256);
  CHECK(memory("torchtune@0.2")["memory"]["logits_bytes"] == 14 * Count{2} * 2048 * 128256);
}

// PEFT's prepare_model_for_kbit_training: the embedding of Gemma 3 12B has 262,208 rows of 3840 elements.
TEST_CASE("PEFT widens the embedding and norms of a quantized base to float32", "[software][cli]") {
  const std::string plan =
      "memory gemma-3-12b --train --lora 16 --base-precision nf4 --seq 512 --micro-batch 4 --optimizer adam8bit "
      "--recompute full --hardware h100 --software ";
  const auto weights = [&](const char* stack) {
    return test::ask(plan + stack)["memory"]["weights_bytes"].get<Count>();
  };
  // The norms of queries and keys, 256 elements in each of 48 layers, count as attention in `params`.
  const Count norms = test::ask("params gemma-3-12b")["parameters"]["norm"].get<Count>() + 48 * 2 * 256;
  CHECK(weights("trl@0.18") - weights("trl@0.27") == 2 * (Count{262208} * 3840 + norms));
  CHECK(weights("trl@0.22") - weights("trl@0.27") == 2 * norms);
  const json::Value process = test::ask(plan + "trl@0.18")["memory"]["process"];
  const double measured = 26e9;  // allocated, bytes
  CHECK(process["needed_low_bytes"].get<double>() < measured);
  CHECK(process["needed_high_bytes"].get<double>() > measured);
}

TEST_CASE("the memory of a stack's logits determines whether long sequences fit", "[software][fit][cli]") {
  const auto fit = [](const std::string& words) { return test::ask("memory " + words)["verdict"]["fit"]; };
  CHECK(fit("llama-3.1-8b --train --lora 8 --base-precision nf4 --seq 100k --hardware h100 --software llama-factory") ==
        "no");
  CHECK(fit("llama-3-8b --train --lora 8 --seq 8192 --hardware rtx-4090 --software torchtune@0.2") == "no");
}

TEST_CASE("the options and values of every training stack are valid command-line input", "[software]") {
  for (const Builtin& b : builtin_software()) {
    const SoftwareCard newest = load_software(b.name);
    std::vector<std::string> names{std::string(b.name)};
    for (const SoftwareVersion& v : newest.versions) names.push_back(std::string(b.name) + "@" + v.name);
    for (const std::string& name : names) {
      INFO(name);
      const SoftwareCard card = load_software(name);
      Request r;
      for (const auto& [key, value] : card.defaults) {
        const auto all = options();
        const auto o = std::find_if(all.begin(), all.end(), [&](const Option& x) { return x.key() == key; });
        REQUIRE(o != all.end());
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        CHECK_NOTHROW(o->field.read(r, text, name));
      }
    }
  }
}

TEST_CASE("a stack rejects adapters, devices and layouts that it does not support", "[software][cli]") {
  const auto refused = [](const std::string& words, const std::string& sentence) {
    const test::Ran ran = test::llmcalc(words);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::Contains(sentence));
  };
  refused("train llama-3.1-8b --hardware h100 --lora 8 --software nanochat", "nanochat has no LoRA");
  refused("train llama-3.1-8b --hardware h100 --pp 2 --software trl", "trl has no pipeline parallelism");
  refused("train llama-3.1-8b --hardware h100 --software mlx-lm", "mlx-lm");
}

TEST_CASE("PEFT leaves an unquantized base unchanged, and the Trainer's loss holds 12 bytes per logit",
          "[software][cli]") {
  const auto memory = [](const std::string& words) {
    return test::ask("memory llama-3.1-8b --train --lora 16 --seq 4096 --micro-batch 1 --hardware h100 " + words);
  };
  const auto weights = [&](const std::string& words) { return memory(words)["memory"]["weights_bytes"]; };
  CHECK(weights("--software trl@0.18") == weights("--software trl@0.27"));
  CHECK(weights("--software hf-trainer") == weights("--software torch-fsdp"));
  CHECK(weights("--software hf-trainer --base-precision nf4") > weights("--software torch-fsdp --base-precision nf4"));
  CHECK(memory("--software hf-trainer")["memory"]["logits_bytes"] == Count{12} * 4096 * 128256);
}

TEST_CASE("NeMo's versions differ in dispatch, and its performance scripts also in overlap and gradients",
          "[software][cli]") {
  const auto step = [](const std::string& words) {
    return test::ask(
        "train qwen3-30b-a3b --hardware gb200 --gpus 8 --ep 8 --zero 1 --precision mxfp8 --seq 4096 "
        "--global-batch 512 --micro-batch 4 --software " +
        words);
  };
  const json::Value old = step("nemo@25.09"), flex = step("nemo@25.11"), fast = step("nemo-performance@26.06");
  CHECK_FALSE(old["inputs"].contains("dispatcher"));
  CHECK(flex["inputs"]["dispatcher"] == "flex");
  CHECK(flex["step"]["breakdown_s"]["ep"] < old["step"]["breakdown_s"]["ep"]);
  CHECK(step("nemo@25.09 --dispatcher flex")["step"]["time_s"] == flex["step"]["time_s"]);
  CHECK(fast["inputs"]["gradient_bytes"] == 2);
  CHECK(fast["step"]["breakdown_s"]["host"] < flex["step"]["breakdown_s"]["host"]);
  CHECK(fast["step"]["time_s"] < 0.9 * flex["step"]["time_s"].get<double>());
}
