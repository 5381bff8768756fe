#pragma once
/// The state of one head under RWKV-6's rule, o = q' (S + u k v'), S = a S + k v' (arXiv:2404.05892): a query reads the
/// state from before its token's decays a (one per key element), and its own token's key and value with a bonus u.
/// Tokens are processed one by one or in chunks. The scores of a chunk use Sight::before_decay; their diagonal, the
/// bonus, is not a matmul.

#include <vector>

#include "model/cpu/recurrent/chunk_decays.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Adds to each token's output what its query reads from its own key and value: (q . (u k)) v, with q, u and k of
/// key_dim elements and v of value_dim.
template <typename W>
class Bonus {
 public:
  explicit Bonus(const HeadInputs<W>& in) : in_(in) {}

  void add(W* o) const {
    for (Count t = 0; t < in_.tokens; ++t) {
      const W share = of(t);
      const W* const v = in_.v + t * in_.values;
      W* const to = o + t * in_.values;
      lanes<W>(0, in_.values, [=](Count p) { to[p] += share * v[p]; });
    }
  }
  void gradient(const W* d_o, const HeadGradients<W>& to) const {
    for (Count t = 0; t < in_.tokens; ++t) {
      const W *const d = d_o + t * in_.values, *const v = in_.v + t * in_.values;
      const W *const q = in_.q + t * in_.keys, *const k = in_.k + t * in_.keys, *const u = in_.bonus;
      const W share = of(t), along = sum_of<W>(in_.values, [=](Count p) { return d[p] * v[p]; });
      W *const dv = to.v + t * in_.values, *const dq = to.q + t * in_.keys, *const dk = to.k + t * in_.keys;
      W* const du = to.bonus;
      lanes<W>(0, in_.values, [=](Count p) { dv[p] += share * d[p]; });
      lanes<W>(0, in_.keys, [=](Count n) {
        dq[n] += along * u[n] * k[n];
        dk[n] += along * u[n] * q[n];
        du[n] += along * q[n] * k[n];
      });
    }
  }

 private:
  W of(Count t) const {
    const W *const q = in_.q + t * in_.keys, *const k = in_.k + t * in_.keys, *const u = in_.bonus;
    return sum_of<W>(in_.keys, [=](Count n) { return q[n] * u[n] * k[n]; });
  }
  const HeadInputs<W>& in_;
};

/// See HeadState.
template <typename W>
class BonusState {
 public:
  BonusState(const HeadInputs<W>& in, SmallProducts<W>& products) : in_(in), products_(products) {}

  void forward(W* state, W* o) {
    for (Count t = 0; t < in_.tokens; ++t) {
      products_.add(1, in_.values, in_.keys, key(in_.q, t), state, o + t * in_.values);
      update(t, state);
    }
    Bonus<W>(in_).add(o);
  }

  void backward(const W* d_o, const HeadGradients<W>& to) {
    const Count size = in_.state(), width = in_.values, keys = in_.keys;
    Rows<W> states(in_.tokens + 1, size), ds(1, size), decayed(1, size);
    for (Count t = 0; t < in_.tokens; ++t) {
      std::copy_n(states.row(t), size, states.row(t + 1));
      update(t, states.row(t + 1));
    }
    for (Count t = in_.tokens; t-- > 0;) {
      const W* const d = d_o + t * width;
      products_.add(1, width, keys, key(in_.k, t), ds.data(), to.v + t * width);
      add_dots(products_, in_, in_.v + t * width, ds.data(), to.k + t * keys);
      std::copy_n(states.row(t), size, decayed.data());
      decay(in_, log_decay(t), decayed.data());
      add_decay_gradient(in_, ds.data(), decayed.data(), to.log_decay + t * in_.decays);
      decay(in_, log_decay(t), ds.data());
      add_dots(products_, in_, d, states.row(t), to.q + t * keys);
      products_.add_with_columns(keys, width, 1, key(in_.q, t), d, ds.data());
    }
    Bonus<W>(in_).gradient(d_o, to);
  }

