#include "validate/suite.hpp"

#include <array>
#include <set>
#include <tuple>

namespace llmcalc::validate {
namespace {

/// The factors, in the order of factors().
enum Which : std::size_t {
  attention,
  window,
  qk_norm,
  sinks,
  norm,
  placement,
  mlp,
  activation,
  experts,
  position,
  biases,
  head,
  embedding,
  precision,
  core,
  softmax_store,
  glu_store,
  statistics,
  dropout,
  recompute,
  optimizer,
  mla,
  cache,
  logits
};

const std::vector<Factor> all_factors{
    {"attention", {"multi-head", "grouped", "multi-query", "latent", "latent without query rank"}},
    {"window", {"none", "every other layer", "all layers", "chunks"}},
    {"qk-norm", {"none", "weight-free", "per head", "per head with bias", "each head", "full", "full with bias"}},
    {"sinks", {"none", "sinks"}},
    {"norm", {"LayerNorm", "LayerNorm without bias", "RMSNorm", "weight-free"}},
    {"block", {"pre-norm", "post-norm", "output norm", "both norms", "parallel", "parallel with two norms"}},
    {"MLP", {"plain", "gated"}},
    {"activation", {"GELU", "tanh GELU", "SiLU", "ReLU", "squared ReLU"}},
    {"experts", {"none", "all layers", "after a dense layer, shared", "shared behind a gate"}},
    {"positions", {"RoPE", "learned", "sinusoidal", "ALiBi", "none"}},
    {"biases", {"none", "attention", "MLP", "all"}},
    {"head", {"tied", "untied", "untied with bias"}},
    {"embedding", {"plain", "normed", "narrow"}},
    {"numbers", {"fp32", "bf16"}},
    {"core", {"flash", "naive"}},
    {"softmax store", {"minimal", "seed"}},
    {"GLU store", {"all", "fused", "recompute"}},
    {"statistics", {"kept", "made again"}},
    {"dropout", {"off", "on"}},
    {"recompute", {"none", "selective", "full"}},
    {"optimizer", {"Adam", "momentum", "SGD"}},
    {"latent core", {"auto", "absorbed", "expanded"}},
    {"KV cache", {"kept", "none"}},
    {"logits", {"fp32", "compute"}},
};

bool is_latent(const Choice& c) { return c[attention] >= 3; }

/// Two levels of two factors, the first factor the lower.
using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

/// A row with this pair; its other factors have their first level unless the pair needs another. Empty if impossible.
Choice row_with(const Pair& pair) {
  const auto [f, i, g, k] = pair;
  for (const std::size_t a : {0UL, 3UL})  // either kind of attention
    for (const std::size_t gated : {0UL, 1UL})
      for (const std::size_t naive : {0UL, 1UL}) {
        Choice c(all_factors.size(), 0);
        c[attention] = a;
        c[mlp] = gated;
        c[core] = naive;
        c[f] = i;
        c[g] = k;
        c = possible(c);
        if (c[f] == i && c[g] == k) return c;
      }
  return {};
}

/// Every pair that some row can have.
std::set<Pair> possible_pairs() {
  std::set<Pair> pairs;
  for (std::size_t f = 0; f < all_factors.size(); ++f)
    for (std::size_t g = f + 1; g < all_factors.size(); ++g)
      for (std::size_t i = 0; i < all_factors[f].levels.size(); ++i)
        for (std::size_t k = 0; k < all_factors[g].levels.size(); ++k)
          if (!row_with({f, i, g, k}).empty()) pairs.insert({f, i, g, k});
  return pairs;
}

std::size_t newly_covered(const Choice& c, const std::set<Pair>& open) {
  std::size_t n = 0;
  for (std::size_t f = 0; f < c.size(); ++f)
    for (std::size_t g = f + 1; g < c.size(); ++g) n += open.count({f, c[f], g, c[g]});
  return n;
}

/// A row with this pair, its other factors each set to what covers most with those before it.
Choice grown(const Pair& seed, const std::set<Pair>& open) {
  const auto [f, i, g, k] = seed;
  Choice c = row_with(seed);
  std::vector<bool> set(all_factors.size());
  set[f] = set[g] = true;
  for (std::size_t h = 0; h < all_factors.size(); ++h) {
    if (set[h]) continue;
    std::size_t best = 0, most = 0;
    for (std::size_t level = 0; level < all_factors[h].levels.size(); ++level) {
      Choice tried = c;
      tried[h] = level;
      tried = possible(tried);
      if (tried[f] != i || tried[g] != k) continue;
      const std::size_t covered = newly_covered(tried, open);
      if (covered > most) {
        best = level;
        most = covered;
      }
    }
    c[h] = best;
    set[h] = true;
  }
  return possible(c);
}

}  // namespace

const std::vector<Factor>& factors() { return all_factors; }

Choice possible(Choice c) {
  if (is_latent(c)) c[qk_norm] = c[sinks] = 0;
  if (!is_latent(c)) c[mla] = 0;
  if (is_latent(c)) c[position] = 0;  // its rotary part is its own
  if (c[mlp] == 0) c[glu_store] = 0;
  if (c[core] == 0) c[softmax_store] = 0;
  return c;
}

std::vector<Choice> covering_array() {
  std::set<Pair> open = possible_pairs();
  std::vector<Choice> rows;
  while (!open.empty()) {
    const Choice c = grown(*open.begin(), open);
    for (std::size_t h = 0; h < c.size(); ++h)
      for (std::size_t other = h + 1; other < c.size(); ++other) open.erase({h, c[h], other, c[other]});
    rows.push_back(c);
  }
  return rows;
}

namespace {

void set_attention(Arch& a, const Choice& c) {
  a.heads = 4;
  a.head_dim = 6;
  a.kv_heads = c[attention] == 1 ? 2 : 4;
  if (c[attention] == 2) a.kv_heads = 1;
  if (is_latent(c)) {
    a.attention = AttentionKind::latent;
    a.latent = {.q_rank = c[attention] == 3 ? 7 : 0, .kv_rank = 9, .nope_dim = 6, .rope_dim = 4, .v_dim = 5};
  }
  if (c[window] > 0)
    a.local = {.reach = {3, c[window] == 3}, .layers = LayerSet::every(0, c[window] == 2 ? 1 : 2, a.layers)};
  a.qk_norm = static_cast<QkNorm>(c[qk_norm]);
  a.attention_sinks = c[sinks] == 1;
  a.position =
      std::array{Position::rope, Position::learned, Position::sinusoidal, Position::alibi, Position::none}[c[position]];
  if (a.position == Position::learned) a.position_rows = a.context;
  a.qkv_bias = a.attention_out_bias = c[biases] == 1 || c[biases] == 3;
}

void set_mlp(Arch& a, const Choice& c) {
  a.mlp = c[mlp] == 0 ? MlpKind::plain : MlpKind::gated;
  a.activation = std::array{Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::relu,
                            Activation::relu_squared}[c[activation]];
  a.mlp_width = 22;
  a.mlp_bias = c[biases] >= 2;
  if (c[experts] == 0) return;
  a.moe.experts = 5;
  a.moe.top_k = 2;
  a.moe.width = 11;
  a.moe.layers = LayerSet::every(c[experts] == 2 ? 1 : 0, 1, a.layers);
  a.moe.router_bias = a.moe.expert_bias = a.mlp_bias;
  if (c[experts] >= 2) {
    a.moe.shared_experts = 1;
    a.moe.shared_width = 9;
  }
  a.moe.shared_gate = c[experts] == 3;
}

void set_block(Arch& a, const Choice& c) {
  a.norm = static_cast<NormKind>(c[norm]);
  a.block = c[placement] >= 4 ? BlockKind::parallel : BlockKind::serial;
  if (c[placement] < 4) a.norm_placement = static_cast<NormPlacement>(c[placement]);
  a.norms_per_layer = c[placement] == 3 ? 4 : 2;
  if (c[placement] == 4) a.norms_per_layer = 1;
  a.final_norm = a.norm_placement != NormPlacement::post;
  a.embedding_norm = c[embedding] == 1;
  if (c[embedding] == 2) a.embedding_width = 10;
  a.tied_head = c[head] == 0;
  a.head_bias = c[head] == 2;
}

Plan make_plan(const Choice& c) {
  Plan p;
  p.seq = 7;
  p.micro_batch = p.global_batch = 2;
  p.batch = 2;
  p.prompt = 5;
  p.generate = 4;
  p.weight_precision = p.precision = p.kv_precision = c[precision] == 0 ? dtypes::fp32 : dtypes::bf16;
  p.state_precision = dtypes::fp32;
  p.attention = c[core] == 0 ? AttentionImpl::flash : AttentionImpl::naive;
  p.softmax_store = c[softmax_store] == 0 ? SoftmaxStore::minimal : SoftmaxStore::seed;
  p.glu_store = static_cast<GluStore>(c[glu_store]);
  p.norm_stats = c[statistics] == 0;
  p.dropout = c[dropout] == 1;
  p.recompute = static_cast<Recompute>(c[recompute]);
  p.optimizer = std::array{Optimizer::adam, Optimizer::momentum, Optimizer::sgd}[c[optimizer]];
  p.mla = static_cast<Mla>(c[mla]);
  p.kv_cache = c[cache] == 0;
  p.logits.format = c[logits] == 0 ? LogitFormat::fp32 : LogitFormat::compute;
  return p;
}

std::string name_of(const Choice& c) {
  std::string s = all_factors[attention].levels[c[attention]];
  for (std::size_t f = 1; f < c.size(); ++f)
    if (c[f] != 0) s += ", " + all_factors[f].name + ": " + all_factors[f].levels[c[f]];
  return s;
}

}  // namespace

Case make_case(const Choice& c) {
  Arch a;
  a.layers = 3;
  a.hidden = a.embedding_width = 16;
  a.vocabulary = 29;
  a.context = 16;
  set_attention(a, c);
  set_mlp(a, c);
  set_block(a, c);
  return {name_of(c), a, make_plan(c)};
}

Case enlarged(const Case& small) {
  constexpr Count times = 32;
  Case c = small;
  Arch& a = c.arch;
  Latent& l = a.latent;
  for (Count* n : {&a.hidden, &a.embedding_width, &a.vocabulary, &a.context, &a.position_rows, &l.q_rank, &l.kv_rank,
                   &a.local.reach.tokens, &a.mlp_width, &a.moe.width, &a.moe.shared_width, &c.plan.seq, &c.plan.prompt})
    *n *= times;
  a.heads *= 2;
  a.kv_heads *= 2;
  a.head_dim = 64;
  if (l.kv_rank > 0) {
    l.nope_dim = l.v_dim = 64;
    l.rope_dim = 32;
  }
  return c;
}

Case gpt2_case(const Arch& gpt2) {
  Plan p;
  p.seq = 256;
  p.global_batch = 1;
  p.prompt = 64;
  p.generate = 64;
  p.weight_precision = p.precision = p.kv_precision = dtypes::fp32;
  return {"GPT-2 124M", gpt2, p};
}

std::vector<Case> small_suite() {
  std::vector<Case> cases;
  for (const Choice& c : covering_array()) cases.push_back(make_case(c));
  return cases;
}

}  // namespace llmcalc::validate
