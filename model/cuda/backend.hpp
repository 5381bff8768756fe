#pragma once
/// The operators on a GPU, with elements of type T: float, or bf16 with float as the wide format. `Device` provides
/// memory, launches kernels and multiplies matrices (model/cuda/device.cuh); tests provide one on the CPU.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/cuda/copy.hpp"
#include "model/cuda/fast/core_choice.hpp"
#include "model/cuda/fast/decode_attention.hpp"
#include "model/cuda/fast/replay.hpp"
#include "model/cuda/kernels/attention.hpp"
#include "model/cuda/kernels/attention_launches.hpp"
#include "model/cuda/kernels/classifier.hpp"
#include "model/cuda/kernels/column_sums.hpp"
#include "model/cuda/kernels/experts.hpp"
#include "model/cuda/kernels/lookup.hpp"
#include "model/cuda/kernels/norm.hpp"
#include "model/cuda/kernels/optimizer.hpp"
#include "model/cuda/kernels/pointwise.hpp"
#include "model/cuda/kernels/position.hpp"
#include "model/cuda/kernels/products.hpp"
#include "model/cuda/kernels/rows.hpp"
#include "model/cuda/workspace.hpp"

namespace llmcalc::model::cuda {

template <typename T, typename Device>
class Cuda final : public Backend {
  using W = float;
  template <typename X>
  using Scratch = DeviceWorkspace<Device, X>;
  static const T* n(In p) { return static_cast<const T*>(p); }
  static T* n(Out p) { return static_cast<T*>(p); }
  static const W* w(In p) { return static_cast<const W*>(p); }
  static W* w(Out p) { return static_cast<W*>(p); }
  static Count size(const Pointwise& s) { return mul(s.rows, s.width); }
  static constexpr int threads = 128;
  static constexpr Count line = warp * static_cast<Count>(sizeof(double));  ///< bytes of shared memory for a block's
                                                                            ///< sums

 public:
  Cuda(Device& device, std::string name, bool poison, Instruments* instruments = nullptr)
      : device_(device),
        turns_(device_),
        classifier_(device_),
        name_(std::move(name)),
        poison_(poison),
        instruments_(instruments),
        replays_(device),
        routings_(device_),
        products_(device_, replays_, routings_) {}
  void* allocate(Bytes bytes) override {
    void* const data = device_.allocate(bytes.value);
    if (poison_) device_.fill(data, 0xff, bytes.value);  // NaN in every format
    return data;
  }
  void release(void* data, Bytes bytes) override { device_.release(data, bytes.value); }
  Bytes number() const override { return Bytes(sizeof(T)); }
  Bytes wide() const override { return Bytes(sizeof(W)); }
  /// Whether the backend supports these numerics: any epsilon, and the same RoPE in every layer and for every
  /// sequence length.
  bool computes(const Numerics& all) const override {
    const Numerics known{.norm_epsilon = all.norm_epsilon, .rope = all.rope, .local_rope = all.rope};
    return all == known && all.rope.scaling != RopeScaling::dynamic;
  }
  bool runs_modules() const override { return false; }
  std::string lacks(const Arch& a) const override {
    if (!a.linear_layers.empty()) return "linear attention";
    if (a.altup) return "alternating updates";
    if (a.streams > 1) return "hyper-connections";
    if (a.residual_block > 0) return "mixed residual streams";
    for (std::size_t i = 0; i <= a.mixers.size(); ++i) {
      if (a.mixer(i).indexer.kind != IndexerKind::none) return "attention to keys selected by an indexer";
      if (a.mixer(i).shared_kv) return "cross-layer sharing of keys and values";
      if (const RecurrentKind kind = a.mixer(i).recurrent.kind; kind != RecurrentKind::none)
        return std::string(llmcalc::name(kind));
      if (a.mixer(i).attention == AttentionKind::compressed) return "compressed attention";
    }
    if (a.mlp_shift) return "token mixing in MLPs";
    if (a.output_scale) return "layer scale factors";
    if (a.per_layer.width > 0) return "per-layer inputs";
    if (a.moe.zero_experts > 0) return "identity experts";
    if (a.moe.router_scales) return "expert scale factors";
    if (a.bidirectional) return "bidirectional attention";
    if (!a.head.has_logits()) return "models without logits";
    if (a.head.exit_gate) return "exit gates";
    if (a.position == Position::relative) return "relative positions";
    return a.activation == Activation::xielu ? "xIELU" : "";
  }
  std::string_view name() const override { return name_; }
  AttentionCores attention_cores() const override { return cores_.ran(); }
  Bytes capacity() const override { return Bytes(device_.capacity()); }
  Bytes available() const override { return Bytes(device_.available()); }
  void upload(Out to, const void* from, Bytes bytes) override { replays_.upload(to, from, bytes.value); }
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
  Instruments* instruments() override { return instruments_; }
  Flops done() const override { return replays_.counted(); }

