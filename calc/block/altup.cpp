#include "calc/block/altup.hpp"

namespace llmcalc {
namespace {

constexpr Component norm = Component::norm;

Pointwise over_streams(const SegmentBuilder& b, PointwiseKind kind) {
  const Count n = b.arch().streams;
  return {.kind = kind, .rows = b.tokens(), .width = mul(n, b.arch().hidden), .top_k = n};
}

/// Names of the operators that compute n values per token and derive mixing weights from them.
struct WeightNames {
  std::string_view norm, router, act, weights;
};
/// Adds the operators that compute mixing weights per token. `first`: whether this call counts the parameters of the
/// norm and the router.
TensorId weights(SegmentBuilder& b, const WeightNames& names, TensorId x, Count made, bool first) {
  const Count d = b.arch().hidden, n = b.arch().streams, t = b.tokens();
  const TensorId normed = b.add(names.norm, norm, Norm{t, d, first ? d : 0}, Split::tokens, x);
  const Linear router{.rows = t, .in = d, .out = n, .tied = !first};
  const TensorId m = b.add(names.router, norm, router, Split::tokens, normed);
  const Pointwise act{.kind = PointwiseKind::activate, .rows = t, .width = n};
  return b.linear(names.weights, norm, Split::tokens, b.add(names.act, norm, act, Split::tokens, m), n, made, false);
}

}  // namespace

TensorId stacked_streams(SegmentBuilder& b, TensorId x) {
  const Count d = b.arch().hidden, more = b.arch().streams - 1;
  const Linear each{.rows = mul(more, b.tokens()), .in = d, .out = d, .groups = more};
  const TensorId y = b.add("embedding.streams", Component::embedding, each, Split::tokens, x);
  return b.add("embedding.stack", Component::embedding, over_streams(b, PointwiseKind::stack), Split::tokens, {x, y});
}

TensorId merged_streams(SegmentBuilder& b, TensorId x, Count rows) {
  const Count d = b.arch().hidden, n = b.arch().streams, more = n - 1;
  const Linear each{.rows = mul(more, rows), .in = d, .out = d, .groups = more};
  const TensorId y = b.add("head.streams", Component::lm_head, each, Split::tokens, x);
  const Pointwise mean{.kind = PointwiseKind::gather, .rows = rows, .width = d, .top_k = n};
  return b.add("head.gather", Component::lm_head, mean, Split::tokens, {x, y});
}

TensorId predicted_streams(SegmentBuilder& b, TensorId x) {
  constexpr WeightNames names{"altup.norm", "altup.router", "altup.act", "altup.predict_weights"};
  const Count n = b.arch().streams;
  const TensorId c = weights(b, names, x, mul(n, n), true);
  return b.add("altup.predict", norm, over_streams(b, PointwiseKind::predict), Split::tokens, {x, c});
}

TensorId corrected_streams(SegmentBuilder& b, TensorId predicted, TensorId result) {
  constexpr WeightNames names{"altup.result_norm", "altup.result_router", "altup.result_act", "altup.correct_weights"};
  const TensorId k = weights(b, names, result, b.arch().streams, false);
  return b.add("altup.correct", norm, over_streams(b, PointwiseKind::spread), Split::tokens, {predicted, result, k});
}

TensorId first_stream(SegmentBuilder& b, TensorId x) {
  const Count d = b.arch().hidden;
  const Pointwise copy{.kind = PointwiseKind::first, .rows = b.tokens(), .width = d};
  const Pointwise scale{.kind = PointwiseKind::activate, .rows = b.tokens(), .width = d, .weights = d};
  return b.add("altup.scale", norm, scale, Split::tokens, b.add("altup.first", norm, copy, Split::tokens, x));
}

TensorId shared_with_streams(SegmentBuilder& b, TensorId x, TensorId y) {
  return b.add("altup.share", norm, over_streams(b, PointwiseKind::share), Split::tokens, {x, y});
}

TensorId laurel(SegmentBuilder& b, TensorId x) {
  const Arch& a = b.arch();
  constexpr Component c = Component::mlp;
  const TensorId low = b.linear("laurel.down", c, Split::tokens, x, a.hidden, a.laurel_rank, false);
  const TensorId y = b.linear("laurel.up", c, Split::tokens, low, a.laurel_rank, a.hidden, false);
  return b.pointwise("laurel.add", c, PointwiseKind::add, Split::tokens, x, b.norm("laurel.norm", y, b.tokens()),
                     a.hidden);
}

}  // namespace llmcalc
