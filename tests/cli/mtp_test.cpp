// MTP modules on the command line.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {
// DeepSeek-V3's published module, without the shared table and head and without its router's correction bias.
constexpr Count module_of_deepseek = 11610068224 - 256;
// GLM-4.5's published checkpoint, minus the model with correction biases, minus the copies of table and head, minus the
// module's correction bias.
constexpr Count module_of_glm = 358337791296 - 352797829024 - 2 * 775946240 - 160;
}  // namespace

TEST_CASE("params shows MTP modules separately from the total", "[cli][mtp]") {
  const json::Value deepseek = test::ask("params deepseek-v3")["parameters"],
                    glm = test::ask("params glm-4.5")["parameters"];
  CHECK(deepseek["total"] == 671026404352);
  CHECK(deepseek["mtp"] == module_of_deepseek);
  CHECK(glm["total"] == 352797814784);
  CHECK(glm["mtp"] == module_of_glm);
  CHECK_FALSE(test::ask("params llama-3.1-8b")["parameters"].contains("mtp"));
}

TEST_CASE("memory and FLOPs of training and inference include MTP modules only if requested", "[cli][mtp]") {
  const json::Value with = test::ask("memory deepseek-v3 --mtp 1"), without = test::ask("memory deepseek-v3");
  for (const char* section : {"memory", "inference_memory"})
    CHECK(with[section]["parameters"].get<Count>() - without[section]["parameters"].get<Count>() == module_of_deepseek);
  CHECK(with["kv_cache"]["elements_per_token"] == 62 * 576);
  CHECK(with["activations"]["modules_bytes"] > 0);
  const json::Value flops = test::ask("flops deepseek-v3 --mtp 1")["flops"];
  CHECK(flops["forward_modules"].get<Count>() == flops["forward"].get<Count>() - flops["forward_linear"].get<Count>() -
                                                     flops["forward_attention"].get<Count>() -
                                                     flops["forward_head"].get<Count>());
}

TEST_CASE("a report that omits MTP modules has a note", "[cli][mtp]") {
  const auto first_note = [](const std::string& ask) { return test::ask(ask)["notes"].dump(); };
  const char* note = "an MTP module is not counted; --mtp 1 counts it";
  CHECK_THAT(first_note("memory deepseek-v3"), Catch::Contains(note));
  CHECK_THAT(first_note("memory deepseek-v3 --mtp 1"), !Catch::Contains(note));
}

TEST_CASE("infer gives the acceptance rate above which an MTP module pays off", "[cli][mtp]") {
  const json::Value r = test::ask("infer deepseek-v3 --hardware h200 --tp 8 --precision fp8 --mtp 1");
  const json::Value& drafts = r["drafts"];
  CHECK(drafts["over_decode_step"].get<double>() > 1);
  CHECK(drafts["break_even_accepted"].get<double>() < 1);  // one sequence: weights are read anyway
  CHECK(drafts["break_even_accepted"].get<double>() == drafts["over_decode_step"].get<double>() - 1);
  CHECK_FALSE(test::ask("infer deepseek-v3 --hardware h200 --tp 8").contains("drafts"));
}

TEST_CASE("the command printed for a plan with MTP modules reproduces the plan's numbers", "[plan][cli][mtp]") {
  const std::string file = test::scratch() + "/two ahead.json";
  json::Value model = json::parse(test::llmcalc("show gpt2").out, "gpt2");
  model["name"] = "two-ahead";
  model.erase("aliases");
  model["mtp"] = {{"modules", 2},     {"mixer_of", 11},         {"mlp_of", 11},
                  {"own_norm", true}, {"own_embedding", false}, {"own_head", false}};
  test::write_file(file, model.dump());
  const std::string words = "plan train '" + file + "' --hardware a100 --gpus 8 --global-batch 32 --mtp 2 --top 2";
  const json::Value found = test::ask(words);
  for (const json::Value& plan : found["plans"]) {
    const std::string command = plan["command"];
    const json::Value trained = test::ask(command.substr(command.find(' ') + 1));
    CHECK(trained["inputs"]["mtp"] == 2);
    CHECK(trained["step"]["time_s"] == plan["step"]["time_s"]);
    CHECK(trained["memory"] == plan["memory"]);
  }
}

TEST_CASE("validate runs a model with its MTP modules, and rejects drafting with sliding windows", "[cli][mtp]") {
  const std::string file = test::scratch() + "/ahead.json";
  json::Value model = json::parse(test::read_file(LLMCALC_SOURCE_DIR "/docs/examples/tiny-llama.json"), "tiny");
  model["mtp"] = {{"modules", 2},     {"mixer_of", 0},          {"mlp_of", 0},
                  {"own_norm", true}, {"own_embedding", false}, {"own_head", false}};
  test::write_file(file, model.dump());
  const std::string train = "validate '" + file + "' --micro-batch 2 --seq 8 --mtp 2";
  const std::string ask = train + " --prompt 5 --generate 4";
  const test::Ran all = test::llmcalc(ask);
  CHECK(all.code == 0);
  CHECK_THAT(all.out, Catch::Contains("every byte, FLOP and operator matches the"));
  CHECK_THAT(all.out, Catch::Contains("mtp.project_result"));
  model["sliding_window"] = {{"window", 3}, {"layers", "all"}};
  test::write_file(file, model.dump());
  test::refused(ask,
                "the reference transformer does not run this plan: windows, chunks and pooled keys accept one token "
                "per step after the prompt, but drafts use several; omit --mtp or add --train");
  CHECK(test::llmcalc(train + " --train").code == 0);
}

TEST_CASE("unsupported uses of MTP modules are rejected with a one-sentence error", "[cli][mtp][bad_input]") {
  test::refused("train llama-3.1-8b --hardware h100 --mtp 1",
                "--mtp applies to multi-token prediction (MTP) modules, which this model does not have; omit it");
  test::refused("memory deepseek-v3 --mtp 2",
                "--mtp 2 exceeds the 1 module for multi-token prediction in deepseek-v3; set at most 1");
  test::refused("memory deepseek-v3 --train --mtp 1 --lora 8",
                "--mtp requires training of all weights; omit --mtp or --lora");
  test::refused("memory deepseek-v3 --train --mtp 1 --freeze embedding",
                "--mtp requires training of all weights; omit --mtp or --freeze");
  test::refused("infer deepseek-v3 --hardware h200 --tp 8 --mtp 1 --no-kv-cache",
                "--mtp drafts tokens, which requires a KV cache; omit --mtp or --no-kv-cache");
  const std::string serve = "serve deepseek-v3 --hardware b200 --tp 8 --rate 1 --mtp 1 ";
  test::refused(serve,
                "--mtp 1 drafts at least one token per module; set --draft-tokens 1 or more, or use fewer modules");
  test::refused(serve + "--draft-tokens 1 --acceptance 0.8 --draft-model llama-3.2-1b",
                "--mtp and --draft-model are mutually exclusive; omit one");
}

TEST_CASE("--mtp 0 gives the model without MTP modules", "[mtp][cli]") {
  for (const char* words : {"memory deepseek-v3", "memory gpt2"})
    CHECK(test::ask(std::string(words) + " --mtp 0")["memory"] == test::ask(words)["memory"]);
}
