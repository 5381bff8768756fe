#include "presets/gguf_mix.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "calc/price.hpp"
#include "presets/held_formats.hpp"

namespace llmcalc {

namespace {

struct Mix {
  std::string_view name, base;
};
constexpr std::array mix_rows{
    Mix{"q4_0", "q4_0"},   Mix{"q4_1", "q4_1"},       Mix{"q5_0", "q5_0"},     Mix{"q5_1", "q5_1"},
    Mix{"q8_0", "q8_0"},   Mix{"q2_k", "q2_k"},       Mix{"q2_k_s", "q2_k"},   Mix{"q3_k_s", "q3_k"},
    Mix{"q3_k_m", "q3_k"}, Mix{"q3_k_l", "q3_k"},     Mix{"q4_k_s", "q4_k"},   Mix{"q4_k_m", "q4_k"},
    Mix{"q5_k_s", "q5_k"}, Mix{"q5_k_m", "q5_k"},     Mix{"q6_k", "q6_k"},     Mix{"iq1_s", "iq1_s"},
    Mix{"iq1_m", "iq1_m"}, Mix{"iq2_xxs", "iq2_xxs"}, Mix{"iq2_xs", "iq2_xs"}, Mix{"iq2_s", "iq2_xs"},
    Mix{"iq2_m", "iq2_s"}, Mix{"iq3_xxs", "iq3_xxs"}, Mix{"iq3_xs", "iq3_s"},  Mix{"iq3_s", "iq3_s"},
    Mix{"iq3_m", "iq3_s"}, Mix{"iq4_nl", "iq4_nl"},   Mix{"iq4_xs", "iq4_xs"}, Mix{"tq1_0", "tq1_0"},
    Mix{"tq2_0", "tq2_0"}, Mix{"mxfp4_moe", "mxfp4"}, Mix{"bf16", "bf16"},     Mix{"f16", "fp16"}};

const Mix* mix_called(std::string_view name) {
  const auto at = std::find_if(mix_rows.begin(), mix_rows.end(), [&](const Mix& m) { return m.name == name; });
  return at == mix_rows.end() ? nullptr : &*at;
}

enum class TensorKind : std::uint8_t {
  vector,  ///< or a small matrix that stays in float32
  table,
  head,
  query,
  key,
  value,
  attention_out,
  gate,
  up,
  down,
  other
};

TensorKind kind_of(const Op& op) {
  static constexpr std::array<std::pair<std::string_view, TensorKind>, 15> names{
      {{"embedding.tokens", TensorKind::table},
       {"head.logits", TensorKind::head},
       {"attn.q", TensorKind::query},
       {"attn.k", TensorKind::key},
       {"attn.v", TensorKind::value},
       {"attn.out", TensorKind::attention_out},
       {"mlp.gate", TensorKind::gate},
       {"mlp.up", TensorKind::up},
       {"mlp.down", TensorKind::down},
       {"mlp.expert_gate", TensorKind::gate},
       {"mlp.expert_up", TensorKind::up},
       {"mlp.expert_down", TensorKind::down},
       {"mlp.shared_gate", TensorKind::gate},
       {"mlp.shared_up", TensorKind::up},
       {"mlp.shared_down", TensorKind::down}}};
  if (op.component == Component::router || op.component == Component::position) return TensorKind::vector;
  for (const auto& [name, kind] : names)
    if (name == op.name) return kind;
  return TensorKind::other;
}

/// The layer of a rule and the number of layers that it counts.
struct Turn {
  Count index = 0, of = 0;
  bool in_first(Count part) const { return index < of / part; }
  /// src/llama-quant.cpp, use_more_bits: the first and the last eighth, and every third layer between.
  bool more_bits() const { return in_first(8) || index >= 7 * of / 8 || (index - of / 8) % 3 == 2; }
};

/// The rules of one mix for one model.
class Rules {
 public:
  Rules(const Arch& a, const Mix& mix)
      : mix_(mix.name),
        base_(*dtype(mix.base)),
        tied_(a.tied_head),
        experts_(a.moe.experts),
        shared_keys_((a.attention == AttentionKind::latent ? a.heads : a.heads / std::max<Count>(1, a.kv_heads)) >= 4),
        seventy_(a.layers == 80 && a.heads != a.kv_heads && experts_ == 0) {}

  DType type(TensorKind kind, const Turn& turn, const MixedTensor& t) const {
    if (kind == TensorKind::vector) return dtypes::fp32;
    if (base_.plain()) return base_;
    return fitting(chosen(kind, turn, t), t.columns);
  }

 private:
  bool is(std::initializer_list<std::string_view> names) const {
    return std::find(names.begin(), names.end(), mix_) != names.end();
  }
  bool is_tiny() const { return is({"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m"}); }
  static DType f(std::string_view name) { return *dtype(name); }

