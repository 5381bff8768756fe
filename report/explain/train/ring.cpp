#include "report/explain/train/ring.hpp"

#include "calc/roofline.hpp"
#include "calc/step/row_time.hpp"
#include "report/explain/pass_time.hpp"
#include "report/explain/sum.hpp"

namespace llmcalc::explain {
namespace {

/// Adds the terms of one direction of a kind of layer; no terms without a ring.
void add_rings(const Setting& s, const LayerPrice& row, const char* direction, const PassPrice& pass, Terms& terms) {
  const LinkRates links = (s.estimated() ? estimated_rates : bound_rates)(s.device(), s.plan()).links;
  const WorkTime& work = s.estimated() ? pass.estimate_work : pass.bound_work;
  const bool whole = s.plan().roofline == Roofline::step;
  const Seconds core = (whole ? step_slowdown(s, training_pass(s.plan())) : 1) * work.attention;
  for (const llmcalc::CollectiveCall& e : pass.collectives) {
    if (!passes_round(e)) continue;
    const Seconds all = communication_time(e, s.layout(), s.cluster(), links).total();
    const RingTime t = ring_time(e, all, core, ranks(s.layout(), Group::context), &pass == &row.backward_input);
    terms.rows.push_back({std::string("layers ") + direction,
                          {number_text(row.layers), number_text(t.passing.value), number_text(t.core.value),
                           number_text(t.home.value)}});
  }
}

Terms ring_terms(const Setting& s) {
  Terms t{{{"n_j", "layers", ""},
           {"r_j", "ring messages of a layer overlapped with its attention core, s", ""},
           {"c_j", "attention core steps overlapped with the messages, s", ""},
           {"h_j", "return of the last gradients to their owners, s", ""}},
          {}};
  if (!s.parts().terms) return t;
  const Prices prices = price(s.arch(), s.plan(), s.layout(), s.device());
  for (const LayerPrice& row : prices.rows) {
    add_rings(s, row, "forward", row.forward, t);
    add_rings(s, row, "recomputed", row.recomputed, t);
    add_rings(s, row, "backward", row.backward_input, t);
  }
  return t;
}

}  // namespace

Formula ring_time(const Setting& s, const std::string& n) {
  const bool in_part = hidden_overlapped(s.plan()) < 1;
  const std::string side = in_part ? "max(r_j, c_j) + (1 - omega)*min(r_j, c_j) - c_j" : "max(r_j, c_j) - c_j";
  const std::string one = "(" + side + " + " + product({exposed(s), "h_j"}) + ")";
  return {product({n, "sum(n_j*" + one + ")"}), {}, {ring_terms(s)}};
}

}  // namespace llmcalc::explain
