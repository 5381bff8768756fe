#pragma once
/// The operators on a GPU, in numbers of type T: float, or bf16 with float beside it. `Device` is where they run: it
/// has memory, launches kernels and multiplies matrices (model/cuda/device.cuh); tests have one on the processor.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "model/cpu/matmul_shape.hpp"
#include "model/cuda/attention.hpp"
#include "model/cuda/experts.hpp"
#include "model/cuda/mma_attention.hpp"
#include "model/cuda/pointwise.hpp"
#include "model/cuda/position.hpp"
#include "model/cuda/room.hpp"
#include "model/cuda/rows.hpp"
#include "model/math/routing.hpp"

namespace llmcalc::model::cuda {

template <typename T, typename Device>
class Cuda final : public Backend {
  using W = float;
  template <typename X>
  using Scratch = Room<Device, X>;
  static const T* n(In p) { return static_cast<const T*>(p); }
  static T* n(Out p) { return static_cast<T*>(p); }
  static const W* w(In p) { return static_cast<const W*>(p); }
  static W* w(Out p) { return static_cast<W*>(p); }
  static Count size(const Pointwise& s) { return mul(s.rows, s.width); }
  static constexpr int threads = 128;
  static constexpr Count line = warp * static_cast<Count>(sizeof(double));  ///< room for a block's sums

 public:
  Cuda(Device& device, std::string name, bool poison)
      : device_(device), turns_(device), name_(std::move(name)), poison_(poison) {}
  void* allocate(Bytes bytes) override {
    void* data = device_.allocate(bytes.value);
    if (poison_) device_.fill(data, 0xff, bytes.value);  // NaN in every format
    return data;
  }
  void release(void* data, Bytes bytes) override { device_.release(data, bytes.value); }
  Bytes number() const override { return Bytes(sizeof(T)); }
  Bytes wide() const override { return Bytes(sizeof(W)); }
  std::string_view name() const override { return name_; }
  Bytes capacity() const override { return Bytes(device_.capacity()); }
  void upload(Out to, const void* from, Bytes bytes) override { device_.upload(to, from, bytes.value); }
  void download(void* to, In from, Bytes bytes) override { device_.download(to, from, bytes.value); }
  void zero(Out x, Bytes bytes) override { device_.fill(x, 0, bytes.value); }
  void copy(Out to, In from, Bytes bytes) override { device_.copy(to, from, bytes.value); }
  void write(Out to, std::span<const double> from, bool is_wide) override {
    is_wide ? write_as<W>(to, from) : write_as<T>(to, from);
  }
  void read(std::span<double> to, In from, bool is_wide) const override {
    is_wide ? read_as<W>(to, from) : read_as<T>(to, from);
  }
  void wait() override { device_.wait(); }
  Flops done() const override { return done_; }

  // ---- tables and positions
  void lookup(const Lookup& s, const std::int64_t* ids, const Positions& p, In table, Out y) override {
    const Scratch<Count> rows(device_, rows_of(s, ids, p));
    cuda::rows_of_table(device_, s.tokens, s.width, rows.data(), n(table), n(y));
  }
  void lookup_gradient(const Lookup& s, const std::int64_t* ids, const Positions& p, In dy, Out dtable) override {
    const std::vector<Count> rows = rows_of(s, ids, p);
    std::vector<Count> token(rows.size()), first, row;
    std::iota(token.begin(), token.end(), 0);
    const auto row_of = [&](Count t) { return rows[static_cast<std::size_t>(t)]; };
    std::stable_sort(token.begin(), token.end(), [&](Count a, Count b) { return row_of(a) < row_of(b); });
    for (std::size_t i = 0; i < token.size(); ++i)
      if (i == 0 || row_of(token[i]) != row.back())
        first.push_back(static_cast<Count>(i)), row.push_back(row_of(token[i]));
    first.push_back(static_cast<Count>(token.size()));
    const Scratch<Count> begin(device_, first), tokens(device_, token), to(device_, row);
    launch(static_cast<Count>(row.size()), line,
           BucketSums<T>{s.width, begin.data(), tokens.data(), to.data(), n(dy), w(dtable)});
  }
  void add_sinusoid(const Lookup& s, const Positions& p, Out y) override {
    cuda::add_sinusoid(device_, s, p, turns_.of(p, s.width), n(y));
  }
  void rope(Count rows, const Positions& p, Out x, Count row, Count heads, Count head, Count width, Count offset,
            bool inverse) override {
    cuda::rope(device_, rows, p, turns_.of(p, width), n(x) + offset, row, heads, head, width, inverse);
  }

