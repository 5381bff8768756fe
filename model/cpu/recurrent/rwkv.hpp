#pragma once
/// Operators of RWKV-7 only: token shifts, blended values, L2-normalized keys, the bonus.

#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"
#include "model/layers/rwkv.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// The token before each token of a pass: a row, zeros, or the row in a sequence's state.
template <typename T>
struct Before {
  const Shift& s;
  const ShiftView& v;
  const T* zeros;
  const T* row(Count r) const { return static_cast<const T*>(v.x) + r * s.width; }
  T* state(Count sequence) const { return static_cast<T*>(v.state) + sequence * s.width; }
  const T* of(Count r) const {
    if (r % s.queries > 0) return row(r - 1);
    return v.begins || v.state == nullptr ? zeros : state(r / s.queries);
  }
};

/// Mixing coefficients of one row's token shifts, element by element.
template <typename T>
struct MixShares {
  const T *learned, *moves;
  MixShares(const Shift& s, const ShiftView& v, Count row)
      : learned(static_cast<const T*>(v.shares)),
        moves(s.moved ? static_cast<const T*>(v.moves) + row * s.mixes * s.width : nullptr) {}
  Wide<T> operator()(Count i) const { return wide(learned[i]) + (moves != nullptr ? wide(moves[i]) : Wide<T>(0)); }
};

template <typename T>
void shift(const Shift& s, const ShiftView& v, T* y) {
  using W = Wide<T>;
  const Aligned<T> zeros(static_cast<std::size_t>(s.width), T(W(0)));
  const Before<T> before{s, v, zeros.data()};
  each<T>(s.rows(), s.mixes * s.width, [&](Count r) {
    const T *const x = before.row(r), *const last = before.of(r);
    const MixShares<T> share{s, v, r};
    put_lanes(0, s.mixes * s.width, y + r * s.mixes * s.width, false, [=, width = s.width](Count i) {
      const W own = wide(x[i % width]);
      return own + (wide(last[i % width]) - own) * share(i);
    });
  });
  if (v.state == nullptr || s.peeks) return;
  for (Count q = 0; q < s.sequences; ++q) std::copy_n(before.row((q + 1) * s.queries - 1), s.width, before.state(q));
}

/// A token contributes to its own token shifts and to those of the next token. The pass starts at the beginning of the
/// sequences.
template <typename T>
void shift_gradient(const Shift& s, const ShiftView& v, const T* dy, T* dx, bool add, GradientPlace dmoves,
                    Wide<T>* dshares) {
  using W = Wide<T>;
  const Aligned<T> zeros(static_cast<std::size_t>(s.width), T(W(0)));
  const Before<T> before{s, v, zeros.data()};
  const Count row = s.mixes * s.width;
  each<T>(s.rows(), 2 * row, [&](Count r) {
    const bool has_next = (r + 1) % s.queries > 0;
    const MixShares<T> share{s, v, r}, next{s, v, has_next ? r + 1 : r};
    put_lanes(0, s.width, dx + r * s.width, add, [=, &s](Count c) {
      W sum(0);
      for (Count m = 0; m < s.mixes; ++m) {
        const Count i = m * s.width + c;
        sum += wide(dy[r * row + i]) * (W(1) - share(i));
        if (has_next) sum += wide(dy[(r + 1) * row + i]) * next(i);
      }
      return sum;
    });
    if (!s.moved) return;
    const T *const x = before.row(r), *const old = before.of(r), *const d = dy + r * row;
    put_lanes(0, row, static_cast<T*>(dmoves.to) + r * row, dmoves.add,
              [=, width = s.width](Count i) { return wide(d[i]) * (wide(old[i % width]) - wide(x[i % width])); });
  });
  if (dshares == nullptr) return;
  stripes<T>(s.width, s.rows() * s.mixes, [&](Count first, Count last) {
    for (Count r = 0; r < s.rows(); ++r)
      for (Count m = 0; m < s.mixes; ++m) {
        const T *const x = before.row(r), *const old = before.of(r), *const d = dy + r * row + m * s.width;
        W* const to = dshares + m * s.width;
        lanes<T>(first, last, [=](Count c) { to[c] += wide(d[c]) * (wide(old[c]) - wide(x[c])); });
      }
  });
}

