// Models loaded from checkpoints: files with the layout of real ones, but only headers.

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/price.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/header/checkpoint_model.hpp"
#include "presets/header/tensor_group.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/checkpoint_writer.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Bytes weights_of(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  return weights_bytes(card.arch, p);
}

/// The layers that llama-quantize stores in more bits in its _M mixes (github.com/ggml-org/llama.cpp,
/// src/llama-quant.cpp, use_more_bits).
bool is_wider(Count i, Count n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

const char* q4_k_m(const std::string& name, Count layer, Count layers) {
  const bool wide = name == "output" || ((name == "attn_v" || name == "ffn_down") && is_wider(layer, layers));
  return wide ? "Q6_K" : "Q4_K";
}

const LlamaSizes tiny{.d = 256, .layers = 2, .vocabulary = 512, .heads = 4, .kv = 2, .head_dim = 64, .ff = 512};

std::vector<WrittenTensor> q4_k_m_llama(const LlamaSizes& s) {
  return gguf_llama(s, [&](const std::string& name, Count i) { return q4_k_m(name, i, s.layers); });
}

json::Value tiny_config() {
  return {{"model_type", "llama"},     {"hidden_size", 256},          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},  {"num_key_value_heads", 2},    {"head_dim", 64},
          {"intermediate_size", 512},  {"vocab_size", 512},           {"max_position_embeddings", 4096},
          {"torch_dtype", "bfloat16"}, {"tie_word_embeddings", false}};
}

/// Whether a checkpoint is rejected because its config describes another model.
bool config_disagrees(const std::string& path) {
  try {
    load_model(path);
    return false;
  } catch (const InputError& e) {
    return std::string(e.what()).find(" disagree: ") != std::string::npos;
  }
}

/// The tensors of a Llama with Hugging Face's names.
std::vector<WrittenTensor> hf_llama(const LlamaSizes& s, const std::string& dtype) {
  std::vector<WrittenTensor> all{{"model.embed_tokens.weight", dtype, {s.vocabulary, s.d}}};
  for (Count i = 0; i < s.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const auto add = [&](const std::string& name, std::vector<Count> shape) {
      all.push_back({layer + name + ".weight", dtype, std::move(shape)});
    };
    add("input_layernorm", {s.d});
    add("self_attn.q_proj", {s.heads * s.head_dim, s.d});
    add("self_attn.k_proj", {s.kv * s.head_dim, s.d});
    add("self_attn.v_proj", {s.kv * s.head_dim, s.d});
    add("self_attn.o_proj", {s.d, s.heads * s.head_dim});
    add("post_attention_layernorm", {s.d});
    add("mlp.gate_proj", {s.ff, s.d});
    add("mlp.up_proj", {s.ff, s.d});
    add("mlp.down_proj", {s.d, s.ff});
  }
  all.push_back({"model.norm.weight", dtype, {s.d}});
  all.push_back({"lm_head.weight", dtype, {s.vocabulary, s.d}});
  return all;
}

std::string model_refusal(const std::string& path) {
  return sentence([&] { load_model(path); });
}

}  // namespace

// TheBloke/Llama-2-7B-Chat-GGUF: 4081004224 bytes in Q4_K_M and 7161089728 in Q8_0, with a header of 741056.
TEST_CASE("the weights of a GGUF model have exactly as many bytes as in the file", "[checkpoint]") {
  const LlamaSizes s;
  const CheckpointFolder folder;
  const std::string mixed = write_gguf(folder, "m.gguf", llama_keys(s), q4_k_m_llama(s));
  const ModelCard card = load_model(mixed);
  CHECK(card.name == "A Llama");
  CHECK(card.source == mixed);
  CHECK(parameters(card.arch).total == 6738415616);  // huggingface.co/meta-llama/Llama-2-7b, safetensors index
  CHECK(weights_of(card) == Bytes(4081004224 - 741056));
  CHECK(weight_formats_text(*card.weights) == "fp32 (norm), q6_k (lm_head), q4_k");
  CHECK(card.caveats.empty());
  const std::string one_type =
      write_gguf(folder, "q8.gguf", llama_keys(s), gguf_llama(s, [](const std::string&, Count) { return "Q8_0"; }));
  CHECK(weights_of(load_model(one_type)) == Bytes(7161089728 - 741056));
}

