// Number formats in configs, and the keys of split GGUF files, compared with the tensors.

#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/checkpoint_writer.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count d = 256, ff = 512, vocabulary = 512;

json::Value config_with(const json::Value& block) {
  json::Value c = {{"model_type", "llama"},
                   {"hidden_size", d},
                   {"num_hidden_layers", 1},
                   {"num_attention_heads", 4},
                   {"head_dim", 64},
                   {"intermediate_size", ff},
                   {"vocab_size", vocabulary},
                   {"torch_dtype", "bfloat16"},
                   {"max_position_embeddings", 64},
                   {"tie_word_embeddings", false}};
  if (!block.is_null()) c["quantization_config"] = block;
  return c;
}

/// A layer whose matrices are stored as `stored(name, out, in)`, with all other tensors in 16 bits.
template <typename Stored>
std::vector<WrittenTensor> one_layer(const Stored& stored) {
  std::vector<WrittenTensor> all;
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"})
    all.push_back({name, "BF16", {vocabulary, d}});
  for (const char* name : {"norm", "layers.0.input_layernorm", "layers.0.post_attention_layernorm"})
    all.push_back({"model." + std::string(name) + ".weight", "BF16", {d}});
  const auto add = [&](const std::string& name, Count out, Count in) {
    for (const WrittenTensor& t : stored("model.layers.0." + name, out, in)) all.push_back(t);
  };
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) add("self_attn." + std::string(name), d, d);
  for (const char* name : {"gate_proj", "up_proj"}) add("mlp." + std::string(name), ff, d);
  add("mlp.down_proj", d, ff);
  return all;
}

std::vector<WrittenTensor> in_gptq(const std::string& name, Count out, Count in) {
  return {{name + ".qweight", "I32", {in / 8, out}},
          {name + ".qzeros", "I32", {in / 128, out / 8}},
          {name + ".scales", "F16", {in / 128, out}},
          {name + ".g_idx", "I32", {in}}};
}
std::vector<WrittenTensor> in_fp8(const std::string& name, Count out, Count in) {
  return {{name + ".weight", "F8_E4M3", {out, in}}, {name + ".weight_scale_inv", "F32", {out / 128, in / 128}}};
}
std::vector<WrittenTensor> in_nvfp4(const std::string& name, Count out, Count in) {
  return {{name + ".weight", "U8", {out, in / 2}},
          {name + ".weight_scale", "F8_E4M3", {out, in / 16}},
          {name + ".weight_scale_2", "F32", {}},
          {name + ".input_scale", "F32", {}}};
}

std::vector<WrittenTensor> in_exl3(const std::string& name, Count out, Count in) {
  return {
      {name + ".trellis", "I16", {in / 16, out / 16, 64}}, {name + ".suh", "F16", {in}}, {name + ".svh", "F16", {out}}};
}

const json::Value exl3 = {{"quant_method", "exl3"}, {"bits", 4.0}, {"head_bits", 6}};
const json::Value gptq = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}, {"desc_act", true}};
const json::Value fp8 = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
const json::Value nvfp4 = {
    {"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"group_size", 16}, {"ignore", {"lm_head"}}};

}  // namespace

TEST_CASE("a quantization config that contradicts the tensor types is rejected", "[checkpoint]") {
  const CheckpointFolder folder;
  const auto read = [&](const json::Value& block, const std::vector<WrittenTensor>& all) {
    folder.write("config.json", config_with(block).dump());
    return load_model(write_safetensors(folder, "model.safetensors", all));
  };
  const auto refused = [&](const json::Value& block, const std::vector<WrittenTensor>& all) {
    return sentence([&] { read(block, all); });
  };
  CHECK_THAT(
      refused(gptq, one_layer(in_fp8)),
      Catch::Contains("disagree: gptq-act of attention in the quantization block versus tensors of F32, F8_E4M3"));
  CHECK_THAT(refused(fp8, one_layer(in_gptq)), Catch::Contains("fp8-block of attention"));
  CHECK_THAT(refused(gptq, one_layer(in_nvfp4)), Catch::Contains("gptq-act of attention"));
  CHECK_THAT(refused(nvfp4, one_layer(in_gptq)), Catch::Contains("nvfp4-input of attention"));
  CHECK(read(gptq, one_layer(in_gptq)).caveats.empty());
  CHECK(read(fp8, one_layer(in_fp8)).caveats.empty());
  CHECK(read(nvfp4, one_layer(in_nvfp4)).caveats.empty());
  CHECK(read(exl3, one_layer(in_exl3)).caveats.empty());
}

TEST_CASE("packed tensors without a quantization config are reported", "[checkpoint]") {
  const CheckpointFolder folder;
  folder.write("config.json", config_with({}).dump());
  const ModelCard card = load_model(write_safetensors(folder, "model.safetensors", one_layer(in_gptq)));
  REQUIRE(card.caveats.size() == 2);
  CHECK_THAT(card.caveats[0],
             Catch::Contains(
                 "states no quantization, but tensors of attention are packed (F16, I32); their bytes are counted"));
  CHECK_THAT(card.caveats[1], Catch::Contains("tensors of mlp are packed"));
}

TEST_CASE("parts of a split GGUF file must belong to one model and be in order", "[checkpoint]") {
  const CheckpointFolder folder;
  const LlamaSizes s{.d = 256, .layers = 2, .vocabulary = 512, .heads = 4, .kv = 2, .head_dim = 64, .ff = 512};
  const std::vector<WrittenTensor> all = gguf_llama(s, [](const std::string&, Count) { return "Q8_0"; });
  write_gguf(folder, "m-00001-of-00002.gguf", llama_keys(s), {all.begin(), all.begin() + 9});
  const auto second = [&](const std::vector<GgufPair>& keys) {
    const std::string path = write_gguf(folder, "m-00002-of-00002.gguf", keys, {all.begin() + 9, all.end()});
    return sentence([&] { load_model(path); });
  };
  CHECK(load_model(
            write_gguf(folder, "m-00002-of-00002.gguf", {{"split.no", std::uint32_t{1}}}, {all.begin() + 9, all.end()}))
            .caveats.empty());
  CHECK_THAT(second({{"split.no", std::uint32_t{0}}}),
             Catch::Contains("\"split.no\" is 0, but its name implies part 1"));
  CHECK_THAT(second({{"general.architecture", std::string("qwen2")}}),
             Catch::Contains("\"general.architecture\" is \"qwen2\", but \"llama\" in the first part"));
}

TEST_CASE("a GGUF file with too many tensors is rejected before they are read", "[checkpoint]") {
  const CheckpointFolder folder;
  GgufBytes g;
  g.begin(2000000, 0);
  const std::string path = folder.write("m.gguf", g.text, 200 << 20);
  CHECK_THAT(sentence([&] { load_model(path); }),
             Catch::Contains("the header states 2000000 tensors; at most 131072 are supported"));
}

TEST_CASE("the error for an invalid path in an index quotes the path once", "[checkpoint]") {
  const CheckpointFolder folder;
  folder.write("config.json", config_with({}).dump());
  const std::string index =
      folder.write("model.safetensors.index.json", R"({"weight_map": {"a.weight": "../b/model.safetensors"}})");
  CHECK_THAT(sentence([&] { load_model(index); }), Catch::Contains("got \"../b/model.safetensors\""));
}
