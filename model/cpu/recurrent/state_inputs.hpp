#pragma once
/// Inputs of a recurrence's heads, computed from its operands (see StateView), and the gradients of these operands.

#include "model/backend.hpp"
#include "model/cpu/attention/attention.hpp"
#include "model/cpu/recurrent/bonus.hpp"
#include "model/cpu/recurrent/head_chunks.hpp"
#include "model/cpu/recurrent/removal.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// How a kind of recurrence computes its decays: e^(-exp(log) step).
struct DecayMaker {
  Count decays = 1, steps = 1, logs = 1;  ///< numbers per head: a token's decays and steps, and learned logarithms
  DecayMaker(const LinearAttention& s, RecurrentKind kind) {
    if (kind == RecurrentKind::rwkv6) decays = logs = s.key_dim;
    if (kind == RecurrentKind::kimi_delta || kind == RecurrentKind::rwkv7) decays = steps = s.key_dim;
    if (kind == RecurrentKind::mamba && s.head_dim == 1) decays = logs = s.key_dim;
  }
};

inline bool has_unit_keys(RecurrentKind k) {
  return k == RecurrentKind::gated_delta_net || k == RecurrentKind::kimi_delta;
}
/// e^(-1/2), the greatest magnitude of RWKV-7's log decays.
inline constexpr double removal_decay = 0.60653065971263342;

/// 15 tanh(x / 15), the cap of mLSTM's gates, and its slope (hf xlstm/modeling_xlstm.py, soft_cap).
template <typename W>
W capped_gate(W x) {
  return W(15) * tanh_of(x / W(15));
}
template <typename W>
W capped_gate_slope(W capped) {
  return W(1) - capped * capped / W(225);
}

inline bool scales_inputs(RecurrentKind k) { return k == RecurrentKind::mamba || k == RecurrentKind::mamba2; }

/// Queries or keys of one group of heads in one sequence.
template <typename T>
struct KeyRows {
  using W = Wide<T>;
  const LinearAttention& s;
  RecurrentKind kind;
  double scale;  ///< factor on L2-normalized rows; for mLSTM, on its queries
  Rows<W> rows;
  Rows<W> inverse;  ///< 1 / L2 norm of each row before normalization

  KeyRows(const LinearAttention& shape, RecurrentKind k, double times, const HeadView& from, Count sequence,
          Count group)
      : s(shape), kind(k), scale(times), rows(s.queries, s.key_dim), inverse(s.queries, 1) {
    for (Count t = 0; t < s.queries; ++t) read(at<T>(from, sequence, t, group), rows.row(t), *inverse.row(t));
  }
  void read(const T* x, W* to, W& inverse_length) const {
    if (has_unit_keys(kind)) {
      const W square = sum_of<W>(s.key_dim, [=](Count i) { return wide(x[i]) * wide(x[i]); });
      inverse_length = W(1) / sqrt_of(square + number<W>(1e-6));
      const W factor = inverse_length * number<W>(scale);
      lanes<W>(0, s.key_dim, [=](Count i) { to[i] = wide(x[i]) * factor; });
    } else if (kind == RecurrentKind::none) {
      lanes<W>(0, s.key_dim, [=](Count i) { to[i] = Silu::value(wide(x[i])); });
    } else {
      const W times = number<W>(plain_scale());
      lanes<W>(0, s.key_dim, [=](Count i) { to[i] = wide(x[i]) * times; });
    }
  }
  /// The factor on rows that are not L2-normalized; only mLSTM scales its queries.
  double plain_scale() const { return kind == RecurrentKind::mlstm ? scale : 1; }
  /// Adds the operand's gradient, computed from the rows' gradient d.
  void add_gradient(const Rows<W>& d, const HeadView& from, const HeadView& to, Count sequence, Count group) const {
    for (Count t = 0; t < s.queries; ++t) {
      const T* const x = at<T>(from, sequence, t, group);
      T* const dx = at_mutable<T>(to, sequence, t, group);
      const W *const dy = d.row(t), *const y = rows.row(t);
      if (has_unit_keys(kind)) {
        const W factor = *inverse.row(t) * number<W>(scale), less = number<W>(1 / (scale * scale));
        const W along = sum_of<W>(s.key_dim, [=](Count i) { return dy[i] * y[i]; }) * less;
        put_lanes(0, s.key_dim, dx, true, [=](Count i) { return factor * (dy[i] - y[i] * along); });
      } else if (kind == RecurrentKind::none) {
        put_lanes(0, s.key_dim, dx, true, [=](Count i) { return dy[i] * Silu::slope(wide(x[i])); });
      } else {
        const W times = number<W>(plain_scale());
        put_lanes(0, s.key_dim, dx, true, [=](Count i) { return dy[i] * times; });
      }
    }
  }
};