TEST_CASE("tensor-parallel ranks divide a GGUF file's matrix bytes and replicate its norms", "[checkpoint]") {
  const LlamaSizes s{.d = 1024, .layers = 8, .vocabulary = 512, .heads = 8, .kv = 8, .head_dim = 128, .ff = 2048};
  const CheckpointFolder folder;
  const ModelCard card = load_model(write_gguf(folder, "m.gguf", llama_keys(s), q4_k_m_llama(s)));
  Plan p;
  p.weight_precision = *card.weights;
  // Two ranks hold all matrices once and the 17 norms of 1024 float32 twice. The shares of five components are rounded
  // down.
  const Count held = weights_of(card).value + 17 * 1024 * 4, both = 2 * weights_bytes(card.arch, p, {.tp = 2}).value;
  CHECK(both <= held);
  CHECK(held - both <= 2 * 5);
}

TEST_CASE("decoding a token reads all bytes of a GGUF file except the token embedding", "[checkpoint]") {
  const CheckpointFolder folder;
  const LlamaSizes s;
  const ModelCard card = load_model(write_gguf(folder, "m.gguf", llama_keys(s), q4_k_m_llama(s)));
  Plan p;
  p.weight_precision = *card.weights;
  const Prices step = price_decode(card.arch, p, {}, {}, 2);
  double read = 0;
  for (const LayerPrice& row : step.rows) read += static_cast<double>(row.layers) * row.forward.cost.moved.weights;
  const double table = 32000.0 * 4096 / 256 * 144, row = 4096.0 / 256 * 144;  // q4_k stores 256 elements in 144 bytes
  CHECK(read == Approx(static_cast<double>(weights_of(card).value) - table + row).epsilon(1e-12));
}

TEST_CASE("a GGUF file's RoPE factors count as weights, and a split file loads as one model", "[checkpoint]") {
  const CheckpointFolder folder;
  std::vector<WrittenTensor> all = gguf_llama(tiny, [](const std::string&, Count) { return "Q8_0"; });
  const Bytes without = weights_of(load_model(write_gguf(folder, "a.gguf", llama_keys(tiny), all)));
  all.push_back({"rope_freqs.weight", "F32", {32}});
  write_gguf(folder, "b-00001-of-00002.gguf", llama_keys(tiny), {all.begin(), all.begin() + 9});
  const std::string second = write_gguf(folder, "b-00002-of-00002.gguf", {}, {all.begin() + 9, all.end()});
  CHECK(weights_of(load_model(second)) == without + Bytes(4 * 32));
}

TEST_CASE("a Hugging Face folder loads as one model from any of its files", "[checkpoint]") {
  const CheckpointFolder folder;
  const std::vector<WrittenTensor> all = hf_llama(tiny, "BF16");
  folder.write("m/config.json", tiny_config().dump());
  folder.write("m/generation_config.json", R"({"eos_token_id": 2})");
  const std::string one = write_safetensors(folder, "m/model.safetensors", all);
  const ModelCard card = load_model(folder.file("m"));
  CHECK(card.name == "m");
  CHECK(card.source == folder.file("m/config.json"));
  CHECK(*card.weights == WeightFormats(dtypes::bf16));
  CHECK(weights_of(card) == Bytes(2 * parameters(card.arch).total));
  CHECK(load_model(one).arch == card.arch);
  std::filesystem::remove(one);
  write_safetensors(folder, "m/model-00001-of-00002.safetensors", {all.begin(), all.begin() + 5});
  write_safetensors(folder, "m/model-00002-of-00002.safetensors", {all.begin() + 5, all.end()});
  json::Value map = json::Value::object();
  for (std::size_t i = 0; i < all.size(); ++i)
    map[all[i].name] = i < 5 ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
  const Count size = weights_of(card).value;
  const std::string index = folder.write("m/model.safetensors.index.json",
                                         json::Value{{"metadata", {{"total_size", size}}}, {"weight_map", map}}.dump());
  for (const std::string& path : {folder.file("m"), index, folder.file("m/model-00002-of-00002.safetensors")})
    CHECK(load_model(path).weights == card.weights);
  CHECK(load_model(index).caveats.empty());
}

