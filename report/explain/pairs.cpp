#include "report/explain/pairs.hpp"

#include "report/explain/sum.hpp"

namespace llmcalc::explain {
namespace {

using Convention = AttentionFlops;

/// S queries that see each other: S^2, S^2/2, S*(S + 1)/2.
std::string square(const std::string& n, Convention c) {
  if (c == Convention::full) return n + "^2";
  return c == Convention::causal_half ? n + "^2/2" : n + "*(" + n + " + 1)/2";
}
/// The same when none sees more than w: the first w as above, the others w each.
std::string windowed(const std::string& n, Convention c) {
  const std::string w = "min(" + n + ", W)";
  if (c == Convention::full) return n + "*" + w;
  return square(w, c) + " + (" + n + " - " + w + ")*" + w;
}
/// One query at the end of a context of c tokens.
std::string last(const std::string& context, Convention c) {
  return c == Convention::causal_half ? "(" + context + " - 1/2)" : context;
}

std::string pairs(const PassText& p, Convention c, bool window) {
  if (!p.context.empty()) return window ? "min(" + last(p.context, c) + ", W)" : last(p.context, c);
  return window ? windowed(p.queries, c) : square(p.queries, c);
}

}  // namespace

std::string core_width(const Setting& s, bool absorbed) {
  if (!s.latent()) return "4*A*d_h";
  return absorbed ? "2*A*(2*r_kv + d_r)" : "2*A*(d_n + d_r + d_v)";
}

std::string pairs_text(const Setting& s, const PassText& pass, AttentionFlops convention, bool windows) {
  const std::string full = s.layers("L_f"), window = s.layers("L_w");
  if (full.empty() && window.empty()) return "0";
  GroupedSum sum;
  if (!full.empty()) sum.of(full).add(1, {pairs(pass, convention, false)});
  if (!window.empty()) sum.of(window).add(1, {pairs(pass, convention, windows)});
  return sum.text();
}

std::string core_text(const Setting& s, const PassText& pass, AttentionFlops convention, bool windows) {
  const std::string all = pairs_text(s, pass, convention, windows);
  return all == "0" ? all : product({core_width(s, pass.absorbed), "B", all});
}

std::string scores_text(const Setting& s, const PassText& pass, AttentionFlops convention) {
  const char* width = !s.latent() ? "2*A*d_h" : pass.absorbed ? "2*A*(r_kv + d_r)" : "2*A*(d_n + d_r)";
  return product({width, "B", pairs_text(s, pass, convention)});
}

std::string linear_attention_text(const Setting& s, const PassText& pass) {
  const std::string layers = s.layers("L_l");
  return layers.empty() ? "0" : product({"4", "B", pass.queries, layers, "A", "d_h^2"});
}

}  // namespace llmcalc::explain
