#include "model/weights.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "model/cpu/workers.hpp"
#include "model/random.hpp"
#include "text/error.hpp"

namespace llmcalc::model {
namespace {

/// Collects the parameters of one model.
class Shapes {
 public:
  explicit Shapes(const Arch& a) : a_(a) {}

  std::vector<ParameterShape> list() {
    embedding();
    for (Count i = 0; i < a_.layers; ++i) layer(i);
    head();
    return std::move(all_);
  }

 private:
  void matrix(const std::string& name, Count out, Count in, bool bias, Start start = Start::normal, Count groups = 1) {
    all_.push_back({prefix_ + name + ".weight", groups, out, in, start});
    if (bias) all_.push_back({prefix_ + name + ".bias", groups, out, 0, Start::zero});
  }
  void scale(const std::string& name, Count width, bool bias) {
    all_.push_back({prefix_ + name + ".weight", 1, width, 0, Start::one});
    if (bias) all_.push_back({prefix_ + name + ".bias", 1, width, 0, Start::zero});
  }
  void norm(const std::string& name) {
    if (a_.norm != NormKind::weight_free) scale(name, a_.hidden, a_.norm == NormKind::layer_norm);
  }

  void embedding() {
    matrix("embedding.tokens", a_.vocabulary, a_.embedding_width, false);
    if (a_.embedding_width != a_.hidden) matrix("embedding.project", a_.hidden, a_.embedding_width, false);
    if (a_.position == Position::learned) matrix("embedding.positions", a_.position_rows, a_.hidden, false);
    if (a_.embedding_norm) norm("embedding.norm");
  }
  void head() {
    prefix_.clear();
    if (a_.final_norm) norm("head.norm");
    if (a_.embedding_width != a_.hidden) matrix("head.project", a_.embedding_width, a_.hidden, false);
    if (!a_.tied_head) matrix("head.logits", a_.vocabulary, a_.embedding_width, false);
    if (a_.head_bias) all_.push_back({"head.logits.bias", 1, a_.vocabulary, 0, Start::zero});
  }

  void layer(Count i) {
    prefix_ = "layers." + std::to_string(i) + ".";
    const bool parallel = a_.block == BlockKind::parallel;
    const NormPlacement p = a_.norm_placement;
    const bool before = parallel || p == NormPlacement::pre || p == NormPlacement::both;
    const bool after = !parallel && p != NormPlacement::pre;
    if (before) norm("attn.norm");
    a_.attention == AttentionKind::latent ? latent() : grouped();
    if (after) norm("attn.post_norm");
    if (before && (!parallel || a_.norms_per_layer == 2)) norm("mlp.norm");
    a_.has_experts() && a_.moe.layers.contains(i) ? experts() : mlp("", a_.mlp_width, a_.mlp_bias);
    if (after) norm("mlp.post_norm");
  }

  void grouped() {
    const Count q = a_.heads * a_.head_dim, kv = a_.kv_heads * a_.head_dim;
    matrix("attn.q", q, a_.hidden, a_.qkv_bias);
    matrix("attn.k", kv, a_.hidden, a_.qkv_bias);
    matrix("attn.v", kv, a_.hidden, a_.qkv_bias);
    qk_norm("attn.q_norm", a_.heads);
    qk_norm("attn.k_norm", a_.kv_heads);
    if (a_.attention_sinks) all_.push_back({prefix_ + "attn.core.sinks", 1, a_.heads, 0, Start::zero});
    matrix("attn.out", a_.hidden, q, a_.attention_out_bias, Start::residual);
  }
  void qk_norm(const std::string& name, Count heads) {
    switch (a_.qk_norm) {
      case QkNorm::none:
      case QkNorm::weight_free:
        return;
      case QkNorm::per_head:
        return scale(name, a_.head_dim, false);
      case QkNorm::per_head_bias:
        return scale(name, a_.head_dim, true);
      case QkNorm::each_head:
      case QkNorm::full:
        return scale(name, heads * a_.head_dim, false);
      case QkNorm::full_bias:
        return scale(name, heads * a_.head_dim, true);
    }
  }

