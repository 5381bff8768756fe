#pragma once
/// Decays within a chunk of tokens of one head, and the scores of its tokens under them. G_i is the sum of the chunk's
/// log decays up to token i; a value written at token j reaches token i scaled by e^(G_i - G_j).

#include <algorithm>

#include "model/cpu/recurrent/head_state.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// The tokens j that token i sees. all: j <= i. earlier: j < i. before_decay: j < i, without the decay of token i, so
/// that G_(i - 1) replaces G_i.
enum class Sight : std::uint8_t { all, earlier, before_decay };

template <typename W>
class ChunkDecays {
 public:
  Count first, size;  ///< index of the first token, and number of tokens

  ChunkDecays(const HeadInputs<W>& in, Count chunk, Count from)
      : first(from), size(std::min(chunk, in.tokens - from)), keys_(in.keys), sums_(size + 1, in.decays) {
    for (Count i = 0; i < size; ++i)
      for (Count n = 0; n < decays(); ++n)
        sums_.row(i + 1)[n] = in.log_decay[(first + i) * decays() + n] + (i > 0 ? sums_.row(i)[n] : W(0));
  }
  Count keys() const { return keys_; }
  Count decays() const { return sums_.width; }
  /// Index of token i's row in the sums and in their gradients.
  static Count at(Sight s, Count i) { return s == Sight::before_decay ? i : i + 1; }
  const W* sum(Sight s, Count i) const { return sums_.row(at(s, i)); }
  /// G of the chunk's last token.
  const W* last() const { return sums_.row(size); }
  /// e^(G_i - G_j), for a single decay shared by all keys.
  W ratio(Count i, Count j) const { return exp_of(sums_.row(i + 1)[0] - sums_.row(j + 1)[0]); }
  const W* row(const W* x, Count i) const { return x + (first + i) * keys_; }
  W* row(W* x, Count i) const { return x + (first + i) * keys_; }

  /// Computes x_n e^(a_n - b_n); null b: zeros.
  void times(const W* x, const W* a, const W* b, W* to) const {
    const auto factor = [=](Count n) { return exp_of(b != nullptr ? a[n] - b[n] : a[n]); };
    const W same = decays() == 1 ? factor(0) : W(1);
    for (Count n = 0; n < keys_; ++n) to[n] = x[n] * (decays() == 1 ? same : factor(n));
  }
  /// Rows of x, scaled by e^(G_i) to read the state before the chunk.
  Rows<W> grown(const W* x, Sight sight) const {
    Rows<W> y(size, keys_);
    for (Count i = 0; i < size; ++i) times(row(x, i), sum(sight, i), nullptr, y.row(i));
    return y;
  }
  /// Rows of k, decayed to the end of the chunk.
  Rows<W> at_end(const W* k) const {
    Rows<W> y(size, keys_);
    for (Count i = 0; i < size; ++i) times(row(k, i), last(), sum(Sight::all, i), y.row(i));
    return y;
  }

  // ---- gradients; dsums (size + 1, decays): the gradients of the sums
  /// For x = y e^(a - b) with gradient d: adds d x to the gradient of a and subtracts it from the gradient of b; either
  /// is null if it is constant.
  void add_moved(const W* d, const W* x, W* a, W* b) const {
    for (Count n = 0; n < keys_; ++n) {
      const W moved = d[n] * x[n];
      if (a != nullptr) a[n % decays()] += moved;
      if (b != nullptr) b[n % decays()] -= moved;
    }
  }
  void add_to(const W* from, W* to) const {
    lanes<W>(0, keys_, [=](Count i) { to[i] += from[i]; });
  }
  /// Gradients of grown().
  void grown_gradient(Sight sight, const Rows<W>& grown, const Rows<W>& d, W* dx, Rows<W>& dsums) const {
    Rows<W> through(1, keys_);
    for (Count i = 0; i < size; ++i) {
      add_moved(d.row(i), grown.row(i), dsums.row(at(sight, i)), nullptr);
      times(d.row(i), sum(sight, i), nullptr, through.row(0));
      add_to(through.row(0), row(dx, i));
    }
  }
  /// Gradients of at_end().
  void end_gradient(const Rows<W>& rows, const Rows<W>& d, W* dk, Rows<W>& dsums) const {
    Rows<W> through(1, keys_);
    for (Count j = 0; j < size; ++j) {
      add_moved(d.row(j), rows.row(j), dsums.row(size), dsums.row(j + 1));
      times(d.row(j), last(), sum(Sight::all, j), through.row(0));
      add_to(through.row(0), row(dk, j));
    }
  }
  /// Adds the gradients of the log decays; each log decay enters the sums of its own token and of all later tokens.
  void add_sums(const Rows<W>& dsums, W* to) const {
    for (Count d = 0; d < decays(); ++d) {
      W sum(0);
      for (Count i = size; i-- > 0;) {
        sum += dsums.row(i + 1)[d];
        to[(first + i) * decays() + d] += sum;
      }
    }
  }