  // ---- products
  void linear(const Linear& s, const LinearView& v, Out y) override {
    const Count stride = v.x_stride > 0 ? v.x_stride : s.in;
    if (v.head_rows > 0) return per_head(s, v, n(v.x), n(v.weight), n(y));
    if (s.top_k > 0) return routed(s, v, y);
    product<T>({s.rows, s.out, s.in, false, true, false, stride, s.in, s.out, false}, v.x, v.weight, y, v.wide_output);
    if (v.bias == nullptr) return;
    v.wide_output ? add_bias(device_, s.rows, s.out, n(v.bias), w(y))
                  : add_bias(device_, s.rows, s.out, n(v.bias), n(y));
  }
  void linear_gradient(const Linear& s, const LinearView& v, In dy, Out dx, bool add, Out dw, Out db) override {
    if (s.top_k > 0) return routed_gradient(s, v, dy, dx, add, dw, db);
    Count stride = s.out;
    if (v.wide_output && sizeof(W) != sizeof(T)) {
      launch(s.rows, 0, RoundRows<T>{s.out, w(const_cast<Out>(dy))});
      stride = s.out * static_cast<Count>(sizeof(W) / sizeof(T));
    }
    dense_gradient(s, s.rows, n(v.x), n(v.weight), n(dy), stride, n(dx), add, w(dw), w(db));
  }

  // ---- norms
  void norm(const Norm& s, const NormView& v, Out y, Out statistics) override {
    launch(s.rows, line, NormRows<T>{s, v, n(y), w(statistics)});
  }
  void norm_gradient(const Norm& s, const NormView& v, In statistics, In dy, Out dx, bool add, Out dw,
                     Out db) override {
    const Scratch<W> made(device_, 2 * s.rows);
    const Count groups = std::clamp<Count>(s.rows / 32, 1, 128), each = (s.rows + groups - 1) / groups;
    const Count weights = v.heads * s.width;
    const Scratch<W> partial(device_, dw != nullptr ? 2 * groups * weights : 1);
    launch(s.rows, line, NormRowsGradient<T>{s, v, w(statistics), n(dy), n(dx), add, made.data()});
    if (dw == nullptr) return;
    using Sums = NormWeightSums<T>;
    launch(groups * ((weights + Sums::tile - 1) / Sums::tile), 0, Sums{s, v, made.data(), n(dy), partial.data(), each});
    everywhere(weights, [=, from = partial.data(), to = w(dw), to_b = w(db)] LLMCALC_DEVICE(Count i) {
      for (Count g = 0; g < groups; ++g) {
        to[i] += from[2 * g * weights + i];
        if (to_b != nullptr) to_b[i] += from[(2 * g + 1) * weights + i];
      }
    });
  }