  void latent() {
    const Latent& l = a_.latent;
    const Count head = l.nope_dim + l.rope_dim;
    if (l.q_rank > 0) {
      matrix("attn.q_down", l.q_rank, a_.hidden, a_.qkv_bias);
      scale("attn.q_norm", l.q_rank, false);
      matrix("attn.q_up", a_.heads * head, l.q_rank, false);
    } else {
      matrix("attn.q", a_.heads * head, a_.hidden, false);
    }
    matrix("attn.kv_down", l.kv_rank + l.rope_dim, a_.hidden, a_.qkv_bias);
    scale("attn.kv_norm", l.kv_rank, false);
    matrix("attn.kv_up", a_.heads * (l.nope_dim + l.v_dim), l.kv_rank, false);
    matrix("attn.out", a_.hidden, a_.heads * l.v_dim, a_.attention_out_bias, Start::residual);
  }

  /// kind: "", "expert_", "shared_".
  void mlp(const std::string& kind, Count width, bool bias, Count groups = 1) {
    if (a_.mlp == MlpKind::gated) matrix("mlp." + kind + "gate", width, a_.hidden, bias, Start::normal, groups);
    matrix("mlp." + kind + "up", width, a_.hidden, bias, Start::normal, groups);
    matrix("mlp." + kind + "down", a_.hidden, width, bias, Start::residual, groups);
  }
  void experts() {
    const Moe& m = a_.moe;
    matrix("mlp.router", m.experts, a_.hidden, m.router_bias);
    mlp("expert_", m.width, m.expert_bias, m.experts);
    if (m.shared_experts == 0) return;
    mlp("shared_", m.shared_experts * m.shared_width, false);
    if (m.shared_gate) matrix("mlp.shared_weight", 1, a_.hidden, false);
  }

