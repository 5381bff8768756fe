#include "calc/cost/shape_costs.hpp"

namespace llmcalc::shape_costs {

// ---- Pointwise: bytes only, counted as elements read and written per output element.

namespace {
double forward_touches(PointwiseKind k, Count top_k) {
  switch (k) {
    case PointwiseKind::add:
    case PointwiseKind::multiply:
    case PointwiseKind::gate:
    case PointwiseKind::add_own:
      return 3;
    case PointwiseKind::activate:
    case PointwiseKind::rope:
    case PointwiseKind::scale:
    case PointwiseKind::dropout:
    case PointwiseKind::route:
    case PointwiseKind::dispatch:
      return 2;
    case PointwiseKind::mix:
    case PointwiseKind::combine:
    case PointwiseKind::gather:
      return 1 + d(top_k);
    case PointwiseKind::repeat:
      return 1 + 1 / d(top_k);
    case PointwiseKind::spread:
      return 2 + 1 / d(top_k);
    case PointwiseKind::predict:
    case PointwiseKind::stack:
    case PointwiseKind::first:
      return 2;
    case PointwiseKind::share:
      return 2 + 1 / d(top_k);
    case PointwiseKind::blend:
      return 4;
    case PointwiseKind::bonus:
      return 6;
  }
  return 0;
}
double backward_touches(PointwiseKind k, Count top_k) {
  switch (k) {
    case PointwiseKind::add:
    case PointwiseKind::activate:
    case PointwiseKind::scale:
    case PointwiseKind::add_own:
      return 3;  // add: adds the branch's gradient to the residual gradient. scale: also reads the result, for the
                 // gradient of its factors. add_own: reads b and the gradient of y, which is also the gradient of a
    case PointwiseKind::multiply:
    case PointwiseKind::gate:
      return 5;
    case PointwiseKind::rope:
    case PointwiseKind::dropout:
    case PointwiseKind::route:
    case PointwiseKind::dispatch:
      return 2;
    case PointwiseKind::mix:
      return 1 + 3 * d(top_k);  // adds to the tensors' existing gradients
    case PointwiseKind::combine:
    case PointwiseKind::gather:
      return 1 + 2 * d(top_k);
    case PointwiseKind::repeat:
      return 1 + 1 / d(top_k);
    case PointwiseKind::spread:
      return 3 + 2 / d(top_k);
    case PointwiseKind::first:
      return 2;
    case PointwiseKind::predict:
    case PointwiseKind::stack:
      return 3;
    case PointwiseKind::share:
      return 2 + 1 / d(top_k);
    case PointwiseKind::blend:
      return 7;
    case PointwiseKind::bonus:
      return 11;
  }
  return 0;
}
Cost pointwise(const Pointwise& s, const Pricing& p, double touches) {
  const double n = d(s.rows) * d(s.width);
  const double mask = s.kind == PointwiseKind::dropout ? n : 0;
  return {.moved = {.activations = touches * bytes(p.activation, n) + mask}};
}
}  // namespace

Cost forward(const Pointwise& s, const Pricing& p, const Stored& w) {
  Cost c = pointwise(s, p, forward_touches(s.kind, s.top_k));
  c.moved.weights = bytes(w.vector, d(s.weights));
  return c;
}
Cost backward_input(const Pointwise& s, const Pricing& p, const Stored& w) {
  Cost c = pointwise(s, p, backward_touches(s.kind, s.top_k));
  c.moved.weights = bytes(w.vector, d(s.weights)) + gradient_traffic(p, d(s.weights));
  return c;
}
Learned learned(const Pointwise& s) { return {.total = s.weights, .factored = s.weights}; }

// ---- Loss: reads the logits and overwrites them with their gradient.

Cost forward(const Loss& s, const Pricing& p, const Stored&) {
  return {.moved = {.activations = bytes(p.loss_input(), d(s.rows) * d(s.vocabulary))}};
}
Cost backward_input(const Loss& s, const Pricing& p, const Stored&) {
  return {.moved = {.activations = 2 * bytes(p.loss_input(), d(s.rows) * d(s.vocabulary))}};
}
Learned learned(const Loss&) { return {}; }

// ---- Collective: priced by its link (calc/links/collective_call.hpp), not here.

Cost forward(const Collective&, const Pricing&, const Stored&) { return {}; }
Cost backward_input(const Collective&, const Pricing&, const Stored&) { return {}; }
Learned learned(const Collective&) { return {}; }

}  // namespace llmcalc::shape_costs