  // ---- attention
  void attention(const Attention& s, const AttentionInputs& in, AttentionImpl how, const Dropout& d,
                 const AttentionKept& k, Out o) override {
    const Scores<T> c{s, in, d};
    const Count rows = s.rows() * s.heads, room = line + (threads + s.v_dim) * wide_bytes;
    if (how == AttentionImpl::flash) {
      if (!on_tensor_cores(c, w(k.log_sum_exp), n(o))) launch(rows, room, FlashForward<T>{c, w(k.log_sum_exp), n(o)});
      done_ += flash_flops(c, s.qk_dim + s.v_dim);
    } else {
      launch(rows, room, NaiveForward<T>{c, NaiveKept<T>(k), n(o)});
      const Count keys = s.queries > 1 || s.window <= 0 ? c.keys() : std::min(c.keys(), s.window);
      done_ += rows * flops(2, keys, s.qk_dim + s.v_dim);
    }
  }
  void attention_gradient(const Attention& s, const AttentionInputs& in, AttentionImpl how, const Dropout& d,
                          const AttentionKept& k, In o, In d_o, Out scratch, const AttentionGradients& to) override {
    const Scores<T> c{s, in, d};
    const Count rows = s.rows() * s.heads;
    const Scratch<W> delta(device_, rows), sinks(device_, rows);
    if (how == AttentionImpl::flash) {
      launch(rows, line, FlashDelta<T>{c, w(k.log_sum_exp), n(o), n(d_o), delta.data(), sinks.data()});
      const FlashPairs<T> pairs{c, w(k.log_sum_exp), delta.data(), n(d_o)};
      if (!gradient_on_tensor_cores(pairs, to)) pair_gradients(pairs, n(d_o), to);
      done_ += flash_flops(c, 3 * s.qk_dim + 2 * s.v_dim);  // scores again, dp and dv, dq and dk
    } else {
      const NaiveKept<T> kept(k);
      launch(rows, line, NaiveScores<T>{c, kept, n(d_o), n(scratch), sinks.data()});
      const T* const value = kept.dropped != nullptr ? kept.dropped : kept.probabilities;
      pair_gradients(NaivePairs<T>{c, value, n(scratch)}, n(d_o), to);
      done_ += rows * flops(2, c.keys(), 2 * (s.qk_dim + s.v_dim));
    }
    if (in.sinks != nullptr) launch(s.heads, line, SinkSums{s.rows(), s.heads, sinks.data(), w(to.sinks)});
  }

  // ---- number by number
  void add(const Pointwise& s, In a, In b, Out y) override { cuda::sum(device_, size(s), n(a), n(b), n(y)); }
  void accumulate(Count count, In x, Out y) override { cuda::sum(device_, count, n(In(y)), n(x), n(y)); }
  void multiply(const Pointwise& s, In a, In b, Out y) override { cuda::multiply(device_, size(s), n(a), n(b), n(y)); }
  void multiply_gradient(const Pointwise& s, In a, In b, In dy, Out da, bool add_a, Out db, bool add_b) override {
    cuda::multiply_gradient(device_, size(s), n(a), n(b), n(dy), n(da), add_a, n(db), add_b);
  }
  void scale(const Pointwise& s, In a, In g, Out y) override {
    cuda::scale(device_, s.rows, s.width, n(a), n(g), n(y));
  }
  void scale_gradient(const Pointwise& s, In a, In g, In dy, Out da, bool add_a, Out dg, bool add_g) override {
    launch(s.rows, line, ScaleGradient<T>{s.width, n(a), n(g), n(dy), n(da), add_a, n(dg), add_g});
  }
  void activate(const Pointwise& s, Activation act, In x, Out y) override {
    with_activation(act, [&](auto f) { cuda::activate<decltype(f)>(device_, size(s), n(x), n(y)); });
  }
  void activate_gradient(const Pointwise& s, Activation act, In x, In dy, Out dx, bool add) override {
    with_activation(act,
                    [&](auto f) { cuda::activate_gradient<decltype(f)>(device_, size(s), n(x), n(dy), n(dx), add); });
  }
  void gate(const Pointwise& s, Activation act, In a, In b, Out y) override {
    with_activation(act, [&](auto f) { cuda::gate<decltype(f)>(device_, size(s), n(a), n(b), n(y)); });
  }
  void gate_gradient(const Pointwise& s, Activation act, In a, In b, In dy, Out da, bool add_a, Out db,
                     bool add_b) override {
    with_activation(act, [&](auto f) {
      cuda::gate_gradient<decltype(f)>(device_, size(s), n(a), n(b), n(dy), n(da), add_a, n(db), add_b);
    });
  }
  void dropout(const Pointwise& s, const Dropout& d, Out x, Out mask) override {
    cuda::dropout(device_, size(s), d, n(x), static_cast<std::uint8_t*>(mask));
  }
  void dropout_gradient(const Pointwise& s, const Dropout& d, In mask, Out dx) override {
    cuda::dropout_gradient(device_, size(s), d, static_cast<const std::uint8_t*>(mask), n(dx));
  }

