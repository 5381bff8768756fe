#pragma once
/// The state of one head, a chunk of c tokens at once. With G_i the sum of the chunk's logarithms of decay up to token
/// i and e_ij = e^(G_i - G_j):
///
///   o_i = e^(G_i) q_i' S + sum over j <= i of e_ij (q_i' k_j) u_j
///   S   = e^(G_c) S + sum of e_cj k_j u_j'
///
/// u = v (arXiv:2405.21060, 6); by the delta rule u = T b (v - e^(G) k' S) with T the inverse of I + L, where L_ij =
/// b_i e_ij (k_i' k_j) for j < i (arXiv:2412.06464, 3.3). The masked half of the scores is multiplied too, as tiles of
/// a processor do; the inverse, by substitution, is no product.

#include <vector>

#include "model/cpu/head_state.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Scores q k' without decays that the heads of a group share, (tokens, chunk), and where their gradients are added; or
/// none.
template <typename W>
struct SharedScores {
  const W* scores = nullptr;
  W* gradients = nullptr;
};

template <typename W>
class HeadChunks {
 public:
  HeadChunks(const HeadInputs<W>& in, Count chunk, const SharedScores<W>& shared, SmallProducts<W>& products)
      : in_(in), chunk_(chunk), shared_(shared), products_(products) {}

  /// As HeadState's.
  void forward(W* state, W* o) {
    for (Count first = 0; first < in_.tokens; first += chunk_) {
      const Decays e(*this, first);
      Solved solved(e.size, in_.values);
      solve(e, state, solved);
      read(e, state, solved, o);
      advance(e, solved, state);
    }
  }

  void backward(const W* d_o, const HeadGradients<W>& to) {
    std::vector<Solved> solved;
    const Count chunks = (in_.tokens + chunk_ - 1) / chunk_;
    Rows<W> states(chunks + 1, in_.state()), ds(1, in_.state());
    for (Count i = 0; i < chunks; ++i) {
      const Decays e(*this, i * chunk_);
      solved.emplace_back(e.size, in_.values);
      solve(e, states.row(i), solved.back());
      std::copy_n(states.row(i), in_.state(), states.row(i + 1));
      advance(e, solved.back(), states.row(i + 1));
    }
    for (Count i = chunks; i-- > 0;)
      chunk_gradient(Decays(*this, i * chunk_), states.row(i), solved[static_cast<std::size_t>(i)], d_o, ds, to);
  }

 private:
  /// The decays of a chunk.
  struct Decays {
    const HeadChunks& head;
    Count first, size;
    Rows<W> sums;  ///< G
    Decays(const HeadChunks& h, Count from)
        : head(h), first(from), size(std::min(h.chunk_, h.in_.tokens - from)), sums(size, h.in_.decays) {
      for (Count i = 0; i < size; ++i)
        for (Count n = 0; n < sums.width; ++n)
          sums.row(i)[n] = h.in_.log_decay[(first + i) * sums.width + n] + (i > 0 ? sums.row(i - 1)[n] : W(0));
    }
    const W* last() const { return sums.row(size - 1); }
    /// x_n e^(a_n - b_n); b null: 0.
    void times(const W* x, const W* a, const W* b, W* to) const {
      const Count keys = head.in_.keys, decays = sums.width;
      const auto factor = [=](Count n) { return exp_of(b != nullptr ? a[n] - b[n] : a[n]); };
      const W same = decays == 1 ? factor(0) : W(1);
      for (Count n = 0; n < keys; ++n) to[n] = x[n] * (decays == 1 ? same : factor(n));
    }
    /// Rows of x times e^(G).
    Rows<W> grown(const W* x) const {
      Rows<W> y(size, head.in_.keys);
      for (Count i = 0; i < size; ++i) times(x + (first + i) * y.width, sums.row(i), nullptr, y.row(i));
      return y;
    }
    /// Rows of k as the end of the chunk sees them.
    Rows<W> keys_at_end() const {
      Rows<W> y(size, head.in_.keys);
      for (Count i = 0; i < size; ++i) times(head.in_.k + (first + i) * y.width, last(), sums.row(i), y.row(i));
      return y;
    }
  };