// hub deepseek-ai/DeepSeek-V3: model-00001-of-000163.safetensors, as named in its index.
TEST_CASE("shards are found by the names in the index", "[checkpoint]") {
  const std::vector<WrittenTensor> all = hf_llama(tiny, "BF16");
  for (const auto& [first, second] :
       {std::pair{"model-00001-of-000002", "model-00002-of-000002"}, std::pair{"weights_a", "weights_b"}}) {
    const CheckpointFolder folder;
    const std::string a = std::string(first) + ".safetensors", b = std::string(second) + ".safetensors";
    folder.write("config.json", tiny_config().dump());
    write_safetensors(folder, a, {all.begin(), all.begin() + 5});
    write_safetensors(folder, b, {all.begin() + 5, all.end()});
    json::Value map = json::Value::object();
    for (std::size_t i = 0; i < all.size(); ++i) map[all[i].name] = i < 5 ? a : b;
    folder.write("model.safetensors.index.json", json::Value{{"weight_map", map}}.dump());
    const ModelCard card = load_model(folder.path.string());
    CHECK(card.caveats.empty());
    CHECK(weights_of(card) == Bytes(2 * parameters(card.arch).total));
  }
}

TEST_CASE("a shard numbered in DeepSeek's style is found together with all others", "[checkpoint]") {
  const CheckpointFolder folder;
  const std::vector<WrittenTensor> all = hf_llama(tiny, "BF16");
  folder.write("config.json", tiny_config().dump());
  write_safetensors(folder, "model-00001-of-000002.safetensors", {all.begin(), all.begin() + 5});
  const std::string second =
      write_safetensors(folder, "model-00002-of-000002.safetensors", {all.begin() + 5, all.end()});
  const ModelCard card = load_model(second);
  CHECK(weights_of(card) == Bytes(2 * parameters(card.arch).total));
}

TEST_CASE("if all shards are missing, the config is used and its bytes are compared with the index", "[checkpoint]") {
  const CheckpointFolder folder;
  const std::string config = folder.write("config.json", tiny_config().dump());
  const Count bytes = 2 * parameters(load_model(config).arch).total;
  const auto card_with = [&](Count stated) {
    const json::Value index{{"metadata", {{"total_size", stated}}}, {"weight_map", {{"a", "model-1.safetensors"}}}};
    folder.write("model.safetensors.index.json", index.dump());
    return load_model(folder.path.string());
  };
  const std::string note = "all shards of '" + folder.file("model.safetensors.index.json") +
                           "' are missing, so sizes and number formats come from " + config;
  CHECK(card_with(bytes).arch == load_model(config).arch);
  CHECK(card_with(bytes).caveats == std::vector<std::string>{note + ", whose byte count matches the index"});
  CHECK(card_with(2 * bytes).caveats ==
        std::vector<std::string>{note + "; the index states " + std::to_string(2 * bytes) +
                                 " bytes of tensors, and the config implies " + std::to_string(bytes)});
  CHECK(config_document(folder.path.string()).where == config);
}

TEST_CASE("an index with a missing shard, a missing tensor or a path is rejected", "[checkpoint]") {
  const CheckpointFolder folder;
  folder.write("config.json", tiny_config().dump());
  write_safetensors(folder, "a.safetensors", hf_llama(tiny, "BF16"));
  const auto said = [&](const char* map) {
    return model_refusal(folder.write("model.safetensors.index.json", std::string(R"({"weight_map": )") + map + "}"));
  };
  const std::string index = folder.file("model.safetensors.index.json");
  CHECK(said(R"({"x": "b.safetensors"})") == "'" + index + "' lists the shard '" + folder.file("b.safetensors") +
                                                 "', which is missing; pass a checkpoint with all its shards");
  CHECK(said(R"({"x": "a.safetensors"})") ==
        "'" + index + "' assigns tensor \"x\" to '" + folder.file("a.safetensors") + "', which does not contain it");
  CHECK_THAT(said(R"({"x": "../a.safetensors"})"),
             Catch::Contains("expected the name of a file in the index's folder"));
  CHECK_THAT(said(R"({"x": 7})"), Catch::Contains("expected the name of a file in the index's folder"));
  CHECK_THAT(said("[]"), Catch::Contains("\"weight_map\": expected an object in braces"));
  CHECK_THAT(said(std::string(200, '[').c_str()), Catch::Contains("nested more than 64 levels deep"));
}