  // ---- mixture of experts
  void route(const Pointwise& s, In logits, Out gates, Out kept) override {
    const Scratch<W> room(device_, kept != nullptr ? 1 : 2 * size(s));
    cuda::route(device_, s, n(logits), kept != nullptr ? w(kept) : room.data(), n(gates));
  }
  void route_gradient(const Pointwise& s, In kept, In dgates, Out dlogits, bool add) override {
    cuda::route_gradient(device_, s, w(kept) + size(s), n(dgates), n(dlogits), add);
  }
  void dispatch(const Pointwise& s, Count experts, In gates, In x, Out y) override {
    const Scratch<Count> token(device_, routing_of<T>(s.rows / s.top_k, experts, gates).token);
    cuda::rows_of_table(device_, s.rows, s.width, token.data(), n(x), n(y));
  }
  void dispatch_gradient(const Pointwise& s, Count experts, In kept, In dy, Out dx, bool add) override {
    const Count tokens = s.rows / s.top_k;
    const Routing r = routing_of<W>(tokens, experts, w(kept) + tokens * experts);
    cuda::sum_rows(device_, r, std::vector<W>(r.token.size(), W(1)), s.width, n(dy), n(dx), add);
  }
  void combine(const Pointwise& s, Count experts, In gates, In x, Out y, Out kept) override {
    const std::vector<T> all = downloaded<T>(gates, s.rows * experts);
    const Routing r = routing(s.rows, experts, all.data());
    std::vector<W> gate(r.token.size());
    each_routed(r, experts, [&](Count e, std::size_t i) {
      gate[i] = model::wide(all[static_cast<std::size_t>(r.token[i] * experts + e)]);
    });
    if (kept != nullptr) device_.upload(kept, gate.data(), static_cast<Count>(gate.size() * sizeof(W)));
    cuda::sum_rows(device_, r, gate, s.width, n(x), n(y), false);
  }
  void combine_gradient(const Pointwise& s, Count experts, In route_kept, In x, In kept, In dy, Out dx, bool add_x,
                        Out dgates, bool add_g) override {
    const Routing r = routing_of<W>(s.rows, experts, w(route_kept) + s.rows * experts);
    std::vector<Count> expert(r.token.size());
    each_routed(r, experts, [&](Count e, std::size_t i) { expert[i] = e; });
    if (!add_g) zero(dgates, mul(s.rows, experts) * number());
    const Scratch<Count> token(device_, r.token), of(device_, expert);
    launch(static_cast<Count>(expert.size()), line,
           CombineGradient<T>{s.width, experts, token.data(), of.data(), n(x), w(kept), n(dy), n(dx), add_x, n(dgates),
                              add_g});
  }

