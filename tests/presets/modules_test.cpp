// Quantization blocks can name exactly the matrices that the engine counts.

#include "presets/import/quantization/modules.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <variant>

#include "calc/price.hpp"
#include "presets/builtin.hpp"
#include "presets/import/quantization/matrices.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;

namespace {

using Numbers = std::map<Component, Count>;

/// Whether no quantization block ever selects the operator: tables, routers, weights of residual streams, weights of an
/// indexer's heads, and pooling of keys.
bool is_saved(const OperatorRow& row) {
  const std::string name(row.op.name);
  const bool of_pool =
      name.find("pool_") != std::string::npos || name == "attn.index_keys" || name == "attn.index_gate";
  return row.op.component == Component::embedding || row.op.component == Component::router ||
         row.op.component == Component::norm || name == "attn.index_weights" || name == "head.stream_weights" ||
         of_pool;
}

/// Elements of the engine's matrices, except those that no block selects and tied ones.
Numbers engine_matrices(const Arch& arch) {
  Numbers all;
  for_each_operator(arch, {}, {}, {.training = true}, [&](const OperatorRow& row) {
    const Linear* l = std::get_if<Linear>(&row.op.shape);
    if (l == nullptr || l->tied || row.op.borrowed || is_saved(row)) return;
    Count& n = all[row.op.component];
    n = add(n, mul(mul(row.segment.repeats, l->groups), mul(l->in, l->out)));
  });
  return all;
}

/// Elements of all MTP modules' matrices, including the projection of the two concatenated inputs.
Numbers engine_module_matrices(const Arch& arch, bool routers) {
  Numbers all;
  for_each_operator(arch, {}, {}, {.training = true, .mtp = arch.mtp.modules}, [&](const OperatorRow& row) {
    const Linear* l = std::get_if<Linear>(&row.op.shape);
    if (!row.segment.mtp || l == nullptr || l->tied) return;
    const bool joins = row.op.component == Component::embedding;
    if (routers != (row.op.component == Component::router) || (!joins && !routers && is_saved(row))) return;
    Count& n = all[row.op.component];
    n = add(n, mul(mul(row.segment.repeats, l->groups), mul(l->in, l->out)));
  });
  return all;
}

template <typename ForEach>
Numbers numbers_of(const ForEach& for_each) {
  Numbers all;
  for_each([&](const import::Matrix& m) { all[m.component] = add(all[m.component], m.numbers()); });
  return all;
}

}  // namespace

TEST_CASE("every matrix of every preset has a name for quantization configs", "[quantized]") {
  for (const std::string& name : builtin_names(builtin_models())) {
    const ModelCard card = load_model(name);
    const Arch& arch = card.arch;
    const Numbers named = numbers_of([&](const auto& visit) { import::for_each_matrix(arch, card.family, visit); });
    for (const auto& [component, n] : engine_matrices(arch)) {
      INFO(name << ", component " << static_cast<int>(component));
      CHECK((named.contains(component) ? named.at(component) : 0) == n);
    }
  }
}

TEST_CASE("every matrix of layer types that no preset uses also has a name", "[quantized]") {
  using test::small;
  for (const std::string& config :
       {small("minimax", R"("num_local_experts": 4)"), small("olmo_hybrid", ""),
        small("bailing_moe_linear", R"("layer_group_size": 4)"), small("bailing_hybrid", R"("layer_group_size": 4)"),
        small("minicpm_sala", R"("use_output_gate": true, "use_output_norm": true, "mixer_types": ["minicpm4",
          "lightning", "lightning", "lightning", "lightning", "lightning", "lightning", "minicpm4"])"),
        small("smallthinker", ""), small("eurobert", "")}) {
    INFO(config);
    const ModelCard card = test::imported(config);
    const Arch& arch = card.arch;
    const Numbers named = numbers_of([&](const auto& visit) { import::for_each_matrix(arch, card.family, visit); });
    for (const auto& [component, n] : engine_matrices(arch)) {
      INFO("component " << static_cast<int>(component));
      CHECK((named.contains(component) ? named.at(component) : 0) == n);
    }
  }
}

TEST_CASE("every matrix of MTP modules has a name in every family", "[quantized][mtp]") {
  Count with_modules = 0;
  for (const std::string& name : builtin_names(builtin_models())) {
    const Arch arch = load_model(name).arch;
    with_modules += arch.mtp.modules > 0 ? 1 : 0;
    for (const char* family : {"deepseek_v3", "qwen3_5_text", "mimo", "mimo_v2_flash", "ernie4_5_moe", "nemotron_h"}) {
      INFO(name << " by the names of " << family);
      CHECK(numbers_of([&](const auto& visit) { import::for_each_mtp_matrix(arch, family, visit); }) ==
            engine_module_matrices(arch, false));
      CHECK(numbers_of([&](const auto& visit) { import::for_each_mtp_router(arch, family, visit); }) ==
            engine_module_matrices(arch, true));
    }
  }
  CHECK(with_modules >= 16);
}

TEST_CASE("names of vision encoders and MTP modules do not select matrices of the language model", "[quantized]") {
  const import::Modules media_encoders({"vision_tower.vision_model.encoder.layers.0",
                                        "model.vision_tower.encoder.layers.0.mlp", "mtp.layers.0*",
                                        "multi_modal_projector.layers.0"});
  CHECK_FALSE(media_encoders.contain("layers.0.mlp.up_proj"));
  CHECK_FALSE(media_encoders.contain("layers.0.self_attn.q_proj"));
  CHECK(media_encoders.contain("mtp.layers.0.mlp.up_proj"));
}

TEST_CASE("a name that selects the language model's layers selects no MTP module", "[quantized][mtp]") {
  for (const char* pattern : {"model.layers.0", "model.layers.0.mlp", "model.layers.0*", "model.layers", "layers.0.",
                              "re:model\\.layers\\..*", "re:^layers.*"}) {
    INFO(pattern);
    const import::Modules some({pattern});
    CHECK(some.contain("layers.0.mlp.up_proj"));
    CHECK_FALSE(some.contain("mtp.layers.0.mlp.up_proj"));
  }
  for (const char* pattern : {"mlp", "mlp.up_proj", "re:.*up_proj", "*.mlp.*"})  // in every layer
    CHECK(import::Modules({pattern}).contain("mtp.layers.0.mlp.up_proj"));
}

TEST_CASE("the prefix of a composite model is ignored in names, patterns and regular expressions", "[quantized]") {
  for (const std::string prefix : {"", "model.", "language_model.", "language_model.model.", "model.language_model."})
    for (const std::string& pattern : {prefix + "layers.0.mlp", prefix + "layers.0.", prefix + "layers.0.mlp*",
                                       "re:" + prefix + "layers\\.0\\.mlp.*"}) {
      INFO(pattern);
      const import::Modules some({pattern});
      CHECK(some.contain("layers.0.mlp.up_proj"));
      CHECK_FALSE(some.contain("layers.1.mlp.up_proj"));
    }
  CHECK(import::Modules({"language_model.lm_head"}).contain("lm_head"));
}
