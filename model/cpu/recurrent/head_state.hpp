#pragma once
/// The state of one head, token by token: S = a S + k u', o = q' S, with u = v, or under the delta rule u = b (v - (a
/// S)' k) (arXiv:2412.06464).

#include "model/cpu/aligned.hpp"
#include "model/cpu/products/small_product.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Wide rows, initially zero.
template <typename W>
struct Rows : Aligned<W> {
  Count width;
  Rows(Count rows, Count w) : Aligned<W>(static_cast<std::size_t>(rows * w), W(0)), width(w) {}
  W* row(Count i) { return this->data() + i * width; }
  const W* row(Count i) const { return this->data() + i * width; }
};

/// Inputs of a head: q and k of N elements, v of P, log decays (one, or N), strengths b of the delta rule; for the
/// removal rule the keys r, which select the removed part, and b, along which it is removed, of N elements each.
template <typename W>
struct HeadInputs {
  Count tokens, keys, values, decays;
  bool is_delta;
  const W *q, *k, *v, *log_decay, *beta;
  const W *removed = nullptr, *along = nullptr;
  const W* bonus = nullptr;  ///< RWKV-6: bonus u of N elements
  Count state() const { return keys * values; }
};

/// Destinations to which the gradients of HeadInputs are added.
template <typename W>
struct HeadGradients {
  W *q, *k, *v, *log_decay, *beta;
  W *removed = nullptr, *along = nullptr, *bonus = nullptr;
};

/// S *= e^(log a); S has one row per key element.
template <typename W>
void decay(const HeadInputs<W>& in, const W* log_decay, W* state) {
  for (Count n = 0; n < in.keys; ++n) {
    const W a = exp_of(log_decay[n % in.decays]);
    W* const row = state + n * in.values;
    lanes<W>(0, in.values, [=](Count p) { row[p] = row[p] * a; });
  }
}

/// to_n += sum over p of a_np b_np, for one decay per key element; a decay shared by all key elements receives all
/// sums.
template <typename W>
void add_decay_gradient(const HeadInputs<W>& in, const W* a, const W* b, W* to) {
  for (Count n = 0; n < in.keys; ++n) {
    const W *x = a + n * in.values, *y = b + n * in.values;
    to[n % in.decays] += sum_of<W>(in.values, [=](Count p) { return x[p] * y[p]; });
  }
}

/// to_n += row n of S times x, for a state of N x P.
template <typename W>
void add_dots(SmallProducts<W>& products, const HeadInputs<W>& in, const W* x, const W* state, W* to) {
  Rows<W> dots(1, in.keys);
  products.write_with_rows(1, in.keys, in.values, x, state, dots.row(0));
  W* const from = dots.row(0);
  lanes<W>(0, in.keys, [=](Count n) { to[n] += from[n]; });
}

template <typename W>
class HeadState {
 public:
  HeadState(const HeadInputs<W>& in, SmallProducts<W>& products) : in_(in), products_(products) {}

  /// Adds the outputs to o (tokens, P), and advances `state` past the tokens.
  void forward(W* state, W* o) {
    Rows<W> u(1, in_.values), rest(1, in_.values);
    for (Count t = 0; t < in_.tokens; ++t) {
      update(t, state, u.row(0), rest.row(0));
      products_.add(1, in_.values, in_.keys, q(t), state, o + t * in_.values);
    }
  }

  /// Runs backward from the gradient of o: recomputes the updates, then processes the tokens from last to first. The
  /// state before the first token is zero.
  void backward(const W* d_o, const HeadGradients<W>& to) {
    const Count size = in_.state(), width = in_.values;
    Rows<W> states(in_.tokens + 1, size), u(in_.tokens, width), rest(in_.tokens, width), ds(1, size), decayed(1, size);
    for (Count t = 0; t < in_.tokens; ++t) {
      std::copy_n(states.row(t), size, states.row(t + 1));
      update(t, states.row(t + 1), u.row(t), rest.row(t));
    }
    for (Count t = in_.tokens; t-- > 0;) {
      add_dots(t, d_o + t * width, states.row(t + 1), to.q);
      products_.add_with_columns(in_.keys, width, 1, q(t), d_o + t * width, ds.data());
      std::copy_n(states.row(t), size, decayed.data());
      decay(in_, log_decay(t), decayed.data());
      update_gradient(t, decayed.data(), u.row(t), rest.row(t), ds.data(), to);
      add_decay_gradient(in_, ds.data(), decayed.data(), to.log_decay + t * in_.decays);
      decay(in_, log_decay(t), ds.data());
    }
  }

 private:
  const W* q(Count t) const { return in_.q + t * in_.keys; }
  const W* k(Count t) const { return in_.k + t * in_.keys; }
  const W* v(Count t) const { return in_.v + t * in_.values; }
  const W* log_decay(Count t) const { return in_.log_decay + t * in_.decays; }

  /// Updates S with token t. rest: v - (a S)' k.
  void update(Count t, W* state, W* u, W* rest) {
    const Count width = in_.values;
    decay(in_, log_decay(t), state);
    std::copy_n(v(t), width, u);
    if (in_.is_delta) {
      Rows<W> known(1, width);
      products_.add(1, width, in_.keys, k(t), state, known.row(0));
      const W *from = known.row(0), *x = v(t), b = in_.beta[t];
      lanes<W>(0, width, [=](Count p) { rest[p] = x[p] - from[p], u[p] = b * rest[p]; });
    }
    products_.add_with_columns(in_.keys, width, 1, k(t), u, state);
  }

  /// Gradients of k, v and b of token t. ds: on entry, the gradient of S after the token; on return, the gradient of a
  /// S. decayed: a S.
  void update_gradient(Count t, const W* decayed, const W* u, const W* rest, W* ds, const HeadGradients<W>& to) {
    const Count width = in_.values;
    Rows<W> du(1, width);
    products_.add(1, width, in_.keys, k(t), ds, du.row(0));
    add_dots(t, u, ds, to.k);
    W *const d = du.row(0), *const dv = to.v + t * width;
    if (!in_.is_delta) return lanes<W>(0, width, [=](Count p) { dv[p] += d[p]; });
    const W b = in_.beta[t];
    to.beta[t] += sum_of<W>(width, [=](Count p) { return d[p] * rest[p]; });
    lanes<W>(0, width, [=](Count p) { d[p] = d[p] * b, dv[p] += d[p], d[p] = -d[p]; });
    add_dots(t, d, decayed, to.k);
    products_.add_with_columns(in_.keys, width, 1, k(t), d, ds);
  }

  /// Token t's row of `to` += S x, with x of P elements.
  void add_dots(Count t, const W* x, const W* state, W* to) {
    LLMCALC_ISA::add_dots(products_, in_, x, state, to + t * in_.keys);
  }

  const HeadInputs<W>& in_;
  SmallProducts<W>& products_;
};

}  // namespace llmcalc::model::LLMCALC_ISA