TEST_CASE("an index without tensors is rejected", "[checkpoint]") {
  const CheckpointFolder folder;
  folder.write("config.json", tiny_config().dump());
  folder.write("model.safetensors.index.json", R"({"weight_map": {}})");
  CHECK_THAT(model_refusal(folder.file("model.safetensors.index.json")), Catch::Contains("\"weight_map\" is empty"));
}

TEST_CASE("a folder with two models is rejected, unless one is Mistral's consolidated file", "[checkpoint]") {
  const CheckpointFolder folder;
  folder.write("config.json", tiny_config().dump());
  write_safetensors(folder, "model.safetensors", hf_llama(tiny, "BF16"));
  write_safetensors(folder, "consolidated.safetensors", hf_llama(tiny, "BF16"));
  CHECK(load_model(folder.path.string()).arch.layers == 2);
  write_gguf(folder, "m.gguf", llama_keys(tiny), {});
  CHECK(model_refusal(folder.path.string()) ==
        "the folder '" + folder.path.string() +
            "' contains several checkpoints: m.gguf and model.safetensors; pass one "
            "of these files");
}

TEST_CASE("a config and tensors of different models are rejected", "[checkpoint]") {
  const CheckpointFolder folder;
  const std::string path = write_safetensors(folder, "model.safetensors", hf_llama(tiny, "BF16"));
  const auto said = [&](const char* key, int value) {
    json::Value config = tiny_config();
    config[key] = value;
    const std::string where = folder.write("config.json", config.dump());
    const std::string sentence = model_refusal(path);
    CHECK_THAT(sentence, Catch::StartsWith(where + " and the tensors of '" + path + "' disagree: "));
    return sentence.substr(sentence.find("disagree: ") + 10);
  };
  CHECK(said("num_hidden_layers", 3) == "3 layers versus 2; they belong to different models");
  CHECK(said("vocab_size", 500) ==
        "a token embedding of 500 x 256 versus \"model.embed_tokens.weight\", which is 512 x 256; they belong to "
        "different models");
  CHECK(said("intermediate_size", 500) ==
        "768000 parameters of mlp versus 786432; they belong to different models");  // 2 x 3 x 256 x 500 and 512
  CHECK_THAT(said("num_key_value_heads", 4), Catch::Contains("parameters of attention versus"));
  std::filesystem::remove(folder.path / "config.json");
  CHECK(model_refusal(path) ==
        "'" + path + "' contains tensors but no architecture; put the model's config.json in the same folder");
}

TEST_CASE("tensors outside the model are reported by name and size and not counted", "[checkpoint]") {
  const CheckpointFolder folder;
  folder.write("config.json", tiny_config().dump());
  std::vector<WrittenTensor> all = hf_llama(tiny, "BF16");
  all.push_back({"vision_tower.blocks.0.mlp.fc1.weight", "F16", {10, 20}});
  all.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {32}});
  all.push_back({"strange.thing", "F32", {7}});
  const ModelCard card = load_model(write_safetensors(folder, "model.safetensors", all));
  CHECK(*card.weights == WeightFormats(dtypes::bf16));
  CHECK(card.caveats ==
        std::vector<std::string>{"buffers: 1 tensor of 128 bytes, the largest "
                                 "\"model.layers.0.self_attn.rotary_emb.inv_freq\", is not counted",
                                 "not recognized: 1 tensor of 28 bytes, the largest \"strange.thing\", is not counted",
                                 "vision and audio: 1 tensor of 400 bytes, the largest "
                                 "\"vision_tower.blocks.0.mlp.fc1.weight\", is not counted but included in memory"});
  CHECK(card.media_encoders.bytes() == Bytes(400));
}

