#pragma once
/// The state of one head under RWKV-7's rule, S = a S - b (r' S) + k v', o = q' S (arXiv:2503.14456): the part along r
/// is read before the decays a (one per key element), and removed along b. Token by token, or chunk by chunk. For a
/// chunk, with the scores A_xy of ChunkScores, in which r is read before its own token's decay:
///
///   u = (I + A_rb)^-1 (r S + A_rk v)        the removed part
///   o = q S + A_qk v - A_qb u
///   S = e^(G_c) S + k' v - b' u             keys decayed to the end of the chunk

#include <vector>

#include "model/cpu/recurrent/chunk_decays.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// See HeadState.
template <typename W>
class RemovalState {
 public:
  RemovalState(const HeadInputs<W>& in, SmallProducts<W>& products) : in_(in), products_(products) {}

  void forward(W* state, W* o) {
    Rows<W> u(1, in_.values);
    for (Count t = 0; t < in_.tokens; ++t) {
      update(t, state, u.row(0));
      products_.add(1, in_.values, in_.keys, key(in_.q, t), state, o + t * in_.values);
    }
  }

  void backward(const W* d_o, const HeadGradients<W>& to) {
    const Count size = in_.state(), width = in_.values, keys = in_.keys;
    Rows<W> states(in_.tokens + 1, size), u(in_.tokens, width), ds(1, size), decayed(1, size);
    for (Count t = 0; t < in_.tokens; ++t) {
      std::copy_n(states.row(t), size, states.row(t + 1));
      update(t, states.row(t + 1), u.row(t));
    }
    for (Count t = in_.tokens; t-- > 0;) {
      const W* const d = d_o + t * width;
      add_dots(products_, in_, d, states.row(t + 1), to.q + t * keys);
      products_.add_with_columns(keys, width, 1, key(in_.q, t), d, ds.data());
      products_.add(1, width, keys, key(in_.k, t), ds.data(), to.v + t * width);
      add_dots(products_, in_, in_.v + t * width, ds.data(), to.k + t * keys);
      const Rows<W> du = removal_gradient(t, u.row(t), ds.data(), to);
      std::copy_n(states.row(t), size, decayed.data());
      decay(in_, log_decay(t), decayed.data());
      add_decay_gradient(in_, ds.data(), decayed.data(), to.log_decay + t * in_.decays);
      decay(in_, log_decay(t), ds.data());
      add_dots(products_, in_, du.row(0), states.row(t), to.removed + t * keys);
      products_.add_with_columns(keys, width, 1, key(in_.removed, t), du.row(0), ds.data());
    }
  }

 private:
  const W* key(const W* x, Count t) const { return x + t * in_.keys; }
  const W* log_decay(Count t) const { return in_.log_decay + t * in_.decays; }

  /// Updates S with token t. u: r' S, which is removed.
  void update(Count t, W* state, W* u) {
    const Count width = in_.values, keys = in_.keys;
    Rows<W> less(1, width);
    std::fill_n(u, width, W(0));
    products_.add(1, width, keys, key(in_.removed, t), state, u);
    W* const minus = less.row(0);
    lanes<W>(0, width, [=](Count p) { minus[p] = -u[p]; });
    decay(in_, log_decay(t), state);
    products_.add_with_columns(keys, width, 1, key(in_.along, t), minus, state);
    products_.add_with_columns(keys, width, 1, key(in_.k, t), in_.v + t * width, state);
  }

  /// Adds the gradient of b. Returns the gradient of u.
  Rows<W> removal_gradient(Count t, const W* u, const W* ds, const HeadGradients<W>& to) {
    const Count width = in_.values;
    Rows<W> du(1, width), less(1, width);
    products_.add(1, width, in_.keys, key(in_.along, t), ds, du.row(0));
    W *const d = du.row(0), *const minus = less.row(0);
    lanes<W>(0, width, [=](Count p) { d[p] = -d[p], minus[p] = -u[p]; });
    add_dots(products_, in_, minus, ds, to.along + t * in_.keys);
    return du;
  }

  const HeadInputs<W>& in_;
  SmallProducts<W>& products_;
};

/// See HeadChunks.
template <typename W>
class RemovalChunks {
 public:
  RemovalChunks(const HeadInputs<W>& in, Count chunk, SmallProducts<W>& products)
      : in_(in), chunk_(chunk), products_(products) {}

  void forward(W* state, W* o) { Walk{in_, chunk_, *this}.forward(state, o); }
  void backward(const W* d_o, const HeadGradients<W>& to) { Walk{in_, chunk_, *this}.backward(d_o, to); }

 private:
  using Walk = ChunkWalk<W, RemovalChunks>;
  friend Walk;
  using Decays = ChunkDecays<W>;
  using Scores = ChunkScores<W>;

  /// Scores A_rk, the inverse of I + A_rb, -u.
  struct Solved {
    Rows<W> scores, inverse, less;
  };

  Scores removed_by(const Decays& e, const W* k) { return {e, products_, Sight::before_decay, in_.removed, k}; }
  Scores read_by(const Decays& e, const W* k) { return {e, products_, Sight::all, in_.q, k}; }
  const W* values(const Decays& e) const { return in_.v + e.first * in_.values; }
  static Rows<W> negative(const Rows<W>& x) {
    Rows<W> y(static_cast<Count>(x.size()) / x.width, x.width);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = -x[i];
    return y;
  }

