#pragma once
/// The state of one head, processed in chunks of c tokens. G_i is the sum of the chunk's log decays up to token i, and
/// e_ij = e^(G_i - G_j):
///
///   o_i = e^(G_i) q_i' S + sum over j <= i of e_ij (q_i' k_j) u_j
///   S   = e^(G_c) S + sum of e_cj k_j u_j'
///
/// u = v (arXiv:2405.21060, 6); under the delta rule u = T b (v - e^(G) k' S) where T is the inverse of I + L and L_ij
/// = b_i e_ij (k_i' k_j) for j < i (arXiv:2412.06464, 3.3). The masked half of the scores is computed too, as on
/// hardware tiles; the inverse is computed by substitution and does not count as a matmul.

#include <vector>

#include "model/cpu/recurrent/chunk_decays.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Scores q k' without decays (tokens, chunk), which the heads of a group share, and the sums of their gradients;
/// null: not shared.
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

  /// See HeadState.
  void forward(W* state, W* o) { Walk{in_, chunk_, *this}.forward(state, o); }
  void backward(const W* d_o, const HeadGradients<W>& to) { Walk{in_, chunk_, *this}.backward(d_o, to); }

 private:
  using Walk = ChunkWalk<W, HeadChunks>;
  friend Walk;
  using Decays = ChunkDecays<W>;
  using Scores = ChunkScores<W>;

  /// The delta rule's solution of a chunk: scores k k', the inverse, v minus the state's prediction, u.
  struct Solved {
    Rows<W> scores, inverse, rest, u;
    Solved(Count size, Count values) : scores(size, size), inverse(size, size), rest(size, values), u(size, values) {}
  };

  const W* rows(const W* x, const Decays& e, Count width) const { return x + e.first * width; }

  Solved solve(const Decays& e, const W* state) {
    const Count c = e.size, p = in_.values;
    Solved to(c, p);
    const W* const v = rows(in_.v, e, p);
    if (!in_.is_delta) {
      std::copy_n(v, c * p, to.u.data());
      return to;
    }
    const W* const b = in_.beta + e.first;
    keys_known(e).write(to.scores);
    Rows<W> known(c, p), right(c, p);
    products_.add(c, p, in_.keys, e.grown(in_.k, Sight::all).data(), state, known.data());
    for (Count i = 0; i < c * p; ++i) {
      to.rest.data()[i] = v[i] - known.data()[i];
      right.data()[i] = b[i / p] * to.rest.data()[i];
    }
    invert(c, b, to.scores, to.inverse);
    products_.add(c, p, c, to.inverse.data(), right.data(), to.u.data());
    return to;
  }

  void read(const Decays& e, const W* state, const Solved& solved, W* o) {
    const Count c = e.size, p = in_.values;
    W* const to = o + e.first * p;
    products_.add(c, p, in_.keys, e.grown(in_.q, Sight::all).data(), state, to);
    products_.add(c, p, c, reading_scores(e).data(), solved.u.data(), to);
  }

  void advance(const Decays& e, const Solved& solved, W* state) {
    decay(in_, e.last(), state);
    products_.add_with_columns(in_.keys, in_.values, e.size, e.at_end(in_.k).data(), solved.u.data(), state);
  }

  /// keys_known: the scores k k' with decays. keys_read: the scores q k' with decays.
  Scores keys_known(const Decays& e) { return {e, products_, Sight::earlier, in_.k, in_.k}; }
  Scores keys_read(const Decays& e) { return {e, products_, Sight::all, in_.q, in_.k}; }

  Rows<W> reading_scores(const Decays& e) {
    if (shared_.scores == nullptr) return keys_read(e).written();
    Rows<W> all(e.size, e.size);
    for (Count i = 0; i < e.size; ++i)
      for (Count j = 0; j <= i; ++j) all.row(i)[j] = shared_.scores[(e.first + i) * chunk_ + j] * e.ratio(i, j);
    return all;
  }

  void shared_score_gradients(const Decays& e, const Rows<W>& scores, const Rows<W>& d, Rows<W>& dsums) {
    for (Count i = 0; i < e.size; ++i)
      for (Count j = 0; j <= i; ++j) {
        shared_.gradients[(e.first + i) * chunk_ + j] += d.row(i)[j] * e.ratio(i, j);
        const W moved = d.row(i)[j] * scores.row(i)[j];
        dsums.row(i + 1)[0] += moved;
        dsums.row(j + 1)[0] -= moved;
      }
  }

  /// ds: on entry, the gradient of the state after the chunk; on return, the gradient of the state before it.
  void chunk_gradient(const Decays& e, const W* state, const Solved& solved, const W* d_o, Rows<W>& ds,
                      const HeadGradients<W>& to) {
    const Count c = e.size, p = in_.values, n = in_.keys;
    const W* const dy = rows(d_o, e, p);
    Rows<W> dsums(c + 1, in_.decays), du(c, p), at_end(c, n), dq(c, n), dscores(c, c);
    const Rows<W> keys = e.at_end(in_.k), queries = e.grown(in_.q, Sight::all), read = reading_scores(e);
    products_.add_with_columns(c, p, c, read.data(), dy, du.data());
    products_.add(c, p, n, keys.data(), ds.data(), du.data());
    products_.write_with_rows(c, c, p, dy, solved.u.data(), dscores.data());
    products_.write_with_rows(c, n, p, solved.u.data(), ds.data(), at_end.data());
    products_.write_with_rows(c, n, p, dy, state, dq.data());
    if (shared_.scores != nullptr)
      shared_score_gradients(e, read, dscores, dsums);
    else
      keys_read(e).gradient(dscores, to.q, to.k, dsums);
    e.end_gradient(keys, at_end, to.k, dsums);
    e.grown_gradient(Sight::all, queries, dq, to.q, dsums);
    Rows<W> saved(1, in_.state());
    std::copy_n(state, in_.state(), saved.data());
    decay(in_, e.last(), saved.data());
    add_decay_gradient(in_, ds.data(), saved.data(), dsums.row(c));
    decay(in_, e.last(), ds.data());
    products_.add_with_columns(n, p, c, queries.data(), dy, ds.data());
    solution_gradient(e, state, solved, du, ds, dsums, to);
    e.add_sums(dsums, to.log_decay);
  }

  /// Gradients of v, b, k and the state from the gradient of u.
  void solution_gradient(const Decays& e, const W* state, const Solved& solved, const Rows<W>& du, Rows<W>& ds,
                         Rows<W>& dsums, const HeadGradients<W>& to) {
    const Count c = e.size, p = in_.values, n = in_.keys;
    W* const dv = to.v + e.first * p;
    if (!in_.is_delta) return lanes<W>(0, c * p, [=, from = du.data()](Count i) { dv[i] += from[i]; });
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
    const Rows<W> keys = e.grown(in_.k, Sight::all);
    products_.write_with_rows(c, n, p, right.data(), state, dk.data());
    products_.add_with_columns(n, p, c, keys.data(), right.data(), ds.data());
    e.grown_gradient(Sight::all, keys, dk, to.k, dsums);
    keys_known(e).gradient(system, to.k, to.k, dsums);
  }

  const HeadInputs<W>& in_;
  Count chunk_;
  SharedScores<W> shared_;
  SmallProducts<W>& products_;
};

}  // namespace llmcalc::model::LLMCALC_ISA
