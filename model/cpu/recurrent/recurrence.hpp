#pragma once
/// Recurrences, separately for every sequence and every group of heads that shares queries and keys.

#include <numeric>
#include <vector>

#include "calc/operator/state_chunk.hpp"
#include "model/cpu/recurrent/diagonal.hpp"
#include "model/cpu/recurrent/state_inputs.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// One group of heads in one sequence.
template <typename T>
class StateGroup {
  using W = Wide<T>;

 public:
  StateGroup(const LinearAttention& s, const StateView& in, Count sequence, Count group)
      : s_(s),
        in_(in),
        sequence_(sequence),
        group_(group),
        chunk_(tokens_at_once(s)),
        q_(s, in.kind, 1 / std::sqrt(static_cast<double>(s.key_dim)), in.q, sequence, group),
        k_(s, in.kind, 1, in.k, sequence, group),
        scores_(s.queries, chunk_),
        dscores_(s.queries, chunk_) {
    if (shares_scores()) each_chunk([&](Count first, Count size) { score(first, size); });
  }

  Flops forward(T* o) {
    for_each_head([&](Count head, const HeadRows<T>& rows) {
      Rows<W> state(s_.key_dim, s_.value_dim()), out(s_.queries, s_.value_dim());
      W* const saved = state_of(head);
      if (saved != nullptr && !in_.begins) std::copy_n(saved, state.size(), state.data());
      if (s_.normalized) return forward_normalized(rows, saved, state, out, o);
      with_form(rows, [&](auto form) { form.forward(state.data(), out.data()); });
      if (saved != nullptr) std::copy_n(state.data(), state.size(), saved);
      rows.write(out, o);
    });
    return products_.done();
  }

  Flops backward(const T* d_o, const StateGradients& to, const LearnedGradients<W>& sums) {
    Rows<W> dq(s_.queries, s_.key_dim), dk(s_.queries, s_.key_dim);
    for_each_head([&](Count, const HeadRows<T>& rows) {
      const Rows<W> d = rows.output_gradient(d_o);
      HeadRowGradients<W> all(s_, in_.kind);
      const HeadGradients<W> into{dq.data(),       dk.data(),          all.v.data(),     all.log_decay.data(),
                                  all.beta.data(), all.removed.data(), all.along.data(), all.bonus.data()};
      with_form(rows, [&](auto form) { form.backward(d.data(), into); });
      rows.add_gradients(d, all, to, sums);
    });
    if (shares_scores()) each_chunk([&](Count first, Count size) { score_gradient(first, size, dq, dk); });
    q_.add_gradient(dq, in_.q, to.q, sequence_, group_);
    k_.add_gradient(dk, in_.k, to.k, sequence_, group_);
    return products_.done();
  }

 private:
  /// Whether the heads of a group share scores q k'. Without the delta rule, their scores differ only in decays.
  bool shares_scores() const {
    return chunk_ > 1 && s_.rule == StateRule::state_space && in_.kind != RecurrentKind::rwkv6;
  }

  template <typename F>
  void each_chunk(const F& f) const {
    for (Count first = 0; first < s_.queries; first += chunk_) f(first, std::min(chunk_, s_.queries - first));
  }
  template <typename F>
  void for_each_head(const F& f) const {
    const Count heads = s_.heads / s_.key_heads;
    for (Count h = group_ * heads; h < (group_ + 1) * heads; ++h) f(h, HeadRows<T>(s_, in_, sequence_, h));
  }
  template <typename F>
  void with_form(const HeadRows<T>& rows, const F& f) {
    const HeadInputs<W> in = rows.inputs(q_.rows, k_.rows);
    if (s_.rule == StateRule::removal)
      return chunk_ == 1 ? f(RemovalState<W>(in, products_)) : f(RemovalChunks<W>(in, chunk_, products_));
    if (in_.kind == RecurrentKind::rwkv6)
      return chunk_ == 1 ? f(BonusState<W>(in, products_)) : f(BonusChunks<W>(in, chunk_, products_));
    if (chunk_ == 1) return f(HeadState<W>(in, products_));
    const SharedScores<W> shared{scores_.data(), dscores_.data()};
    f(HeadChunks<W>(in, chunk_, shares_scores() ? shared : SharedScores<W>(), products_));
  }
  W* state_of(Count head) const {
    if (in_.state == nullptr) return nullptr;
    return static_cast<W*>(in_.state) + (sequence_ * s_.heads + head) * (s_.cached() / s_.heads);
  }
  /// Runs mLSTM's forward pass. A cached state is scaled by e^(-m) and followed by m.
  void forward_normalized(const HeadRows<T>& rows, W* saved, Rows<W>& state, Rows<W>& out, T* o) {
    const Count size = static_cast<Count>(state.size());
    W* const s = state.data();
    W m(0);
    if (saved != nullptr && !in_.begins) {
      m = saved[size];
      const W grown = exp_of(m);
      lanes<W>(0, size, [=](Count i) { s[i] = s[i] * grown; });
    }
    with_form(rows, [&](auto form) { form.forward(s, out.data()); });
    m = rows.write_normalized(out, m, o);
    if (saved == nullptr) return;
    const W shrunk = exp_of(-m);
    lanes<W>(0, size, [=](Count i) { saved[i] = s[i] * shrunk; });
    saved[size] = m;
  }

