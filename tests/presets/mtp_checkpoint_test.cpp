// Tensors of MTP modules in a checkpoint: MiMo-7B's, "model.mtp_layers.0." (vLLM, mimo_mtp.py).

#include <algorithm>

#include "tests/presets/checkpoint_shapes.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using namespace llmcalc::test::shapes;

namespace {

Shapes layer(const std::string& before) {
  return norms(before, {"input_layernorm", "post_attention_layernorm"}) + attention(before + "self_attn.") +
         under(before + "self_attn.", {{"q_proj.bias", {64}}, {"k_proj.bias", {32}}, {"v_proj.bias", {32}}}) +
         gated(before + "mlp.");
}

const Shapes model = untied + layer("model.layers.0.") + layer("model.layers.1.");
const std::string before = "model.mtp_layers.0.";
const Shapes module = layer(before) + norms(before, {"token_layernorm", "hidden_layernorm", "final_layernorm"}) +
                      Shapes{{before + "input_proj.weight", {d, 2 * d}}};

/// The model in bf16, with additional tensors in float32.
ModelCard with_module(const Shapes& further) {
  const CheckpointFolder folder;
  folder.write("config.json", config("mimo", {{"num_nextn_predict_layers", 1}}).dump());
  std::vector<WrittenTensor> written;
  for (const auto& [name, shape] : model) written.push_back({name, "BF16", shape});
  for (const auto& [name, shape] : further) written.push_back({name, "F32", shape});
  return load_model(write_safetensors(folder, "model.safetensors", written));
}

Count weights(const ModelCard& card, Count modules) {
  Plan p;
  p.weight_precision = *card.weights;
  p.mtp = modules;
  return weights_bytes(card.arch, p).value;
}

bool differs(const ModelCard& card) {
  return std::any_of(card.caveats.begin(), card.caveats.end(),
                     [](const std::string& c) { return c.find("MTP modules differ") != std::string::npos; });
}

}  // namespace

TEST_CASE("an MTP module's tensors count as its bytes and not as the model's", "[checkpoint][mtp]") {
  const ModelCard card = with_module(module);
  CHECK(parameters(card.arch).total == numbers(model));
  CHECK(mtp_parameters(card.arch).total == numbers(module));
  CHECK(weights(card, 0) == 2 * numbers(model));
  CHECK(weights(card, 1) == 2 * numbers(model) + 4 * numbers(module));
  CHECK_FALSE(differs(card));
  CHECK(beside(card).empty());
}

TEST_CASE("an MTP module without tensors in the checkpoint has the config's format", "[checkpoint][mtp]") {
  const ModelCard card = with_module({});
  CHECK(weights(card, 1) == 2 * (numbers(model) + numbers(module)));
  CHECK_FALSE(differs(card));
}

TEST_CASE("an incomplete MTP module is reported, and its bytes are those of its tensors", "[checkpoint][mtp]") {
  const Shapes some(module.begin(), module.end() - 1);
  const ModelCard card = with_module(some);
  CHECK(weights(card, 1) == 2 * numbers(model) + 4 * numbers(some));
  CHECK(differs(card));
}