  // ---- tables and positions
  void lookup(const Lookup& s, const Ids& ids, const Positions& p, In table, Out y) override {
    if (ids.host == nullptr) return rows_of_positions(device_, s, p.queries, replays_.past(p.past), n(table), n(y));
    if (ids.saved != nullptr)
      return rows_of_table(device_, s.tokens, s.width, static_cast<const Count*>(ids.saved), n(table), n(y));
    const auto there = replays_.ids(s.tokens, ids.host);
    rows_of_table(device_, s.tokens, s.width, there.data(), n(table), n(y));
  }
  void lookup_gradient(const Lookup& s, const Ids& ids, const Positions& p, In dy, Out dtable) override {
    if (ids.host == nullptr) return position_sums(device_, s, p.queries, replays_.past(p.past), n(dy), w(dtable));
    const auto buckets = replays_.template fed<Count>(
        bucket_numbers(s.tokens), ids.host,
        [=](const std::int64_t* from, Count* to) { make_buckets(s.tokens, s.rows, from, to); });
    bucket_sums(device_, s, buckets.data(), n(dy), w(dtable));
  }
  void add_sinusoid(const Lookup& s, const Positions& p, Out y) override {
    cuda::add_sinusoid(device_, s, p, turns(p, s.width), n(y));
  }
  void rope(Count rows, const Positions& p, Out x, Count row, Count heads, Count head, Count width, Count offset,
            bool inverse) override {
    rotate(device_, rows, p, turns(p, width), n(x) + offset, row, heads, head, width, inverse);
  }

  // ---- matmuls
  void linear(const Linear& s, const LinearView& v, Out y) override { products_.linear(s, v, y); }
  void linear_gradient(const Linear& s, const LinearView& v, In dy, Out dx, bool add, Out dw, Out db) override {
    products_.gradient(s, v, dy, dx, add, dw, db);
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
                 const AttentionSaved& k, Out o) override {
    const Scores<T> c = scores(s, in, d);
    AttentionLaunches<T, Device> own(device_, c, k);
    if (how == AttentionImpl::flash) {
      if (const DecodeAttention<T> decode(c); decode.can())
        decode.run(device_, w(k.log_sum_exp), n(o));
      else if (s.queries > 1 && cores_.tensor_cores(false, own.obstacle()))
        own.on_tensor_cores(n(o));
      else
        own.flash(n(o));
      count_flash(s, s.qk_dim + s.v_dim);
    } else {
      own.naive(n(o));
      const Count keys = s.queries > 1 ? s.keys : s.reach.seen(s.keys - 1);
      replays_.count(s.rows() * s.heads * flops(2, keys, s.qk_dim + s.v_dim));
    }
  }
  void attention_gradient(const Attention& s, const AttentionInputs& in, AttentionImpl how, const Dropout& d,
                          const AttentionSaved& k, In o, In d_o, Out scratch, const AttentionGradients& to) override {
    AttentionLaunches<T, Device> own(device_, scores(s, in, d), k);
    if (how == AttentionImpl::flash) {
      if (s.queries > 1 && cores_.tensor_cores(true, own.obstacle(to)))
        own.gradient_on_tensor_cores(n(o), n(d_o), to);
      else
        own.flash_gradient(n(o), n(d_o), to);
      count_flash(s, 3 * s.qk_dim + 2 * s.v_dim);  // recomputed scores, dp and dv, dq and dk
    } else {
      own.naive_gradient(n(d_o), n(scratch), to);
      replays_.count(s.rows() * s.heads * flops(2, s.keys, 2 * (s.qk_dim + s.v_dim)));
    }
  }

