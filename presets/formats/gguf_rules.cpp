#include "presets/formats/gguf_rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "calc/arch/layer_kinds.hpp"

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
    Mix{"tq2_0", "tq2_0"}, Mix{"q1_0", "q1_0"},       Mix{"q2_0", "q2_0"},     Mix{"mxfp4_moe", "mxfp4"},
    Mix{"bf16", "bf16"},   Mix{"f16", "fp16"}};

const Mix* mix_called(std::string_view name) {
  const auto at = std::find_if(mix_rows.begin(), mix_rows.end(), [&](const Mix& m) { return m.name == name; });
  return at == mix_rows.end() ? nullptr : &*at;
}

DType type_called(std::string_view name) { return *dtype(name); }

DType base_of(std::string_view mix) { return type_called(mix_called(mix)->base); }

/// Number of query heads per key head. Latent attention is stored with one key for all heads.
Count queries_per_key(const Mixer& m) {
  if (m.attention == AttentionKind::none) return 0;
  return m.attention == AttentionKind::latent ? m.heads : m.heads / std::max<Count>(1, m.kv_heads);
}

/// Number of query heads per key head in the model's first layer (src/llama-hparams.cpp, n_gqa); 0 if that layer caches
/// no keys. Files of models with gated DeltaNet state one number for all layers; files of models with other recurrences
/// have a list.
Count queries_per_key(const Arch& a) {
  const LayerKinds all = layer_kinds(a);
  const Mixer& first = a.mixer(all[kind_index(all, 0)].mixer);
  Count n = queries_per_key(first);
  for (std::size_t i = 0; n == 0 && first.recurrent.kind == RecurrentKind::gated_delta_net && i <= a.mixers.size(); ++i)
    n = queries_per_key(a.mixer(i));
  return n;
}

bool is_falcon(std::string_view family) {
  return family == "falcon" || family == "RefinedWeb" || family == "RefinedWebModel";
}

/// `t` if its blocks divide a row evenly; otherwise a type with blocks of 32 elements if those divide a row evenly;
/// otherwise float16.
DType fitting(DType t, Count columns) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> instead{{{"iq1_s", "iq4_nl"},
                                                                                          {"iq1_m", "iq4_nl"},
                                                                                          {"iq2_xxs", "iq4_nl"},
                                                                                          {"iq2_xs", "iq4_nl"},
                                                                                          {"iq2_s", "iq4_nl"},
                                                                                          {"iq3_xxs", "iq4_nl"},
                                                                                          {"iq3_s", "iq4_nl"},
                                                                                          {"iq4_xs", "iq4_nl"},
                                                                                          {"q2_0", "q4_0"},
                                                                                          {"q2_k", "q4_0"},
                                                                                          {"q3_k", "q4_0"},
                                                                                          {"tq1_0", "q4_0"},
                                                                                          {"tq2_0", "q4_0"},
                                                                                          {"q4_k", "q5_0"},
                                                                                          {"q5_k", "q5_1"},
                                                                                          {"q6_k", "q8_0"}}};
  if (columns % t.format().group == 0) return t;
  for (const auto& [wide, narrow] : instead)
    if (wide == t.name() && columns % type_called(narrow).format().group == 0) return type_called(narrow);
  return dtypes::fp16;
}

}  // namespace

std::vector<std::string_view> gguf_mixes() {
  std::vector<std::string_view> names;
  for (const Mix& m : mix_rows) names.push_back(m.name);
  return names;
}

bool is_gguf_mix(std::string_view name) { return mix_called(name) != nullptr; }

GgufRules::GgufRules(const Arch& a, std::string_view mix, std::string_view family)
    : mix_(mix),
      base_(base_of(mix)),
      tied_(a.tied_head),
      falcon_(is_falcon(family)),
      experts_(a.moe.experts),
      shared_keys_(queries_per_key(a) >= 4),
      seventy_(a.layers == 80 && a.heads != a.kv_heads && experts_ == 0) {}

DType GgufRules::type(TensorKind kind, const TensorTurn& turn, const MixedTensor& t) const {
  if (kind == TensorKind::vector) return dtypes::fp32;
  if (base_.plain()) return base_;
  if (kind == TensorKind::stored) return dtypes::bf16;
  return fitting(chosen(kind, turn, t), t.columns);
}

bool GgufRules::is(std::initializer_list<std::string_view> names) const {
  return std::find(names.begin(), names.end(), mix_) != names.end();
}

DType GgufRules::chosen(TensorKind kind, const TensorTurn& turn, const MixedTensor& t) const {
  if (kind == TensorKind::head || (kind == TensorKind::table && tied_)) return head(t);
  if (mix_ == "mxfp4_moe") return t.groups > 1 ? base_ : type_called("q8_0");
  if (kind == TensorKind::table) return table();
  if (is_tiny()) return tiny(kind, turn);
  switch (kind) {
    case TensorKind::value:
      return value(turn);
    case TensorKind::key:
      return experts_ == 8 ? type_called("q8_0") : query();
    case TensorKind::query:
      return query();
    case TensorKind::down:
      return falcon_ ? falcon_down(turn) : down(turn);
    case TensorKind::attention_out:
      if (falcon_) return mix_ == "q3_k_l" ? type_called("q4_k") : base_;
      return experts_ == 8 ? out_of_eight() : attention_out();
    case TensorKind::gate:
    case TensorKind::up:
      return mix_ == "iq3_xs" && !turn.in_first(8) && turn.index < 7 * turn.of / 8 ? type_called("iq3_xxs") : base_;
    default:
      return base_;
  }
}