  /// The delta rule's solution of a chunk: scores k k', the inverse, v less what the state knows, u.
  struct Solved {
    Rows<W> scores, inverse, rest, u;
    Solved(Count size, Count values) : scores(size, size), inverse(size, size), rest(size, values), u(size, values) {}
  };

  const W* rows(const W* x, const Decays& e, Count width) const { return x + e.first * width; }

  void solve(const Decays& e, const W* state, Solved& to) {
    const Count c = e.size, p = in_.values;
    const W* const v = rows(in_.v, e, p);
    if (!in_.is_delta) {
      std::copy_n(v, c * p, to.u.data());
      return;
    }
    const W* const b = in_.beta + e.first;
    scores(e, in_.k, true, to.scores);
    Rows<W> known(c, p), right(c, p);
    products_.add(c, p, in_.keys, e.grown(in_.k).data(), state, known.data());
    for (Count i = 0; i < c * p; ++i) {
      to.rest.data()[i] = v[i] - known.data()[i];
      right.data()[i] = b[i / p] * to.rest.data()[i];
    }
    invert(c, b, to.scores, to.inverse);
    products_.add(c, p, c, to.inverse.data(), right.data(), to.u.data());
  }

  /// The inverse of I + L, L_ij = b_i scores_ij below the diagonal.
  static void invert(Count c, const W* b, const Rows<W>& scores, Rows<W>& to) {
    for (Count i = 0; i < c; ++i) {
      to.row(i)[i] = W(1);
      for (Count k = 0; k < i; ++k)
        for (Count j = 0; j <= k; ++j) to.row(i)[j] -= b[i] * scores.row(i)[k] * to.row(k)[j];
    }
  }

  void read(const Decays& e, const W* state, const Solved& solved, W* o) {
    const Count c = e.size, p = in_.values;
    W* const to = o + e.first * p;
    products_.add(c, p, in_.keys, e.grown(in_.q).data(), state, to);
    products_.add(c, p, c, reading_scores(e).data(), solved.u.data(), to);
  }

  void advance(const Decays& e, const Solved& solved, W* state) {
    decay(in_, e.last(), state);
    products_.add_with_columns(in_.keys, in_.values, e.size, e.keys_at_end().data(), solved.u.data(), state);
  }

  /// to_ij = e_ij x_i' k_j for j < i, and for j = i unless `strict`; else 0.
  void scores(const Decays& e, const W* x, bool strict, Rows<W>& to) {
    Rows<W> key(1, in_.keys);
    for (Count i = 0; i < e.size; ++i)
      for (Count j = 0; j < e.size; ++j) {
        const bool seen = j < i || (j == i && !strict);
        const W score = products_.dot_of(in_.keys, row(x, e, i), seen_key(e, i, j, seen, key));
        to.row(i)[j] = seen ? score : W(0);
      }
  }
  const W* row(const W* x, const Decays& e, Count i) const { return x + (e.first + i) * in_.keys; }
  /// k_j as token i sees it.
  const W* seen_key(const Decays& e, Count i, Count j, bool seen, Rows<W>& room) const {
    if (!seen) return row(in_.k, e, j);
    e.times(row(in_.k, e, j), e.sums.row(i), e.sums.row(j), room.row(0));
    return room.row(0);
  }

  /// Scores q k' with decays.
  Rows<W> reading_scores(const Decays& e) {
    Rows<W> all(e.size, e.size);
    if (shared_.scores == nullptr) {
      scores(e, in_.q, false, all);
      return all;
    }
    for (Count i = 0; i < e.size; ++i)
      for (Count j = 0; j <= i; ++j) all.row(i)[j] = shared_.scores[(e.first + i) * chunk_ + j] * ratio(e, i, j);
    return all;
  }
  static W ratio(const Decays& e, Count i, Count j) { return exp_of(e.sums.row(i)[0] - e.sums.row(j)[0]); }

