#pragma once
/// Builds the operators of a segment: embedding, block or head.

#include "calc/block/block.hpp"
#include "calc/training/adapter.hpp"

namespace llmcalc {

/// Appends the operators of one segment and assigns a tensor to each result.
class SegmentBuilder {
 public:
  /// `kind`: kind of the layer if the segment is a block.
  SegmentBuilder(const Arch& a, const Step& s, const LayerKind& kind = {})
      : a_(a),
        mixer_(a.mixer(kind.mixer)),
        kind_(kind),
        s_(half_step(a, s, mixer_.bidirectional)),
        t_(s_.tokens()),
        weights_(kind.frozen || s.lora_rank > 0 ? Op::Weights::frozen : Op::Weights::trained) {}

  TensorId add(std::string_view name, Component c, const Shape& shape, Split split, Inputs in, Count unit = 1) {
    const TensorId out = ops_.new_tensor();
    Op& op = ops_.push({name, shape, c, split, unit, in, out});
    op.weights = is_frozen(c, shape) ? Op::Weights::frozen : weights_;
    op.borrowed = kind_.repeats;
    op.narrow = !kind_.wide && std::holds_alternative<Linear>(shape) && s_.low_precision.has(c);
    return out;
  }
  TensorId add(std::string_view name, Component c, const Shape& shape, Split split, TensorId in, Count unit = 1) {
    return add(name, c, shape, split, Inputs(in), unit);
  }
  void in_place(std::string_view name, Component c, const Pointwise& shape, Split split, TensorId a,
                TensorId b = no_tensor, Count unit = 1) {
    Op& op = ops_.push({name, shape, c, split, unit, {a, b}, no_tensor});
    if (shape.weights > 0) op.weights = is_frozen(c, shape) ? Op::Weights::frozen : weights_;
    op.borrowed = kind_.repeats;
  }

  /// y = x W + b on all tokens.
  TensorId linear(std::string_view name, Component c, Split split, TensorId x, Count in, Count out, bool bias,
                  Count unit = 1) {
    return matrix(name, c, {.rows = t_, .in = in, .out = out, .bias = bias}, split, x, unit);
  }
  /// y = x W in an indexer: replicated on every rank, and x gets no gradient.
  TensorId detached(std::string_view name, Component c, TensorId x, Count in, Count out) {
    const TensorId y = linear(name, c, Split::inside, x, in, out, false);
    Op& op = ops_[ops_.size() - 1];
    op.detached = true;
    op.asks = false;
    return y;
  }
  /// y = x W or, with an adapter, x W + (x A) B. Tensor-parallel ranks shard the adapter along the same dimension as
  /// W, so one all-reduce sums both.
  TensorId matrix(std::string_view name, Component c, const Linear& w, Split split, TensorId x, Count unit = 1) {
    const TensorId y = add(name, c, w, split, x, unit);
    const auto names = s_.lora_rank > 0 ? adapter_names(s_.lora_targets, name) : std::nullopt;
    if (!names) return y;
    const bool column = split == Split::column, row = split == Split::row;
    Linear down = w, up = w;
    down.out = up.in = s_.lora_rank;
    down.bias = up.bias = false;
    weights_ = Op::Weights::adapter;
    const TensorId low = add(names->down, c, down, column ? Split::inside : split, x, row ? unit : 1);
    const TensorId wide = add(names->up, c, up, row ? Split::partial : split, low, column ? unit : 1);
    weights_ = Op::Weights::frozen;
    const Pointwise sum{.kind = PointwiseKind::add, .rows = w.rows, .width = w.out};
    return add(names->sum, c, sum, column ? Split::width : row ? Split::partial : split, {y, wide}, column ? unit : 1);
  }
  TensorId pointwise(std::string_view name, Component c, PointwiseKind kind, Split split, TensorId a, TensorId b,
                     Count width) {
    return add(name, c, Pointwise{.kind = kind, .rows = t_, .width = width}, split, {a, b});
  }
  /// A norm over the residual width.
  TensorId norm(std::string_view name, TensorId x, Count rows) {
    return add(name, Component::norm, norm_shape(rows, a_.hidden), Split::tokens, x);
  }
  /// A norm over the residual width whose weights belong to another operator.
  TensorId borrowed_norm(std::string_view name, TensorId x, Count rows) {
    const TensorId y = norm(name, x, rows);
    ops_[ops_.size() - 1].borrowed = true;
    return y;
  }
  Norm norm_shape(Count rows, Count width) const {
    const Count vectors = a_.norm == NormKind::layer_norm ? 2 : 1;
    const Count weights = a_.norm == NormKind::weight_free ? 0 : mul(vectors, width);
    return {.rows = rows, .width = width, .weights = weights, .centered = a_.norm != NormKind::rms_norm};
  }
  void dropout(std::string_view name, Component c, TensorId x, Count rows) { dropout(name, c, x, rows, a_.hidden); }
  void dropout(std::string_view name, Component c, TensorId x, Count rows, Count width) {
    if (s_.dropout) in_place(name, c, {.kind = PointwiseKind::dropout, .rows = rows, .width = width}, Split::tokens, x);
  }

  /// A tensor produced by another segment.
  TensorId outside() { return ops_.new_tensor(); }
  /// Sets the segment's result if it is not the last tensor produced.
  void set_result(TensorId t) { ops_.set_result(t); }
  /// Keeps the segment's input alive for a later segment that also reads it.
  void leave_input() { ops_.leave_input(); }
  void save_input() { ops_.save_input(); }
  void share_onward(TensorId t) { ops_.share_onward(t); }
  void carry_result() { ops_.carry_result(); }

  const Arch& arch() const { return a_; }
  const Mixer& mixer() const { return mixer_; }
  const LayerKind& kind() const { return kind_; }
  const Step& step() const { return s_; }
  Count tokens() const { return t_; }
  const OpList& ops() const { return ops_; }

 private:
  /// Whether an operator is frozen. A head tied to the token embedding is frozen with it.
  bool is_frozen(Component c, const Shape& shape) const {
    const Linear* l = std::get_if<Linear>(&shape);
    const bool is_table = c == Component::lm_head && l != nullptr && l->tied;
    return s_.frozen.parts.has(is_table ? FreezePart::embedding : freeze_part(c));
  }

  const Arch& a_;
  const Mixer& mixer_;  ///< mixer of the segment's kind of layer
  const LayerKind kind_;
  const Step s_;  ///< the step of the encoder or of the decoder; for all other models, the whole step
  Count t_;
  Op::Weights weights_;
  OpList ops_;
};

}  // namespace llmcalc
