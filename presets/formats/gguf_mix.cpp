#include "presets/formats/gguf_mix.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "calc/price.hpp"
#include "presets/formats/fused_matrices.hpp"
#include "presets/formats/gguf_rules.hpp"
#include "presets/formats/held_formats.hpp"

namespace llmcalc {

namespace {

/// Kinds of tensors by operator name. Tensors are classified as vectors by llama.cpp's names and conversion/base.py,
/// prepare_tensors. The "streams" of an embedding and a head are AltUp's projections.
constexpr std::array<std::pair<std::string_view, TensorKind>, 41> tensor_kinds{
    {{"embedding.tokens", TensorKind::table},
     {"embedding.per_layer", TensorKind::table},
     {"embedding.per_layer_project", TensorKind::stored},
     {"embedding.streams", TensorKind::stored},
     {"head.streams", TensorKind::stored},
     {"head.logits", TensorKind::head},
     {"altup.router", TensorKind::stored},
     {"altup.predict_weights", TensorKind::vector},
     {"altup.correct_weights", TensorKind::vector},
     {"laurel.down", TensorKind::stored},
     {"laurel.up", TensorKind::stored},
     {"attn.q", TensorKind::query},
     {"attn.k", TensorKind::key},
     {"attn.v", TensorKind::value},
     {"attn.out", TensorKind::attention_out},
     {"kda.q", TensorKind::query},
     {"kda.k", TensorKind::key},
     {"kda.v", TensorKind::value},
     {"kda.out", TensorKind::attention_out},
     {"delta.q", TensorKind::part},
     {"delta.k", TensorKind::part},
     {"delta.v", TensorKind::part},
     {"rwkv.decay_down", TensorKind::vector},
     {"rwkv.decay_up", TensorKind::vector},
     {"rwkv.mix_down", TensorKind::vector},
     {"rwkv.mix_up", TensorKind::vector},
     {"rwkv.step_down", TensorKind::stored},
     {"rwkv.step_up", TensorKind::stored},
     {"rwkv.value_down", TensorKind::stored},
     {"rwkv.value_up", TensorKind::stored},
     {"rwkv.gate_down", TensorKind::stored},
     {"rwkv.gate_up", TensorKind::stored},
     {"mlp.gate", TensorKind::gate},
     {"mlp.up", TensorKind::up},
     {"mlp.down", TensorKind::down},
     {"mlp.expert_gate", TensorKind::gate},
     {"mlp.expert_up", TensorKind::up},
     {"mlp.expert_down", TensorKind::down},
     {"mlp.shared_gate", TensorKind::gate},
     {"mlp.shared_up", TensorKind::up},
     {"mlp.shared_down", TensorKind::down}}};

bool is_mlp(TensorKind k) { return k == TensorKind::gate || k == TensorKind::up || k == TensorKind::down; }

/// Whether every version of the family's conversion includes MTP modules, as blocks after the layers
/// (conversion/glm.py, deepseek.py, bailingmoe.py). For Qwen 3.5, Step and MiMo, only versions since 2026 include them.
bool keeps_modules(std::string_view family) {
  static constexpr std::array<std::string_view, 6> families{"glm4_moe",     "glm4v_moe_text", "glm_moe_dsa",
                                                            "deepseek_v32", "bailing_moe_v2", "bailing_moe_v2_5"};
  return std::find(families.begin(), families.end(), family) != families.end();
}

/// Number of MTP modules in the model's GGUF files.
Count modules_in_file(const Arch& a, std::string_view family) { return keeps_modules(family) ? a.mtp.modules : 0; }

/// Differences between a model's files and its operators.
struct GgufFiles {
  GgufFiles(const Arch& a, std::string_view family)
      : fused(fused_matrices(family)),
        rwkv(a.mlp_shift),
        router_correction(a.moe.router_correction),
        modules(modules_in_file(a, family)) {
    fused.qkv = fused.qkv && !fused.split_in_gguf;
    // Ling 1.5 and Ling 2.0 have the same model_type; only 2.0 has QK norms. The GGUF conversion splits the fused QKV
    // matrix of 1.5, but not that of 2.0.
    if (family == "bailing_moe") fused.qkv = a.qk_norm != QkNorm::none;
  }
  FusedMatrices fused;
  bool rwkv;               ///< whether the MLP tensors have RWKV's names, which match no rule
  bool router_correction;  ///< whether routers have a correction, "exp_probs_b.bias", with one value per expert
  Count modules;           ///< number of MTP modules in the files
};

TensorKind kind_of(const Op& op, const Mixer& m, const GgufFiles& files) {
  if (op.component == Component::router || op.component == Component::position) return TensorKind::vector;
  if (op.name == "attn.gate" && m.attention_gate == AttentionGate::per_channel && !files.fused.own_gate)
    return TensorKind::query;  // the gate is fused with the queries
  // MiniMax-M3's indexer is not quantized. A lightning indexer's key has the same name as attention's.
  if (op.name.starts_with("attn.index_") && m.indexer.kind == IndexerKind::blocks) return TensorKind::vector;
  if (op.name == "attn.index_k") return TensorKind::key;
  const auto at =
      std::find_if(tensor_kinds.begin(), tensor_kinds.end(), [&](const auto& k) { return k.first == op.name; });
  if (at == tensor_kinds.end() || (files.rwkv && is_mlp(at->second))) return TensorKind::other;
  const bool of_qkv =
      at->second == TensorKind::query || at->second == TensorKind::key || at->second == TensorKind::value;
  return files.fused.qkv && of_qkv ? TensorKind::part : at->second;
}

/// A tensor and its kind, before a type is chosen for it.
struct Untyped {
  TensorKind kind;
  MixedTensor tensor;
};

/// Kind of a tensor in an MTP module. No rule matches a module's own table and head ("nextn.embed_tokens",
/// "nextn.shared_head_head").
TensorKind kind_in_module(TensorKind kind) {
  return kind == TensorKind::table || kind == TensorKind::head ? TensorKind::other : kind;
}

/// Adds the matrices and vectors of one operator in one layer with the mixer `m`.
void add_tensors(std::vector<Untyped>& all, const GgufFiles& files, const Mixer& m, const Op& op, Count layer) {
  const Component in = stored_component(op.shape, op.component);
  const auto add = [&](TensorKind kind, Count groups, Count rows, Count columns) {
    if (rows > 0 && columns > 0) all.push_back({kind, {in, op.owner, layer, groups, rows, columns, {}}});
  };
  if (op.borrowed) return;
  const auto* linear = std::get_if<Linear>(&op.shape);
  const TensorKind model_kind = kind_of(op, m, files);
  const TensorKind kind = op.owner == Owner::modules ? kind_in_module(model_kind) : model_kind;
  if (const auto* table = std::get_if<Lookup>(&op.shape))
    return table->tied ? void() : add(kind, 1, table->rows, table->width);
  if (linear == nullptr) return add(TensorKind::vector, 1, 1, learned(op.shape).total);
  if (linear->bias) add(TensorKind::vector, linear->groups, 1, linear->out);
  if (op.name == "mlp.router" && files.router_correction) add(TensorKind::vector, 1, 1, linear->out);
  if (linear->tied) return;
  if (op.name != "attn.kv_up") return add(kind, linear->groups, linear->out, linear->in);
  // Stored as two matrices: each head's key projection, which is absorbed into the queries, (rank, width), and its
  // value projection.
  add(TensorKind::other, m.heads, linear->in, m.latent.nope_dim);
  add(TensorKind::other, m.heads, m.latent.v_dim, linear->in);
}

/// Merges each layer's query, key and value parts into one matrix of kind `value`. Precondition: `all` is in layer
/// order.
void fuse_parts(std::vector<Untyped>& all) {
  std::vector<Untyped> fused;
  for (const Untyped& u : all) {
    const auto same = std::find_if(fused.rbegin(), fused.rend(), [&](const Untyped& f) {
      return f.kind == TensorKind::part || f.tensor.layer != u.tensor.layer;
    });
    const bool joins = u.kind == TensorKind::part && same != fused.rend() && same->tensor.layer == u.tensor.layer;
    if (joins)
      same->tensor.rows = llmcalc::add(same->tensor.rows, u.tensor.rows);
    else
      fused.push_back(u);
  }
  for (Untyped& u : fused)
    if (u.kind == TensorKind::part) u.kind = TensorKind::value;
  all = std::move(fused);
}

/// Tensors in the order in which llama-quantize counts them: by layer, with dense MLPs before experts.
std::vector<Untyped> untyped_tensors(const Arch& a, std::string_view family) {
  const GgufFiles files(a, family);
  std::vector<Untyped> all;
  for_each_operator(a, {}, {}, {.training = true, .mtp = files.modules}, [&](const OperatorRow& row) {
    const LayerKind& kind = row.segment.layer;
    for (Count i = 0; row.segment.mtp && i < files.modules; ++i)
      add_tensors(all, files, a.mixer(kind.mixer), row.op, a.layers + i);
    if (row.segment.mtp) return;
    if (row.segment.kind != SegmentKind::block) return add_tensors(all, files, a, row.op, 0);
    for (Count i = 0; i < a.layers; ++i)
      if (kind.layers.contains(i)) add_tensors(all, files, a.mixer(kind.mixer), row.op, i);
  });
  std::stable_sort(all.begin(), all.end(), [](const Untyped& x, const Untyped& y) {
    return std::tie(x.tensor.layer, x.tensor.component) < std::tie(y.tensor.layer, y.tensor.component);
  });
  fuse_parts(all);
  return all;
}

/// Counts the tensors of each kind in order. The total is the number of tensors for kind `value`, and the number of
/// layers for other kinds.
class KindTurns {
 public:
  KindTurns(const std::vector<Untyped>& all, Count layers, bool mlps_by_layer)
      : layers_(layers), mlps_by_layer_(mlps_by_layer) {
    values_ = std::count_if(all.begin(), all.end(), [](const Untyped& u) { return u.kind == TensorKind::value; });
  }
  TensorTurn next(const Untyped& u) {
    const Count index = seen_[static_cast<std::size_t>(u.kind)]++;
    if (u.kind == TensorKind::value) return {index, values_};
    return {is_mlp(u.kind) && mlps_by_layer_ ? u.tensor.layer : index, layers_};
  }