/// Wide gradients of a recurrence's learned parameters; null if absent.
template <typename W>
struct LearnedGradients {
  W *log_decay = nullptr, *step_bias = nullptr, *skip = nullptr, *bonus = nullptr;
};

/// Gradients of the inputs in HeadRows.
template <typename W>
struct HeadRowGradients {
  Rows<W> v, log_decay, beta, removed, along, bonus;
  HeadRowGradients(const LinearAttention& s, RecurrentKind kind)
      : v(s.queries, s.value_dim()),
        log_decay(s.queries, DecayMaker(s, kind).decays),
        beta(s.queries, 1),
        removed(s.queries, removed_width(s)),
        along(s.queries, removed_width(s)),
        bonus(1, s.key_dim) {}
  static Count removed_width(const LinearAttention& s) { return s.rule == StateRule::removal ? s.key_dim : 0; }
};

/// Values, decays and strengths of one head in one sequence.
template <typename T>
class HeadRows {
  using W = Wide<T>;

 public:
  HeadRows(const LinearAttention& s, const StateView& in, Count sequence, Count head)
      : s_(s),
        in_(in),
        make_(s, in.kind),
        sequence_(sequence),
        head_(head),
        v_(s.queries, s.value_dim()),
        steps_(s.queries, make_.steps),
        log_decay_(s.queries, make_.decays),
        beta_(s.queries, 1),
        removed_(s.queries, HeadRowGradients<W>::removed_width(s)),
        along_(s.queries, HeadRowGradients<W>::removed_width(s)),
        bonus_(1, s.key_dim) {
    if (in.bonus != nullptr)
      for (Count n = 0; n < s.key_dim; ++n) bonus_.row(0)[n] = learned(in.bonus, head * s.key_dim + n);
    for (Count t = 0; t < s.queries; ++t) read(t);
  }
  HeadInputs<W> inputs(const Rows<W>& q, const Rows<W>& k) const {
    return {.tokens = s_.queries,
            .keys = s_.key_dim,
            .values = s_.value_dim(),
            .decays = make_.decays,
            .is_delta = s_.rule == StateRule::delta,
            .q = q.data(),
            .k = k.data(),
            .v = v_.data(),
            .log_decay = log_decay_.data(),
            .beta = beta_.data(),
            .removed = removed_.data(),
            .along = along_.data(),
            .bonus = bonus_.data()};
  }
  /// Writes o (tokens, P + 1), divided by the normalizer, to `to`. The cached state is scaled by e^(-m): the argument
  /// `m` is the value before these tokens, and the return value is the one after them.
  W write_normalized(const Rows<W>& o, W m, T* to) const {
    for (Count t = 0; t < s_.queries; ++t) {
      const W* const from = o.row(t);
      m = std::max(m + *log_decay_.row(t), log_of(*beta_.row(t)));
      const W z = from[s_.head_dim], over = W(1) / std::max(z < W(0) ? -z : z, W(1));
      if (W* const saved = normalizer(t)) saved[0] = z * exp_of(-m), saved[1] = m;
      put_lanes(0, s_.head_dim, to + place(t), false, [=](Count p) { return from[p] * over; });
    }
    return m;
  }
  /// Writes o (tokens, P), plus the skip connection around the state, to the result.
  void write(const Rows<W>& o, T* to) const {
    const W skip = in_.skip != nullptr ? learned(in_.skip, head_) : W(0);
    for (Count t = 0; t < s_.queries; ++t) {
      const W* const from = o.row(t);
      const T* const x = value(t);
      put_lanes(0, s_.head_dim, to + place(t), false, [=](Count p) { return from[p] + skip * wide(x[p]); });
    }
  }
  Rows<W> output_gradient(const T* d_o) const {
    if (s_.normalized) return normalized_gradient(d_o);
    Rows<W> d(s_.queries, s_.head_dim);
    for (Count t = 0; t < s_.queries; ++t)
      for (Count p = 0; p < s_.head_dim; ++p) d.row(t)[p] = wide(d_o[place(t) + p]);
    return d;
  }
  /// Adds the gradients of operands and learned parameters.
  void add_gradients(const Rows<W>& d_o, const HeadRowGradients<W>& d, const StateGradients& to,
                     const LearnedGradients<W>& sums) const {
    if (sums.bonus != nullptr)
      for (Count n = 0; n < s_.key_dim; ++n) sums.bonus[head_ * s_.key_dim + n] += d.bonus.row(0)[n];
    for (Count t = 0; t < s_.queries; ++t) {
      add_value_gradient(t, d_o.row(t), d.v.row(t), to, sums);
      if (s_.rule == StateRule::removal) {
        add_removal_gradient(t, d, to);
        continue;
      }
      if (in_.kind == RecurrentKind::rwkv6) {
        add_channel_gradients(t, d.log_decay.row(t), to, sums);
        continue;
      }
      if (s_.normalized) {
        add_gate_gradients(t, d, to);
        continue;
      }
      if (in_.kind != RecurrentKind::none) add_decay_gradient(t, d.v.row(t), d.log_decay.row(t), to, sums);
      if (s_.rule != StateRule::delta) continue;
      const W b = *beta_.row(t);
      put(at_mutable<T>(to.beta, sequence_, t, head_), *d.beta.row(t) * b * (W(1) - b), true);
    }
  }

