#include "calc/block/altup.hpp"
#include "calc/block/block.hpp"
#include "calc/block/cross.hpp"
#include "calc/block/encoder_head.hpp"
#include "calc/block/mixed_residual.hpp"
#include "calc/block/per_layer.hpp"
#include "calc/block/segment_builder.hpp"

namespace llmcalc {

namespace {
/// Projects from the width of the token embedding to the width of the model.
TensorId projected(SegmentBuilder& b, TensorId x) {
  const Arch& a = b.arch();
  return b.linear("embedding.project", Component::embedding, Split::tokens, x, a.embedding_width, a.hidden,
                  a.narrow_ends);
}
}  // namespace

OpList embedding_ops(const Arch& a, const Step& s) {
  SegmentBuilder b(a, s);
  const Count t = embedded_tokens(a, s);
  TensorId x = b.add("embedding.tokens", Component::embedding, Lookup{t, a.vocabulary, a.embedding_width}, Split::row,
                     block_input);
  const Count w = a.summed_width();
  if (a.narrows_head()) x = projected(b, x);
  if (a.learned_rows() > 0) {
    const TensorId p =
        b.add("embedding.positions", Component::position, Lookup{t, a.learned_rows(), w}, Split::tokens, block_input);
    x = b.pointwise("embedding.add", Component::position, PointwiseKind::add, Split::tokens, x, p, w);
  }
  if (a.token_types > 0) {
    const TensorId y =
        b.add("embedding.types", Component::embedding, Lookup{t, a.token_types, w}, Split::tokens, block_input);
    x = b.pointwise("embedding.types_add", Component::embedding, PointwiseKind::add, Split::tokens, x, y, w);
  }
  if (a.embedding_norm) x = b.add("embedding.norm", Component::norm, b.norm_shape(t, w), Split::tokens, x);
  b.dropout("embedding.dropout", Component::embedding, x, t, w);
  if (a.narrow_ends) x = projected(b, x);
  if (a.position == Position::relative && !a.layer_distances) make_distances(b, s, x);
  if (a.per_layer.width > 0) make_per_layer_inputs(b, x);
  if (a.altup) b.set_result(stacked_streams(b, x));
  if (a.hyper_connected())
    b.add("embedding.repeat", Component::embedding,
          Pointwise{.kind = PointwiseKind::repeat, .rows = t, .width = mul(a.streams, a.hidden), .top_k = a.streams},
          Split::tokens, x);
  return b.ops();
}

namespace {
/// The parts of a head, and which of them own their weights or use the model's.
struct HeadWeights {
  bool norm = true, own_norm = true, tied = false, bias = false;
  bool of_model = false;    ///< whether it is the model's head, which may also have a pooler, mixed residual streams
                            ///< and an exit gate
  bool read_later = false;  ///< whether an MTP module also reads the head's input
};
/// Weighted sum of the n residual streams. A matrix computes the n weights, with one bias per weight and one learned
/// scale.
TensorId gathered_streams(SegmentBuilder& b, TensorId x, Count rows) {
  const Arch& a = b.arch();
  const Linear matrix{.rows = rows, .in = mul(a.streams, a.hidden), .out = a.streams};
  const TensorId weights = b.add("head.stream_weights", Component::lm_head, matrix, Split::tokens, x);
  const Pointwise gather{
      .kind = PointwiseKind::gather, .rows = rows, .width = a.hidden, .top_k = a.streams, .weights = add(a.streams, 1)};
  return b.add("head.gather", Component::lm_head, gather, Split::tokens, {x, weights});
}
OpList head(const Arch& a, const Step& s, Count rows, const HeadWeights& w) {
  SegmentBuilder b(a, s);
  if (w.read_later) b.leave_input();
  TensorId x = block_input;
  if (a.altup) x = merged_streams(b, x, rows);
  if (a.hyper_connected()) x = gathered_streams(b, x, rows);
  if (w.of_model) {
    if (a.head.pooler) add_pooled(b);
    x = mixed_at_end(b, x, rows);
  }
  if (w.norm) {
    Norm shape = b.norm_shape(rows, a.hidden);
    if (!w.own_norm) shape.weights = 0;
    x = b.add("head.norm", Component::norm, shape, Split::tokens, x);
  }
  if (w.of_model && !a.head.has_logits()) return b.ops();
  if (w.of_model && a.head.exit_gate)
    b.add("head.exit_gate", Component::lm_head, Linear{.rows = rows, .in = a.hidden, .out = 1, .bias = true},
          Split::tokens, x);
  if (w.of_model && a.head.kind == HeadKind::masked_token) x = transformed(b, x, rows);
  if (a.narrows_head())
    x = b.add("head.project", Component::embedding, Linear{.rows = rows, .in = a.hidden, .out = a.embedding_width},
              Split::tokens, x);
  const Linear logits{.rows = rows, .in = a.embedding_width, .out = a.vocabulary, .bias = w.bias, .tied = w.tied};
  x = b.add("head.logits", Component::lm_head, logits, Split::column, x);
  if (s.training) b.add("head.loss", Component::lm_head, Loss{rows, a.vocabulary}, Split::column, x);
  return b.ops();
}
}  // namespace

OpList head_ops(const Arch& a, const Step& s) {
  const Count rows = s.training || s.verifies || !a.head.has_logits() ? s.tokens() : s.sequences;
  return head(
      a, s, rows,
      {.norm = a.final_norm, .tied = a.tied_head, .bias = a.head_bias, .of_model = true, .read_later = s.mtp > 0});
}

OpList mtp_input_ops(const Arch& a, const Step& s) {
  SegmentBuilder b(a, s);
  const Count t = b.tokens();
  const Lookup table{.tokens = t, .rows = a.vocabulary, .width = a.embedding_width, .tied = !a.mtp.own_embedding};
  TensorId e = b.add("mtp.tokens", Component::embedding, table, Split::row, block_input);
  e = b.norm("mtp.token_norm", e, t);
  e = b.linear("mtp.project_token", Component::embedding, Split::tokens, e, a.hidden, a.hidden, false);
  const Count n = a.streams, all = mul(t, n);  // rows of the previous result, one per residual stream
  TensorId h = b.norm("mtp.result_norm", block_input, all);
  h = b.add("mtp.project_result", Component::embedding, Linear{.rows = all, .in = a.hidden, .out = a.hidden},
            Split::tokens, h);
  if (n > 1) {
    const Pointwise repeat{.kind = PointwiseKind::repeat, .rows = t, .width = mul(n, a.hidden), .top_k = n};
    e = b.add("mtp.repeat", Component::embedding, repeat, Split::tokens, e);
  }
  b.pointwise("mtp.add", Component::embedding, PointwiseKind::add, Split::tokens, e, h, mul(n, a.hidden));
  return b.ops();
}

OpList mtp_head_ops(const Arch& a, const Step& s) {
  const Mtp& m = a.mtp;
  return head(a, s, s.training ? s.tokens() : s.sequences,
              {.norm = m.own_norm || a.final_norm,
               .own_norm = m.own_norm,
               .tied = !m.own_head,
               .bias = m.own_head && a.head_bias,
               .read_later = s.mtp > 1});
}

}  // namespace llmcalc
