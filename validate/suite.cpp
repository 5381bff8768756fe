#include "validate/suite.hpp"

#include <set>
#include <tuple>

#include "calc/training/optimizer.hpp"
#include "validate/suite_factors.hpp"

namespace llmcalc::validate {
namespace {

std::vector<std::string> optimizer_levels() {
  std::vector<std::string> names;
  for (const OptimizerTraits& t : optimizers) names.emplace_back(t.name);
  return names;
}

const std::vector<Factor> all_factors{
    {"attention",
     {"multi-head", "grouped", "multi-query", "latent", "latent without query rank", "low-rank multi-query"}},
    {"window", {"none", "every other layer", "all layers", "chunks"}},
    {"qk-norm",
     {"none", "weight-free", "per head", "per head with bias", "each head", "full", "full with bias",
      "each head, RMSNorm"}},
    {"sinks", {"none", "sinks"}},
    {"norm", {"LayerNorm", "LayerNorm without bias", "RMSNorm", "weight-free"}},
    {"block",
     {"pre-norm", "post-norm", "output norm", "both norms", "parallel", "parallel with two norms", "shortcut"}},
    {"MLP", {"plain", "gated"}},
    {"activation", {"GELU", "tanh GELU", "SiLU", "ReLU", "squared ReLU", "xIELU"}},
    {"experts",
     {"none", "all layers", "after a dense layer, shared", "gated shared experts", "in a latent width",
      "some are identities"}},
    {"positions", {"RoPE", "learned", "sinusoidal", "ALiBi", "none", "relative", "relative and learned"}},
    {"biases", {"none", "attention", "MLP", "all", "last MLP matrix"}},
    {"head", {"tied", "untied", "untied with bias"}},
    {"embedding", {"plain", "normed", "narrow", "narrow with norm"}},
    {"numbers", {"fp32", "bf16", "fp16"}},
    {"core", {"flash", "naive"}},
    {"softmax store", {"minimal", "seed"}},
    {"GLU store", {"all", "fused", "recompute"}},
    {"statistics", {"saved", "recomputed"}},
    {"dropout", {"off", "on"}},
    {"recompute", {"none", "selective", "full", "the first layer", "groups of two layers"}},
    {"optimizer", optimizer_levels()},
    {"latent core", {"auto", "absorbed", "expanded"}},
    {"KV cache", {"kept", "none"}},
    {"logits", {"fp32", "compute", "chunked"}},
    {"middle layer",
     {"attention", "short convolution", "Mamba-2", "gated DeltaNet", "KDA", "Mamba-1", "Mamba-2 parallel to attention",
      "linear attention", "RWKV-7 after RWKV-7", "Mamba-1 with heads", "RG-LRU", "mLSTM", "RWKV-6", "RWKV-5"}},
    {"chunk", {"none", "4 tokens"}},
    {"gate", {"none", "per head", "per channel"}},
    {"last layer", {"like the others", "separate heads", "no MLP", "compressed attention"}},
    {"residual streams", {"one", "three", "three, alternating updates", "mixed in blocks of two layers"}},
    {"stack", {"decoder", "encoder of masked tokens", "encoder with a pooler", "encoder before a decoder"}},
    {"keys", {"all", "selected", "selection shared with the last layer"}},
    {"MTP", {"none", "one module", "two modules with separate norm, table and head"}},
    {"weights", {"as computed", "int8", "mxfp4", "nvfp4", "gptq", "nf4-dq", "K blocks by component"}},
    {"keys and values", {"as computed", "fp8", "int8 and q4_0", "q8_0"}},
    {"optimizer states", {"fp32", "bf16", "fp16"}},
    {"documents", {"one", "three in a sequence"}},
    {"gradients", {"fp32", "2 bytes"}},
    {"repeats", {"none", "all layers repeat the first", "the last repeats the first, after a norm"}},
    {"sub-norms", {"none", "before the last matrices"}},
    {"trained",
     {"all", "without embedding and norms", "without attention and routers", "without MLPs, experts and head",
      "the last layer and the head", "adapters", "adapters of some matrices on nf4-dq", "adapters on int8"}},
};

/// Whether the middle layer's state can process tokens in chunks.
bool has_chunks(const LevelChoice& c) {
  const std::size_t kind = c[middle_layer];
  return (kind >= 2 && kind <= 4) || kind == 6 || kind == 8 || kind == 9 || kind >= 11;
}

/// Two levels of two factors, lower factor first.
using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

/// A row with this pair. Other factors keep their first level unless the pair requires another. Empty if no row can
/// have the pair.
LevelChoice row_with(const Pair& pair) {
  const auto [f, i, g, k] = pair;
  for (const std::size_t a : {0UL, 3UL})  // both kinds of attention
    for (const std::size_t gated : {0UL, 1UL})
      for (const std::size_t naive : {0UL, 1UL})
        for (const std::size_t middle : {0UL, 2UL}) {  // a level that supports chunks
          LevelChoice c(all_factors.size(), 0);
          c[attention] = a;
          c[mlp] = gated;
          c[core] = naive;
          c[middle_layer] = middle;
          c[f] = i;
          c[g] = k;
          if (c[placement] == 6 && f != experts && g != experts) c[experts] = 1;
          if (c[embedding] == 3 && f != stack && g != stack) c[stack] = 1;
          if (c[gradients] == 1 && f != precision && g != precision) c[precision] = 1;
          c = possible(c);
          if (c[f] == i && c[g] == k) return c;
        }
  return {};
}

/// Every pair that occurs in at least one row.
std::set<Pair> possible_pairs() {
  std::set<Pair> pairs;
  for (std::size_t f = 0; f < all_factors.size(); ++f)
    for (std::size_t g = f + 1; g < all_factors.size(); ++g)
      for (std::size_t i = 0; i < all_factors[f].levels.size(); ++i)
        for (std::size_t k = 0; k < all_factors[g].levels.size(); ++k)
          if (!row_with({f, i, g, k}).empty()) pairs.insert({f, i, g, k});
  return pairs;
}

std::size_t newly_covered(const LevelChoice& c, const std::set<Pair>& open) {
  std::size_t n = 0;
  for (std::size_t f = 0; f < c.size(); ++f)
    for (std::size_t g = f + 1; g < c.size(); ++g) n += open.count({f, c[f], g, c[g]});
  return n;
}

/// A row with this pair. Each other factor in turn is set to the level that covers the most uncovered pairs.
LevelChoice grown(const Pair& seed, const std::set<Pair>& open) {
  const auto [f, i, g, k] = seed;
  LevelChoice c = row_with(seed);
  std::vector<bool> set(all_factors.size());
  set[f] = set[g] = true;
  for (std::size_t h = 0; h < all_factors.size(); ++h) {
    if (set[h]) continue;
    std::size_t best = 0, most = 0;
    for (std::size_t level = 0; level < all_factors[h].levels.size(); ++level) {
      LevelChoice tried = c;
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

/// Makes recomputation, the trained parts and their formats compatible with the other levels.
void settle_training(LevelChoice& c) {
  const bool is_alone =
      c[keys] != 2 && !is_encoder_decoder(c) && !is_relative(c) && c[middle_layer] != 8 && c[streams] < 2;
  if (c[recompute] == 4 && !is_alone) c[recompute] = 2;  // layers of a group may only read the group's input
  if (c[precision] == 0) c[gradients] = 0;               // 2-byte gradients have the format of the precision
  if (c[further] > 0) c[logits] %= 2;                    // modules' logits are not chunked
  if (!is_alone || c[further] > 0 || has_receptance(c)) c[trained] = 0;         // cannot be trained in part
  if (c[trained] > 0 && c[trained] < 5 && c[recompute] == 4) c[recompute] = 2;  // frozen layers are not recomputed
}

/// Makes an indexer's selection compatible with the attention and the layers.
void settle_keys(LevelChoice& c) {
  if (c[attention] == 4) c[keys] = 0;  // a lightning indexer reads the low-rank projection of the queries
  if (c[keys] > 0) c[window] = 0;      // selected keys require unlimited reach
  if (c[keys] > 0 && c[middle_layer] == 7) c[middle_layer] = 0;           // linear attention has no keys to select
  if (c[middle_layer] == 8 && c[last_layer] % 2 == 1) c[last_layer] = 0;  // one layer needs the model's own attention
  if (c[keys] == 2 && c[middle_layer] == 8) c[keys] = 1;                  // RWKV-7 makes no selection to share
  if (c[keys] == 2 && c[placement] >= 4) c[keys] = 1;                     // layers of parallel blocks are identical
  if (c[keys] == 2 && c[last_layer] % 2 == 1)
    c[last_layer] = 0;  // the last layer's mixer is the one that shares a selection
}

/// Makes repeated layers valid: they match the layers whose weights they repeat, and read a single residual stream.
void settle_repeats(LevelChoice& c) {
  if (c[repeats] == 0) return;
  c[further] = 0;
  if (c[repeats] == 1) c[middle_layer] = 0;
  if (c[repeats] == 1 && c[window] % 2 == 1) c[window] = 0;
  if (c[middle_layer] == 8) c[middle_layer] = 0;
  c[last_layer] = 0;
  if (c[experts] == 2) c[experts] = 1;
  if (c[keys] == 2) c[keys] = 1;
  if (is_encoder_decoder(c)) c[stack] = 0;
  if (c[streams] > 1 || c[repeats] == 2) c[streams] = 0;
  if (c[placement] == 6) c[placement] = 0;
  if (c[trained] == 4) c[trained] = 0;
}

namespace {

/// Makes MTP modules valid: they need a decoder with a full-width table, and caches that accept several drafted
/// tokens at a time.
void settle_modules(LevelChoice& c) {
  c[stack] = c[window] = c[cache] = 0;
  if (c[streams] > 1) c[streams] = 0;  // a module's result supports only the streams of hyper-connections
  if (c[embedding] >= 2) c[embedding] = 0;
  if (is_relative(c)) c[position] = 0;
  if (c[last_layer] == 1 || c[last_layer] == 3) c[last_layer] = 0;
  if (c[keys] == 2) c[keys] = 1;  // a module's layer has the last layer's mixer
}

/// Makes an encoder valid: grouped attention without windows in every layer, and one residual stream.
void settle_encoder(LevelChoice& c) {
  c[window] = c[middle_layer] = c[keys] = c[streams] = 0;
  if (is_latent(c)) c[attention] = 0;
  if (c[last_layer] == 1 || c[last_layer] == 3) c[last_layer] = 0;
  if (c[embedding] == 2) c[embedding] = 0;  // an encoder with a narrow embedding also has a narrow head
  if (c[stack] == 2) c[head] = 0;           // a model with a pooler has no logits
}

/// Makes an encoder-decoder valid: like an encoder, with only a token embedding, and with the encoder's keys cached.
void settle_encoder_decoder(LevelChoice& c) {
  c[window] = c[middle_layer] = c[keys] = c[streams] = c[embedding] = c[cache] = 0;
  if (is_latent(c)) c[attention] = 0;
  if (c[last_layer] == 1 || c[last_layer] == 3) c[last_layer] = 0;
  if (c[placement] >= 4) c[placement] = 0;
  if (c[position] == 1 || c[position] == 6) c[position] = 0;
  if (c[attention] == 5) c[attention] = 0;  // cross-attention has no low-rank queries
}

}  // namespace

LevelChoice possible(LevelChoice c) {
  settle_repeats(c);
  if (c[embedding] == 3 && !is_encoder(c)) c[embedding] = 2;  // positions and norm have the model's width
  if (c[further] > 0) settle_modules(c);
  if (is_encoder(c)) settle_encoder(c);
  if (is_encoder_decoder(c)) settle_encoder_decoder(c);
  if (is_latent(c)) c[qk_norm] = c[sinks] = 0;
  if (c[attention] == 5) c[qk_norm] = 0;  // the low-rank projection has its own norm
  if (!is_latent(c)) c[mla] = 0;
  if (is_latent(c)) c[position] = 0;  // latent attention has its own rotary part
  if (is_relative(c)) {               // the heads of all layers share the distance buckets
    c[streams] = 0;
    if (c[middle_layer] != 7) c[middle_layer] = 0;
    if (c[last_layer] == 1 || c[last_layer] == 3) c[last_layer] = 0;
  }
  if (c[middle_layer] == 10 && c[activation] == 5) c[activation] = 0;  // an RG-LRU's gate uses the MLP's activation
  if (c[mlp] == 0) c[glu_store] = 0;
  if (c[core] == 0) c[softmax_store] = 0;
  if (is_latent(c) && c[middle_layer] == 7) c[middle_layer] = 0;  // linear attention has the heads of grouped attention
  if (c[placement] == 6 && (c[experts] == 0 || is_encoder(c))) c[placement] = 0;  // the shortcut block needs experts
  if (c[placement] == 6 && c[experts] == 2) c[experts] = 1;  // shortcut blocks have experts in every layer
  if (c[placement] == 6) c[middle_layer] = 0;
  if (c[placement] >= 4) c[last_layer] = 0;                            // layers of parallel blocks are identical
  if (c[placement] >= 4 && c[middle_layer] != 7) c[middle_layer] = 0;  // except linear attention in the middle
  if (!has_chunks(c)) c[chunk] = 0;
  if (c[cache] == 1) c[cache_format] = 0;
  settle_training(c);
  if (c[mla] == 2 && c[cache_format] >= 2) c[cache_format] = 0;  // rows of expanded heads are quantized without groups
  settle_keys(c);
  if (c[placement] != 0 && !(c[placement] == 3 && c[streams] == 2)) c[streams] = 0;  // streams are mixed before norms
  if (c[streams] == 3 && c[middle_layer] == 8)
    c[streams] = 0;       // layers that mix streams pass no values to later layers
  if (c[streams] == 2) {  // alternating updates need an MLP in every layer, and the per-layer input has no xIELU
    if (c[last_layer] == 2) c[last_layer] = 0;
    if (c[activation] == 5) c[activation] = 0;
  }
  if (c[position] == 3 && c[last_layer] == 3) c[position] = 0;  // compressed attention has no ALiBi
  if (c[middle_layer] > 0 || c[keys] > 0 || c[last_layer] == 3)
    c[documents] = 0;  // these mixers treat a sequence as one document
  return c;
}

std::vector<LevelChoice> covering_array() {
  std::set<Pair> open = possible_pairs();
  std::vector<LevelChoice> rows;
  while (!open.empty()) {
    const LevelChoice c = grown(*open.begin(), open);
    for (std::size_t h = 0; h < c.size(); ++h)
      for (std::size_t other = h + 1; other < c.size(); ++other) open.erase({h, c[h], other, c[other]});
    rows.push_back(c);
  }
  return rows;
}

namespace {

/// Factors with levels that a backend may lack.
constexpr std::array lackable{weight_format, cache_format, optimizer, states, precision, middle_layer, activation,
                              last_layer,    streams,      stack,     keys,   experts,   position,     further,
                              documents,     trained,      gradients, logits, repeats};

/// Returns the choice with every factor that causes the missing feature set to its plain level. If no single factor is
/// the cause, all candidates are set to their plain levels.
LevelChoice without(LevelChoice c, const std::function<std::string(const Case&)>& lacks) {
  const auto plain = [](LevelChoice of, Which factor) {
    of[factor] = 0;
    return possible(of);
  };
  for (int round = 0; round < 2; ++round)
    for (const Which factor : lackable) {
      const std::string lack = lacks(make_case(c));
      if (lack.empty()) return c;
      if (const LevelChoice tried = plain(c, factor); round == 1 || lacks(make_case(tried)) != lack) c = tried;
    }
  return c;
}

}  // namespace

std::vector<Case> small_suite(const std::function<std::string(const Case&)>& lacks) {
  std::vector<Case> cases;
  for (LevelChoice c : covering_array()) {
    if (lacks) c = without(c, lacks);
    cases.push_back(make_case(c));
  }
  return cases;
}

}  // namespace llmcalc::validate