 private:
  Count keys_;
  Rows<W> sums_;  ///< a row of zeros, then G_i of every token
};

/// Scores s_ij = x_i' e^(G_i - G_j) k_j for the tokens j that token i sees, else 0. Masked scores are computed too.
template <typename W>
class ChunkScores {
 public:
  ChunkScores(const ChunkDecays<W>& e, SmallProducts<W>& products, Sight sight, const W* x, const W* k)
      : e_(e), products_(products), sight_(sight), x_(x), k_(k) {}

  void write(Rows<W>& to) {
    Rows<W> key(1, e_.keys());
    for (Count i = 0; i < e_.size; ++i)
      for (Count j = 0; j < e_.size; ++j) {
        const W score = products_.dot_of(e_.keys(), e_.row(x_, i), seen_key(i, j, key));
        to.row(i)[j] = sees(i, j) ? score : W(0);
      }
  }
  Rows<W> written() {
    Rows<W> all(e_.size, e_.size);
    write(all);
    return all;
  }
  /// Gradients of x and k from the gradients of the scores.
  void gradient(const Rows<W>& d, W* dx, W* dk, Rows<W>& dsums) {
    Rows<W> key(1, e_.keys()), through(1, e_.keys());
    for (Count i = 0; i < e_.size; ++i)
      for (Count j = 0; j < e_.size; ++j) {
        const W of = sees(i, j) ? d.row(i)[j] : W(0);
        const W* const k = seen_key(i, j, key);
        products_.add_row(e_.keys(), of, k, e_.row(dx, i));
        std::fill(through.begin(), through.end(), W(0));
        products_.add_row(e_.keys(), of, e_.row(x_, i), through.row(0));
        if (!sees(i, j)) continue;
        e_.add_moved(through.row(0), k, dsums.row(e_.at(sight_, i)), dsums.row(j + 1));
        e_.times(through.row(0), e_.sum(sight_, i), e_.sum(Sight::all, j), key.row(0));
        e_.add_to(key.row(0), e_.row(dk, j));
      }
  }

 private:
  bool sees(Count i, Count j) const { return j < i || (j == i && sight_ == Sight::all); }
  /// k_j, decayed up to token i if token i sees token j.
  const W* seen_key(Count i, Count j, Rows<W>& room) const {
    if (!sees(i, j)) return e_.row(k_, j);
    e_.times(e_.row(k_, j), e_.sum(sight_, i), e_.sum(Sight::all, j), room.row(0));
    return room.row(0);
  }

  const ChunkDecays<W>& e_;
  SmallProducts<W>& products_;
  Sight sight_;
  const W *x_, *k_;
};

/// Computes the inverse of I + L, where L_ij = b_i scores_ij below the diagonal (null b: ones), by substitution rather
/// than by matmuls.
template <typename W>
void invert(Count c, const W* b, const Rows<W>& scores, Rows<W>& to) {
  for (Count i = 0; i < c; ++i) {
    to.row(i)[i] = W(1);
    for (Count k = 0; k < i; ++k)
      for (Count j = 0; j <= k; ++j)
        to.row(i)[j] -= (b != nullptr ? b[i] * scores.row(i)[k] : scores.row(i)[k]) * to.row(k)[j];
  }
}

/// Processes a head's tokens chunk by chunk. For a chunk and the state before it, a state rule provides: solve(), the
/// chunk's contribution to the state; read(), which adds the chunk's outputs; advance(), which moves the state past the
/// chunk; and chunk_gradient(), which moves the state's gradient back to the start of the chunk.
template <typename W, typename Rule>
struct ChunkWalk {
  const HeadInputs<W>& in;
  Count chunk;
  Rule& rule;

  ChunkDecays<W> decays(Count i) const { return {in, chunk, i * chunk}; }
  Count chunks() const { return (in.tokens + chunk - 1) / chunk; }

  void forward(W* state, W* o) {
    for (Count i = 0; i < chunks(); ++i) {
      const ChunkDecays<W> e = decays(i);
      const auto solved = rule.solve(e, state);
      rule.read(e, state, solved, o);
      rule.advance(e, solved, state);
    }
  }
  /// Recomputes the state before each chunk.
  void backward(const W* d_o, const HeadGradients<W>& to) {
    std::vector<typename Rule::Solved> solved;
    Rows<W> states(chunks() + 1, in.state()), ds(1, in.state());
    for (Count i = 0; i < chunks(); ++i) {
      const ChunkDecays<W> e = decays(i);
      solved.push_back(rule.solve(e, states.row(i)));
      std::copy_n(states.row(i), in.state(), states.row(i + 1));
      rule.advance(e, solved.back(), states.row(i + 1));
    }
    for (Count i = chunks(); i-- > 0;)
      rule.chunk_gradient(decays(i), states.row(i), solved[static_cast<std::size_t>(i)], d_o, ds, to);
  }
};

}  // namespace llmcalc::model::LLMCALC_ISA
