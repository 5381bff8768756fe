#include "presets/import/modules.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

namespace llmcalc::import {

namespace {

/// A pattern from its "layers." on: what stands before differs between a model and its composite.
std::string from_layers(const std::string& pattern) {
  const std::size_t at = pattern.find("layers.");
  return at == std::string::npos || (at > 0 && pattern[at - 1] != '.') ? pattern : pattern.substr(at);
}

/// A name outside the layers without the "model." that some checkpoints put before it.
std::string without_model(const std::string& name) { return name.starts_with("model.") ? name.substr(6) : name; }

bool is_glob_of(const std::string& glob, const std::string& path) {
  return fnmatch(glob.c_str(), path.c_str(), 0) == 0 || fnmatch((glob + ".*").c_str(), path.c_str(), 0) == 0;
}

bool is_expression_of(const std::regex& e, const std::string& path) {
  return std::regex_search(path, e, std::regex_constants::match_continuous) ||
         std::regex_search("model." + path, e, std::regex_constants::match_continuous);
}

/// Calls visit(part) for every run of whole dotted segments in `path` until it says true.
template <typename Visit>
bool any_part(const std::string& path, Visit visit) {
  for (std::size_t from = 0; from != std::string::npos;) {
    for (std::size_t to = path.find('.', from); to != std::string::npos; to = path.find('.', to + 1))
      if (visit(path.substr(from, to - from))) return true;
    if (visit(path.substr(from))) return true;
    const std::size_t dot = path.find('.', from);
    from = dot == std::string::npos ? dot : dot + 1;
  }
  return false;
}

}  // namespace

Modules::Modules(const std::vector<std::string>& patterns) {
  for (const std::string& p : patterns) {
    if (p.starts_with("re:"))
      expressions_.emplace_back(p.substr(3));
    else if (p.find_first_of("*?[") != std::string::npos)
      globs_.push_back(from_layers(p));
    else
      names_.insert(without_model(from_layers(p)));
  }
}

bool Modules::contain(const std::string& path) const {
  if (!names_.empty() && any_part(path, [&](const std::string& part) { return names_.contains(part); })) return true;
  return std::any_of(globs_.begin(), globs_.end(), [&](const std::string& g) { return is_glob_of(g, path); }) ||
         std::any_of(expressions_.begin(), expressions_.end(),
                     [&](const std::regex& e) { return is_expression_of(e, path); });
}

namespace {

using Names = std::vector<std::string>;

/// Names a layer's matrices; the aliases are those of hf and of the checkpoints' own code.
class Layer {
 public:
  Layer(Count index, const std::function<void(const Matrix&)>& visit)
      : prefix_(fmt::format("layers.{}.", index)), visit_(visit) {}

  void matrix(Component c, const Names& parents, const Names& leaves, Count rows, Count columns,
              Count groups = 1) const {
    Matrix m{c, {}, groups, rows, columns};
    for (const std::string& parent : parents)
      for (const std::string& leaf : leaves) m.paths.push_back(prefix_ + parent + "." + leaf);
    visit_(m);
  }