TEST_CASE("an unrecognized tensor can account for no more missing parameters than it has elements", "[checkpoint]") {
  const CheckpointFolder folder;
  const auto refused = [&](Count mlp_width, Count strange) {
    json::Value config = tiny_config();
    config["intermediate_size"] = mlp_width;
    folder.write("config.json", config.dump());
    std::vector<WrittenTensor> all = hf_llama(tiny, "BF16");
    all.push_back({"strange.thing", "F32", {strange}});
    const std::string path = write_safetensors(folder, "model.safetensors", all);
    return config_disagrees(path);
  };
  constexpr Count missing = 2 * 3 * 256 * (600 - 512);
  CHECK(refused(600, missing - 1));
  CHECK_FALSE(refused(600, missing));
  CHECK(refused(500, 7));  // the file has more parameters than the config
}

TEST_CASE("tensors of a vision encoder described in the config cause no caveat", "[checkpoint][towers]") {
  const CheckpointFolder folder;
  json::Value config = {{"model_type", "llava"}, {"text_config", tiny_config()}};
  config["vision_config"] = {{"model_type", "pixtral"},
                             {"hidden_size", 8},
                             {"intermediate_size", 16},
                             {"num_hidden_layers", 1},
                             {"patch_size", 2}};
  folder.write("config.json", config.dump());
  // patches 12 x 8, ln_pre 8, q, k, v, o 4 x 64, gate, up, down 3 x 128, two norms 16
  constexpr Count media_encoder = 96 + 8 + 256 + 384 + 16, projector = 8 * 256 + 256 + 256 * 256 + 256;
  const auto caveats = [&](Count numbers) {
    std::vector<WrittenTensor> all = hf_llama(tiny, "BF16");
    all.push_back({"vision_tower.everything.weight", "BF16", {numbers}});
    all.push_back({"multi_modal_projector.everything.weight", "BF16", {projector}});
    return load_model(write_safetensors(folder, "model.safetensors", all)).caveats;
  };
  CHECK(load_model((folder.path / "config.json").string()).media_encoders ==
        MediaEncoders{.vision = media_encoder, .projector = projector});
  CHECK(caveats(media_encoder) == std::vector<std::string>());
  CHECK_THAT(caveats(media_encoder + 1).back(), Catch::Contains("vision and audio: 2 tensors"));
  CHECK(load_model((folder.path / "model.safetensors").string()).media_encoders.bytes() ==
        Bytes(2 * (media_encoder + 1 + projector)));
}

TEST_CASE("a quantized model folder has the formats of its config and the bytes of its files", "[checkpoint]") {
  const CheckpointFolder folder;
  json::Value config = tiny_config();
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  folder.write("config.json", config.dump());
  std::vector<WrittenTensor> all;
  for (const WrittenTensor& t : hf_llama(tiny, "BF16")) {
    const bool matrix = t.name.find("_proj.") != std::string::npos;
    all.push_back({t.name, matrix ? "F8_E4M3" : "BF16", t.shape});
    if (matrix) all.push_back({t.name + "_scale_inv", "F32", {ceil_div(t.shape[0], 128), ceil_div(t.shape[1], 128)}});
  }
  const ModelCard card = load_model(write_safetensors(folder, "model.safetensors", all));
  CHECK(weight_formats_text(*card.weights) == "fp8-block (attention, mlp), bf16");
  CHECK_FALSE(card.weights->any_held());  // the format accounts for every byte
  Bytes held;
  for (const WrittenTensor& t : all) held += llmcalc::safetensors_bytes(t.type, t.shape, t.name);
  CHECK(weights_of(card) == held);
}