  /// Gradients of x and k from those of scores(x); dsums: of G.
  void score_gradients(const Decays& e, const W* x, bool strict, const Rows<W>& d, W* dx, W* dk, Rows<W>& dsums) {
    Rows<W> key(1, in_.keys), through(1, in_.keys);
    for (Count i = 0; i < e.size; ++i)
      for (Count j = 0; j < e.size; ++j) {
        const bool seen = j < i || (j == i && !strict);
        const W of = seen ? d.row(i)[j] : W(0);
        const W* const k = seen_key(e, i, j, seen, key);
        products_.add_row(in_.keys, of, k, dx + (e.first + i) * in_.keys);
        std::fill(through.begin(), through.end(), W(0));
        products_.add_row(in_.keys, of, row(x, e, i), through.row(0));
        if (!seen) continue;
        add_moved(e, through.row(0), k, dsums.row(i), dsums.row(j));
        e.times(through.row(0), e.sums.row(i), e.sums.row(j), key.row(0));
        add_to(in_.keys, key.row(0), dk + (e.first + j) * in_.keys);
      }
  }
  /// Of a value x = y e^(a - b) with gradient d: what a gets, and b loses; null: it is 0.
  void add_moved(const Decays& e, const W* d, const W* x, W* a, W* b) const {
    for (Count n = 0; n < in_.keys; ++n) {
      const W moved = d[n] * x[n];
      if (a != nullptr) a[n % e.sums.width] += moved;
      if (b != nullptr) b[n % e.sums.width] -= moved;
    }
  }
  static void add_to(Count n, const W* from, W* to) {
    lanes<W>(0, n, [=](Count i) { to[i] += from[i]; });
  }

  void shared_score_gradients(const Decays& e, const Rows<W>& scores, const Rows<W>& d, Rows<W>& dsums) {
    for (Count i = 0; i < e.size; ++i)
      for (Count j = 0; j <= i; ++j) {
        shared_.gradients[(e.first + i) * chunk_ + j] += d.row(i)[j] * ratio(e, i, j);
        const W moved = d.row(i)[j] * scores.row(i)[j];
        dsums.row(i)[0] += moved;
        dsums.row(j)[0] -= moved;
      }
  }

  /// ds: from the gradient of the state behind the chunk to that of the state before it.
  void chunk_gradient(const Decays& e, const W* state, const Solved& solved, const W* d_o, Rows<W>& ds,
                      const HeadGradients<W>& to) {
    const Count c = e.size, p = in_.values, n = in_.keys;
    const W* const dy = rows(d_o, e, p);
    Rows<W> dsums(c, in_.decays), du(c, p), at_end(c, n), dq(c, n), dscores(c, c);
    const Rows<W> keys = e.keys_at_end(), queries = e.grown(in_.q), read = reading_scores(e);
    products_.add_with_columns(c, p, c, read.data(), dy, du.data());
    products_.add(c, p, n, keys.data(), ds.data(), du.data());
    products_.write_with_rows(c, c, p, dy, solved.u.data(), dscores.data());
    products_.write_with_rows(c, n, p, solved.u.data(), ds.data(), at_end.data());
    products_.write_with_rows(c, n, p, dy, state, dq.data());
    if (shared_.scores != nullptr)
      shared_score_gradients(e, read, dscores, dsums);
    else
      score_gradients(e, in_.q, false, dscores, to.q, to.k, dsums);
    key_gradients(e, keys, at_end, to.k, dsums);
    row_gradients(e, queries, dq, to.q, dsums);
    Rows<W> kept(1, in_.state());
    std::copy_n(state, in_.state(), kept.data());
    decay(in_, e.last(), kept.data());
    add_decay_gradient(in_, ds.data(), kept.data(), dsums.row(c - 1));
    decay(in_, e.last(), ds.data());
    products_.add_with_columns(n, p, c, queries.data(), dy, ds.data());
    solution_gradient(e, state, solved, du, ds, dsums, to);
    add_sums(e, dsums, to.log_decay);
  }