/// y = a + (b - a) sigmoid(c)
template <typename T>
void blend(Count n, const T* a, const T* b, const T* c, T* y) {
  put_everywhere<T>(n, y, [=](Count i) { return wide(a[i]) + (wide(b[i]) - wide(a[i])) * sigmoid(wide(c[i])); });
}
template <typename T>
void blend_gradient(Count n, const T* a, const T* b, const T* c, const T* dy, GradientPlace da, GradientPlace db,
                    GradientPlace dc) {
  using W = Wide<T>;
  chunks<T>(n, [=](Count first, Count last) {
    put_lanes(first, last, static_cast<T*>(da.to), da.add,
              [=](Count i) { return wide(dy[i]) * (W(1) - sigmoid(wide(c[i]))); });
    put_lanes(first, last, static_cast<T*>(db.to), db.add, [=](Count i) { return wide(dy[i]) * sigmoid(wide(c[i])); });
    put_lanes(first, last, static_cast<T*>(dc.to), dc.add, [=](Count i) {
      const W s = sigmoid(wide(c[i]));
      return wide(dy[i]) * (wide(b[i]) - wide(a[i])) * s * (W(1) - s);
    });
  });
}

/// y = k (1 + (sigmoid(rate) - 1) w)
template <typename T>
void gate_key(const Pointwise& s, const T* rate, const T* k, const T* w, T* y) {
  using W = Wide<T>;
  each<T>(s.rows, s.width, [&](Count r) {
    const Count at = r * s.width;
    put_lanes(0, s.width, y + at, false,
              [=](Count c) { return wide(k[at + c]) * (W(1) + (sigmoid(wide(rate[at + c])) - W(1)) * wide(w[c])); });
  });
}
template <typename T>
void gate_key_gradient(const Pointwise& s, const T* rate, const T* k, const T* w, const T* dy, GradientPlace drate,
                       GradientPlace dk, Wide<T>* dw) {
  using W = Wide<T>;
  each<T>(s.rows, s.width, [&](Count r) {
    const Count at = r * s.width;
    put_lanes(0, s.width, static_cast<T*>(drate.to) + at, drate.add, [=](Count c) {
      const W g = sigmoid(wide(rate[at + c]));
      return wide(dy[at + c]) * wide(k[at + c]) * wide(w[c]) * g * (W(1) - g);
    });
    put_lanes(0, s.width, static_cast<T*>(dk.to) + at, dk.add,
              [=](Count c) { return wide(dy[at + c]) * (W(1) + (sigmoid(wide(rate[at + c])) - W(1)) * wide(w[c])); });
  });
  if (dw == nullptr) return;
  stripes<T>(s.width, s.rows, [&](Count first, Count last) {
    for (Count r = 0; r < s.rows; ++r) {
      const Count at = r * s.width;
      lanes<T>(first, last,
               [=](Count c) { dw[c] += wide(dy[at + c]) * wide(k[at + c]) * (sigmoid(wide(rate[at + c])) - W(1)); });
    }
  });
}

/// 1 / |x w| of a head's row.
template <typename T>
Wide<T> inverse_length(Count n, const T* x, const T* w) {
  using W = Wide<T>;
  const W square = sum_of<W>(n, [=](Count i) { return wide(x[i]) * wide(w[i]) * (wide(x[i]) * wide(w[i])); });
  return W(1) / sqrt_of(square + number<W>(1e-6));
}

