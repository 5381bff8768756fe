#include "tests/models/tiny.hpp"

#include "model/random.hpp"
#include "tests/models/deepseek_v4.hpp"
#include "tests/models/encoders.hpp"
#include "tests/models/further.hpp"
#include "tests/models/gemma.hpp"
#include "tests/models/hybrids.hpp"
#include "tests/models/kimi.hpp"
#include "tests/models/longcat.hpp"
#include "tests/models/repeats.hpp"
#include "tests/models/rwkv.hpp"
#include "tests/models/sparse.hpp"

namespace llmcalc::test {

Arch tiny_gpt() {
  Arch a;
  a.layers = 2;
  a.hidden = 12;
  a.vocabulary = 17;
  a.context = 8;
  a.embedding_width = 12;
  a.heads = 3;
  a.kv_heads = 3;
  a.head_dim = 6;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp = MlpKind::plain;
  a.activation = Activation::gelu_tanh;
  a.mlp_width = 20;
  a.norm = NormKind::layer_norm;
  a.position = Position::learned;
  a.position_rows = 8;
  a.tied_head = true;
  return a;
}

Arch tiny_llama() {
  Arch a;
  a.layers = 2;
  a.hidden = 12;
  a.vocabulary = 17;
  a.context = 16;
  a.embedding_width = 12;
  a.heads = 4;
  a.kv_heads = 2;
  a.head_dim = 4;
  a.mlp = MlpKind::gated;
  a.activation = Activation::silu;
  a.mlp_width = 10;
  a.norm = NormKind::rms_norm;
  a.position = Position::rope;
  return a;
}

Arch tiny_deepseek() {
  Arch a = tiny_llama();
  a.attention = AttentionKind::latent;
  a.kv_heads = 4;
  a.latent = {.q_rank = 6, .kv_rank = 5, .nope_dim = 3, .rope_dim = 4, .v_dim = 2};
  a.moe.experts = 4;
  a.moe.top_k = 2;
  a.moe.width = 6;
  a.moe.shared_experts = 1;
  a.moe.shared_width = 5;
  a.moe.layers = LayerSet::every(1, 1, 2);
  return a;
}

Plan tiny_plan() {
  Plan p;
  p.seq = 6;
  p.micro_batch = p.global_batch = 2;
  p.batch = 2;
  p.prompt = 5;
  p.generate = 3;
  p.attention = AttentionImpl::flash;
  return p;
}

namespace {

class Collector {
 public:
  void add(const std::string& name, const Arch& a, void (*change)(Arch&, Plan&)) {
    Variant v{name, a, tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(v);
  }
  std::vector<Variant> all;
};

void attention_variants(Collector& c) {
  const Arch gpt = tiny_gpt(), llama = tiny_llama();
  c.add("multi-head, flash", gpt, [](Arch&, Plan&) {});
  c.add("multi-head, naive", gpt, [](Arch&, Plan& p) { p.attention = AttentionImpl::naive; });
  c.add("naive, seed storage", gpt,
        [](Arch&, Plan& p) { p.attention = AttentionImpl::naive, p.softmax_store = SoftmaxStore::seed; });
  c.add("grouped heads", llama, [](Arch&, Plan&) {});
  c.add("multi-query, naive", llama, [](Arch& a, Plan& p) { a.kv_heads = 1, p.attention = AttentionImpl::naive; });
  c.add("window", llama, [](Arch& a, Plan&) { a.local = {.reach = {3}, .layers = LayerSet::every(0, 2, 2)}; });
  c.add("chunks", llama, [](Arch& a, Plan&) { a.local = {.reach = {3, true}, .layers = LayerSet::every(0, 2, 2)}; });
  c.add("chunks, naive", llama, [](Arch& a, Plan& p) {
    a.local = {.reach = {2, true}, .layers = LayerSet::all(2)};
    p.attention = AttentionImpl::naive;
  });
  c.add("window, naive", llama, [](Arch& a, Plan& p) {
    a.local = {.reach = {2}, .layers = LayerSet::all(2)};
    p.attention = AttentionImpl::naive;
  });
  c.add("sinks", llama, [](Arch& a, Plan&) { a.attention_sinks = true; });
  c.add("sinks, naive", llama, [](Arch& a, Plan& p) { a.attention_sinks = true, p.attention = AttentionImpl::naive; });
  c.add("qk-norm without weights", llama, [](Arch& a, Plan&) { a.qk_norm = QkNorm::weight_free; });
  c.add("qk-norm per head", llama, [](Arch& a, Plan&) { a.qk_norm = QkNorm::per_head; });
  c.add("qk-norm per head with bias", llama, [](Arch& a, Plan&) { a.qk_norm = QkNorm::per_head_bias; });
  c.add("qk-norm of each head", llama, [](Arch& a, Plan&) { a.qk_norm = QkNorm::each_head; });
  c.add("qk-norm of all heads", llama, [](Arch& a, Plan&) { a.qk_norm = QkNorm::full; });
  c.add("qk-norm of all heads with bias", llama, [](Arch& a, Plan&) { a.qk_norm = QkNorm::full_bias; });
  c.add("latent", tiny_deepseek(), [](Arch& a, Plan&) { a.moe = {}; });
  c.add("latent, naive, no query rank", tiny_deepseek(), [](Arch& a, Plan& p) {
    a.moe = {};
    a.latent.q_rank = 0;
    a.attention_out_bias = true;
    p.attention = AttentionImpl::naive;
  });
  c.add("latent with biases and a window", tiny_deepseek(),
        [](Arch& a, Plan&) { a.moe = {}, a.qkv_bias = true, a.local = {.reach = {3}, .layers = LayerSet::all(2)}; });
}

void block_variants(Collector& c) {
  const Arch gpt = tiny_gpt(), llama = tiny_llama();
  c.add("post-norm", gpt, [](Arch& a, Plan&) { a.norm_placement = NormPlacement::post, a.final_norm = false; });
  c.add("norm of the output", llama, [](Arch& a, Plan&) { a.norm_placement = NormPlacement::output; });
  c.add("norms on both sides", llama,
        [](Arch& a, Plan&) { a.norm_placement = NormPlacement::both, a.norms_per_layer = 4; });
  c.add("norm without bias", gpt, [](Arch& a, Plan&) { a.norm = NormKind::layer_norm_no_bias; });
  c.add("norm without weights", gpt, [](Arch& a, Plan&) { a.norm = NormKind::weight_free; });
  c.add("parallel, one norm", gpt, [](Arch& a, Plan&) { a.block = BlockKind::parallel, a.norms_per_layer = 1; });
  c.add("parallel, two norms", llama, [](Arch& a, Plan&) { a.block = BlockKind::parallel; });
  c.add("embedding norm, head with bias", gpt,
        [](Arch& a, Plan&) { a.embedding_norm = true, a.tied_head = false, a.head_bias = true; });
  c.add("narrow embedding", gpt, [](Arch& a, Plan&) { a.embedding_width = 8; });
  c.add("statistics not kept", gpt, [](Arch&, Plan& p) { p.norm_stats = false; });
}

void mlp_variants(Collector& c) {
  const Arch gpt = tiny_gpt(), llama = tiny_llama();
  c.add("ReLU", gpt, [](Arch& a, Plan&) { a.activation = Activation::relu; });
  c.add("squared ReLU", gpt, [](Arch& a, Plan&) { a.activation = Activation::relu_squared; });
  c.add("exact GELU", gpt, [](Arch& a, Plan&) { a.activation = Activation::gelu; });
  c.add("SiLU", gpt, [](Arch& a, Plan&) { a.activation = Activation::silu; });
  c.add("GEGLU", llama, [](Arch& a, Plan&) { a.activation = Activation::gelu; });
  c.add("GLU in one kernel", llama, [](Arch&, Plan& p) { p.glu_store = GluStore::fused; });
  c.add("GLU made again", llama, [](Arch&, Plan& p) { p.glu_store = GluStore::recompute; });
}

void expert_variants(Collector& c) {
  const Arch deep = tiny_deepseek();
  c.add("experts after a dense layer", deep, [](Arch&, Plan&) {});
  c.add("experts with biases", deep, [](Arch& a, Plan&) {
    a.attention = AttentionKind::grouped;
    a.kv_heads = 2;
    a.moe.router_bias = a.moe.expert_bias = true;
    a.moe.shared_experts = 0;
    a.moe.layers = LayerSet::all(2);
  });
  c.add("shared experts behind a gate", deep, [](Arch& a, Plan& p) {
    a.moe.shared_gate = true;
    a.mlp = MlpKind::plain;
    a.activation = Activation::gelu;
    p.attention = AttentionImpl::naive;
  });
  c.add("experts, GLU made again", deep, [](Arch& a, Plan& p) {
    a.moe.shared_experts = 2;
    a.block = BlockKind::parallel;
    p.glu_store = GluStore::recompute;
  });
}

void position_variants(Collector& c) {
  c.add("sinusoids", tiny_gpt(), [](Arch& a, Plan&) { a.position = Position::sinusoidal, a.position_rows = 0; });
  c.add("ALiBi", tiny_gpt(), [](Arch& a, Plan&) { a.position = Position::alibi, a.position_rows = 0; });
  c.add("ALiBi, naive", tiny_gpt(), [](Arch& a, Plan& p) {
    a.position = Position::alibi;
    a.position_rows = 0;
    p.attention = AttentionImpl::naive;
  });
  c.add("no positions", tiny_llama(), [](Arch& a, Plan&) { a.position = Position::none; });
  c.add("relative positions", tiny_llama(),
        [](Arch& a, Plan&) { a.position = Position::relative, a.position_rows = 6; });
  c.add("relative positions, window, naive, all again", tiny_llama(), [](Arch& a, Plan& p) {
    a.position = Position::relative;
    a.position_rows = 6;
    a.local = {.reach = {3}, .layers = LayerSet::every(0, 2, a.layers)};
    p.attention = AttentionImpl::naive;
    p.recompute = Recompute::full;
  });
}

void dropout_variants(Collector& c) {
  c.add("dropout", tiny_gpt(), [](Arch&, Plan& p) { p.dropout = true; });
  c.add("dropout, naive", tiny_gpt(), [](Arch&, Plan& p) { p.dropout = true, p.attention = AttentionImpl::naive; });
  c.add("dropout, parallel", tiny_llama(), [](Arch& a, Plan& p) { p.dropout = true, a.block = BlockKind::parallel; });
  c.add("dropout, post-norm, seed storage", tiny_gpt(), [](Arch& a, Plan& p) {
    p.dropout = true, a.norm_placement = NormPlacement::post, p.attention = AttentionImpl::naive,
    p.softmax_store = SoftmaxStore::seed;
  });
  c.add("dropout, experts", tiny_deepseek(), [](Arch&, Plan& p) { p.dropout = true; });
}

void recompute_variants(Collector& c) {
  for (const auto& [name, r] : {std::pair{"selective", Recompute::selective}, std::pair{"full", Recompute::full}}) {
    const std::size_t first = c.all.size();
    c.add(std::string(name) + ", flash, dropout", tiny_gpt(), [](Arch&, Plan& p) { p.dropout = true; });
    c.add(std::string(name) + ", naive, dropout", tiny_gpt(),
          [](Arch&, Plan& p) { p.dropout = true, p.attention = AttentionImpl::naive; });
    c.add(std::string(name) + ", naive", tiny_llama(), [](Arch&, Plan& p) { p.attention = AttentionImpl::naive; });
    c.add(std::string(name) + ", experts", tiny_deepseek(), [](Arch&, Plan&) {});
    for (std::size_t i = first; i < c.all.size(); ++i) c.all[i].plan.recompute = r;
  }
}

}  // namespace

std::vector<Variant> variants() {
  Collector c;
  attention_variants(c);
  block_variants(c);
  mlp_variants(c);
  expert_variants(c);
  position_variants(c);
  dropout_variants(c);
  recompute_variants(c);
  for (Variant& v : hybrid_variants()) c.all.push_back(std::move(v));
  for (Variant& v : rwkv_variants()) c.all.push_back(std::move(v));
  for (Variant& v : sparse_variants()) c.all.push_back(std::move(v));
  for (Variant& v : gemma_variants()) c.all.push_back(std::move(v));
  for (Variant& v : mixed_variants()) c.all.push_back(std::move(v));
  for (Variant& v : residual_variants()) c.all.push_back(std::move(v));
  for (Variant& v : compressed_variants()) c.all.push_back(std::move(v));
  for (Variant& v : shortcut_variants()) c.all.push_back(std::move(v));
  for (Variant& v : returning_variants()) c.all.push_back(std::move(v));
  for (Variant& v : encoder_variants()) c.all.push_back(std::move(v));
  for (Variant& v : repeating_variants()) c.all.push_back(std::move(v));
  for (Variant& v : further_variants()) c.all.push_back(std::move(v));
  return c.all;
}

std::vector<Variant> generating_variants() {
  std::vector<Variant> all = variants();
  std::erase_if(all, [](const Variant& v) { return v.arch.bidirectional || !v.arch.head.has_logits(); });
  return all;
}

std::vector<Variant> variants(const model::Backend& b) {
  std::vector<Variant> all = variants();
  std::erase_if(all,
                [&](const Variant& v) { return !b.lacks(v.arch).empty() || (v.plan.mtp > 0 && !b.runs_modules()); });
  return all;
}

model::Batch tiny_batch(const Arch& arch, const Plan& plan, std::uint64_t seed) {
  model::Batch b;
  const auto draw = [&](std::uint64_t i) {
    const double u = model::uniform<double>(model::random_key(seed), model::random_counter(i));
    return static_cast<std::int64_t>(u * static_cast<double>(arch.vocabulary));
  };
  for (Count i = 0; i < plan.micro_batch * plan.seq; ++i) {
    b.ids.push_back(draw(static_cast<std::uint64_t>(2 * i)));
    b.targets.push_back(draw(static_cast<std::uint64_t>(2 * i + 1)));
  }
  return b;
}

void scramble(model::Transformer& t, std::uint64_t seed, double deviation) {
  std::uint64_t stream = 1000;
  for (model::Parameter& p : t.weights().all()) {
    std::vector<double> values(static_cast<std::size_t>(p.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (p.shape.start == model::Start::one ? 1.0 : 0.0) +
                  deviation * model::normal_pair(model::random_key(seed), model::random_counter(i, stream)).first;
    t.weights().set(p, values);
    ++stream;
  }
}

}  // namespace llmcalc::test