DType GgufRules::head(const MixedTensor& t) const {
  const Format& base = base_.format();
  if (mix_ == "mxfp4_moe" || falcon_ || t.columns % base.group != 0) return type_called("q8_0");
  if (is_tiny() || mix_ == "iq3_xxs") return type_called("q5_k");
  return base_ == type_called("q8_0") ? base_ : type_called("q6_k");
}

DType GgufRules::table() const {
  if (is({"iq2_xxs", "iq2_xs", "iq1_s", "iq1_m"})) return type_called("q2_k");
  if (is({"iq2_s", "iq2_m", "iq3_xxs"})) return type_called("iq3_s");
  return is({"tq1_0", "tq2_0", "q2_0"}) ? type_called("q4_k") : base_;
}

DType GgufRules::tiny(TensorKind kind, const TensorTurn& turn) const {
  const bool larger = is({"iq2_s", "iq2_m"});
  const DType wide = type_called(larger ? "iq3_s" : "q2_k");
  if (kind == TensorKind::value) return shared_keys_ || experts_ >= 4 ? type_called("q4_k") : wide;
  if (kind == TensorKind::key) return experts_ == 8 ? type_called("q4_k") : base_;
  if (kind == TensorKind::down) return turn.in_first(8) ? wide : base_;
  if (kind != TensorKind::attention_out) return base_;
  if (experts_ == 8) return type_called("q5_k");
  if (is({"iq1_s", "iq1_m"})) return type_called("iq2_xxs");
  return larger ? type_called("iq3_s") : base_;
}

DType GgufRules::value(const TensorTurn& turn) const {
  if (experts_ == 8) return type_called("q8_0");
  const DType t = dense_value(turn);
  return seventy_ && (t == type_called("q3_k") || t == type_called("q4_k")) ? type_called("q5_k") : t;
}

DType GgufRules::dense_value(const TensorTurn& turn) const {
  if (mix_ == "q2_k") return type_called(shared_keys_ ? "q4_k" : "q3_k");
  if (mix_ == "iq3_xxs") return type_called(shared_keys_ ? "q4_k" : "iq3_s");
  if (is({"q2_k_s", "iq3_xs", "iq3_s"}) && shared_keys_) return type_called("q4_k");
  if (mix_ == "iq3_m") return type_called("q4_k");
  if (mix_ == "q3_k_m") return type_called(turn.index < 2 ? "q5_k" : "q4_k");
  if (mix_ == "q3_k_l" || (is({"iq4_nl", "iq4_xs"}) && shared_keys_)) return type_called("q5_k");
  if (is({"q4_k_m", "q5_k_m"}) && turn.more_bits()) return type_called("q6_k");
  return mix_ == "q4_k_s" && turn.index < 4 ? type_called("q5_k") : base_;
}

DType GgufRules::query() const {
  if (mix_ == "iq3_xs") return type_called("iq3_xxs");
  return mix_ == "iq3_xxs" ? type_called("iq2_s") : base_;
}

DType GgufRules::down(const TensorTurn& turn) const {
  const bool first = turn.in_first(8);
  if (mix_ == "q2_k") return type_called("q3_k");
  if (mix_ == "iq3_xxs") return type_called(first ? "q4_k" : "q3_k");
  if (mix_ == "q3_k_m") return type_called(turn.in_first(16) ? "q5_k" : "q4_k");
  if (mix_ == "q3_k_l") return type_called("q5_k");
  if (mix_ == "q2_k_s" && first) return type_called("q4_k");
  if (mix_ == "iq3_m" && (first || (experts_ == 8 && turn.more_bits()))) return type_called("q4_k");
  if (is({"q4_k_m", "q5_k_m"}) && turn.more_bits()) return type_called("q6_k");
  return is({"iq4_nl", "iq4_xs", "q4_k_s"}) && first ? type_called("q5_k") : base_;
}

DType GgufRules::falcon_down(const TensorTurn& turn) const {
  const bool first = turn.in_first(16), more = turn.more_bits();
  if (mix_ == "q3_k_m") return type_called(first ? "q5_k" : more ? "q4_k" : "q3_k");
  if (mix_ == "q3_k_l") return type_called("q4_k");
  if (mix_ == "q4_k_m") return type_called(first ? "q6_k" : more ? "q5_k" : "q4_k");
  return mix_ == "q4_k_s" ? base_ : down(turn);
}

DType GgufRules::attention_out() const {
  if (mix_ == "q2_k") return type_called("q3_k");
  if (mix_ == "iq3_xxs") return type_called("iq3_s");
  if (is({"q3_k_m", "iq3_m"})) return type_called("q4_k");
  return mix_ == "q3_k_l" ? type_called("q5_k") : base_;
}

DType GgufRules::out_of_eight() const {
  return is({"q2_k", "iq3_xs", "iq3_xxs", "q3_k_s", "q3_k_m", "iq4_nl", "q4_k_s", "q4_k_m", "iq3_s", "iq3_m", "iq4_xs"})
             ? type_called("q5_k")
             : base_;
}

}  // namespace llmcalc