  // ---- element by element
  void add(const Pointwise& s, In a, In b, Out y) override { cuda::sum(device_, size(s), n(a), n(b), n(y)); }
  void accumulate(Count count, In x, Out y) override { cuda::sum(device_, count, n(In(y)), n(x), n(y)); }
  void multiply_all(Count, double, Out) override { refuse_uncomputed(); }
  void cap(Count, double, Out, bool) override { refuse_uncomputed(); }
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
    cuda::dropout(device_, size(s), moved(d), n(x), static_cast<std::uint8_t*>(mask));
  }
  void dropout_gradient(const Pointwise& s, const Dropout& d, In mask, Out dx) override {
    cuda::dropout_gradient(device_, size(s), d, static_cast<const std::uint8_t*>(mask), n(dx));
  }

  // ---- mixture of experts
  void route(const Pointwise& s, In logits, Out gates, Out saved) override {
    const Scratch<W> room(device_, saved != nullptr ? 1 : 2 * size(s));
    cuda::route(device_, s, n(logits), saved != nullptr ? w(saved) : room.data(), n(gates));
    const auto r = routings_.made(s.rows, s.width, s.top_k, n(In(gates)));
    routings_.keep(gates, r);
    if (saved != nullptr) routings_.keep(saved, r);
  }
  void route_gradient(const Pointwise& s, In saved, In dgates, Out dlogits, bool add) override {
    cuda::route_gradient(device_, s, w(saved) + size(s), n(dgates), n(dlogits), add);
    routings_.forget(saved);
  }
  void dispatch(const Pointwise& s, Count experts, In gates, In x, Out y) override {
    const auto r = routings_.of(gates, s.rows / s.top_k, experts, s.top_k, n(gates));
    rows_of_table(device_, s.rows, s.width, r->token(), n(x), n(y));
  }
  void dispatch_gradient(const Pointwise& s, Count experts, In saved, In dy, Out dx, bool add) override {
    const Count tokens = s.rows / s.top_k;
    const auto r = routings_.of(saved, tokens, experts, s.top_k, w(saved) + tokens * experts);
    sum_rows(device_, tokens, s.top_k, r->row(), nullptr, s.width, n(dy), n(dx), add);
  }
  void combine(const Pointwise& s, Count experts, In gates, In x, Out y, Out saved) override {
    const auto r = routings_.of(gates, s.rows, experts, s.top_k, n(gates));
    const Count rows = s.rows * s.top_k;
    const Scratch<W> room(device_, saved != nullptr ? 1 : rows);
    W* const gate = saved != nullptr ? w(saved) : room.data();
    row_gates(device_, rows, experts, r->token(), r->expert(), n(gates), gate);
    sum_rows(device_, s.rows, s.top_k, r->row(), gate, s.width, n(x), n(y), false);
    routings_.forget(gates);
  }
  void combine_gradient(const Pointwise& s, Count experts, In route_saved, In x, In saved, In dy, Out dx, bool add_x,
                        Out dgates, bool add_g) override {
    const auto r = routings_.of(route_saved, s.rows, experts, s.top_k, w(route_saved) + s.rows * experts);
    if (!add_g) zero(dgates, mul(s.rows, experts) * number());
    launch(s.rows * s.top_k, line,
           CombineGradient<T>{s.width, experts, r->token(), r->expert(), n(x), w(saved), n(dy), n(dx), add_x, n(dgates),
                              add_g});
  }

