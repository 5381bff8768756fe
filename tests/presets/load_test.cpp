#include "presets/load.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "presets/builtin.hpp"
#include "presets/import/import.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

namespace fs = std::filesystem;

using test::sentence;

std::string model_refused(const std::string& what) {
  return sentence([&] { load_model(what); });
}
std::string hardware_refused(const std::string& what) {
  return sentence([&] { load_hardware(what); });
}

/// A temporary folder, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("llmcalc_load_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, std::string_view text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

constexpr std::string_view hardware_text = R"({"name": "mine", "memory": {"capacity": "8 GiB", "bandwidth": "100 GB/s"},
  "matmul": {"fp32": "2 TFLOP/s"}, "source": "measured"})";

// GPT-2 small, with its published shape
constexpr std::string_view gpt2_config = R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768,
  "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257})";

}  // namespace

TEST_CASE("the error for an unknown name suggests the nearest names", "[load]") {
  CHECK(hardware_refused("h10O") ==
        "unknown hardware \"h10O\", did you mean 'h100'? ('llmcalc list hardware' shows all " +
            std::to_string(builtin_hardware().size()) + ")");
  CHECK(hardware_refused("abacus").find("unknown hardware \"abacus\" (") == 0);
  CHECK(hardware_refused("") == "no hardware specified; 'llmcalc list' shows the names");
  CHECK(model_refused("") == "no model specified; 'llmcalc list' shows the names");
  CHECK(model_refused("qqqqqqqq").find("unknown model \"qqqqqqqq\" ('llmcalc list models' shows all ") == 0);
}

TEST_CASE("a name that looks like a path is read as a file", "[load]") {
  const Folder folder;
  CHECK(load_hardware(folder.write("mine.json", hardware_text)).name == "mine");
  CHECK(load_hardware(folder.write("noending", hardware_text)).cluster.device.memory == Bytes(8589934592));
  CHECK(hardware_refused("nowhere.json") == "cannot read 'nowhere.json': no such file");
  CHECK(hardware_refused("./h100") == "cannot read './h100': no such file");
  CHECK(model_refused("no/where") == "cannot read 'no/where': no such file");
  CHECK_THAT(model_refused("nowhere.gguf"), Catch::Contains("cannot read 'nowhere.gguf'"));
  CHECK_THAT(model_refused("nowhere.safetensors"), Catch::Contains("cannot read 'nowhere.safetensors'"));
  CHECK(hardware_refused(folder.path.string()) ==
        "cannot read '" + folder.path.string() + "': it is a folder; pass a JSON file");
}

TEST_CASE("an existing folder takes precedence over a preset with the same Hugging Face name", "[load]") {
  const Folder folder;
  const fs::path before = fs::current_path();
  folder.write("llmcalc_org/llama-3.1-8b/config.json", gpt2_config);
  fs::current_path(folder.path);
  const ModelCard read = load_model("llmcalc_org/llama-3.1-8b"), named = load_model("meta-llama/Llama-3.1-8B-Instruct");
  fs::current_path(before);
  CHECK(read.arch.hidden == 768);
  CHECK(named.name == "llama-3.1-8b");
}

TEST_CASE("Infinity, as written by Python, is accepted in a config.json but not in a hardware file", "[load]") {
  const Folder folder;
  const std::string config = R"({"time_step_limit": [0.0, Infinity], )" + std::string(gpt2_config.substr(1));
  CHECK(load_model(folder.write("mamba.json", config)).arch.hidden == 768);
  CHECK_THAT(hardware_refused(folder.write("card.json", R"({"memory": Infinity})")), Catch::Contains("not JSON"));
}

TEST_CASE("model files, config.json files and their folders are distinguished by content", "[load]") {
  const Folder folder;
  const std::string config = folder.write("gpt2/config.json", gpt2_config);
  CHECK(load_model(config).arch.hidden == 768);
  CHECK(load_model((folder.path / "gpt2").string()).arch.layers == 12);
  CHECK(load_model((folder.path / "gpt2").string()).source == config);
  CHECK(load_model(folder.write("other_name.json", gpt2_config)).arch.vocabulary == 50257);
  const std::string empty = (folder.path / "empty").string();
  fs::create_directories(empty);
  CHECK(model_refused(empty) ==
        "the folder '" + empty + "' contains no config.json; pass a model file or a folder with a config.json");
}

TEST_CASE("a hardware file given as a model, or a model file given as hardware, is rejected", "[load]") {
  const Folder folder;
  const std::string hardware = folder.write("hw.json", hardware_text),
                    model = folder.write("m.json", R"({"llmcalc_model": 1})");
  CHECK(model_refused(hardware) == "'" + hardware + "': expected a model, got a hardware file");
  CHECK(hardware_refused(model) == "'" + model + "': expected a hardware file, got a model file");
}

TEST_CASE("every model preset loads by its name and its aliases", "[load]") {
  for (const Builtin& preset : builtin_models()) {
    INFO(preset.name);
    CHECK(load_model(preset.name).name == preset.name);
    for (const auto alias : preset.aliases) CHECK(load_model(alias).name == preset.name);
  }
}

TEST_CASE("the error for a file of weights given as a model suggests a remedy", "[load]") {
  const Folder folder;
  const auto refused = [&](const std::string& name, std::string_view bytes) {
    const std::string path = folder.write(name, bytes);
    CHECK(model_refused(path) == "'" + path +
                                     "' contains weights but no architecture; pass the model's config.json or an "
                                     "llmcalc model file");
  };
  refused("pytorch_model.bin", "PK");
  const std::string renamed = folder.write("renamed.json", std::string_view("GGUF\3\0\0\0", 8));
  CHECK_THAT(model_refused(renamed), Catch::Contains("the file is truncated or damaged"));
  CHECK(load_model(folder.write("config.bin", gpt2_config)).arch.hidden == 768);  // identified by its content
}

TEST_CASE("the error for an unknown model_type suggests the three nearest and the command that lists all", "[load]") {
  const Folder folder;
  const std::string path = folder.write("config.json", R"({"model_type": "qwen3_moee"})");
  // The other Qwen 3 types, ordered by edit distance.
  const std::string said = model_refused(path), count = std::to_string(importable_types().size());
  CHECK_THAT(said, Catch::StartsWith(path + ": model_type \"qwen3_moee\" is not supported; the closest are " +
                                     "\"qwen3_moe\", \"qwen3_next\" and \"qwen3"));
  CHECK_THAT(said, Catch::EndsWith(" ('llmcalc list families' lists all " + count +
                                   "); for other models, write an llmcalc model file"));
}

TEST_CASE("ModelOpt's quantization file is read along with config.json", "[load]") {
  const Folder folder;
  const std::string config = folder.write("config.json", gpt2_config);
  CHECK_FALSE(load_model(config).weights.has_value());
  folder.write("hf_quant_config.json", R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}})");
  const ModelCard card = load_model(config);
  REQUIRE(card.weights.has_value());
  CHECK((*card.weights)[Component::mlp].name() == "fp8-tensor");
}