  DType chosen(TensorKind kind, const Turn& turn, const MixedTensor& t) const {
    if (kind == TensorKind::head || (kind == TensorKind::table && tied_)) return head(t);
    if (mix_ == "mxfp4_moe") return t.groups > 1 ? base_ : f("q8_0");
    if (kind == TensorKind::table) return table();
    if (is_tiny()) return tiny(kind, turn);
    switch (kind) {
      case TensorKind::value:
        return value(turn);
      case TensorKind::key:
        return experts_ == 8 ? f("q8_0") : query();
      case TensorKind::query:
        return query();
      case TensorKind::down:
        return down(turn);
      case TensorKind::attention_out:
        return experts_ == 8 ? out_of_eight() : attention_out();
      case TensorKind::gate:
      case TensorKind::up:
        return mix_ == "iq3_xs" && !turn.in_first(8) && turn.index < 7 * turn.of / 8 ? f("iq3_xxs") : base_;
      default:
        return base_;
    }
  }

  DType head(const MixedTensor& t) const {
    const Format& base = base_.format();
    if (mix_ == "mxfp4_moe" || t.columns % base.group != 0) return f("q8_0");
    if (is_tiny() || mix_ == "iq3_xxs") return f("q5_k");
    return base_ == f("q8_0") ? base_ : f("q6_k");
  }
  DType table() const {
    if (is({"iq2_xxs", "iq2_xs", "iq1_s", "iq1_m"})) return f("q2_k");
    if (is({"iq2_s", "iq2_m", "iq3_xxs"})) return f("iq3_s");
    return is({"tq1_0", "tq2_0"}) ? f("q4_k") : base_;
  }
  DType tiny(TensorKind kind, const Turn& turn) const {
    const bool larger = is({"iq2_s", "iq2_m"});
    const DType wide = f(larger ? "iq3_s" : "q2_k");
    if (kind == TensorKind::value) return shared_keys_ || experts_ >= 4 ? f("q4_k") : wide;
    if (kind == TensorKind::key) return experts_ == 8 ? f("q4_k") : base_;
    if (kind == TensorKind::down) return turn.in_first(8) ? wide : base_;
    if (kind != TensorKind::attention_out) return base_;
    if (experts_ == 8) return f("q5_k");
    if (is({"iq1_s", "iq1_m"})) return f("iq2_xxs");
    return larger ? f("iq3_s") : base_;
  }
  DType value(const Turn& turn) const {
    if (experts_ == 8) return f("q8_0");
    const DType t = dense_value(turn);
    return seventy_ && (t == f("q3_k") || t == f("q4_k")) ? f("q5_k") : t;
  }
  DType dense_value(const Turn& turn) const {
    if (mix_ == "q2_k") return f(shared_keys_ ? "q4_k" : "q3_k");
    if (mix_ == "iq3_xxs") return f(shared_keys_ ? "q4_k" : "iq3_s");
    if (is({"q2_k_s", "iq3_xs", "iq3_s"}) && shared_keys_) return f("q4_k");
    if (mix_ == "iq3_m") return f("q4_k");
    if (mix_ == "q3_k_m") return f(turn.index < 2 ? "q5_k" : "q4_k");
    if (mix_ == "q3_k_l" || (is({"iq4_nl", "iq4_xs"}) && shared_keys_)) return f("q5_k");
    if (is({"q4_k_m", "q5_k_m"}) && turn.more_bits()) return f("q6_k");
    return mix_ == "q4_k_s" && turn.index < 4 ? f("q5_k") : base_;
  }
  DType query() const {
    if (mix_ == "iq3_xs") return f("iq3_xxs");
    return mix_ == "iq3_xxs" ? f("iq2_s") : base_;
  }
  DType down(const Turn& turn) const {
    const bool first = turn.in_first(8);
    if (mix_ == "q2_k") return f("q3_k");
    if (mix_ == "iq3_xxs") return f(first ? "q4_k" : "q3_k");
    if (mix_ == "q3_k_m") return f(turn.in_first(16) ? "q5_k" : "q4_k");
    if (mix_ == "q3_k_l") return f("q5_k");
    if (mix_ == "q2_k_s" && first) return f("q4_k");
    if (mix_ == "iq3_m" && (first || (experts_ == 8 && turn.more_bits()))) return f("q4_k");
    if (is({"q4_k_m", "q5_k_m"}) && turn.more_bits()) return f("q6_k");
    return is({"iq4_nl", "iq4_xs", "q4_k_s"}) && first ? f("q5_k") : base_;
  }
  DType attention_out() const {
    if (mix_ == "q2_k") return f("q3_k");
    if (mix_ == "iq3_xxs") return f("iq3_s");
    if (is({"q3_k_m", "iq3_m"})) return f("q4_k");
    return mix_ == "q3_k_l" ? f("q5_k") : base_;
  }
  DType out_of_eight() const {
    return is({"q2_k", "iq3_xs", "iq3_xxs", "q3_k_s", "q3_k_m", "iq4_nl", "q4_k_s", "q4_k_m", "iq3_s", "iq3_m",
               "iq4_xs"})
               ? f("q5_k")
               : base_;
  }