/// Each row is one head of one token; every head has separate weights.
template <typename T>
void unit(const Norm& s, const T* x, const T* w, T* y, Wide<T>* inverse) {
  const Count heads = s.weights / s.width;
  each<T>(s.rows, s.width, [&](Count r) {
    const T *const from = x + r * s.width, *const by = w + r % heads * s.width;
    const Wide<T> f = inverse_length(s.width, from, by);
    put_lanes(0, s.width, y + r * s.width, false, [=](Count i) { return wide(from[i]) * wide(by[i]) * f; });
    if (inverse != nullptr) inverse[r] = f;
  });
}
/// With y = x w f: d(x w) = f (dy - y <y, dy>).
template <typename T>
void unit_gradient(const Norm& s, const T* x, const T* w, const Wide<T>* inverse, const T* dy, GradientPlace dx,
                   Wide<T>* dw) {
  using W = Wide<T>;
  const Count heads = s.weights / s.width, n = s.width;
  each<T>(heads, s.rows / heads * n, [&](Count h) {
    Aligned<W> room(static_cast<std::size_t>(n));
    W* const d = room.data();
    const T* const by = w + h * n;
    for (Count r = h; r < s.rows; r += heads) {
      const T *const from = x + r * n, *const of = dy + r * n;
      const W f = inverse != nullptr ? inverse[r] : inverse_length(n, from, by);
      const W along = f * f * sum_of<W>(n, [=](Count i) { return wide(from[i]) * wide(by[i]) * wide(of[i]); });
      lanes<T>(0, n, [=](Count i) { d[i] = f * (wide(of[i]) - wide(from[i]) * wide(by[i]) * along); });
      put_lanes(0, n, static_cast<T*>(dx.to) + r * n, dx.add, [=](Count i) { return d[i] * wide(by[i]); });
      W* const to = dw + h * n;
      if (dw != nullptr) lanes<T>(0, n, [=](Count i) { to[i] += d[i] * wide(from[i]); });
    }
  });
}

/// One head of one token.
template <typename T>
struct BonusRow {
  using W = Wide<T>;
  const T *o, *r, *k, *v, *gate, *share;
  Count n;
  BonusRow(const BonusView& in, Count at, Count head, Count width)
      : o(row(in.o, at)),
        r(row(in.r, at)),
        k(row(in.k, at)),
        v(row(in.v, at)),
        gate(row(in.gate, at)),
        share(row(in.shares, head)),
        n(width) {}
  static const T* row(const void* x, Count at) { return static_cast<const T*>(x) + at; }
  /// <r, k> weighted by `share`.
  W bonus() const {
    return sum_of<W>(n, [r = r, k = k, w = share](Count i) { return wide(r[i]) * wide(k[i]) * wide(w[i]); });
  }
};

template <typename T>
void bonus(const Pointwise& s, Count head, const BonusView& in, T* y) {
  each<T>(s.rows * s.width / head, head, [&](Count i) {
    const Count at = i * head;
    const BonusRow<T> x(in, at, at % s.width, head);
    const auto b = x.bonus();
    put_lanes(0, head, y + at, false, [=](Count c) { return (wide(x.o[c]) + wide(x.v[c]) * b) * wide(x.gate[c]); });
  });
}
template <typename T>
void bonus_gradient(const Pointwise& s, Count head, const BonusView& in, const T* dy, const BonusGradients& to) {
  using W = Wide<T>;
  const auto place = [](const GradientPlace& p, Count at) { return static_cast<T*>(p.to) + at; };
  each<T>(s.width / head, s.rows * head, [&](Count h) {
    W* const dshares = to.shares != nullptr ? static_cast<W*>(to.shares) + h * head : nullptr;
    for (Count row = 0; row < s.rows; ++row) {
      const Count at = row * s.width + h * head;
      const BonusRow<T> x(in, at, h * head, head);
      const T* const d = dy + at;
      const W b = x.bonus(), db = sum_of<W>(head, [=](Count c) { return wide(d[c]) * wide(x.gate[c]) * wide(x.v[c]); });
      put_lanes(0, head, place(to.o, at), to.o.add, [=](Count c) { return wide(d[c]) * wide(x.gate[c]); });
      put_lanes(0, head, place(to.v, at), to.v.add, [=](Count c) { return wide(d[c]) * wide(x.gate[c]) * b; });
      put_lanes(0, head, place(to.gate, at), to.gate.add,
                [=](Count c) { return wide(d[c]) * (wide(x.o[c]) + wide(x.v[c]) * b); });
      put_lanes(0, head, place(to.r, at), to.r.add, [=](Count c) { return db * wide(x.k[c]) * wide(x.share[c]); });
      put_lanes(0, head, place(to.k, at), to.k.add, [=](Count c) { return db * wide(x.r[c]) * wide(x.share[c]); });
      if (dshares != nullptr) lanes<T>(0, head, [=](Count c) { dshares[c] += db * wide(x.r[c]) * wide(x.k[c]); });
    }
  });
}

