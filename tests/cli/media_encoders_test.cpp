// Vision and audio encoders: rows of parameters and of inference memory, and a note in memory reports.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

namespace {

/// A config like Llama 3.2 Vision's: 4 text layers of width 64, and one layer that reads only images.
std::string with_image_layer() {
  const std::string path = test::scratch() + "/mllama.json";
  test::write_file(path, R"({"model_type": "mllama", "text_config": {"model_type": "mllama_text_model",
    "hidden_size": 64, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 128, "vocab_size": 256, "max_position_embeddings": 512, "cross_attention_layers": [2]},
    "vision_config": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_global_layers": 1,
    "image_size": 28, "patch_size": 14, "vision_output_dim": 32}})");
  return path;
}

// q and o 2 x 64 x 64, k and v 2 x 64 x 32, their norms 2 x 16, MLP 3 x 64 x 128, norms and gates 2 x 64 + 2, 8 rows
constexpr Count image_layer = 2 * 64 * 64 + 2 * 64 * 32 + 32 + 3 * 64 * 128 + 130 + 8 * 64;

}  // namespace

TEST_CASE("params shows a vision encoder and its projector separately from the total", "[cli][towers]") {
  const json::Value kimi = ask("params kimi-k3")["parameters"];
  CHECK(kimi["vision"] == 401214464);
  CHECK(kimi["projector"] == 46144512);
  CHECK(kimi["total"] == 2779484393568);  // the text model only
  CHECK_FALSE(kimi.contains("audio"));
  const json::Value qwen = ask("params qwen3.5-27b")["parameters"];
  CHECK(qwen["vision"] == 460730096);  // with its merger
  CHECK_FALSE(qwen.contains("projector"));
  CHECK_FALSE(ask("params gpt-2-124m")["parameters"].contains("vision"));
}

TEST_CASE("inference loads encoders with the model, replicated on every rank, unless --no-towers is given",
          "[cli][towers]") {
  const auto memory = [](const char* more) {
    return ask("memory qwen3.5-27b --infer" + std::string(more))["inference_memory"];
  };
  const json::Value with = memory(""), without = memory(" --no-towers");
  CHECK(with["towers_bytes"] == 2 * 460730096);
  CHECK_FALSE(without.contains("towers_bytes"));
  CHECK(with["peak_bytes"].get<Count>() == without["peak_bytes"].get<Count>() + 2 * 460730096);
  CHECK(memory(" --tp 4")["towers_bytes"] == 2 * 460730096);
  CHECK(ask("memory qwen3.5-27b --infer --no-towers")["inputs"]["towers"] == false);
  CHECK(ask("memory qwen3.5-27b --infer")["inputs"]["towers"] == true);
}

TEST_CASE("serve loads encoders with the model unless --no-towers is given", "[cli][towers]") {
  const auto memory = [](const char* more) {
    return ask("serve qwen3.5-27b --hardware h200 --rate 1 --num-requests 20" + std::string(more))["engine_memory"];
  };
  const json::Value with = memory(""), without = memory(" --no-towers");
  CHECK(with["towers_bytes"] == 2 * 460730096);
  CHECK(with["kv_cache_bytes"].get<Count>() + 2 * 460730096 == without["kv_cache_bytes"].get<Count>());
}

TEST_CASE("llama.cpp keeps encoders in a separate file and does not load them", "[cli][towers]") {
  const auto memory = [](const char* software) {
    return ask("infer gemma-3-4b --hardware rtx-4090 --software " + std::string(software))["inference_memory"];
  };
  CHECK(memory("vllm")["towers_bytes"] == 2 * 419816304);
  CHECK_FALSE(memory("llama.cpp").contains("towers_bytes"));
}

TEST_CASE("--no-towers is rejected for a model without encoders", "[cli][towers]") {
  test::refused("infer llama-3.1-8b --hardware h100 --no-towers",
                "--no-towers applies to models with vision or audio encoders, and this one has none; omit it");
}

TEST_CASE("memory reports state whether encoders are counted", "[cli][towers]") {
  const char* note =
      "have 460730096 parameters in addition to the text model, 878.8 MiB; only inference memory "
      "counts them";
  CHECK_THAT(ask("memory qwen3.5-27b --infer")["notes"].dump(), Catch::Contains(note));
  CHECK_THAT(ask("memory qwen3.5-27b --train")["notes"].dump(), Catch::Contains("878.8 MiB; they are not counted "
                                                                                "here"));
  CHECK(ask("params qwen3.5-27b")["notes"].dump().find("audio encoders") == std::string::npos);
  CHECK(ask("memory llama-3.1-8b --infer").value("notes", json::Value()).dump().find("audio encoders") ==
        std::string::npos);
}

TEST_CASE("an encoder's parameters are explained by the sum of its modules", "[cli][towers]") {
  CHECK_THAT(test::llmcalc("explain parameters.vision kimi-k3").out, Catch::Contains("401,214,464"));
  CHECK_THAT(test::llmcalc("explain parameters.projector kimi-k3").out, Catch::Contains("46,144,512"));
  CHECK(test::llmcalc("explain parameters.audio kimi-k3").code == 2);
}

TEST_CASE("image-only layers are a separate part, sharded across ranks", "[cli][towers]") {
  const std::string model = with_image_layer();
  const json::Value p = ask("params " + model)["parameters"];
  CHECK(p["cross"] == image_layer);
  CHECK(p["projector"] == 32 * 64 + 64);
  const Count whole = p["vision"].get<Count>() + p["projector"].get<Count>();
  const auto media_encoders = [&](const char* more) {
    return ask("memory " + model + " --infer" + more)["inference_memory"]["towers_bytes"];
  };
  CHECK(media_encoders("") == 2 * (whole + image_layer));
  CHECK(media_encoders(" --tp 2") == 2 * whole + image_layer);
  CHECK_THAT(test::llmcalc("memory " + model + " --infer --tp 2 --full").out,
             Catch::Contains("except for layers, which TP"));
  CHECK_THAT(test::llmcalc("explain inference_memory.towers_bytes " + model + " --tp 2").out,
             Catch::Contains("ceil(M_img/T)"));
}
