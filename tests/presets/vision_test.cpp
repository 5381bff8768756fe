// Vision and audio encoders: published encoder configs with a small text model of matching width, compared with the
// checkpoints' tensors outside their text models, or with the sum of modules in the modeling code.

#include <algorithm>

#include "calc/parameters.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "text/names.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

json::Value media_encoder_rows() {
  const std::string path = LLMCALC_SOURCE_DIR "/tests/presets/data/towers.json";
  return json::parse(json::file_text(path), path);
}

MediaEncoders media_encoders_of(const json::Value& row) {
  return {.vision = row.value("vision", Count{0}),
          .audio = row.value("audio", Count{0}),
          .projector = row.value("projector", Count{0}),
          .cross = row.value("cross", Count{0})};
}

/// A composite config of `type` with a Llama of width 64.
std::string beside_text(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type + R"(", "text_config": {"model_type": "llama", "hidden_size": 64,
    "num_hidden_layers": 1}, )" +
         more + "}";
}

const std::string small_clip = R"("model_type": "clip_vision_model", "hidden_size": 8, "intermediate_size": 16,
  "num_hidden_layers": 2, "image_size": 6, "patch_size": 2, "num_channels": 3)";

// class 8, patches 8 x 12, positions 10 x 8, two LayerNorms 32, two blocks of 4 x 72 + 144 + 136 + 32
constexpr Count small_clip_numbers = 8 + 96 + 80 + 32 + 2 * (288 + 144 + 136 + 32);

}  // namespace

TEST_CASE("a vision encoder and its projector match the parameter count of their checkpoint", "[import][towers]") {
  const json::Value rows = media_encoder_rows();
  REQUIRE(rows.size() == 37);
  for (const json::Value& row : rows) {
    CAPTURE(row["name"].get<std::string>());
    const ModelCard card = import_config(row["config"], "config.json");
    CHECK(card.media_encoders == media_encoders_of(row));
    CHECK(card.unknown_keys == std::vector<std::string>());
    for (const std::string& caveat : card.caveats)
      CHECK((caveat.find("not counted") == std::string::npos ||
             caveat.find("image cache is not counted") != std::string::npos));
  }
}

TEST_CASE("presets have the vision and audio encoders of their configs", "[towers]") {
  int compared = 0;
  for (const json::Value& row : media_encoder_rows()) {
    const std::string name = lower(row["name"].get<std::string>());
    if (!find_builtin(builtin_models(), name)) continue;
    CAPTURE(name);
    const ModelCard card = load_model(std::string(name));
    CHECK(card.media_encoders == media_encoders_of(row));
    ++compared;
  }
  CHECK(compared == 13);
}

TEST_CASE("encoder and projector parameters of small CLIP and SigLIP models match counts by hand", "[import][towers]") {
  const auto media_encoders = [](const std::string& type, const std::string& more, const std::string& whole = "") {
    return imported(beside_text(type, whole + R"("vision_config": {)" + more + "}")).media_encoders;
  };
  const MediaEncoders llava = media_encoders("llava", small_clip);
  CHECK(llava.vision == small_clip_numbers);
  CHECK(llava.projector == 8 * 64 + 64 + 64 * 64 + 64);
  CHECK(media_encoders("llava_next", small_clip).projector == llava.projector + 64);
  CHECK(media_encoders("llava", small_clip, R"("vision_feature_layer": [-2, -1], )").projector ==
        llava.projector + 8 * 64);
  CHECK(media_encoders("llava", small_clip, R"("multimodal_projector_bias": false, )").projector ==
        llava.projector - 128);
  const std::string siglip = R"("model_type": "siglip_vision_model", "hidden_size": 8, "intermediate_size": 16,
    "num_hidden_layers": 2, "image_size": 6, "patch_size": 2)";
  const Count headless = media_encoders("llava", siglip + R"(, "vision_use_head": false)").vision;
  CHECK(headless == 96 + 8 + 72 + 16 + 2 * (288 + 144 + 136 + 32));
  CHECK(media_encoders("llava", siglip).vision == headless + 8 + 288 + 16 + 144 + 136);
}

TEST_CASE("an unknown media encoder is reported by name and not counted", "[import][towers]") {
  const auto card = [](const std::string& type, const std::string& more) { return imported(beside_text(type, more)); };
  const std::string vision = R"("vision_config": {"model_type": "dinov3_vit", "hidden_size": 8})";
  const ModelCard one = card("llava", vision);
  CHECK(one.media_encoders == MediaEncoders());
  CHECK(one.caveats.front() == "text part only: the vision encoder \"dinov3_vit\" is not counted");
  // A known encoder in a model with an unknown projector: neither is counted, since there may be more than one.
  const ModelCard two = card("video_llava", R"("vision_config": {)" + small_clip + "}");
  CHECK(two.media_encoders == MediaEncoders());
  CHECK(two.caveats.front() == "text part only: the vision encoder \"clip_vision_model\" is not counted");
  const ModelCard heard = card("gemma4", R"("vision_config": null, "audio_config": {"model_type": "gemma4_audio"})");
  CHECK(heard.caveats.front() == "text part only: the audio encoder \"gemma4_audio\" is not counted");
  const ModelCard nested = imported(R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {"model_type":
    "llama", "hidden_size": 64, "num_hidden_layers": 1}, "vision_config": {"model_type": "omni_vision"}}})");
  CHECK(nested.caveats.front() == "text part only: the vision encoder \"omni_vision\" is not counted");
}