/// The CPU's RWKV kernels, with elements of type T.
template <typename T>
class CpuRwkv final : public RwkvKernels {
  using W = Wide<T>;
  static const T* n(const void* p) { return static_cast<const T*>(p); }
  static T* n(void* p) { return static_cast<T*>(p); }
  static W* w(void* p) { return static_cast<W*>(p); }
  static Count size(const Pointwise& s) { return mul(s.rows, s.width); }

 public:
  void shift(const Shift& s, const ShiftView& v, void* y) override { LLMCALC_ISA::shift(s, v, n(y)); }
  void shift_gradient(const Shift& s, const ShiftView& v, const void* dy, GradientPlace dx, GradientPlace dmoves,
                      void* dshares) override {
    LLMCALC_ISA::shift_gradient(s, v, n(dy), n(dx.to), dx.add, dmoves, w(dshares));
  }
  void blend(const Pointwise& s, const void* a, const void* b, const void* c, void* y) override {
    LLMCALC_ISA::blend(size(s), n(a), n(b), n(c), n(y));
  }
  void blend_gradient(const Pointwise& s, const void* a, const void* b, const void* c, const void* dy, GradientPlace da,
                      GradientPlace db, GradientPlace dc) override {
    LLMCALC_ISA::blend_gradient(size(s), n(a), n(b), n(c), n(dy), da, db, dc);
  }
  void gate_key(const Pointwise& s, const void* rate, const void* k, const void* by, void* y) override {
    LLMCALC_ISA::gate_key(s, n(rate), n(k), n(by), n(y));
  }
  void gate_key_gradient(const Pointwise& s, const void* rate, const void* k, const void* by, const void* dy,
                         GradientPlace drate, GradientPlace dk, void* dw) override {
    LLMCALC_ISA::gate_key_gradient(s, n(rate), n(k), n(by), n(dy), drate, dk, w(dw));
  }
  void unit(const Norm& s, const void* x, const void* by, void* y, void* inverse) override {
    LLMCALC_ISA::unit(s, n(x), n(by), n(y), w(inverse));
  }
  void unit_gradient(const Norm& s, const void* x, const void* by, const void* inverse, const void* dy,
                     GradientPlace dx, void* dw) override {
    LLMCALC_ISA::unit_gradient(s, n(x), n(by), static_cast<const W*>(inverse), n(dy), dx, w(dw));
  }
  void bonus(const Pointwise& s, Count head, const BonusView& v, void* y) override {
    LLMCALC_ISA::bonus(s, head, v, n(y));
  }
  void bonus_gradient(const Pointwise& s, Count head, const BonusView& v, const void* dy,
                      const BonusGradients& to) override {
    LLMCALC_ISA::bonus_gradient(s, head, v, n(dy), to);
  }
  void sigmoid(const Pointwise& s, const void* x, void* y) override {
    activate(size(s), rows_of<Sigmoid, Wide<T>>, n(x), n(y));
  }
  void sigmoid_gradient(const Pointwise& s, const void* x, const void* dy, GradientPlace dx) override {
    activate_gradient(size(s), rows_of<Sigmoid, Wide<T>>, n(x), n(dy), n(dx.to), dx.add);
  }
};

}  // namespace llmcalc::model::LLMCALC_ISA