TEST_CASE("checkpoint tensor names map to their parameter groups", "[checkpoint]") {
  const auto group = [](const char* name) { return std::string(tensor_group(name, 4).name); };
  CHECK(group("model.layers.3.self_attn.q_norm.weight") == "norm");
  CHECK(group("model.layers.3.mlp.experts.7.down_proj.weight") == "experts");
  CHECK(group("model.layers.3.mlp.shared_experts.up_proj.weight") == "shared_experts");
  CHECK(group("model.layers.3.mlp.gate.e_score_correction_bias") == "router");
  CHECK(group("model.layers.3.mlp.gate_proj.weight") == "mlp");
  CHECK(group("model.layers.4.mlp.up_proj.weight") == "MTP modules");
  CHECK(group("model.visual.blocks.9.attn.qkv.weight") == "vision and audio");
  CHECK(group("transformer.h.0.attn.bias") == "buffers");
  CHECK(group("transformer.h.0.attn.c_attn.bias") == "attention");
  CHECK(group("blk.0.ffn_gate_inp.weight") == "router");
  CHECK(group("blk.0.ffn_up_exps.weight") == "experts");
  CHECK(group("blk.0.ffn_down_shexp.weight") == "shared_experts");
  CHECK(group("blk.0.attn_q_norm.weight") == "norm");
  CHECK(group("blk.0.attn_sinks.weight") == "attention");
  CHECK(group("output.weight") == "lm_head");
  CHECK(group("output_norm.weight") == "norm");
  CHECK(group("rope_freqs.weight") == "position");
  CHECK(group("something.else") == "not recognized");
}

TEST_CASE("a model is rejected if one of its components has no tensors", "[checkpoint]") {
  const CheckpointFolder folder;
  const std::string where = folder.write("config.json", tiny_config().dump());
  const auto without = [&](const char* part) {
    std::vector<WrittenTensor> some;
    for (WrittenTensor& t : hf_llama(tiny, "BF16"))
      if (t.name.find(part) == std::string::npos) some.push_back(std::move(t));
    const std::string path = write_safetensors(folder, "model.safetensors", some);
    const std::string sentence = model_refusal(path);
    CHECK_THAT(sentence, Catch::StartsWith(where + " and the tensors of '" + path + "' disagree: "));
    return sentence.substr(sentence.find("disagree: ") + 10);
  };
  CHECK(without("mlp") ==
        "786432 parameters of mlp versus none; they belong to different models");  // 2 x 3 x 256 x 512
  CHECK(without("norm") == "1280 parameters of norm versus none; they belong to different models");
  CHECK(without("lm_head") == "131072 parameters of lm_head versus none; they belong to different models");
  const std::vector<WrittenTensor> all = gguf_llama(tiny, [](const std::string&, Count) { return "Q8_0"; });
  CHECK_THAT(model_refusal(write_gguf(folder, "m.gguf", llama_keys(tiny), {all.front()})),
             Catch::Contains("parameters of attention versus none"));
}

TEST_CASE("a base model or a scoring model has no LM head", "[checkpoint]") {
  const CheckpointFolder folder;
  json::Value config = tiny_config();
  std::vector<WrittenTensor> all;
  for (WrittenTensor& t : hf_llama(tiny, "BF16"))
    if (t.name != "lm_head.weight") all.push_back(std::move(t));
  const Count numbers = parameters(import_config(config, "c").arch).total - 512 * 256;
  const auto read = [&](const char* name) {
    config["architectures"] = {name};
    folder.write("config.json", config.dump());
    return load_model(write_safetensors(folder, "model.safetensors", all));
  };
  const ModelCard bare = read("LlamaModel");
  CHECK(parameters(bare.arch).total == numbers);
  CHECK(weights_of(bare) == Bytes(2 * numbers));
  CHECK(bare.caveats.empty());
  all.push_back({"score.weight", "BF16", {1, 256}});
  const ModelCard scoring = read("LlamaForSequenceClassification");
  CHECK(scoring.arch == bare.arch);
  CHECK(scoring.caveats ==
        std::vector<std::string>{
            "LlamaForSequenceClassification has label logits instead of token logits; their weights are not counted",
            "other heads: 1 tensor of 512 bytes, the largest \"score.weight\", is not counted"});
  CHECK_THAT(sentence([&] { read("LlamaForCausalLM"); }), Catch::Contains("parameters of lm_head versus none"));
}