  const Arch& a_;
  std::string prefix_;
  std::vector<ParameterShape> all_;
};

}  // namespace

std::vector<ParameterShape> parameter_shapes(const Arch& arch) { return Shapes(arch).list(); }

Weights::Weights(const Arch& arch, Backend& backend, Arena& arena, std::optional<std::uint64_t> seed)
    : backend_(backend), arena_(arena) {
  for (const ParameterShape& s : parameter_shapes(arch)) {
    all_.push_back({s, arena.make(Purpose::weights, "", backend.number() * s.elements()), {}, {}, {}, {}});
    by_name_[s.name] = &all_.back();
    if (seed) start(all_.back(), all_.size(), arch.layers, *seed);
  }
}

/// Normal numbers of mean 0, drawn in blocks: number i is the same however many threads draw.
void Weights::draw(Parameter& p, std::uint64_t stream, double deviation, std::uint64_t seed) {
  constexpr Count block = 1 << 20;
  std::vector<double> values;
  for (Count first = 0; first < p.elements(); first += block) {
    const Count n = std::min(block, p.elements() - first);
    values.resize(static_cast<std::size_t>(n));
    share_out((n + 1) / 2, [&](Count half) {
      const Count i = 2 * half;
      const NormalPair pair =
          normal_pair(random_key(seed), random_counter(static_cast<std::uint64_t>(first + i) / 2, stream));
      values[static_cast<std::size_t>(i)] = deviation * pair.first;
      if (i + 1 < n) values[static_cast<std::size_t>(i + 1)] = deviation * pair.second;
    });
    auto* at = static_cast<std::byte*>(p.value->data()) + (first * backend_.number()).value;
    backend_.write(at, values, false);
  }
}

/// The weights as they are into their master, by stretches that a cache holds.
void Weights::widen(Parameter& p) {
  constexpr Count block = 1 << 18;
  const auto* const from = static_cast<const std::byte*>(p.value->data());
  auto* const to = static_cast<std::byte*>(p.master->data());
  std::vector<double> values;
  for (Count first = 0; first < p.elements(); first += block) {
    values.resize(static_cast<std::size_t>(std::min(block, p.elements() - first)));
    backend_.read(values, from + (first * backend_.number()).value, false);
    backend_.write(to + (first * backend_.wide()).value, values, true);
  }
}

void Weights::start(Parameter& p, std::size_t index, Count layers, std::uint64_t seed) {
  if (p.shape.start == Start::normal) return draw(p, index, 0.02, seed);
  if (p.shape.start == Start::residual)
    return draw(p, index, 0.02 / std::sqrt(2.0 * static_cast<double>(layers)), seed);
  set(p, std::vector<double>(static_cast<std::size_t>(p.elements()), p.shape.start == Start::one ? 1.0 : 0.0));
}

void Weights::set(Parameter& p, std::span<const double> values) {
  backend_.write(p.value->data(), values, false);
  if (p.master) backend_.write(p.master->data(), values, true);
}

std::vector<double> Weights::get(const Tensor& t, Count elements, bool wide) const {
  std::vector<double> values(static_cast<std::size_t>(elements));
  backend_.read(values, t->data(), wide);
  return values;
}

Tensor Weights::wide_tensor(Purpose purpose, const Parameter& p) {
  const Bytes bytes = backend_.wide() * p.elements();
  Tensor t = arena_.make(purpose, "", bytes);
  backend_.zero(t->data(), bytes);
  return t;
}

void Weights::make_trainable(const Plan& plan) {
  if (plan.optimizer != Optimizer::adam && plan.optimizer != Optimizer::momentum && plan.optimizer != Optimizer::sgd)
    throw InputError("the reference transformer trains with adam, momentum or sgd; choose one of them");
  for (Parameter& p : all_) {
    p.gradient = wide_tensor(Purpose::gradients, p);
    if (plan.master && backend_.number() < backend_.wide()) {
      p.master = wide_tensor(Purpose::optimizer, p);
      widen(p);
    }
    if (plan.optimizer != Optimizer::sgd) p.first = wide_tensor(Purpose::optimizer, p);
    if (plan.optimizer == Optimizer::adam) p.second = wide_tensor(Purpose::optimizer, p);
  }
}

void Weights::zero_gradients() {
  for (Parameter& p : all_) p.blank = true;
}
void Weights::fill_blanks() {
  for (Parameter& p : all_) sum(&p);
}
std::vector<ParameterUpdate> Weights::updates() {
  std::vector<ParameterUpdate> all;
  for (Parameter& p : all_)
    all.push_back({.n = p.elements(),
                   .gradient = data(p.gradient),
                   .weight = data(p.value),
                   .master = data(p.master),
                   .first = data(p.first),
                   .second = data(p.second),
                   .decays = p.decays()});
  return all;
}
void Weights::gradients_written() {
  for (Parameter& p : all_) p.blank = false;
}
void* Weights::sum(Parameter* p) {
  if (p == nullptr || !p->gradient) return nullptr;
  if (std::exchange(p->blank, false)) backend_.zero(p->gradient->data(), p->gradient->bytes());
  return p->gradient->data();
}

Parameter* Weights::find(Count layer, std::string_view name) {
  const auto it =
      by_name_.find(layer < 0 ? std::string(name) : "layers." + std::to_string(layer) + "." + std::string(name));
  return it == by_name_.end() ? nullptr : it->second;
}

Parameter& Weights::at(Count layer, std::string_view name) {
  if (Parameter* p = find(layer, name)) return *p;
  throw std::logic_error("no parameter " + std::string(name));
}

Count Weights::count() const {
  return std::accumulate(all_.begin(), all_.end(), Count{0},
                         [](Count n, const Parameter& p) { return add(n, p.elements()); });
}

}  // namespace llmcalc::model
