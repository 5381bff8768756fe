// The matrices that quantisation blocks name are those that the engine counts.

#include "presets/import/modules.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <variant>

#include "calc/price.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;

namespace {

using Numbers = std::map<Component, Count>;

/// Whether a block never picks the operator: tables, routers, weights of residual streams, what weighs an indexer's
/// heads, and what pools keys.
bool is_kept(const OperatorRow& row) {
  const std::string name(row.op.name);
  const bool of_pool =
      name.find("pool_") != std::string::npos || name == "attn.index_keys" || name == "attn.index_gate";
  return row.op.component == Component::embedding || row.op.component == Component::router ||
         row.op.component == Component::norm || name == "attn.index_weights" || name == "head.stream_weights" ||
         of_pool;
}

/// Numbers of the engine's matrices, without those and what is tied.
Numbers engine_matrices(const Arch& arch) {
  Numbers all;
  for_each_operator(arch, {}, {}, {.training = true}, [&](const OperatorRow& row) {
    const Linear* l = std::get_if<Linear>(&row.op.shape);
    if (l == nullptr || l->tied || is_kept(row)) return;
    Count& n = all[row.op.component];
    n = add(n, mul(mul(row.segment.repeats, l->groups), mul(l->in, l->out)));
  });
  return all;
}

Numbers named_matrices(const Arch& arch) {
  Numbers all;
  const auto count = [&](const import::Matrix& m) { all[m.component] = add(all[m.component], m.numbers()); };
  import::for_each_matrix(arch, count);
  return all;
}

}  // namespace

TEST_CASE("every matrix of every preset has a name by which a quantisation block can pick it", "[quantized]") {
  for (const std::string& name : builtin_names(builtin_models())) {
    const Arch arch = load_model(name).arch;
    const Numbers engine = engine_matrices(arch), named = named_matrices(arch);
    for (const auto& [component, n] : engine) {
      INFO(name << ", component " << static_cast<int>(component));
      CHECK((named.contains(component) ? named.at(component) : 0) == n);
    }
  }
}

TEST_CASE("every matrix of layers that no preset has has a name, too", "[quantized]") {
  using test::small;
  for (const std::string& config :
       {small("minimax", R"("num_local_experts": 4)"), small("olmo_hybrid", ""),
        small("bailing_moe_linear", R"("layer_group_size": 4)"), small("bailing_hybrid", R"("layer_group_size": 4)"),
        small("minicpm_sala", R"("use_output_gate": true, "use_output_norm": true, "mixer_types": ["minicpm4",
          "lightning", "lightning", "lightning", "lightning", "lightning", "lightning", "minicpm4"])"),
        small("smallthinker", ""), small("eurobert", "")}) {
    INFO(config);
    const Arch arch = test::arch(config);
    const Numbers named = named_matrices(arch);
    for (const auto& [component, n] : engine_matrices(arch)) {
      INFO("component " << static_cast<int>(component));
      CHECK((named.contains(component) ? named.at(component) : 0) == n);
    }
  }
}

TEST_CASE("names of towers and of MTP's modules pick nothing of the language model", "[quantized]") {
  const import::Modules towers({"vision_tower.vision_model.encoder.layers.0", "model.vision_tower.encoder.layers.0.mlp",
                                "mtp.layers.0*", "multi_modal_projector.layers.0"});
  CHECK_FALSE(towers.contain("layers.0.mlp.up_proj"));
  CHECK_FALSE(towers.contain("layers.0.self_attn.q_proj"));
}

TEST_CASE("a composite's prefix changes nothing in names, patterns and expressions", "[quantized]") {
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