TEST_CASE("a quantization config is compared with the tensors", "[checkpoint]") {
  const CheckpointFolder folder;
  json::Value config = tiny_config();
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  folder.write("config.json", config.dump());
  std::vector<WrittenTensor> all = hf_llama(tiny, "BF16");
  const auto read = [&] { return load_model(write_safetensors(folder, "model.safetensors", all)); };
  CHECK_THAT(sentence(read), Catch::Contains("disagree: fp8-block of attention in the quantization block versus bf16; "
                                             "they belong to different models"));
  for (WrittenTensor& t : all)
    if (t.name.find("mlp.") != std::string::npos) t.type = "F8_E4M3";
  const ModelCard mixed = read();
  CHECK(weight_formats_text(*mixed.weights) == "fp8-block (mlp), bf16");
  CHECK(mixed.caveats == std::vector<std::string>{folder.file("config.json") +
                                                  " and its tensors differ: fp8-block of attention in the quantization "
                                                  "block versus bf16, which is used"});
}

TEST_CASE("a config.json next to a GGUF file must match it, and defines an architecture unknown to GGUF",
          "[checkpoint]") {
  const CheckpointFolder folder;
  const auto type_of = [](const std::string&, Count) { return "Q8_0"; };
  const std::string file = write_gguf(folder, "m.gguf", llama_keys(tiny), gguf_llama(tiny, type_of));
  const auto beside = [&](const char* key, const json::Value& value) {
    json::Value config = tiny_config();
    config[key] = value;
    return folder.write("config.json", config.dump());
  };
  beside("vocab_size", 500);  // converters truncate and pad it
  const ModelCard own = load_model(file);
  CHECK(own.source == file);
  const std::string config = beside("num_hidden_layers", 3);
  CHECK(model_refusal(file) ==
        config + " and the keys of '" + file + "' disagree: 3 layers versus 2; they belong to different models");
  beside("num_key_value_heads", 4);
  CHECK_THAT(model_refusal(folder.path.string()), Catch::Contains("disagree: 4 KV heads versus 2"));
  beside("model_type", "of no known family");
  CHECK(load_model(file).arch == own.arch);

  std::vector<GgufPair> keys = llama_keys(tiny);
  for (GgufPair& k : keys)
    if (k.first == "general.architecture") k.second = std::string("newllama");
  write_gguf(folder, "m.gguf", keys, gguf_llama(tiny, type_of));
  beside("vocab_size", 512);
  const ModelCard explained = load_model(file);
  CHECK(explained.arch == own.arch);
  CHECK(explained.source == config);
  CHECK(weights_of(explained) == weights_of(own));
  CHECK_THAT((beside("num_hidden_layers", 3), model_refusal(file)), Catch::Contains("disagree: 3 layers versus 2"));
  std::filesystem::remove(config);
  CHECK_THAT(model_refusal(file), Catch::Contains("unknown \"general.architecture\" \"newllama\""));
}

TEST_CASE("a vision encoder's file next to a GGUF model is not a second model", "[checkpoint]") {
  const CheckpointFolder folder;
  write_gguf(folder, "m.gguf", llama_keys(tiny), gguf_llama(tiny, [](const std::string&, Count) { return "Q8_0"; }));
  write_gguf(folder, "mmproj-F16.gguf", {{"general.architecture", std::string("clip")}},
             {{"v.blk.0.attn_q.weight", "F16", {64, 64}}});
  CHECK(load_model(folder.path.string()).name == "A Llama");
}

TEST_CASE("a model's name contains no control characters", "[checkpoint]") {
  const CheckpointFolder folder;
  std::vector<GgufPair> keys = llama_keys(tiny);
  for (GgufPair& k : keys)
    if (k.first == "general.name") k.second = std::string("\x1b[31mred\n");
  const ModelCard card = load_model(
      write_gguf(folder, "m.gguf", keys, gguf_llama(tiny, [](const std::string&, Count) { return "Q8_0"; })));
  CHECK(card.name == "?[31mred?");
  CHECK(card.title == card.name);
}
