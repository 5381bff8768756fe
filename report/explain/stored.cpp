#include "report/explain/stored.hpp"

namespace llmcalc::explain {
namespace {

using Factors = std::vector<std::string>;

class Table {
 public:
  explicit Table(const Setting& s) : s_(s), a_(s.arch()), p_(s.plan()) {}

  std::vector<Stored> rows() {
    embedding();
    residual("L");
    if (const std::string layers = s_.softmax_layers(); !layers.empty()) s_.latent() ? latent(layers) : grouped(layers);
    if (const std::string layers = s_.layers("L_l"); !layers.empty()) linear(layers);
    if (const std::string layers = s_.layers("L_d"); !layers.empty()) mlp(layers, {cut("F", a_.mlp_width)});
    if (const std::string layers = s_.layers("L_m"); !layers.empty()) experts(layers);
    head();
    return std::move(rows_);
  }

 private:
  std::string cut(const std::string& width, Count value) const { return s_.cut(width, value); }

  /// Numbers on all of the tokens (results of cut operators), or on this rank's (the residual stream).
  Stored& numbers(const std::string& layers, Tokens tokens, Count times, Factors factors) {
    rows_.push_back({.layers = layers, .tokens = tokens, .times = times, .factors = std::move(factors)});
    return rows_.back();
  }
  Stored& bytes(const std::string& layers, Tokens tokens, Count times, Factors factors) {
    Stored& r = numbers(layers, tokens, times, std::move(factors));
    r.numbers = false;
    return r;
  }
  /// Mean and deviation, or one mean square, in float32.
  void statistics(const std::string& layers, Tokens tokens, Count norms, bool centred, Factors factors = {}) {
    if (p_.norm_stats) bytes(layers, tokens, norms * (centred ? 8 : 4), std::move(factors));
  }
  bool centred() const { return a_.norm != NormKind::rms_norm; }

  void embedding() {
    bytes("", Tokens::all, 8, {});  // 64-bit ids
    const std::string width = s_.table_width();
    if (width != "D") numbers("", Tokens::mine, 1, {width}).scattered = true;
    if (a_.embedding_norm) {
      numbers("", Tokens::mine, 1, {"D"}).scattered = a_.position != Position::learned && width == "D";
      statistics("", Tokens::mine, 1, centred());
    }
    if (p_.dropout) bytes("", Tokens::mine, 1, {"D"});
  }

  /// Along the residual stream: inputs of norms, of the attention and of the MLP; dropout masks.
  void residual(const std::string& n) {
    const bool parallel = a_.block == BlockKind::parallel, both = !parallel && a_.norm_placement == NormPlacement::both;
    const bool after = !parallel && a_.norm_placement == NormPlacement::output;
    const Count norms = parallel ? a_.norms_per_layer : both ? 4 : 2;
    const Count scattered = both || after ? 2 : 0;  // norms of a sub-layer's summed result
    const Count whole = parallel ? 1 + a_.norms_per_layer : after ? 2 : 4;
    numbers(n, Tokens::mine, whole, {"D"});
    if (scattered > 0) numbers(n, Tokens::mine, scattered, {"D"}).scattered = true;
    statistics(n, Tokens::mine, norms, centred());
    if (p_.dropout) bytes(n, Tokens::mine, 2, {"D"});
  }

  /// What the core keeps of its own: log-sum-exps (flash), or S x S scores.
  void core(const std::string& n) {
    const std::string heads = cut("A", a_.heads);
    if (p_.attention == AttentionImpl::flash) {
      bytes(n, Tokens::all, 4, {heads}).core = true;
      return;
    }
    const bool seed = p_.softmax_store == SoftmaxStore::seed;
    numbers(n, Tokens::all, seed || p_.dropout ? 2 : 1, {heads, "S"}).core = true;
    if (p_.dropout) bytes(n, Tokens::all, 1, {heads, "S"}).core = true;
  }

  void grouped(const std::string& n) {
    const Factors q{cut("A", a_.heads), "d_h"}, kv{cut("G", a_.kv_heads), "d_h"};
    const bool normed = a_.qk_norm != QkNorm::none;
    numbers(n, Tokens::all, normed ? 3 : 2, q);  // queries (before and after their norm), core output
    numbers(n, Tokens::all, normed ? 3 : 2, kv);
    if (normed) {
      const bool two =
          a_.qk_norm == QkNorm::per_head_bias || a_.qk_norm == QkNorm::each_head || a_.qk_norm == QkNorm::full_bias;
      if (a_.qk_norm == QkNorm::full || a_.qk_norm == QkNorm::full_bias) {
        statistics(n, Tokens::all, 2, two);  // one for all heads
      } else {
        statistics(n, Tokens::all, 1, two, {q[0]});
        statistics(n, Tokens::all, 1, two, {kv[0]});
      }
    }
    core(n);
  }