 private:
  std::string prefix_;
  const std::function<void(const Matrix&)>& visit_;
};

const Names attention_names{"self_attn", "attn", "attention", "self_attention"};

void grouped(const Layer& l, const Arch& a) {
  const auto projection = [&](const Names& leaves, Count width) {
    l.matrix(Component::attention, attention_names, leaves, width, a.hidden);
  };
  const Count q = mul(a.heads, a.head_dim), kv = mul(a.kv_heads, a.head_dim);
  const Names fused{"qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv", "wqkv"};
  const auto with_fused = [&](Names own) {
    own.insert(own.end(), fused.begin(), fused.end());
    return own;
  };
  projection(with_fused({"q_proj", "wq"}), q);
  projection(with_fused({"k_proj", "wk"}), kv);
  projection(with_fused({"v_proj", "wv"}), kv);
  l.matrix(Component::attention, attention_names, {"o_proj", "out_proj", "dense", "c_proj", "wo"}, a.hidden, q);
}

void latent(const Layer& l, const Arch& a) {
  const Latent& m = a.latent;
  const auto projection = [&](const char* leaf, Count in, Count out) {
    l.matrix(Component::attention, attention_names, {leaf}, out, in);
  };
  const Count q = mul(a.heads, m.nope_dim + m.rope_dim);
  if (m.q_rank == 0) {
    projection("q_proj", a.hidden, q);
  } else {
    projection("q_a_proj", a.hidden, m.q_rank);
    projection("q_b_proj", m.q_rank, q);
  }
  projection("kv_a_proj_with_mqa", a.hidden, m.kv_rank + m.rope_dim);
  projection("kv_b_proj", m.kv_rank, mul(a.heads, m.nope_dim + m.v_dim));
  projection("o_proj", mul(a.heads, m.v_dim), a.hidden);
}

/// The mixer of a layer.
const Mixer& mixer_of(const Arch& a, Count layer) {
  for (const LayerMixer& m : a.mixers)
    if (m.layers.contains(layer)) return m;
  return a;
}

/// Queries and, where every token has one, the key of a lightning indexer; its heads' weights stay in the config's
/// dtype.
void lightning_indexer(const Layer& l, const Arch& a, const Mixer& m) {
  if (!m.indexer.runs() || m.indexer.kind != IndexerKind::lightning) return;
  const Indexer& i = m.indexer;
  l.matrix(Component::attention, attention_names, {"indexer.wq_b", "indexer.q_b_proj"}, mul(i.heads, i.width),
           m.latent.q_rank);
  if (m.compressed.ratio == 0)
    l.matrix(Component::attention, attention_names, {"indexer.wk", "indexer.k_proj"}, i.width, a.hidden);
}

/// DeepSeek-V4's; what pools keys stays in the config's dtype.
void compressed(const Layer& l, const Arch& a, const Mixer& m) {
  const auto projection = [&](const Names& leaves, Count in, Count out, Count groups = 1) {
    l.matrix(Component::attention, attention_names, leaves, out, in, groups);
  };
  const Count width = mul(m.heads, m.head_dim);
  const Count groups = m.compressed.out_groups, rank = m.compressed.out_rank;
  projection({"wq_a", "q_a_proj"}, a.hidden, m.latent.q_rank);
  projection({"wq_b", "q_b_proj"}, m.latent.q_rank, width);
  projection({"wkv", "kv_proj"}, a.hidden, m.head_dim);
  projection({"wo_a", "o_a_proj"}, mul(m.heads / groups, m.head_dim), rank, groups);
  projection({"wo_b", "o_b_proj"}, mul(groups, rank), a.hidden);
}

void attention(const Layer& l, const Arch& a, Count layer) {
  const Mixer& m = mixer_of(a, layer);
  if (m.attention == AttentionKind::compressed)
    compressed(l, a, m);
  else
    a.attention == AttentionKind::latent ? latent(l, a) : grouped(l, a);
  lightning_indexer(l, a, m);
}

void feed_forward(const Layer& l, const Arch& a, Component c, const Names& parents, Count width, Count groups = 1) {
  const Names up{"up_proj", "gate_up_proj", "w3", "c_fc", "fc1", "dense_h_to_4h"};
  if (a.mlp == MlpKind::gated) l.matrix(c, parents, {"gate_proj", "gate_up_proj", "w1"}, width, a.hidden, groups);
  l.matrix(c, parents, up, width, a.hidden, groups);
  l.matrix(c, parents, {"down_proj", "w2", "c_proj", "fc2", "dense_4h_to_h"}, a.hidden, width, groups);
}

void mixture(const Layer& l, const Arch& a) {
  const Moe& m = a.moe;
  feed_forward(l, a, Component::experts,
               {"mlp.experts.0", "mlp.experts", "block_sparse_moe.experts.0", "feed_forward.experts", "ffn.experts.0"},
               m.width, m.experts);
  if (m.shared_experts > 0)
    feed_forward(l, a, Component::shared_experts,
                 {"mlp.shared_experts", "mlp.shared_expert", "feed_forward.shared_expert", "ffn.shared_experts"},
                 mul(m.shared_experts, m.shared_width));
}

}  // namespace

void for_each_matrix(const Arch& a, const std::function<void(const Matrix&)>& visit) {
  for (Count i = 0; i < a.layers; ++i) {
    const Layer l(i, visit);
    attention(l, a, i);
    if (a.moe.layers.contains(i))
      mixture(l, a);
    else
      feed_forward(l, a, Component::mlp, {"mlp", "feed_forward", "ffn"}, a.mlp_width);
  }
  if (!a.tied_head) visit({Component::lm_head, {"lm_head", "embed_out", "output", "head"}, 1, a.vocabulary, a.hidden});
}

}  // namespace llmcalc::import