  /// A row must be whole blocks; else a type with blocks of 32, else float16.
  static DType fitting(DType t, Count columns) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 15> instead{{{"iq1_s", "iq4_nl"},
                                                                                            {"iq1_m", "iq4_nl"},
                                                                                            {"iq2_xxs", "iq4_nl"},
                                                                                            {"iq2_xs", "iq4_nl"},
                                                                                            {"iq2_s", "iq4_nl"},
                                                                                            {"iq3_xxs", "iq4_nl"},
                                                                                            {"iq3_s", "iq4_nl"},
                                                                                            {"iq4_xs", "iq4_nl"},
                                                                                            {"q2_k", "q4_0"},
                                                                                            {"q3_k", "q4_0"},
                                                                                            {"tq1_0", "q4_0"},
                                                                                            {"tq2_0", "q4_0"},
                                                                                            {"q4_k", "q5_0"},
                                                                                            {"q5_k", "q5_1"},
                                                                                            {"q6_k", "q8_0"}}};
    if (columns % t.format().group == 0) return t;
    for (const auto& [wide, narrow] : instead)
      if (wide == t.name() && columns % f(narrow).format().group == 0) return f(narrow);
    return dtypes::fp16;
  }

  std::string_view mix_;
  DType base_;
  bool tied_;
  Count experts_;
  bool shared_keys_;  ///< four queries or more for each key
  bool seventy_;      ///< of 80 layers and grouped keys, as Llama 70B
};

/// A tensor and its kind, before it has a type.
struct Untyped {
  TensorKind kind;
  MixedTensor tensor;
};

/// The matrices and vectors of one operator in one layer.
void add_tensors(std::vector<Untyped>& all, const Arch& a, const Op& op, Count layer) {
  const Component in = stored_component(op.shape, op.component);
  const auto add = [&](TensorKind kind, Count groups, Count rows, Count columns) {
    if (rows > 0 && columns > 0) all.push_back({kind, {in, layer, groups, rows, columns, {}}});
  };
  const auto* linear = std::get_if<Linear>(&op.shape);
  if (const auto* table = std::get_if<Lookup>(&op.shape)) return add(kind_of(op), 1, table->rows, table->width);
  if (linear == nullptr) return add(TensorKind::vector, 1, 1, learned(op.shape).total);
  if (linear->bias) add(TensorKind::vector, linear->groups, 1, linear->out);
  if (linear->tied) return;
  if (op.name != "attn.kv_up") return add(kind_of(op), linear->groups, linear->out, linear->in);
  // Split: a head's keys as they are absorbed into queries, (rank, width), and its values.
  add(TensorKind::other, a.heads, linear->in, a.latent.nope_dim);
  add(TensorKind::other, a.heads, a.latent.v_dim, linear->in);
}

std::vector<Untyped> untyped_tensors(const Arch& a) {
  std::vector<Untyped> all;
  for_each_operator(a, {}, {}, {.training = true}, [&](const OperatorRow& row) {
    if (row.segment.kind != SegmentKind::block) return add_tensors(all, a, row.op, 0);
    for (Count i = 0; i < a.layers; ++i)
      if (row.segment.layer.layers.contains(i)) add_tensors(all, a, row.op, i);
  });
  return all;
}

}  // namespace

std::vector<std::string_view> gguf_mixes() {
  std::vector<std::string_view> names;
  for (const Mix& m : mix_rows) names.push_back(m.name);
  return names;
}

bool is_gguf_mix(std::string_view name) { return mix_called(name) != nullptr; }

std::vector<MixedTensor> mixed_tensors(const Arch& arch, std::string_view mix) {
  const Rules rules(arch, *mix_called(mix));
  std::vector<Untyped> all = untyped_tensors(arch);
  std::stable_sort(all.begin(), all.end(),
                   [](const Untyped& a, const Untyped& b) { return a.tensor.layer < b.tensor.layer; });
  const auto is_value = [](const Untyped& u) { return u.kind == TensorKind::value; };
  Turn values{0, std::count_if(all.begin(), all.end(), is_value)};
  std::vector<MixedTensor> out;
  for (Untyped& u : all) {
    u.tensor.format = rules.type(u.kind, is_value(u) ? values : Turn{u.tensor.layer, arch.layers}, u.tensor);
    if (is_value(u)) ++values.index;
    out.push_back(u.tensor);
  }
  return out;
}

WeightFormats gguf_mix(const Arch& arch, std::string_view mix) {
  HeldComponents all;
  for (const MixedTensor& t : mixed_tensors(arch, mix)) {
    all.add_numbers(t.component, t.format, mul(t.groups, t.rows, t.columns));
    all[t.component].bytes += t.groups * tensor_bytes(t.format, t.rows, t.columns);
  }
  WeightFormats w = most_common_formats(all, arch);
  hold_bytes(w, arch, all);
  hold_modules_alike(w, arch);
  return w;
}

}  // namespace llmcalc