  /// Of keys as the chunk's end sees them.
  void key_gradients(const Decays& e, const Rows<W>& keys, const Rows<W>& d, W* dk, Rows<W>& dsums) const {
    Rows<W> through(1, in_.keys);
    for (Count j = 0; j < e.size; ++j) {
      add_moved(e, d.row(j), keys.row(j), dsums.row(e.size - 1), dsums.row(j));
      e.times(d.row(j), e.last(), e.sums.row(j), through.row(0));
      add_to(in_.keys, through.row(0), dk + (e.first + j) * in_.keys);
    }
  }
  /// Of rows times e^(G).
  void row_gradients(const Decays& e, const Rows<W>& grown, const Rows<W>& d, W* dx, Rows<W>& dsums) const {
    Rows<W> through(1, in_.keys);
    for (Count i = 0; i < e.size; ++i) {
      add_moved(e, d.row(i), grown.row(i), dsums.row(i), nullptr);
      e.times(d.row(i), e.sums.row(i), nullptr, through.row(0));
      add_to(in_.keys, through.row(0), dx + (e.first + i) * in_.keys);
    }
  }

  /// From u's gradient to those of v, b, k and the state.
  void solution_gradient(const Decays& e, const W* state, const Solved& solved, const Rows<W>& du, Rows<W>& ds,
                         Rows<W>& dsums, const HeadGradients<W>& to) {
    const Count c = e.size, p = in_.values, n = in_.keys;
    W* const dv = to.v + e.first * p;
    if (!in_.is_delta) return add_to(c * p, du.data(), dv);
    const W* const b = in_.beta + e.first;
    Rows<W> right(c, p), system(c, c), dk(c, n);
    products_.add_with_columns(c, p, c, solved.inverse.data(), du.data(), right.data());
    products_.write_with_rows(c, c, p, right.data(), solved.u.data(), system.data());
    for (Count i = 0; i < c; ++i) {
      const W *const d = right.row(i), *const rest = solved.rest.row(i);
      W sum = sum_of<W>(p, [=](Count x) { return d[x] * rest[x]; });
      for (Count j = 0; j < i; ++j) {
        sum -= solved.scores.row(i)[j] * system.row(i)[j];
        system.row(i)[j] = -(b[i] * system.row(i)[j]);
      }
      to.beta[e.first + i] += sum;
    }
    for (Count i = 0; i < c * p; ++i) {
      const W d = b[i / p] * right.data()[i];
      dv[i] += d;
      right.data()[i] = -d;
    }
    const Rows<W> keys = e.grown(in_.k);
    products_.write_with_rows(c, n, p, right.data(), state, dk.data());
    products_.add_with_columns(n, p, c, keys.data(), right.data(), ds.data());
    row_gradients(e, keys, dk, to.k, dsums);
    score_gradients(e, in_.k, true, system, to.k, to.k, dsums);
  }

  /// A logarithm of decay is in the sums of its token and all behind it.
  void add_sums(const Decays& e, const Rows<W>& dsums, W* to) const {
    for (Count d = 0; d < in_.decays; ++d) {
      W sum(0);
      for (Count i = e.size; i-- > 0;) {
        sum += dsums.row(i)[d];
        to[(e.first + i) * in_.decays + d] += sum;
      }
    }
  }

  const HeadInputs<W>& in_;
  Count chunk_;
  SharedScores<W> shared_;
  SmallProducts<W>& products_;
};

}  // namespace llmcalc::model::LLMCALC_ISA