 private:
  /// The normalizer of token t, and the logarithm of its scale; null if not saved.
  W* normalizer(Count t) const {
    if (in_.normalizer == nullptr) return nullptr;
    return static_cast<W*>(in_.normalizer) + 2 * ((sequence_ * s_.queries + t) * s_.heads + head_);
  }
  /// mLSTM's output is o = y / max(|z|, 1), where z is the normalizer. Each returned row is a gradient of y followed by
  /// the gradient of z.
  Rows<W> normalized_gradient(const T* d_o) const {
    Rows<W> d(s_.queries, s_.value_dim());
    const T* const o = static_cast<const T*>(in_.out);
    for (Count t = 0; t < s_.queries; ++t) {
      const W z = normalizer(t)[0] * exp_of(normalizer(t)[1]), size = z < W(0) ? -z : z;
      const T *const from = d_o + place(t), *const y = o + place(t);
      const W over = W(1) / std::max(size, W(1));
      for (Count p = 0; p < s_.head_dim; ++p) d.row(t)[p] = wide(from[p]) * over;
      if (!(size > W(1))) continue;
      const W along = sum_of<W>(s_.head_dim, [=](Count p) { return wide(from[p]) * wide(y[p]); });
      d.row(t)[s_.head_dim] = z < W(0) ? along * over : -(along * over);
    }
    return d;
  }

  static W learned(In numbers, Count i) { return wide(static_cast<const T*>(numbers)[i]); }
  const T* value(Count t) const { return at<T>(in_.v, sequence_, t, head_); }
  Count place(Count t) const { return ((sequence_ * s_.queries + t) * s_.heads + head_) * s_.head_dim; }
  /// Slope of lightning attention: 2^(-8 (h + 1) / H) (hf minimax/modeling_minimax.py, get_slope_rate).
  double slope() const {
    return in_.slope * std::exp2(-8.0 * static_cast<double>(head_ + 1) / static_cast<double>(s_.heads));
  }
  /// exp(log_decay) of decay n.
  W rate(Count n) const { return exp_of(learned(in_.log_decay, head_ * make_.logs + n % make_.logs)); }
  /// The argument of a step's softplus.
  W before_step(const T* raw, Count n) const {
    return wide(raw[n]) + (in_.step_bias != nullptr ? learned(in_.step_bias, head_ * make_.steps + n) : W(0));
  }

