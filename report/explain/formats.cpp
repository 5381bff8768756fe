#include "report/explain/formats.hpp"

namespace llmcalc::explain {
namespace {

Expr bytes(const char* letter, Count bits) { return {letter, {bits, 8}}; }

using Sized = textbook::SizedFormat<Expr>;

Sized letters(const Format& f) {
  return {f,
          {bytes("p_w", f.element_bits),
           bytes("b_g", f.group_bits),
           {"g_w", f.group},
           bytes("b_o", f.outer_bits),
           {"g_o", f.outer},
           {"b_t", f.tensor_bytes}}};
}

Expr byte_count(Count bits) { return Expr(Expr::Fraction(bits, 8)); }

Sized numbers(const Format& f) {
  return {f,
          {byte_count(f.element_bits), byte_count(f.group_bits), f.group, byte_count(f.outer_bits), f.outer,
           f.tensor_bytes}};
}

}  // namespace

Expr compute_bytes(const Setting& s) { return bytes("p", working_format(s.plan()).format().element_bits); }

Formula weight_bytes(const Setting& s, const WeightFormats& in, std::string_view path) {
  const bool named = in.uniform() && in == s.plan().weight_precision;
  const auto stored_in = [&](Component c) { return named ? letters(in[c].format()) : numbers(in[c].format()); };
  const Sized one = stored_in(Component::mlp);
  if (in.uniform() && textbook::is_uniform(one.format)) return {(one.sizes.each * s.quantity("N_T", path)).text()};
  return {textbook::weights_bytes(s.arch(), s.rank_sizes(), stored_in, compute_bytes(s)).text()};
}

textbook::FormatSizes<Expr> key_format(const Setting& s) {
  const Format& f = s.plan().kv_precision.keys.format();
  return {bytes("p_kv", f.element_bits), bytes("b_kv", f.group_bits), {"g_kv", f.group},
          bytes("b_ko", f.outer_bits),   {"g_ko", f.outer},           0};
}
textbook::FormatSizes<Expr> value_format(const Setting& s) {
  if (s.plan().kv_precision.uniform()) return key_format(s);
  const Format& f = s.plan().kv_precision.values.format();
  return {bytes("p_v", f.element_bits), bytes("b_v", f.group_bits), {"g_v", f.group},
          bytes("b_vo", f.outer_bits),  {"g_vo", f.outer},          0};
}

}  // namespace llmcalc::explain