  // ---- loss, cache, optimizer
  void loss(const Loss& s, const std::int64_t* targets, Out logits, Out log_sums, double* mean) override {
    const auto there = replays_.ids(s.rows, targets);
    log_sums != nullptr ? classifier_.loss(s, there.data(), n(In(logits)), w(log_sums), mean)
                        : classifier_.loss(s, there.data(), w(In(logits)), mean);
  }
  void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, Out logits, In log_sums) override {
    const auto there = replays_.ids(s.rows, targets);
    log_sums != nullptr ? classifier_.gradient(s, there.data(), scale, n(logits), w(log_sums))
                        : classifier_.gradient(s, there.data(), scale, w(logits));
  }
  void cache(Count sequences, const Positions& p, In x, Count x_stride, Count width, Out to, Count row,
             Count capacity) override {
    const CachePlaces places{p.queries, capacity, x_stride, row, replays_.past(p.past)};
    rows_to_cache(device_, sequences, width, places, n(x), n(to));
  }
  void square_sums(Updates all, double* sums) override { cuda::square_sums(device_, threads, line, all, sums); }
  void clip(std::span<const double> losses, std::span<const double> squares, double most, double* norm) override {
    everywhere(device_, 1, ClipOf{losses.data(), squares.data(), losses.size(), squares.size(), most, norm});
  }
  void multiply_by(Updates all, const double* factor) override { cuda::multiply_by(device_, all, factor); }
  void update(Updates all, const OptimizerStep& o) override { cuda::update<T>(device_, replays_, all, o); }

  // ---- replay
  void replay(std::unique_ptr<Recording>& held, const Moving& moving, const std::function<void()>& f) override {
    forget();
    replays_.run(held, moving, [&] {
      // Clears state created while recording, because its memory belongs to the recording.
      const struct Forget {
        Cuda& backend;
        ~Forget() { backend.forget(); }
      } forget_at_end{*this};
      f();
    });
  }

 private:
  [[noreturn]] static void refuse_uncomputed() { throw std::logic_error("a model rejected by computes()"); }
  static constexpr Count wide_bytes = static_cast<Count>(sizeof(W));

  template <typename Kernel>
  void launch(Count blocks, Count room, const Kernel& kernel) {
    if (blocks > 0) device_.launch(kernel, blocks, threads, room);
  }

  template <typename X>
  void write_as(Out to, std::span<const double> from) {
    std::vector<X> values(from.size());
    std::transform(from.begin(), from.end(), values.begin(),
                   [](double v) { return static_cast<X>(static_cast<W>(v)); });
    device_.upload(to, values.data(), static_cast<Count>(values.size() * sizeof(X)));
  }
  template <typename X>
  void read_as(std::span<double> to, In from) const {
    std::vector<X> values(to.size());
    device_.download(values.data(), from, static_cast<Count>(values.size() * sizeof(X)));
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(model::wide(values[i]));
  }
  /// Clears the state kept between operators.
  void forget() { turns_.forget(), routings_.forget(), classifier_.forget(); }
  const float* turns(const Positions& p, Count width) {
    return turns_.of(p, width, [this](Count past) { return replays_.past(past); });
  }
  /// The dropout d, with its key at an address that a recording reads.
  Dropout moved(const Dropout& d) {
    if (!(d.p > 0)) return d;
    Dropout there = d;
    there.moved = replays_.key(d).at;
    return there;
  }
  Scores<T> scores(const Attention& s, const AttentionInputs& in, const Dropout& d) {
    return {s, in, moved(d), replays_.past(s.past()).at};
  }
  void count_flash(const Attention& s, Count width) {
    const auto after = [s, width](Count past) {
      Scores<T> c{s, {}, {}};
      c.s.keys = past + c.s.queries;
      Count pairs = 0;
      for (Count i = 0; i < s.queries; ++i) pairs += c.last(i) - c.first(i);
      return (s.sequences * s.heads) * flops(2, pairs, width);
    };
    replays_.count(after(s.past()), [after](const Moving& m) { return after(m.past); });
  }

  Device& device_;
  Turns<Device> turns_;
  Classifier<T, Device> classifier_;
  std::string name_;
  bool poison_;
  CoreChoice cores_;
  Instruments* instruments_;
  Replays<Device> replays_;
  Routings<Device> routings_;
  Products<T, Device> products_;
};

}  // namespace llmcalc::model::cuda
