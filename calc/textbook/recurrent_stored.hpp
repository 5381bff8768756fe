#pragma once
/// Tensors of recurrent layers that are saved for backward.

#include "calc/textbook/stored_tensor.hpp"

namespace llmcalc::textbook {

/// Writes the table rows of the L_r recurrent layers, which have H heads of P values and G heads or groups of d keys.
template <class N, class Visit>
class RecurrentStored : StoredRows<N, Visit> {
 public:
  RecurrentStored(const Sizes<N>& s, const MicroBatch<N>& m, Visit& visit)
      : StoredRows<N, Visit>(m, visit), s_(s), kind_(s.mixer.recurrent) {}

  /// Tensors of a recurrence: inputs of the convolutions and of the core, its output, the gate and their product.
  void each() {
    const RecurrentSizes<N>& r = s_.r;
    const N heads = s_.cut(r.H), values = heads * r.P, keys = s_.cut(r.G) * r.d;
    const auto all = [&](const N& each) { numbers(s_.L_r, Tokens::all, each); };
    switch (kind_.kind) {
      case RecurrentKind::none:
        return;
      case RecurrentKind::gated_delta_net:  // q, k, v twice; o, normed o, z, product; decay, beta
        all(N(4) * keys + N(6) * values + N(2) * heads);
        return statistics(s_.L_r, Tokens::all, heads, false);
      case RecurrentKind::kimi_delta:  // as gated_delta_net, with decays per channel
        all(N(11) * values + heads);
        numbers(s_.L_r, Tokens::mine, N(kind_.full_rank_gate ? 1 : 2) * r.R);
        return statistics(s_.L_r, Tokens::all, heads, false);
      case RecurrentKind::mamba:  // x twice; step, o, z, product; low-rank step, B, C, summed over the ranks
        all(N(5) * values + heads);
        numbers(s_.L_r, Tokens::scattered, r.R + N(2) * r.d);
        if (!kind_.inner_norms) return;
        numbers(s_.L_r, Tokens::mine, r.R + N(2) * r.d);  // step, B and C after their norms
        return statistics(s_.L_r, Tokens::mine, 3, false);
      case RecurrentKind::mamba2:  // x, B, C twice; o, z, product, and the product after a norm
        all(N(kind_.gated_norm ? 6 : 5) * values + N(4) * keys + heads);
        if (kind_.gated_norm) statistics(s_.L_r, Tokens::all, 1, false);
        return;
      case RecurrentKind::rwkv7:  // six token shifts; r, k twice, v, decay, learning rate, removed key, o, normed o,
                                  // gate, product; blended values: mixing weight and result; low-rank intermediates,
                                  // twice with tanh and sigmoid
        all(N(6) * s_.D + N(has(r.R_v) ? 13 : 11) * values + N(2) * (r.R + r.R_g) + r.R_a + r.R_v);
        statistics(s_.L_r, Tokens::all, heads, false);
        return statistics(s_.L_r, Tokens::all, heads, true);
      case RecurrentKind::short_convolution:  // b, x, their product, c, the convolution, the second product
        return all(N(6) * values);
      case RecurrentKind::rg_lru:  // x twice; both gates, the state, the gate, their product
        return all(N(7) * values);
      case RecurrentKind::rwkv6:  // token shifts; r, k, v, o, normed o, gate, product; RWKV-6: terms added to mixing
                                  // coefficients, their token shift, decay, low-rank intermediates, twice with tanh
        all(N(has(r.R_m) ? 11 : 4) * s_.D + N(has(r.R_m) ? 8 : 7) * values + N(2) * (r.R + N(5) * r.R_m));
        return statistics(s_.L_r, Tokens::all, heads, true);
      case RecurrentKind::mlstm:  // q, k, v, input gate, decay; o, normed o, gate, product; normalizer and its scale
        all(N(2) * keys + N(5) * values + N(2) * heads);
        bytes(s_.L_r, Tokens::all, N(8) * heads);
        return statistics(s_.L_r, Tokens::all, heads, true);
    }
  }

 private:
  using Rows = StoredRows<N, Visit>;
  using Rows::bytes, Rows::has, Rows::numbers, Rows::statistics;

  const Sizes<N>& s_;
  const Recurrent& kind_;
};

}  // namespace llmcalc::textbook
