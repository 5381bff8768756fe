#include "report/explain/formats.hpp"

namespace llmcalc::explain {
namespace {

Expr bytes(const char* letter, Count bits) { return {letter, {bits, 8}}; }

textbook::FormatSizes<Expr> weight_format(const Format& f) {
  return {bytes("p_w", f.element_bits), bytes("b_g", f.group_bits), {"g_w", f.group},
          bytes("b_o", f.outer_bits),   {"g_o", f.outer},           {"b_t", f.tensor_bytes}};
}

}  // namespace

Expr compute_bytes(const Setting& s) { return bytes("p", s.plan().precision.format().element_bits); }

Formula weight_bytes(const Setting& s, std::string_view path) {
  const Format& f = s.plan().weight_precision.format();
  const textbook::FormatSizes<Expr> sizes = weight_format(f);
  if (textbook::is_uniform(f)) return {(sizes.each * s.quantity("N_T", path)).text()};
  return {textbook::weights_bytes(s.arch(), s.rank_sizes(), f, sizes, compute_bytes(s)).text()};
}

textbook::FormatSizes<Expr> cache_format(const Setting& s) {
  const Format& f = s.plan().kv_precision.format();
  return {bytes("p_kv", f.element_bits), bytes("b_kv", f.group_bits), {"g_kv", f.group},
          bytes("b_ko", f.outer_bits),   {"g_ko", f.outer},           0};
}

}  // namespace llmcalc::explain