  void read(Count t) {
    const T* const x = value(t);
    W* const v = v_.row(t);
    if (in_.kind == RecurrentKind::none) {
      lanes<W>(0, s_.head_dim, [=](Count p) { v[p] = Silu::value(wide(x[p])); });
      *log_decay_.row(t) = number<W>(-slope());
      return;
    }
    if (s_.rule == StateRule::removal) return read_removal(t);
    if (s_.normalized) return read_gated(t);
    if (in_.kind == RecurrentKind::rwkv6) return read_channels(t);
    const T* const raw = at<T>(in_.decay, sequence_, t, head_);
    for (Count n = 0; n < make_.steps; ++n) steps_.row(t)[n] = softplus(before_step(raw, n));
    for (Count n = 0; n < make_.decays; ++n) log_decay_.row(t)[n] = -(rate(n) * steps_.row(t)[n % make_.steps]);
    const W times = scales_inputs(in_.kind) ? *steps_.row(t) : W(1);
    lanes<W>(0, s_.head_dim, [=](Count p) { v[p] = wide(x[p]) * times; });
    if (s_.rule == StateRule::delta) *beta_.row(t) = sigmoid(wide(*at<T>(in_.beta, sequence_, t, head_)));
  }

  /// e^d, where d is learned or computed from the token.
  W rate(Count t, Count n) const {
    if (in_.log_decay != nullptr) return exp_of(learned(in_.log_decay, head_ * s_.key_dim + n));
    return exp_of(wide(at<T>(in_.decay, sequence_, t, head_)[n]));
  }
  void read_channels(Count t) {
    const T* const x = value(t);
    W* const v = v_.row(t);
    lanes<W>(0, s_.head_dim, [=](Count p) { v[p] = wide(x[p]); });
    for (Count n = 0; n < s_.key_dim; ++n) log_decay_.row(t)[n] = -rate(t, n);
  }
  void add_channel_gradients(Count t, const W* dlog, const StateGradients& to, const LearnedGradients<W>& sums) const {
    const W* const log = log_decay_.row(t);
    for (Count n = 0; n < s_.key_dim && sums.log_decay != nullptr; ++n)
      sums.log_decay[head_ * s_.key_dim + n] += dlog[n] * log[n];
    if (in_.log_decay != nullptr) return;
    put_lanes(0, s_.key_dim, at_mutable<T>(to.decay, sequence_, t, head_), true,
              [=](Count n) { return dlog[n] * log[n]; });
  }

  void read_gated(Count t) {
    const T* const x = value(t);
    W* const v = v_.row(t);
    const W strength = exp_of(capped_gate(wide(*at<T>(in_.beta, sequence_, t, head_))));
    *beta_.row(t) = strength;
    *log_decay_.row(t) = -softplus(-capped_gate(wide(*at<T>(in_.decay, sequence_, t, head_))));
    lanes<W>(0, s_.head_dim, [=](Count p) { v[p] = wide(x[p]) * strength; });
    v[s_.head_dim] = strength;
  }

  void add_gate_gradients(Count t, const HeadRowGradients<W>& d, const StateGradients& to) const {
    const W *const dv = d.v.row(t), *const v = v_.row(t);
    const W in = capped_gate(wide(*at<T>(in_.beta, sequence_, t, head_)));
    const W decay = capped_gate(wide(*at<T>(in_.decay, sequence_, t, head_)));
    const W din = sum_of<W>(s_.value_dim(), [=](Count p) { return dv[p] * v[p]; });
    put(at_mutable<T>(to.beta, sequence_, t, head_), din * capped_gate_slope(in), true);
    put(at_mutable<T>(to.decay, sequence_, t, head_), *d.log_decay.row(t) * sigmoid(-decay) * capped_gate_slope(decay),
        true);
  }