 private:
  std::array<Count, static_cast<std::size_t>(TensorKind::other) + 1> seen_{};
  Count layers_, values_ = 0;
  bool mlps_by_layer_;
};

}  // namespace

std::vector<MixedTensor> mixed_tensors(const Arch& arch, std::string_view mix, std::string_view family) {
  const GgufRules rules(arch, mix, family);
  std::vector<Untyped> all = untyped_tensors(arch, family);
  KindTurns turns(all, arch.layers + modules_in_file(arch, family), rules.counts_layers());
  std::vector<MixedTensor> out;
  for (Untyped& u : all) {
    u.tensor.format = rules.type(u.kind, turns.next(u), u.tensor);
    out.push_back(u.tensor);
  }
  return out;
}

WeightFormats gguf_mix(const Arch& arch, std::string_view mix, std::string_view family) {
  HeldComponents model, modules;
  for (const MixedTensor& t : mixed_tensors(arch, mix, family)) {
    HeldComponents& all = t.owner == Owner::modules ? modules : model;
    all.add_numbers(t.component, t.format, mul(t.groups, t.rows, t.columns));
    all[t.component].bytes += t.groups * tensor_bytes(t.format, t.rows, t.columns);
  }
  WeightFormats w = most_common_formats(model, arch);
  hold_bytes(w, arch, model);
  if (modules_in_file(arch, family) > 0)
    hold_bytes(w, arch, modules, Owner::modules);
  else
    hold_modules_alike(w, arch);
  return w;
}

/// Follows the version of src/llama-quant.cpp that did not yet treat fused projections (attn_qkv) as values.
std::string_view older_fused_type(const Arch& arch, std::string_view mix, std::string_view family) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> types{
      {{"q3_k_m", "q4_k"}, {"q3_k_l", "q4_k"}, {"iq3_m", "q4_k"}, {"q4_k_m", "q5_k"}, {"q5_k_m", "q6_k"}}};
  if (!GgufFiles(arch, family).fused.qkv) return {};
  const auto at = std::find_if(types.begin(), types.end(), [&](const auto& t) { return t.first == mix; });
  return at == types.end() ? std::string_view() : at->second;
}

}  // namespace llmcalc
