#include "report/explain/weights.hpp"

#include "report/explain/format_text.hpp"

namespace llmcalc::explain {
namespace {

using Factors = std::vector<std::string>;

class Table {
 public:
  Table(const Setting& s, bool per_rank) : s_(s), per_rank_(per_rank) {}

  std::vector<Weight> rows() {
    embedding();
    if (const std::string n = s_.softmax_layers(); !n.empty()) s_.latent() ? latent(n) : grouped(n);
    if (s_.layers().linear > 0) linear(s_.layers("L_l"));
    if (s_.layers().dense > 0) dense(s_.layers("L_d"));
    if (s_.layers().experts > 0) experts(s_.layers("L_m"));
    norms();
    head();
    return std::move(rows_);
  }

 private:
  std::string cut(const std::string& width, Count value) const { return s_.mine(width, value, per_rank_); }
  Weight& matrix(Component c, const std::string& layers, Count times, Factors in, Factors out) {
    rows_.push_back({.component = c, .layers = layers, .times = times, .copies = "", .active = ""});
    rows_.back().in = std::move(in), rows_.back().out = std::move(out);
    return rows_.back();
  }
  Weight& vector(Component c, const std::string& layers, Count times, Factors size) {
    return matrix(c, layers, times, {}, std::move(size));
  }

  void embedding() {
    const Arch& a = s_.arch();
    const std::string width = s_.table_width();
    matrix(Component::embedding, "", 1, {width}, {cut("V", a.vocabulary)}).lookup = true;
    if (width != "D") {
      matrix(Component::embedding, "", 1, {width}, {"D"}).whole = true;
      matrix(Component::embedding, "", 1, {"D"}, {width}).whole = true;
    }
    if (a.position != Position::learned) return;
    Weight& w = matrix(Component::position, "", 1, {"D"}, {"K"});
    w.lookup = w.whole = true;
  }

  void grouped(const std::string& n) {
    const Arch& a = s_.arch();
    const Component c = Component::attention;
    const Factors q{cut("A", a.heads), "d_h"}, kv{cut("G", a.kv_heads), "d_h"};
    matrix(c, n, 1, {"D"}, q), matrix(c, n, 2, {"D"}, kv), matrix(c, n, 1, q, {"D"});
    if (a.qkv_bias) vector(c, n, 1, q), vector(c, n, 2, kv);
    if (a.attention_out_bias) vector(c, n, 1, {"D"}).after = true;
    if (a.attention_sinks) vector(c, n, 1, {cut("A", a.heads)});
    switch (a.qk_norm) {
      case QkNorm::none:
      case QkNorm::weight_free:
        break;
      case QkNorm::per_head:
        vector(c, n, 2, {"d_h"}).shared = true;
        break;
      case QkNorm::per_head_bias:
        vector(c, n, 4, {"d_h"}).shared = true;
        break;
      case QkNorm::each_head:
      case QkNorm::full:
        vector(c, n, 1, q), vector(c, n, 1, kv);
        break;
      case QkNorm::full_bias:
        vector(c, n, 2, q), vector(c, n, 2, kv);
        break;
    }
  }

  /// DeepSeek-V2's latent attention: down, norm, up for keys and values, and for queries unless they are direct.
  void latent(const std::string& n) {
    const Arch& a = s_.arch();
    const Component c = Component::attention;
    const std::string heads = cut("A", a.heads);
    const Factors q{heads, "(d_n + d_r)"};
    if (a.latent.q_rank == 0) {
      matrix(c, n, 1, {"D"}, q);
    } else {
      matrix(c, n, 1, {"D"}, {"r_q"}).whole = true;
      vector(c, n, 1, {"r_q"}).whole = true;
      matrix(c, n, 1, {"r_q"}, q);
      if (a.qkv_bias) vector(c, n, 1, {"r_q"}).whole = true;
    }
    matrix(c, n, 1, {"D"}, {"(r_kv + d_r)"}).whole = true;
    vector(c, n, 1, {"r_kv"}).whole = true;
    if (a.qkv_bias) vector(c, n, 1, {"(r_kv + d_r)"}).whole = true;
    matrix(c, n, 1, {"r_kv"}, {heads, "(d_n + d_v)"});
    matrix(c, n, 1, {heads, "d_v"}, {"D"});
    if (a.attention_out_bias) vector(c, n, 1, {"D"}).after = true;
  }

  /// Lightning attention: query, key, value, gate, output, and a norm of the core's output.
  void linear(const std::string& n) {
    const Factors w{cut("A", s_.arch().heads), "d_h"};
    matrix(Component::attention, n, 4, {"D"}, w), matrix(Component::attention, n, 1, w, {"D"});
    vector(Component::attention, n, 1, w);
  }

