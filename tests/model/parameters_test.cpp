// The transformer's parameters, derived from the architecture, equal the engine's count, which sums over operators.
// Covers every preset without allocating memory.

#include <set>

#include "calc/parameters.hpp"
#include "model/transformer.hpp"
#include "model/weights.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/models/tiny.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// "attn.q.weight" for "layers.3.attn.q.weight".
std::string in_layer(const std::string& name) {
  return name.starts_with("layers.") ? name.substr(name.find('.', 7) + 1) : name;
}

/// The engine's component of a parameter, by its name.
Count& part_of(Parameters& p, const std::string& name) {
  for (const char* norm : {"embedding.norm.",
                           "embedding.per_layer_norm.",
                           "attn.norm.",
                           "attn.post_norm.",
                           "attn.stream_weights.",
                           "attn.gather.",
                           "attn.mix.",
                           "mlp.stream_weights.",
                           "mlp.gather.",
                           "mlp.mix.",
                           "mlp.norm.",
                           "altup.",
                           "laurel.norm.",
                           "mlp.post_norm.",
                           "mlp.dense_norm.",
                           "mlp.expert_norm.",
                           "mlp.combined_norm.",
                           "per_layer.norm.",
                           "block.scale.",
                           "cross.norm.",
                           "cross.post_norm.",
                           "encoder.norm.",
                           "head.mix.",
                           "head.norm.",
                           "head.transform_norm."})
    if (name.starts_with(norm)) return p.norm;
  for (const char* table :
       {"embedding.positions.", "embedding.encoder_distances.", "embedding.distances.", "attn.distances."})
    if (name.starts_with(table)) return p.position;
  if (name.starts_with("embedding.") || name.starts_with("head.project.")) return p.embedding;
  if (name.starts_with("head.")) return p.lm_head;
  for (const char* mixer : {"attn.", "cross.", "delta.", "kda.", "ssm.", "conv.", "rwkv.", "lru.", "mlstm."})
    if (name.starts_with(mixer)) return p.attention;
  return p.mlp;
}

/// Whether a weight is a depthwise convolution kernel, which Adafactor does not factor.
bool is_convolution(const std::string& name) { return name.ends_with("_conv.weight") || name == "conv.core.weight"; }

/// Number of layers that multiply by a weight: the weight's own layer and the layers that repeat it.
Count times_used(const Arch& a, const std::string& name) {
  if (!a.has_repeats() || !name.starts_with("layers.")) return 1;
  const Count owner = std::stoll(name.substr(7));
  Count n = 0;
  for (Count i = 0; i < a.layers; ++i) n += a.weights_of(i) == owner ? 1 : 0;
  return n;
}

Parameters counted(const Arch& arch) {
  Parameters p;
  for (const ParameterShape& s : parameter_shapes(arch)) {
    const std::string name = in_layer(s.name);
    const Count n = s.elements();
    const auto idle = [&](Count visited) {
      return name.starts_with("mlp.expert_") && s.groups > 1 ? n / s.groups * (s.groups - visited) : 0;
    };
    p.total += n;
    p.active += n - idle(arch.moe.top_k);
    part_of(p, name) += n;
    // Adafactor: a row and a column of every matrix, and full vectors (arXiv:1804.04235).
    const bool is_matrix = s.in > 0 && !is_convolution(name);
    p.factored += is_matrix ? s.groups * (s.out + s.in) : s.elements();
    const bool multiplied = name == "embedding.project.weight" || name == "embedding.per_layer_project.weight" ||
                            name == "embedding.streams.weight";
    const bool table = (name.starts_with("embedding.") && !multiplied) || name == "attn.distances.weight";
    if (s.in > 0 && !table) {
      if (name == "altup.router.weight") {  // used twice per layer
        p.matmul += n;
        p.matmul_active += n;
      }
      p.matmul += times_used(arch, s.name) * n;
      p.matmul_active += times_used(arch, s.name) *
                         (n - idle(arch.moe.visited()));  // only a share of a token's choices are experts with weights
    }
  }
  p.non_embedding = p.total - p.embedding - p.position - p.lm_head;
  const Count head = arch.tied_head ? arch.vocabulary * arch.embedding_width : 0;  // counted as the embedding table
  p.matmul += head;
  p.matmul_active += head;
  return p;
}

void check(const std::string& name, const Arch& arch) {
  INFO(name);
  const Parameters ours = counted(arch), engine = parameters(arch);
  CHECK(ours.total == engine.total);
  CHECK(ours.active == engine.active);
  CHECK(ours.non_embedding == engine.non_embedding);
  CHECK(ours.embedding == engine.embedding);
  CHECK(ours.position == engine.position);
  CHECK(ours.attention == engine.attention);
  CHECK(ours.mlp == engine.mlp);
  CHECK(ours.norm == engine.norm);
  CHECK(ours.lm_head == engine.lm_head);
  CHECK(ours.matmul == engine.matmul);
  CHECK(ours.matmul_active == engine.matmul_active);
  CHECK(ours.factored == engine.factored);
  std::set<std::string> names;
  for (const ParameterShape& s : parameter_shapes(arch)) {
    INFO(s.name);
    CHECK(names.insert(s.name).second);
    CHECK(s.elements() > 0);
  }
}

}  // namespace

TEST_CASE("every preset has the engine's parameter count in each component and unique parameter names",
          "[parameters]") {
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f32);
  for (const Builtin& b : builtin_models()) {
    const Arch arch = load_model(b.name).arch;
    check(std::string(b.name), runnable(arch, *cpu));
  }
}

TEST_CASE("every variant has the engine's parameter count in each component", "[parameters]") {
  for (const test::Variant& v : test::variants()) check(v.name, v.arch);
}