  void score(Count first, Count size) {
    Rows<W> some(size, size);
    products_.write_with_rows(size, size, s_.key_dim, q_.rows.row(first), k_.rows.row(first), some.data());
    for (Count i = 0; i < size; ++i) std::copy_n(some.row(i), size, scores_.row(first + i));
  }
  void score_gradient(Count first, Count size, Rows<W>& dq, Rows<W>& dk) {
    Rows<W> some(size, size);
    for (Count i = 0; i < size; ++i) std::copy_n(dscores_.row(first + i), size, some.row(i));
    products_.add(size, s_.key_dim, size, some.data(), k_.rows.row(first), dq.row(first));
    products_.add_with_columns(size, s_.key_dim, size, some.data(), q_.rows.row(first), dk.row(first));
  }

  const LinearAttention& s_;
  const StateView& in_;
  Count sequence_, group_, chunk_;
  KeyRows<T> q_, k_;
  Rows<W> scores_, dscores_;
  SmallProducts<W> products_;
};

/// Calls f(sequence, group) for every group of every sequence, on all cores. Returns the total FLOPs.
template <typename T, typename F>
Flops each_group(const LinearAttention& s, const F& f) {
  std::vector<Flops> done(static_cast<std::size_t>(s.sequences * s.key_heads));
  each<T>(s.sequences * s.key_heads, s.queries * s.state() / s.key_heads,
          [&](Count i) { done[static_cast<std::size_t>(i)] = f(i / s.key_heads, i % s.key_heads); });
  return std::accumulate(done.begin(), done.end(), Flops());
}

template <typename T>
Flops recur(const LinearAttention& s, const StateView& in, T* o) {
  if (s.rule == StateRule::diagonal) return diagonal(s, in, o);
  return each_group<T>(s,
                       [&](Count sequence, Count group) { return StateGroup<T>(s, in, sequence, group).forward(o); });
}

/// Sums the gradients of learned parameters per sequence, then over the sequences in order.
template <typename T>
Flops recur_gradient(const LinearAttention& s, const StateView& in, const T* d_o, const StateGradients& to) {
  if (s.rule == StateRule::diagonal) return diagonal_gradient(s, in, d_o, to);
  using W = Wide<T>;
  const DecayMaker make(s, in.kind);
  const Count logs = s.heads * make.logs, steps = s.heads * make.steps, keys = s.heads * s.key_dim;
  Rows<W> sums(s.sequences, logs + steps + s.heads + keys);
  const auto learned = [&](W* row) {
    return LearnedGradients<W>{to.log_decay != nullptr ? row : nullptr, to.step_bias != nullptr ? row + logs : nullptr,
                               to.skip != nullptr ? row + logs + steps : nullptr,
                               to.bonus != nullptr ? row + logs + steps + s.heads : nullptr};
  };
  const Flops done = each_group<T>(s, [&](Count sequence, Count group) {
    return StateGroup<T>(s, in, sequence, group).backward(d_o, to, learned(sums.row(sequence)));
  });
  const auto add = [](Count n, const W* from, Out result) {
    W* const all = static_cast<W*>(result);
    if (from != nullptr) lanes<W>(0, n, [=](Count i) { all[i] += from[i]; });
  };
  for (Count q = 0; q < s.sequences; ++q) {
    const LearnedGradients<W> more = learned(sums.row(q));
    add(logs, more.log_decay, to.log_decay);
    add(steps, more.step_bias, to.step_bias);
    add(s.heads, more.skip, to.skip);
    add(keys, more.bonus, to.bonus);
  }
  return done;
}

}  // namespace llmcalc::model::LLMCALC_ISA