 private:
  const W* key(const W* x, Count t) const { return x + t * in_.keys; }
  const W* log_decay(Count t) const { return in_.log_decay + t * in_.decays; }
  void update(Count t, W* state) {
    decay(in_, log_decay(t), state);
    products_.add_with_columns(in_.keys, in_.values, 1, key(in_.k, t), in_.v + t * in_.values, state);
  }

  const HeadInputs<W>& in_;
  SmallProducts<W>& products_;
};

/// See HeadChunks.
template <typename W>
class BonusChunks {
 public:
  BonusChunks(const HeadInputs<W>& in, Count chunk, SmallProducts<W>& products)
      : in_(in), chunk_(chunk), products_(products) {}

  void forward(W* state, W* o) {
    Walk{in_, chunk_, *this}.forward(state, o);
    Bonus<W>(in_).add(o);
  }
  void backward(const W* d_o, const HeadGradients<W>& to) {
    Walk{in_, chunk_, *this}.backward(d_o, to);
    Bonus<W>(in_).gradient(d_o, to);
  }

 private:
  using Walk = ChunkWalk<W, BonusChunks>;
  friend Walk;
  using Decays = ChunkDecays<W>;
  using Scores = ChunkScores<W>;

  /// Empty: values enter the state unchanged, so a chunk has no equation to solve.
  struct Solved {};

  Scores scores(const Decays& e) { return {e, products_, Sight::before_decay, in_.q, in_.k}; }
  const W* values(const Decays& e) const { return in_.v + e.first * in_.values; }

  Solved solve(const Decays&, const W*) { return {}; }

  void read(const Decays& e, const W* state, const Solved&, W* o) {
    const Count c = e.size, p = in_.values;
    W* const to = o + e.first * p;
    products_.add(c, p, in_.keys, e.grown(in_.q, Sight::before_decay).data(), state, to);
    products_.add(c, p, c, scores(e).written().data(), values(e), to);
  }

  void advance(const Decays& e, const Solved&, W* state) {
    decay(in_, e.last(), state);
    products_.add_with_columns(in_.keys, in_.values, e.size, e.at_end(in_.k).data(), values(e), state);
  }

  /// ds: on entry, the gradient of the state after the chunk; on return, the gradient of the state before it.
  void chunk_gradient(const Decays& e, const W* state, const Solved&, const W* d_o, Rows<W>& ds,
                      const HeadGradients<W>& to) {
    const Count c = e.size, p = in_.values, n = in_.keys;
    const W* const dy = d_o + e.first * p;
    W* const dv = to.v + e.first * p;
    Rows<W> dsums(c + 1, in_.decays), dscores(c, c), dkeys(c, n), through(c, n), saved(1, in_.state());
    const Rows<W> keys = e.at_end(in_.k), queries = e.grown(in_.q, Sight::before_decay);
    products_.add_with_columns(c, p, c, scores(e).written().data(), dy, dv);
    products_.add(c, p, n, keys.data(), ds.data(), dv);
    products_.write_with_rows(c, c, p, dy, values(e), dscores.data());
    products_.write_with_rows(c, n, p, values(e), ds.data(), dkeys.data());
    scores(e).gradient(dscores, to.q, to.k, dsums);
    e.end_gradient(keys, dkeys, to.k, dsums);
    std::copy_n(state, in_.state(), saved.data());
    decay(in_, e.last(), saved.data());
    add_decay_gradient(in_, ds.data(), saved.data(), dsums.row(c));
    decay(in_, e.last(), ds.data());
    products_.write_with_rows(c, n, p, dy, state, through.data());
    products_.add_with_columns(n, p, c, queries.data(), dy, ds.data());
    e.grown_gradient(Sight::before_decay, queries, through, to.q, dsums);
    e.add_sums(dsums, to.log_decay);
  }

  const HeadInputs<W>& in_;
  Count chunk_;
  SmallProducts<W>& products_;
};

}  // namespace llmcalc::model::LLMCALC_ISA
