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
#include "model/cuda/classifier.hpp"
#include "model/cuda/column_sums.hpp"
#include "model/cuda/copy.hpp"
#include "model/cuda/decode_attention.hpp"
#include "model/cuda/experts.hpp"
#include "model/cuda/flash_cores.hpp"
#include "model/cuda/matvec.hpp"
#include "model/cuda/norm.hpp"
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
      : device_(device), turns_(device), classifier_(device), name_(std::move(name)), poison_(poison) {}
  void* allocate(Bytes bytes) override {
    void* data = device_.allocate(bytes.value);
    if (poison_) device_.fill(data, 0xff, bytes.value);  // NaN in every format
    return data;
  }
  void release(void* data, Bytes bytes) override { device_.release(data, bytes.value); }
  Bytes number() const override { return Bytes(sizeof(T)); }
  Bytes wide() const override { return Bytes(sizeof(W)); }
  std::string_view name() const override { return name_; }
  std::string attention_core() const override { return cores_.said(); }
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
    constexpr int N = pack_of<T>;
    const auto buckets = static_cast<Count>(row.size());
    s.width % N == 0 && at_packs<N>(n(dy)) && at_packs<N>(w(dtable))
        ? launch(buckets, 0, BucketSums<T, N>{s.width, begin.data(), tokens.data(), to.data(), n(dy), w(dtable)})
        : launch(buckets, 0, BucketSums<T, 1>{s.width, begin.data(), tokens.data(), to.data(), n(dy), w(dtable)});
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
    dense({s.rows, s.in, s.out, stride, n(v.x), n(v.weight), n(v.bias), y, v.wide_output});
  }
  void linear_gradient(const Linear& s, const LinearView& v, In dy, Out dx, bool add, Out dw, Out db) override {
    if (s.top_k > 0) return routed_gradient(s, v, dy, dx, add, dw, db);
    Count stride = s.out;
    if (v.wide_output) stride *= static_cast<Count>(sizeof(W) / sizeof(T));  // as loss_gradient left it
    dense_gradient(s, s.rows, n(v.x), n(v.weight), n(dy), stride, n(dx), add, w(dw), w(db));
  }

  // ---- norms
  void norm(const Norm& s, const NormView& v, Out y, Out statistics) override {
    Norms<T, Device>::norm(device_, s, v, n(y), w(statistics));
  }
  void norm_gradient(const Norm& s, const NormView& v, In statistics, In dy, Out dx, bool add, Out dw,
                     Out db) override {
    Norms<T, Device>::gradient(device_, s, v, w(statistics), n(dy), n(dx), add, w(dw), w(db));
  }

  // ---- attention
  void attention(const Attention& s, const AttentionInputs& in, AttentionImpl how, const Dropout& d,
                 const AttentionKept& k, Out o) override {
    const Scores<T> c{s, in, d};
    const Count rows = s.rows() * s.heads, room = line + (threads + s.v_dim) * wide_bytes;
    if (how == AttentionImpl::flash) {
      if (const DecodeAttention<T> decode(c); decode.can())
        decode.run(device_, w(k.log_sum_exp), n(o));
      else if (!by_faster_core(s, in, d, sdpa_forward(s, in, w(k.log_sum_exp), o)))
        launch(rows, room, FlashForward<T>{c, w(k.log_sum_exp), n(o)});
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
    // Scores again, dp and dv, dq and dk.
    if (how == AttentionImpl::flash) done_ += flash_flops(c, 3 * s.qk_dim + 2 * s.v_dim);
    if (how == AttentionImpl::flash && by_faster_core(s, in, d, sdpa_backward(s, in, w(k.log_sum_exp), o, d_o, to)))
      return;
    const Scratch<W> delta(device_, rows), sinks(device_, rows);
    if (how == AttentionImpl::flash) {
      launch(rows, line, FlashDelta<T>{c, w(k.log_sum_exp), n(o), n(d_o), delta.data(), sinks.data()});
      pair_gradients(FlashPairs<T>{c, w(k.log_sum_exp), delta.data(), n(d_o)}, n(d_o), to);
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
    return classifier_.loss(s, targets, w(In(logits)));
  }
  void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, Out logits) override {
    classifier_.gradient(s, targets, scale, w(logits));
  }
  void cache(Count sequences, const Positions& p, In x, Count x_stride, Count width, Out to, Count row,
             Count capacity) override {
    cache_rows(device_, sequences, p, n(x), x_stride, width, n(to), row, capacity);
  }
  double square_sum(Count count, In g) override {
    constexpr Count stretch = 1 << 16;
    const Count blocks = (count + stretch - 1) / stretch;
    const Scratch<double> sums(device_, blocks);
    at_packs<4>(w(g)) ? launch(blocks, line, SquareSums<4>{count, stretch, w(g), sums.data()})
                      : launch(blocks, line, SquareSums<1>{count, stretch, w(g), sums.data()});
    double all = 0;
    for (const double s : downloaded<double>(sums.data(), blocks)) all += s;
    return all;
  }
  void multiply_by(Count count, double factor, Out g) override { cuda::multiply_by(device_, count, factor, w(g)); }
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
  void dense(const FewRows<T>& a) {
    if (a.can()) {
      a.run(device_), done_ += flops(2, a.rows, a.out, a.in);
      return;
    }
    product<T>({a.rows, a.out, a.in, false, true, false, a.x_stride, a.in, a.out}, a.x, a.weight, a.y, a.wide_output);
    if (a.bias == nullptr) return;
    a.wide_output ? add_bias(device_, a.rows, a.out, a.bias, w(a.y)) : add_bias(device_, a.rows, a.out, a.bias, n(a.y));
  }
  void dense_gradient(const Linear& s, Count rows, const T* x, const T* weight, const T* dy, Count stride, T* dx,
                      bool add, W* dw, W* db) {
    if (rows == 0) return;
    product<T>({rows, s.in, s.out, false, false, add, stride, s.in, s.in}, dy, weight, dx, false);
    product<T>({s.out, s.in, rows, true, false, true, stride, s.in, s.in}, dy, x, dw, true);
    if (db != nullptr) bias_gradient(device_, rows, s.out, dy, stride, db);
  }
  void routed(const Linear& s, const LinearView& v, Out y) {
    const Routing r = routing_of<T>(s.rows / s.top_k, s.groups, v.choice);
    for (Count e = 0; e < s.groups; ++e) {
      const Count first = r.first[static_cast<std::size_t>(e)], rows = r.first[static_cast<std::size_t>(e) + 1] - first;
      const T* const bias = v.bias != nullptr ? n(v.bias) + e * s.out : nullptr;
      dense({rows, s.in, s.out, s.in, n(v.x) + first * s.in, n(v.weight) + e * s.out * s.in, bias, n(y) + first * s.out,
             false});
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
      product<T>({tokens, s.out, s.in, false, !v.transposed, false, v.x_stride, width, heads * v.y_head},
                 x + h * v.x_head, weight + (h * v.head_rows + v.weight_offset) * width, y + h * v.y_head, false);
  }

  static Flops flash_flops(const Scores<T>& c, Count width) {
    Count pairs = 0;
    for (Count i = 0; i < c.s.queries; ++i) pairs += c.last(i) - c.first(i);
    return (c.s.sequences * c.s.heads) * flops(2, pairs, width);
  }
  bool by_faster_core(const Attention& s, const AttentionInputs& in, const Dropout& d, const Sdpa& call) {
    return cuda::by_faster_core(device_, cores_, s, in, d, number(), call);
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
  Classifier<T, Device> classifier_;
  std::string name_;
  bool poison_;
  CoreChoice cores_;
  Flops done_;
};

}  // namespace llmcalc::model::cuda
