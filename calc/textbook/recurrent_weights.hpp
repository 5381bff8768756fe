#pragma once
/// The weights of recurrent layers, one function per kind.

#include "calc/textbook/sizes.hpp"
#include "calc/textbook/weight.hpp"

namespace llmcalc::textbook {

/// Writes the table rows of the L_r recurrent layers, which have H heads of P values and G heads or groups of d keys.
template <class N, class Visit>
class RecurrentWeights : WeightRows<N, Visit> {
 public:
  RecurrentWeights(const Sizes<N>& s, Visit& visit)
      : WeightRows<N, Visit>(visit), s_(s), r_(s.r), kind_(s.mixer.recurrent) {}

  /// Weights specific to the kind, and the output projection.
  void each() {
    switch (kind_.kind) {
      case RecurrentKind::none:
        return;
      case RecurrentKind::gated_delta_net:
        gated_delta_net();
        break;
      case RecurrentKind::kimi_delta:
        kimi_delta();
        break;
      case RecurrentKind::mamba:
        mamba();
        break;
      case RecurrentKind::mamba2:
        mamba2();
        break;
      case RecurrentKind::rwkv7:
        rwkv7();
        break;
      case RecurrentKind::short_convolution:
        short_convolution();
        break;
      case RecurrentKind::rg_lru:
        rg_lru();
        break;
      case RecurrentKind::rwkv6:
        rwkv6();
        break;
      case RecurrentKind::mlstm:
        mlstm();
        break;
    }
    matrix(Component::attention, s_.L_r, 1, values_, s_.D);
  }

 private:
  using Rows = WeightRows<N, Visit>;
  using Rows::has, Rows::inner_norm, Rows::matrix, Rows::vector, Rows::visit_;

  /// Weights: q, k; v, z; a, b; A_log, dt_bias.
  void gated_delta_net() {
    projection(keys_, 2);
    projection(values_, 2);
    projection(heads_, 2);
    convolution(N(2) * keys_ + values_);
    learned(2, heads_);
    inner_norm(s_.L_r, 1, r_.P, Place::shared);
  }
  /// Weights: q, k, v; beta; decay; dt_bias and A_log.
  void kimi_delta() {
    projection(values_, 3);
    projection(heads_);
    through_rank(values_);
    kind_.full_rank_gate ? projection(values_) : through_rank(values_);
    convolution(N(3) * values_);
    learned(1, kind_.decays == 0 ? values_ + heads_ : quotient_up((r_.H * r_.P + r_.Z) * heads_, r_.H));
    inner_norm(s_.L_r, 1, r_.P, Place::shared);
  }
  /// Weights: x, z; step, B, C of x; the step's bias; A_log, D.
  void mamba() {
    projection(values_, 2);
    convolution(values_);
    matrix(Component::attention, s_.L_r, 1, values_, r_.R + N(2) * r_.d);
    matrix(Component::attention, s_.L_r, 1, r_.R, heads_);
    learned(1, heads_);
    learned(1, kind_.head_dim > 1 ? N(2) * heads_ : heads_ * r_.d + heads_);
    if (!kind_.inner_norms) return;
    inner_norm(s_.L_r, 1, r_.R, Place::whole);
    inner_norm(s_.L_r, 2, r_.d, Place::whole);
  }
  /// Weights: x, z; B, C; dt; A_log, D, dt_bias.
  void mamba2() {
    projection(values_, 2);
    projection(N(2) * keys_);
    projection(heads_);
    convolution(values_ + N(2) * keys_);
    learned(3, heads_);
    if (kind_.gated_norm) inner_norm(s_.L_r, 1, values_);
  }
  /// Weights: token-shift coefficients; r, k, v; decay, learning rate, mixing of values, gate; k_k; k_a, r_k; norms.
  void rwkv7() {
    vector(Component::attention, s_.L_r, 6, s_.D, Place::shared);
    projection(values_, 3);
    biased_rank(r_.R, values_);
    biased_rank(r_.R_a, values_);
    if (has(r_.R_v)) biased_rank(r_.R_v, values_);
    between_ranks(r_.R_g, values_);
    inner_norm(s_.L_r, 1, values_);
    learned(2, values_);
    inner_norm(s_.L_r, 2, values_);
  }
  void short_convolution() {
    projection(values_, 3);
    convolution(values_);
  }
  /// Weights: x, gate, their biases; both gates of all blocks; their biases and the decay's parameter.
  void rg_lru() {
    projection(values_, 2);
    learned(2, values_);
    convolution(values_);
    visit_(Weight<N>{.component = Component::attention,
                     .layers = s_.L_r,
                     .times = 2,
                     .copies = heads_,
                     .visited = heads_,
                     .matrix = true,
                     .in = r_.P,
                     .out = r_.P});
    learned(1, N(3) * values_);
    vector(Component::attention, s_.L_r, 1, s_.D, Place::after);
  }
  /// Weights: token-shift coefficients; r, k, v, gate; decay and bonus; norms.
  void rwkv6() {
    const bool moves = has(r_.R_m);
    vector(Component::attention, s_.L_r, moves ? 6 : 4, s_.D, Place::shared);
    projection(values_, 4);
    learned(1, values_);
    if (moves)
      moved_mixes();
    else
      learned(1, values_);
    inner_norm(s_.L_r, 2, values_);
  }
  /// Low-rank terms added to the coefficients of the five token shifts, and the low-rank decay.
  void moved_mixes() {
    matrix(Component::attention, s_.L_r, 1, s_.D, N(5) * r_.R_m, Place::shared);
    matrix(Component::attention, s_.L_r, 5, r_.R_m, s_.D, Place::shared);
    biased_rank(r_.R, values_);
  }
  /// Weights: q, k; v, gate; input gate and decay, their biases; a norm for every head.
  void mlstm() {
    projection(keys_, 2);
    projection(values_, 2);
    projection(heads_, 2);
    learned(2, heads_);
    inner_norm(s_.L_r, 1, values_);
  }

  void projection(const N& width, Count times = 1) { matrix(Component::attention, s_.L_r, times, s_.D, width); }
  void learned(Count times, const N& size) { vector(Component::attention, s_.L_r, times, size); }
  /// Depthwise convolutions of `width` channels, with their bias, if any.
  void convolution(const N& width) {
    visit_(Weight<N>{.component = Component::attention, .layers = s_.L_r, .in = r_.K, .out = width, .taps = true});
    if (kind_.convolution_bias) learned(1, width);
  }
  /// A low-rank projection: two matrices through rank R.
  void through_rank(const N& width) {
    matrix(Component::attention, s_.L_r, 1, s_.D, r_.R, Place::whole);
    matrix(Component::attention, s_.L_r, 1, r_.R, width);
  }
  /// Like through_rank(), except that each rank uses the replicated first matrix only for its own heads.
  /// biased_rank() adds a bias.
  void between_ranks(const N& rank, const N& width) {
    matrix(Component::attention, s_.L_r, 1, s_.D, rank, Place::shared);
    matrix(Component::attention, s_.L_r, 1, rank, width);
  }
  void biased_rank(const N& rank, const N& width) {
    between_ranks(rank, width);
    learned(1, width);
  }

  const Sizes<N>& s_;
  const RecurrentSizes<N>& r_;
  const Recurrent& kind_;
  N heads_ = s_.cut(r_.H), values_ = heads_ * r_.P, keys_ = s_.cut(r_.G) * r_.d;  ///< head count, widths per rank
};

}  // namespace llmcalc::textbook