TEST_CASE("unknown keys and defaults of an encoder's config are reported", "[import][towers]") {
  const ModelCard card = imported(beside_text(
      "llava", R"("vision_config": {)" + small_clip + R"(, "num_register_tokens": 4, "hidden_act": "quick_gelu"})"));
  CHECK(card.unknown_keys == std::vector<std::string>{"vision_config.num_register_tokens"});
  const ModelCard short_one = imported(beside_text("mistral3", R"("vision_config": {"hidden_size": 64})"));
  CHECK_THAT(short_one.caveats.front(),
             Catch::Contains("\"vision_config\" omits some sizes, so the encoder's defaults are used"));
  CHECK_THAT(short_one.caveats.front(), Catch::Contains("num_hidden_layers 24"));
}

TEST_CASE("invalid and contradictory encoders are rejected with an error message", "[import][towers]") {
  const auto refused = [](const std::string& type, const std::string& more) {
    return refusal(beside_text(type, R"("vision_config": )" + more));
  };
  CHECK_THAT(refused("llava", "5"), Catch::Contains("\"vision_config\": expected an object, got 5"));
  CHECK_THAT(refused("llava", R"({"hidden_size": 4611686018427387904})"), Catch::Contains("2^63"));
  CHECK_THAT(refused("llava", R"({"hidden_size": 0})"), Catch::Contains("\"hidden_size\""));
  CHECK_THAT(refused("llava", R"({"image_size": [224, 448]})"), Catch::Contains("a list of two equal sizes"));
  CHECK_THAT(refused("qwen3_5", R"({"out_hidden_size": 65})"),
             Catch::Contains("output is 65 wide, but the text model is 64 wide"));
  CHECK_THAT(refused("qwen3_5", R"({"deepstack_visual_indexes": [8], "out_hidden_size": 64})"),
             Catch::Contains("has one merger"));
  CHECK_THAT(refused("internvl", R"({"norm_type": "batch_norm"})"), Catch::Contains("\"layer_norm\" or \"rms_norm\""));
  CHECK_THAT(refused("kimi_k3", R"({"norm_type": "layernorm"})"), Catch::Contains("only \"rmsnorm\" is supported"));
}

TEST_CASE("a model file round-trips its encoders", "[towers]") {
  const json::Value file = model_file_json(load_model("kimi-k3"));
  CHECK(file["towers"] == json::Value{{"vision", 401214464}, {"projector", 46144512}});
  CHECK(read_model_file(file, "x.json").media_encoders == load_model("kimi-k3").media_encoders);
  CHECK_FALSE(model_file_json(load_model("gpt-2-124m")).contains("towers"));
  json::Value wrong = file;
  wrong["towers"]["sound"] = 1;
  CHECK_THROWS_WITH(read_model_file(wrong, "x.json"), Catch::Contains("\"sound\""));
}

TEST_CASE("Llama 3.2's image layers are not layers of its text model, and are sharded across ranks",
          "[import][towers]") {
  const json::Value rows = media_encoder_rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [](const json::Value& r) { return r["name"] == "Llama-3.2-11B-Vision"; });
  const ModelCard card = import_config((*row)["config"], "config.json");
  CHECK(card.arch.layers == 32);
  CHECK(parameters(card.arch).total == 8030261248);  // Llama 3.1 8B
  CHECK(parameters(card.arch).total + card.media_encoders.total() == 10642941475);
  CHECK(card.media_encoders.cut_bytes() == Bytes(Count{2} * 1744930832));
  CHECK_THAT(card.caveats.back(), Catch::StartsWith("8 layers that only read images"));
  CHECK(read_model_file(model_file_json(card), "a file").media_encoders == card.media_encoders);
  const auto refused = [&](const json::Value& layers) {
    json::Value config = (*row)["config"];
    config["text_config"]["cross_attention_layers"] = layers;
    return refusal(config.dump());
  };
  CHECK_THAT(refused({3, 40}), Catch::Contains("expected distinct layers below 40, got 40"));
  CHECK_THAT(refused({3, 3}), Catch::Contains("below 40, got 3"));
}

TEST_CASE("an omni model's talker is named in a caveat", "[import][towers]") {
  json::Value config;
  for (const json::Value& row : media_encoder_rows())
    if (row["name"] == "Qwen2.5-Omni-7B") config = row["config"];
  config["talker_config"] = {{"model_type", "qwen2_5_omni_talker"}};
  CHECK(imported(config.dump()).caveats.front() ==
        "thinker only: the talker and the vocoder, which generate speech, are not counted");
}