  // ---- loss, cache, optimizer
  double loss(const Loss& s, const std::int64_t* targets, Out logits) override {
    const Scratch<std::int64_t> ids(device_, std::vector<std::int64_t>(targets, targets + s.rows));
    const Scratch<W> losses(device_, s.rows);
    launch(s.rows, line, LossRows{s.vocabulary, ids.data(), w(logits), losses.data()});
    double all = 0;
    for (const W l : downloaded<W>(losses.data(), s.rows)) all += static_cast<double>(l);
    return all / static_cast<double>(s.rows);
  }
  void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, Out logits) override {
    const Scratch<std::int64_t> ids(device_, std::vector<std::int64_t>(targets, targets + s.rows));
    everywhere(mul(s.rows, s.vocabulary), [f = static_cast<W>(scale), vocabulary = s.vocabulary, ids = ids.data(),
                                           x = w(logits)] LLMCALC_DEVICE(Count i) {
      const W p = exp_of(x[i]) * f;
      x[i] = i % vocabulary == ids[i / vocabulary] ? p - f : p;
    });
  }
  void cache(Count sequences, const Positions& p, In x, Count x_stride, Count width, Out to, Count row,
             Count capacity) override {
    everywhere(sequences * p.queries * width, [=, from = n(x), to = n(to)] LLMCALC_DEVICE(Count i) {
      const Count token = i / width, s = token / p.queries, t = token % p.queries;
      to[(s * capacity + (p.past + t) % capacity) * row + i % width] = from[token * x_stride + i % width];
    });
  }
  double square_sum(Count count, In g) override {
    constexpr Count stretch = 1 << 16;
    const Count blocks = (count + stretch - 1) / stretch;
    const Scratch<double> sums(device_, blocks);
    launch(blocks, line, SquareSums{count, stretch, w(g), sums.data()});
    double all = 0;
    for (const double s : downloaded<double>(sums.data(), blocks)) all += s;
    return all;
  }
  void multiply_by(Count count, double factor, Out g) override {
    everywhere(count, [f = static_cast<W>(factor), g = w(g)] LLMCALC_DEVICE(Count i) { g[i] = g[i] * f; });
  }
  void adamw(Count count, const AdamW& o, In g, Out weight, Out master, Out m, Out v) override {
    cuda::adamw(device_, count, o, w(g), n(weight), w(master), w(m), w(v));
  }
  void sgd(Count count, const Momentum& o, In g, Out weight, Out master, Out velocity) override {
    cuda::sgd(device_, count, o, w(g), n(weight), w(master), w(velocity));
  }

 private:
  static constexpr Count wide_bytes = static_cast<Count>(sizeof(W));

  template <typename F>
  void everywhere(Count count, F f) {
    cuda::everywhere(device_, count, f);
  }
  template <typename Kernel>
  void launch(Count blocks, Count room, const Kernel& kernel) {
    if (blocks > 0) device_.launch(kernel, blocks, threads, room);
  }

  template <typename X>
  void write_as(Out to, std::span<const double> from) {
    std::vector<X> values;
    for (const double v : from) values.push_back(static_cast<X>(static_cast<W>(v)));
    device_.upload(to, values.data(), static_cast<Count>(values.size() * sizeof(X)));
  }
  template <typename X>
  std::vector<X> downloaded(In from, Count count) const {
    std::vector<X> values(static_cast<std::size_t>(count));
    device_.download(values.data(), from, count * static_cast<Count>(sizeof(X)));
    return values;
  }
  template <typename X>
  void read_as(std::span<double> to, In from) const {
    const std::vector<X> values = downloaded<X>(from, static_cast<Count>(to.size()));
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(model::wide(values[i]));
  }
  static std::vector<Count> rows_of(const Lookup& s, const std::int64_t* ids, const Positions& p) {
    std::vector<Count> rows;
    for (Count t = 0; t < s.tokens; ++t) rows.push_back(ids != nullptr ? ids[t] : p.past + t % p.queries);
    return rows;
  }
  template <typename G>
  Routing routing_of(Count tokens, Count experts, In gates) const {
    return routing(tokens, experts, downloaded<G>(gates, tokens * experts).data());
  }
  template <typename F>
  static void each_routed(const Routing& r, Count experts, const F& f) {
    for (Count e = 0; e < experts; ++e)
      for (Count i = r.first[static_cast<std::size_t>(e)]; i < r.first[static_cast<std::size_t>(e) + 1]; ++i)
        f(e, static_cast<std::size_t>(i));
  }

