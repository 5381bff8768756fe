#include "calc/block/encoder_head.hpp"

namespace llmcalc {

void add_pooled(SegmentBuilder& b) {
  const Arch& a = b.arch();
  constexpr Component c = Component::lm_head;
  const Count rows = b.step().sequences, d = a.hidden;
  const auto dense = [&](std::string_view name, TensorId x, Count out) {
    return b.add(name, c, Linear{.rows = rows, .in = d, .out = out, .bias = true}, Split::tokens, x);
  };
  const TensorId y = b.add("head.pooler_act", c, Pointwise{.kind = PointwiseKind::activate, .rows = rows, .width = d},
                           Split::tokens, dense("head.pooler", block_input, d));
  if (a.head.sentence_pair) dense("head.sentence_pair", y, 2);
}

TensorId transformed(SegmentBuilder& b, TensorId x, Count rows) {
  const Arch& a = b.arch();
  const Count out = a.summed_width();
  constexpr Component c = Component::lm_head;
  const TensorId y =
      b.add("head.transform", c, Linear{.rows = rows, .in = a.hidden, .out = out, .bias = a.head.transform_bias},
            Split::tokens, x);
  const Pointwise act{.kind = PointwiseKind::activate, .rows = rows, .width = out};
  return b.add("head.transform_norm", Component::norm, b.norm_shape(rows, out), Split::tokens,
               b.add("head.transform_act", c, act, Split::tokens, y));
}

}  // namespace llmcalc