  struct Copies {
    std::string all, active;
  };
  /// Up (and gate) and down of one MLP; its learned activation; its biases.
  void mlp(const std::string& n, const Factors& width, const Copies& copies, bool bias) {
    const Component c = Component::mlp;
    const Count ups = s_.gated() ? 2 : 1;
    std::size_t first = rows_.size();
    matrix(c, n, ups, {"D"}, width), matrix(c, n, 1, width, {"D"});
    if (bias) vector(c, n, ups, width), vector(c, n, 1, {"D"}).after = true;
    for (; first < rows_.size(); ++first) rows_[first].copies = copies.all, rows_[first].active = copies.active;
    if (s_.arch().activation == Activation::xielu) vector(c, n, 1, {"2"});
  }
  void dense(const std::string& n) { mlp(n, {cut("F", s_.arch().mlp_width)}, {}, s_.arch().mlp_bias); }
  void experts(const std::string& n) {
    const Moe& m = s_.arch().moe;
    matrix(Component::mlp, n, 1, {"D"}, {"n_E"});
    if (m.router_bias) vector(Component::mlp, n, 1, {"n_E"});
    mlp(n, {cut("F_e", m.width)}, {"n_E", "k"}, m.expert_bias);
    if (m.shared_experts == 0) return;
    const Factors shared = m.shared_experts == 1 ? Factors{cut("F_s", m.shared_width)}
                                                 : Factors{cut("n_s*F_s", m.shared_experts * m.shared_width)};
    mlp(n, shared, {}, false);
    if (m.shared_gate) matrix(Component::mlp, n, 1, {"D"}, {"1"});
  }

  void norms() {
    const Arch& a = s_.arch();
    const Count width = a.norm == NormKind::layer_norm ? 2 : a.norm == NormKind::weight_free ? 0 : 1;
    const bool parallel = a.block == BlockKind::parallel;
    const Count each = parallel ? a.norms_per_layer : a.norm_placement == NormPlacement::both ? 4 : 2;
    if (width == 0) return;
    vector(Component::norm, "L", each * width, {"D"}).whole = true;
    const Count outside = (a.final_norm ? 1 : 0) + (a.embedding_norm ? 1 : 0);
    if (outside > 0) vector(Component::norm, "", outside * width, {"D"}).whole = true;
  }

  void head() {
    const Arch& a = s_.arch();
    const std::string rows = cut("V", a.vocabulary);
    matrix(Component::lm_head, "", 1, {s_.table_width()}, {rows}).tied = a.tied_head;
    if (a.head_bias) vector(Component::lm_head, "", 1, {rows});
  }

  const Setting& s_;
  bool per_rank_;
  std::vector<Weight> rows_;
};

Factors both(const Weight& w, const std::string& copies) {
  Factors f{copies};
  f.insert(f.end(), w.in.begin(), w.in.end());
  f.insert(f.end(), w.out.begin(), w.out.end());
  return f;
}

std::string idle_copies(const Weight& w) { return "(" + w.copies + " - " + w.active + ")"; }

constexpr FormatSymbols names{"p_w", "b_g", "g_w", "b_o", "g_o"};

/// Bytes of a matrix whose rows of `in` numbers are stored in groups.
std::string matrix_bytes(const Format& f, const std::string& in, const std::string& out) {
  return matrix_text(f, names, in, out) + (f.tensor_bytes > 0 ? " + b_t" : "");
}

bool in_table(const Weight& w) {
  return w.component == Component::embedding || w.component == Component::position || w.component == Component::lm_head;
}

std::string weight_bytes(const Setting& s, const Weight& w) {
  const Format& f = s.plan().weight_precision.format();
  const std::string out = product(w.out), in = product(w.in);
  if (w.matrix()) return !in_table(w) || f.covers_embedding ? matrix_bytes(f, in, out) : product({"p", out, in});
  if (!f.covers_vectors) return product({"p", out});
  return f.element_bits % 8 == 0 ? product({"p_w", out}) : "ceil(" + product({"p_w", out}) + ")";
}

}  // namespace

std::vector<Weight> weights(const Setting& s, bool per_rank) { return Table(s, per_rank).rows(); }

std::string parameters_text(const std::vector<Weight>& all, bool (*which)(const Weight&), bool idle) {
  GroupedSum sum;
  for (const Weight& w : all) {
    if (w.tied || !which(w) || (idle && w.active.empty())) continue;
    sum.of(w.layers).add(w.times, both(w, idle ? idle_copies(w) : w.copies));
  }
  return sum.text();
}

std::string matmul_text(const std::vector<Weight>& all) {
  GroupedSum sum;
  for (const Weight& w : all)
    if (w.matrix() && !w.lookup) sum.of(w.layers).add(w.times, both(w, w.active.empty() ? w.copies : w.active));
  return sum.text();
}

std::string bytes_text(const Setting& s) {
  const Format& f = s.plan().weight_precision.format();
  if (f.group == 0 && f.element_bits % 8 == 0 && f.tensor_bytes == 0 && f.covers_embedding && f.covers_vectors)
    return "p_w*N_T";
  GroupedSum sum;
  for (const Weight& w : weights(s, true))
    if (!w.tied) sum.of(w.layers).add(w.times, {w.copies, weight_bytes(s, w)});
  return sum.text();
}

std::string factored_text(const std::vector<Weight>& all) {
  GroupedSum sum;
  for (const Weight& w : all) {
    if (w.tied) continue;
    Factors f{w.copies, w.matrix() ? product(w.in) + " + " + product(w.out) : product(w.out)};
    sum.of(w.layers).add(w.times, f);
  }
  return sum.text();
}

}  // namespace llmcalc::explain