  Solved solve(const Decays& e, const W* state) {
    const Count c = e.size, p = in_.values;
    Solved to{removed_by(e, in_.k).written(), Rows<W>(c, c), Rows<W>(c, p)};
    Rows<W> known(c, p);
    products_.add(c, p, in_.keys, e.grown(in_.removed, Sight::before_decay).data(), state, known.data());
    products_.add(c, p, c, to.scores.data(), values(e), known.data());
    invert<W>(c, nullptr, removed_by(e, in_.along).written(), to.inverse);
    products_.add(c, p, c, to.inverse.data(), negative(known).data(), to.less.data());
    return to;
  }

  void read(const Decays& e, const W* state, const Solved& solved, W* o) {
    const Count c = e.size, p = in_.values;
    W* const to = o + e.first * p;
    products_.add(c, p, in_.keys, e.grown(in_.q, Sight::all).data(), state, to);
    products_.add(c, p, c, read_by(e, in_.k).written().data(), values(e), to);
    products_.add(c, p, c, read_by(e, in_.along).written().data(), solved.less.data(), to);
  }

  void advance(const Decays& e, const Solved& solved, W* state) {
    decay(in_, e.last(), state);
    products_.add_with_columns(in_.keys, in_.values, e.size, e.at_end(in_.k).data(), values(e), state);
    products_.add_with_columns(in_.keys, in_.values, e.size, e.at_end(in_.along).data(), solved.less.data(), state);
  }

  /// ds: on entry, the gradient of the state after the chunk; on return, the gradient of the state before it.
  void chunk_gradient(const Decays& e, const W* state, const Solved& solved, const W* d_o, Rows<W>& ds,
                      const HeadGradients<W>& to) {
    const Count p = in_.values;
    const W* const dy = d_o + e.first * p;
    Rows<W> dsums(e.size + 1, in_.decays), dless(e.size, p);
    written_gradient(e, {in_.k, values(e)}, dy, ds, {to.k, to.v + e.first * p}, to.q, dsums);
    written_gradient(e, {in_.along, solved.less.data()}, dy, ds, {to.along, dless.data()}, to.q, dsums);
    Rows<W> saved(1, in_.state());
    std::copy_n(state, in_.state(), saved.data());
    decay(in_, e.last(), saved.data());
    add_decay_gradient(in_, ds.data(), saved.data(), dsums.row(e.size));
    decay(in_, e.last(), ds.data());
    read_gradient(e, {in_.q, Sight::all}, state, dy, to.q, ds, dsums);
    solution_gradient(e, state, solved, dless, ds, dsums, to);
    e.add_sums(dsums, to.log_decay);
  }

  /// Keys, and the values written along them.
  struct Written {
    const W *keys, *values;
  };
  struct WrittenGradients {
    W *keys, *values;
  };
  /// Gradients of written keys and values, from q's reads and from the state after the chunk.
  void written_gradient(const Decays& e, const Written& x, const W* dy, const Rows<W>& ds, const WrittenGradients& to,
                        W* dq, Rows<W>& dsums) {
    const Count c = e.size, p = in_.values, n = in_.keys;
    Rows<W> dscores(c, c), dkeys(c, n);
    const Rows<W> keys = e.at_end(x.keys), scores = read_by(e, x.keys).written();
    products_.add_with_columns(c, p, c, scores.data(), dy, to.values);
    products_.add(c, p, n, keys.data(), ds.data(), to.values);
    products_.write_with_rows(c, c, p, dy, x.values, dscores.data());
    products_.write_with_rows(c, n, p, x.values, ds.data(), dkeys.data());
    read_by(e, x.keys).gradient(dscores, dq, to.keys, dsums);
    e.end_gradient(keys, dkeys, to.keys, dsums);
  }

  struct Reading {
    const W* keys;
    Sight sight;
  };
  /// Gradients through the rows x, which read the state before the chunk; d (c, P): the gradients of the values read.
  void read_gradient(const Decays& e, const Reading& x, const W* state, const W* d, W* to, Rows<W>& ds,
                     Rows<W>& dsums) {
    const Count c = e.size, p = in_.values, n = in_.keys;
    Rows<W> through(c, n);
    const Rows<W> grown = e.grown(x.keys, x.sight);
    products_.write_with_rows(c, n, p, d, state, through.data());
    products_.add_with_columns(n, p, c, grown.data(), d, ds.data());
    e.grown_gradient(x.sight, grown, through, to, dsums);
  }

  /// Gradients of r, b, k, v and the state from the gradient of -u.
  void solution_gradient(const Decays& e, const W* state, const Solved& solved, const Rows<W>& dless, Rows<W>& ds,
                         Rows<W>& dsums, const HeadGradients<W>& to) {
    const Count c = e.size, p = in_.values;
    Rows<W> right(c, p), by_along(c, c), by_key(c, c);
    products_.add_with_columns(c, p, c, solved.inverse.data(), dless.data(), right.data());
    right = negative(right);  // gradient of r S + A_rk v
    products_.write_with_rows(c, c, p, right.data(), solved.less.data(), by_along.data());
    products_.write_with_rows(c, c, p, right.data(), values(e), by_key.data());
    products_.add_with_columns(c, p, c, solved.scores.data(), right.data(), to.v + e.first * p);
    removed_by(e, in_.along).gradient(by_along, to.removed, to.along, dsums);
    removed_by(e, in_.k).gradient(by_key, to.removed, to.k, dsums);
    read_gradient(e, {in_.removed, Sight::before_decay}, state, right.data(), to.removed, ds, dsums);
  }

  const HeadInputs<W>& in_;
  Count chunk_;
  SmallProducts<W>& products_;
};

}  // namespace llmcalc::model::LLMCALC_ISA
