#pragma once
// Checkpoints of small models: names and shapes of their tensors.

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/checkpoint_writer.hpp"
#include "tests/sentence.hpp"

namespace llmcalc::test::shapes {

inline constexpr Count V = 256, d = 64, f = 128;

/// bf16 tensors: names and shapes.
using Shapes = std::vector<std::pair<std::string, std::vector<Count>>>;

inline Shapes operator+(Shapes a, const Shapes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The same tensors with a prefix in their names.
inline Shapes under(const std::string& before, const Shapes& all) {
  Shapes out;
  for (const auto& [name, shape] : all) out.emplace_back(before + name, shape);
  return out;
}

/// Every tensor as a weight, with a bias.
inline Shapes biased(const Shapes& all) {
  Shapes out;
  for (const auto& [name, shape] : all) {
    out.emplace_back(name + ".weight", shape);
    out.emplace_back(name + ".bias", std::vector<Count>{shape[0]});
  }
  return out;
}

inline Count numbers(const Shapes& all) {
  Count n = 0;
  for (const auto& [name, shape] : all) n += numbers_of(shape);
  return n;
}

inline Shapes gated(const std::string& before, Count width = f) {
  return under(before,
               {{"gate_proj.weight", {width, d}}, {"up_proj.weight", {width, d}}, {"down_proj.weight", {d, width}}});
}

inline Shapes attention(const std::string& before, Count heads = 4, Count kv = 2, Count width = 16) {
  return under(before, {{"q_proj.weight", {heads * width, d}},
                        {"k_proj.weight", {kv * width, d}},
                        {"v_proj.weight", {kv * width, d}},
                        {"o_proj.weight", {d, heads * width}}});
}

inline Shapes norms(const std::string& before, std::initializer_list<const char*> names) {
  Shapes out;
  for (const char* name : names) out.emplace_back(before + name + ".weight", std::vector<Count>{d});
  return out;
}

inline const Shapes ends{{"model.embed_tokens.weight", {V, d}}, {"model.norm.weight", {d}}};
inline const Shapes untied = ends + Shapes{{"lm_head.weight", {V, d}}};

inline json::Value config(const std::string& type, const json::Value& more) {
  json::Value c = {{"model_type", type},           {"hidden_size", d},         {"num_hidden_layers", 2},
                   {"num_attention_heads", 4},     {"num_key_value_heads", 2}, {"head_dim", 16},
                   {"intermediate_size", f},       {"vocab_size", V},          {"max_position_embeddings", 128},
                   {"tie_word_embeddings", false}, {"torch_dtype", "bfloat16"}};
  for (const auto& [key, value] : more.items()) c[key] = value;
  return c;
}

inline ModelCard read(const json::Value& config, const Shapes& all) {
  const CheckpointFolder folder;
  folder.write("config.json", config.dump());
  std::vector<WrittenTensor> written;
  for (const auto& [name, shape] : all) written.push_back({name, "BF16", shape});
  return load_model(write_safetensors(folder, "model.safetensors", written));
}

/// The caveats about tensors outside the model, truncated before the sizes.
inline std::vector<std::string> beside(const ModelCard& card) {
  std::vector<std::string> out;
  for (const std::string& note : card.caveats)
    if (note.find("not counted") != std::string::npos) out.push_back(note.substr(0, note.find(':')));
  return out;
}

/// Checks that the model has the parameters and bytes of `of_model`, and that the caveats about other tensors are
/// `notes`.
inline void check_read(const json::Value& config, const Shapes& of_model, const Shapes& others = {},
                       const std::vector<std::string>& notes = {}) {
  const ModelCard card = read(config, of_model + others);
  Plan p;
  p.weight_precision = *card.weights;
  CHECK(parameters(card.arch).total == numbers(of_model));
  CHECK(weights_bytes(card.arch, p) == Bytes(2 * numbers(of_model)));
  CHECK(beside(card) == notes);
}

}  // namespace llmcalc::test::shapes