  void latent(const std::string& n) {
    const std::string heads = cut("A", a_.heads);
    if (a_.latent.q_rank > 0) {
      numbers(n, Tokens::mine, 2, {"r_q"});
      statistics(n, Tokens::mine, 1, false);
    }
    numbers(n, Tokens::mine, 2, {"r_kv"});  // the latent row, before and after its norm
    numbers(n, Tokens::mine, 1, {"d_r"});
    statistics(n, Tokens::mine, 1, false);
    numbers(n, Tokens::all, 1, {heads, "(d_n + d_r)"});
    if (p_.mla == Mla::absorbed)
      numbers(n, Tokens::all, 2, {heads, "r_kv"});  // absorbed queries, the core's latent output
    else
      numbers(n, Tokens::all, 1, {heads, "(d_n + d_v)"});
    numbers(n, Tokens::all, 1, {heads, "d_v"});
    core(n);
  }

  /// q, k, v, the core's output, that after its norm, the gate, their product.
  void linear(const std::string& n) {
    numbers(n, Tokens::all, 7, {cut("A", a_.heads), "d_h"});
    statistics(n, Tokens::all, 1, false);
  }

  /// Inside an MLP: plain: up, act(up); gated: gate, act(gate), up, product, less what is fused or made again.
  Count inner() const {
    if (!s_.gated()) return 2;
    return p_.glu_store == GluStore::all ? 4 : p_.glu_store == GluStore::fused ? 3 : 2;
  }
  void mlp(const std::string& n, Factors width) { numbers(n, Tokens::all, inner(), std::move(width)); }

  /// Router logits and probabilities and the gates in float32, the tokens as sent to their experts and as they return.
  void experts(const std::string& n) {
    const Moe& m = a_.moe;
    numbers(n, Tokens::all, 2, {"k", "D"});
    mlp(n, {"k", cut("F_e", m.width)});
    bytes(n, Tokens::all, 8, {"n_E"});
    bytes(n, Tokens::all, 4, {"k"});
    if (m.shared_experts == 0) return;
    mlp(n, {m.shared_experts == 1 ? cut("F_s", m.shared_width) : cut("n_s*F_s", m.shared_experts * m.shared_width)});
    if (m.shared_gate) numbers(n, Tokens::all, 1, {"D"}), numbers(n, Tokens::all, 1, {});
  }

  void head() {
    const std::string width = s_.table_width();
    numbers("", Tokens::mine, a_.final_norm ? 2 : 1, {"D"});
    if (a_.final_norm) statistics("", Tokens::mine, 1, centred());
    if (width != "D") numbers("", Tokens::mine, 1, {width});
    if (p_.logits.format == LogitFormat::compute) bytes("", Tokens::all, 4, {});  // a log-sum-exp beside the logits
  }

  const Setting& s_;
  const Arch& a_;
  const Plan& p_;
  std::vector<Stored> rows_;
};

/// Does every rank hold the same share of the tokens?
bool divides(const Setting& s) { return mul(s.plan().micro_batch, s.plan().seq) % ranks(s.layout(), Group::tensor) == 0; }

/// Rows that share a factor for their tokens. What is scattered unevenly has none, its tokens are in its own factor.
struct Group {
  std::string tokens;
  GroupedSum numbers, bytes;
};

Group& group(std::vector<Group>& all, const std::string& tokens) {
  for (Group& g : all)
    if (g.tokens == tokens) return g;
  all.push_back({tokens, {}, {}});
  return all.back();
}

std::vector<Group> groups(const Setting& s, const std::vector<Stored>& all, bool (*which)(const Stored&)) {
  std::vector<Group> r;
  for (const Stored& x : all) {
    if (!which(x)) continue;
    const bool uneven = x.scattered && sequence_parallel(s.layout()) && !divides(s);
    Group& g = group(r, uneven ? "1" : tokens_text(s, x.tokens));
    std::vector<std::string> f = x.factors;
    if (uneven) f = {"ceil(B*S*" + product(f) + "/T)"};
    (x.numbers ? g.numbers : g.bytes).of(x.layers).add(x.times, f);
  }
  return r;
}

/// B*S*(p*(numbers per token) + bytes per token).
std::string text(const Group& g) {
  std::string inner;
  if (!g.numbers.empty()) inner = product({"p", g.numbers.text()});
  if (!g.bytes.empty()) inner += (inner.empty() ? "" : " + ") + g.bytes.text();
  return product({g.tokens, inner});
}

}  // namespace

std::vector<Stored> stored(const Setting& s) { return Table(s).rows(); }

std::string tokens_text(const Setting& s, Tokens tokens) {
  if (tokens == Tokens::all || !sequence_parallel(s.layout())) return "B*S";
  return divides(s) ? "B*S/T" : "ceil(B*S/T)";
}

std::string stored_text(const Setting& s, const std::vector<Stored>& all, bool (*which)(const Stored&)) {
  std::string r;
  for (const Group& g : groups(s, all, which)) r += (r.empty() ? "" : " + ") + text(g);
  return r.empty() ? "0" : r;
}

std::string stored_numbers_text(const Setting& s, const std::vector<Stored>& all, bool (*which)(const Stored&)) {
  std::string r;
  for (const Group& g : groups(s, all, which))
    if (!g.numbers.empty()) r += (r.empty() ? "" : " + ") + product({g.tokens, g.numbers.text()});
  return r.empty() ? "0" : r;
}

}  // namespace llmcalc::explain