  void read_removal(Count t) {
    const T *const x = value(t), *const raw = at<T>(in_.decay, sequence_, t, head_),
                   *const key = at<T>(in_.removed, sequence_, t, head_),
                   *const b = at<T>(in_.beta, sequence_, t, head_);
    W *const v = v_.row(t), *const log = log_decay_.row(t), *const removed = removed_.row(t), *const to = along_.row(t);
    const W most = number<W>(-removal_decay);
    lanes<W>(0, s_.head_dim, [=](Count p) { v[p] = wide(x[p]); });
    lanes<W>(0, s_.key_dim, [=](Count n) {
      log[n] = most * sigmoid(wide(raw[n]));
      removed[n] = wide(key[n]);
      to[n] = removed[n] * sigmoid(wide(b[n]));
    });
  }

  /// A log decay is -c s, where c is removal_decay and s = sigmoid(operand); its slope is -c s (1 - s).
  void add_removal_gradient(Count t, const HeadRowGradients<W>& d, const StateGradients& to) const {
    const W *const dlog = d.log_decay.row(t), *const log = log_decay_.row(t);
    const W *const by = d.removed.row(t), *const along = d.along.row(t), *const key = removed_.row(t);
    const T* const b = at<T>(in_.beta, sequence_, t, head_);
    const W slower = number<W>(1 / removal_decay);
    put_lanes(0, s_.key_dim, at_mutable<T>(to.decay, sequence_, t, head_), true,
              [=](Count n) { return dlog[n] * log[n] * (W(1) + log[n] * slower); });
    put_lanes(0, s_.key_dim, at_mutable<T>(to.removed, sequence_, t, head_), true,
              [=](Count n) { return by[n] + along[n] * sigmoid(wide(b[n])); });
    put_lanes(0, s_.key_dim, at_mutable<T>(to.beta, sequence_, t, head_), true, [=](Count n) {
      const W s = sigmoid(wide(b[n]));
      return along[n] * key[n] * s * (W(1) - s);
    });
  }

  void add_value_gradient(Count t, const W* d_o, const W* dv, const StateGradients& to,
                          const LearnedGradients<W>& sums) const {
    const T* const x = value(t);
    T* const dx = at_mutable<T>(to.v, sequence_, t, head_);
    const W skip = in_.skip != nullptr ? learned(in_.skip, head_) : W(0);
    const W times = scales_inputs(in_.kind) ? *steps_.row(t) : s_.normalized ? *beta_.row(t) : W(1);
    if (in_.kind == RecurrentKind::none)
      put_lanes(0, s_.head_dim, dx, true, [=](Count p) { return dv[p] * Silu::slope(wide(x[p])); });
    else
      put_lanes(0, s_.head_dim, dx, true, [=](Count p) { return dv[p] * times + d_o[p] * skip; });
    if (sums.skip != nullptr) sums.skip[head_] += sum_of<W>(s_.head_dim, [=](Count p) { return d_o[p] * wide(x[p]); });
  }

  void add_decay_gradient(Count t, const W* dv, const W* dlog, const StateGradients& to,
                          const LearnedGradients<W>& sums) const {
    const T *const raw = at<T>(in_.decay, sequence_, t, head_), *const x = value(t);
    T* const draw = at_mutable<T>(to.decay, sequence_, t, head_);
    Rows<W> dsteps(1, make_.steps);
    if (scales_inputs(in_.kind)) *dsteps.row(0) = sum_of<W>(s_.head_dim, [=](Count p) { return dv[p] * wide(x[p]); });
    for (Count n = 0; n < make_.decays; ++n) {
      dsteps.row(0)[n % make_.steps] -= dlog[n] * rate(n);
      if (sums.log_decay != nullptr)
        sums.log_decay[head_ * make_.logs + n % make_.logs] += dlog[n] * log_decay_.row(t)[n];
    }
    for (Count n = 0; n < make_.steps; ++n) {
      const W d = dsteps.row(0)[n] * sigmoid(before_step(raw, n));
      put(draw + n, d, true);
      if (sums.step_bias != nullptr) sums.step_bias[head_ * make_.steps + n] += d;
    }
  }

  const LinearAttention& s_;
  const StateView& in_;
  DecayMaker make_;
  Count sequence_, head_;
  Rows<W> v_, steps_, log_decay_, beta_, removed_, along_, bonus_;
};

}  // namespace llmcalc::model::LLMCALC_ISA