  template <typename X>
  void product(const MatmulShape& s, In a, In b, Out c, bool wide_output) {
    if (s.m == 0 || s.n == 0 || s.k == 0) return;
    device_.matmul(s, sizeof(T) == 2, wide_output || sizeof(T) == 4, a, b, c);
    done_ += flops(2, s.m, s.n, s.k);
  }
  void dense_gradient(const Linear& s, Count rows, const T* x, const T* weight, const T* dy, Count stride, T* dx,
                      bool add, W* dw, W* db) {
    if (rows == 0) return;
    product<T>({rows, s.in, s.out, false, false, add, stride, s.in, s.in, false}, dy, weight, dx, false);
    product<T>({s.out, s.in, rows, true, false, true, stride, s.in, s.in, false}, dy, x, dw, true);
    if (db != nullptr) bias_gradient(device_, rows, s.out, dy, stride, db);
  }
  void routed(const Linear& s, const LinearView& v, Out y) {
    const Routing r = routing_of<T>(s.rows / s.top_k, s.groups, v.choice);
    for (Count e = 0; e < s.groups; ++e) {
      const Count first = r.first[static_cast<std::size_t>(e)], rows = r.first[static_cast<std::size_t>(e) + 1] - first;
      T* const to = n(y) + first * s.out;
      product<T>({rows, s.out, s.in, false, true, false, s.in, s.in, s.out, false}, n(v.x) + first * s.in,
                 n(v.weight) + e * s.out * s.in, to, false);
      if (v.bias != nullptr) add_bias(device_, rows, s.out, n(v.bias) + e * s.out, to);
    }
  }
  void routed_gradient(const Linear& s, const LinearView& v, In dy, Out dx, bool add, Out dw, Out db) {
    const Count tokens = s.rows / s.top_k;
    const Routing r = routing_of<W>(tokens, s.groups, w(v.choice) + tokens * s.groups);
    for (Count e = 0; e < s.groups; ++e) {
      const Count first = r.first[static_cast<std::size_t>(e)], rows = r.first[static_cast<std::size_t>(e) + 1] - first;
      dense_gradient(s, rows, n(v.x) + first * s.in, n(v.weight) + e * s.out * s.in, n(dy) + first * s.out, s.out,
                     n(dx) + first * s.in, add, w(dw) + e * s.out * s.in, db != nullptr ? w(db) + e * s.out : nullptr);
    }
  }
  /// Absorbed projections of latent attention: each head has its own rows of the up-projection, on its own part of x.
  void per_head(const Linear& s, const LinearView& v, const T* x, const T* weight, T* y) {
    const Count heads = s.groups, tokens = s.rows / heads, width = v.transposed ? s.out : s.in;
    for (Count h = 0; h < heads; ++h)
      product<T>({tokens, s.out, s.in, false, !v.transposed, false, v.x_stride, width, heads * v.y_head, false},
                 x + h * v.x_head, weight + (h * v.head_rows + v.weight_offset) * width, y + h * v.y_head, false);
  }

  static Flops flash_flops(const Scores<T>& c, Count width) {
    Count pairs = 0;
    for (Count i = 0; i < c.s.queries; ++i) pairs += c.last(i) - c.first(i);
    return (c.s.sequences * c.s.heads) * flops(2, pairs, width);
  }
  /// False where it must be done elsewhere.
  bool on_tensor_cores(const Scores<T>& c, float* log_sum_exp, T* o) {
    if constexpr (std::is_same_v<T, bf16>)
      if (mma_handles(c.s, c.in, c.drop)) return mma_attention(device_, c, log_sum_exp, o), true;
    return false;
  }
  bool gradient_on_tensor_cores(const FlashPairs<T>& p, const AttentionGradients& to) {
    if constexpr (std::is_same_v<T, bf16>)
      if (mma_handles(p.c.s, p.c.in, p.c.drop) && mma_handles(p.c.s, to))
        return mma_attention_gradient(device_, p, to), true;
    return false;
  }
  template <typename Pairs>
  void pair_gradients(const Pairs& pairs, const T* d_o, const AttentionGradients& to) {
    const Attention& s = pairs.c.s;
    const Count room = (2 * threads + s.qk_dim + s.v_dim) * wide_bytes, keys = s.sequences * pairs.c.keys();
    launch(s.rows() * s.heads, room, QueryGradient<T, Pairs>{pairs, to});
    launch(keys * s.kv_heads, room, KeyGradient<T, Pairs>{pairs, d_o, to, false});
    if (pairs.c.in.rope_dim > 0) launch(keys, room, KeyGradient<T, Pairs>{pairs, d_o, to, true});
  }

  Device& device_;
  Turns<Device> turns_;
  std::string name_;
  bool poison_;
  Flops done_;
};

}  // namespace llmcalc::model::cuda
