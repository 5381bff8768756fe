#pragma once
/// The CPU backend with elements of type T.

#include <unistd.h>

#include <cstring>
#include <memory>

#include "model/cpu/attention/attention.hpp"
#include "model/cpu/attention/indexer.hpp"
#include "model/cpu/attention/pooled_keys.hpp"
#include "model/cpu/attention/position.hpp"
#include "model/cpu/pool.hpp"
#include "model/cpu/products/experts.hpp"
#include "model/cpu/products/linear.hpp"
#include "model/cpu/products/own_experts.hpp"
#include "model/cpu/recurrent/convolution.hpp"
#include "model/cpu/recurrent/recurrence.hpp"
#include "model/cpu/recurrent/rwkv.hpp"
#include "model/cpu/rowwise/altup.hpp"
#include "model/cpu/rowwise/coded.hpp"
#include "model/cpu/rowwise/factor.hpp"
#include "model/cpu/rowwise/mixed.hpp"
#include "model/cpu/rowwise/norm.hpp"
#include "model/cpu/rowwise/optimizers.hpp"
#include "model/cpu/rowwise/pointwise.hpp"
#include "model/cpu/rowwise/streams.hpp"
#include "model/cpu/rowwise/xielu.hpp"
#include "model/math/clip.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename T>
class Cpu final : public Backend {
  using W = Wide<T>;
  static const T* n(In p) { return static_cast<const T*>(p); }
  static T* n(Out p) { return static_cast<T*>(p); }
  static const W* w(In p) { return static_cast<const W*>(p); }
  static W* w(Out p) { return static_cast<W*>(p); }
  static const std::uint8_t* b(In p) { return static_cast<const std::uint8_t*>(p); }
  static std::uint8_t* b(Out p) { return static_cast<std::uint8_t*>(p); }
  static Count size(const Pointwise& s) { return mul(s.rows, s.width); }

 public:
  explicit Cpu(std::string_view name, bool poison) : name_(name), poison_(poison) {}

  void* allocate(Bytes bytes) override {
    void* data = pool_.take(bytes);
    if (poison_) std::memset(data, 0xff, static_cast<std::size_t>(bytes.value));  // NaN in every format
    return data;
  }
  void release(void* data, Bytes bytes) override { pool_.give(data, bytes); }
  Bytes number() const override { return Bytes(sizeof(T)); }
  DType format() const override { return std::is_same_v<T, fp16> ? dtypes::fp16 : Backend::format(); }
  Bytes wide() const override { return Bytes(sizeof(W)); }
  std::string_view name() const override { return name_; }
  bool computes(const Numerics&) const override { return true; }
  std::string lacks_of(const Plan&) const override { return {}; }
  Bytes capacity() const override { return Bytes(mul(::sysconf(_SC_PHYS_PAGES), ::sysconf(_SC_PAGE_SIZE))); }
  void upload(Out to, const void* from, Bytes bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes.value));
  }
  void download(void* to, In from, Bytes bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes.value));
  }
  void zero(Out x, Bytes bytes) override { std::memset(x, 0, static_cast<std::size_t>(bytes.value)); }
  void copy(Out to, In from, Bytes bytes) override { std::memcpy(to, from, static_cast<std::size_t>(bytes.value)); }
  void write(Out to, std::span<const double> from, bool is_wide) override {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (is_wide)
        w(to)[i] = W(static_cast<Plain<W>>(from[i]));
      else
        n(to)[i] = T(W(static_cast<Plain<W>>(from[i])));
  }
  void read(std::span<double> to, In from, bool is_wide) const override {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<double>(is_wide ? w(from)[i] : model::wide(n(from)[i]));
  }

  void lookup(const Lookup& s, const Ids& ids, const Positions& p, In table, Out y) override {
    LLMCALC_ISA::lookup(s, there(ids), p, n(table), n(y));
  }
  void lookup_gradient(const Lookup& s, const Ids& ids, const Positions& p, In dy, Out dtable) override {
    LLMCALC_ISA::lookup_gradient(s, there(ids), p, n(dy), w(dtable));
  }
  void add_sinusoid(const Lookup& s, const Positions& p, Out y) override { LLMCALC_ISA::add_sinusoid(s, p, n(y)); }

  void linear(const Linear& s, const LinearView& v, Out y) override {
    const Count stride = v.x_stride > 0 ? v.x_stride : s.in;
    if (v.head_rows > 0)
      done_ += per_head(s, v, n(v.x), n(v.weight), n(y));
    else if (s.top_k > 0)
      done_ += routed(s, v, n(v.x), n(v.weight), n(v.bias), n(y));
    else if (v.wide_output)
      done_ += dense(s, s.rows, n(v.x), stride, n(v.weight), n(v.bias), w(y));
    else
      done_ += dense(s, s.rows, n(v.x), stride, n(v.weight), n(v.bias), n(y));
  }
  void linear_gradient(const Linear& s, const LinearView& v, In dy, Out dx, bool add, Out dw, Out db) override {
    if (v.head_rows > 0)
      done_ += per_head_gradient(s, v, n(v.x), n(v.weight), n(dy), n(dx), add, w(dw));
    else if (s.top_k > 0)
      done_ += routed_gradient(s, v, n(v.x), n(v.weight), n(dy), n(dx), add, w(dw), w(db));
    else if (v.wide_output && sizeof(W) != sizeof(T))
      done_ += rounded_gradient(s, v, w(const_cast<Out>(dy)), n(dx), add, w(dw), w(db));
    else
      done_ += dense_gradient(s, s.rows, n(v.x), v.x_stride > 0 ? v.x_stride : s.in, n(v.weight), n(dy), s.out, n(dx),
                              add, w(dw), v.add_weight_gradient, w(db));
  }

  void norm(const Norm& s, const NormView& v, Out y, Out statistics) override {
    LLMCALC_ISA::norm(s, v, n(y), w(statistics));
  }
  void norm_gradient(const Norm& s, const NormView& v, In statistics, In dy, Out dx, bool add, Out dw,
                     Out db) override {
    LLMCALC_ISA::norm_gradient(s, v, w(statistics), n(dy), n(dx), add, w(dw), w(db));
  }

  void attention(const Attention& s, const AttentionInputs& in, AttentionImpl how, const Dropout& d,
                 const AttentionSaved& k, Out o) override {
    done_ += how == AttentionImpl::flash ? flash(s, in, d, w(k.log_sum_exp), n(o)) : naive(s, in, d, k, n(o));
  }
  void attention_gradient(const Attention& s, const AttentionInputs& in, AttentionImpl how, const Dropout& d,
                          const AttentionSaved& k, In o, In d_o, Out scratch, const AttentionGradients& to) override {
    done_ += how == AttentionImpl::flash ? flash_gradient(s, in, d, w(k.log_sum_exp), n(o), n(d_o), to)
                                         : naive_gradient(s, in, d, k, n(d_o), n(scratch), to);
  }

  void rope(Count rows, const Positions& p, Out x, Count row, Count heads, Count head, Count width, Count offset,
            bool inverse) override {
    LLMCALC_ISA::rope(rows, p, n(x), row, heads, head, width, offset, inverse);
  }
  void add(const Pointwise& s, In a, In c, Out y) override { LLMCALC_ISA::add(size(s), n(a), n(c), n(y)); }
  void accumulate(Count count, In x, Out y) override { LLMCALC_ISA::add(count, n(In(y)), n(x), n(y)); }
  void multiply_all(Count count, double factor, Out x) override {
    const W f = model::wide(T(W(static_cast<Plain<W>>(factor))));
    put_rows_everywhere(
        count, n(x), [f](Count some, const W* from, W* to) { scale_row(some, f, from, to); }, n(In(x)));
  }
  void cap(Count count, double most, Out x, bool is_wide) override {
    const W m = model::number<W>(most);
    is_wide ? LLMCALC_ISA::cap_everywhere(count, m, w(x)) : LLMCALC_ISA::cap_everywhere(count, m, n(x));
  }
  void multiply(const Pointwise& s, In a, In c, Out y) override { LLMCALC_ISA::multiply(size(s), n(a), n(c), n(y)); }
  void multiply_gradient(const Pointwise& s, In a, In c, In dy, Out da, bool add_a, Out dc, bool add_c) override {
    LLMCALC_ISA::multiply_gradient(size(s), n(a), n(c), n(dy), n(da), add_a, n(dc), add_c);
  }
  void scale(const Pointwise& s, In a, In g, Out y) override { LLMCALC_ISA::scale(s.rows, s.width, n(a), n(g), n(y)); }
  void scale_gradient(const Pointwise& s, In a, In g, In dy, Out da, bool add_a, Out dg, bool add_g) override {
    LLMCALC_ISA::scale_gradient(s.rows, s.width, n(a), n(g), n(dy), n(da), add_a, n(dg), add_g);
  }
  void activate(const Pointwise& s, Activation a, In x, Out y) override {
    LLMCALC_ISA::activate(size(s), activation_rows<W>(a), n(x), n(y));
  }
  void activate_gradient(const Pointwise& s, Activation a, In x, In dy, Out dx, bool add) override {
    LLMCALC_ISA::activate_gradient(size(s), activation_rows<W>(a), n(x), n(dy), n(dx), add);
  }
  void gate(const Pointwise& s, Activation a, In x, In c, Out y) override {
    LLMCALC_ISA::gate(size(s), activation_rows<W>(a), n(x), n(c), n(y));
  }
  void gate_gradient(const Pointwise& s, Activation a, In x, In c, In dy, Out dx, bool add_x, Out dc,
                     bool add_c) override {
    LLMCALC_ISA::gate_gradient(size(s), activation_rows<W>(a), n(x), n(c), n(dy), n(dx), add_x, n(dc), add_c);
  }
  void tanh(const Pointwise& s, In x, Out y) override { LLMCALC_ISA::activate(size(s), rows_of<Tanh, W>, n(x), n(y)); }
  void tanh_gradient(const Pointwise& s, In x, In dy, Out dx, bool add) override {
    LLMCALC_ISA::activate_gradient(size(s), rows_of<Tanh, W>, n(x), n(dy), n(dx), add);
  }
  void xielu(const Pointwise& s, In bends, In x, In c, Out y) override {
    LLMCALC_ISA::xielu(size(s), n(bends), n(x), n(c), n(y));
  }
  void xielu_gradient(const Pointwise& s, In bends, In x, In c, In dy, Out dx, bool add_x, Out dc, bool add_c,
                      Out dbends) override {
    LLMCALC_ISA::xielu_gradient(size(s), n(bends), n(x), n(c), n(dy), n(dx), add_x, n(dc), add_c, w(dbends));
  }
  void multiply_by_learned(const Pointwise& s, In factor, Out x) override {
    LLMCALC_ISA::multiply_by_learned(size(s), n(factor), n(x));
  }
  void multiply_by_learned_gradient(const Pointwise& s, In factor, In y, Out dx, Out dfactor) override {
    LLMCALC_ISA::multiply_by_learned_gradient(size(s), n(factor), n(y), n(dx), w(dfactor));
  }
  void convolve(const Convolution& s, const ConvolutionView& v, Out y) override {
    done_ += LLMCALC_ISA::convolve(s, v, n(y));
  }
  void convolve_gradient(const Convolution& s, const ConvolutionView& v, In dy, Out dx, bool add, Out dw,
                         Out db) override {
    done_ += LLMCALC_ISA::convolve_gradient(s, v, n(dy), n(dx), add, w(dw), w(db));
  }
  void recur(const LinearAttention& s, const StateView& v, Out o) override { done_ += LLMCALC_ISA::recur(s, v, n(o)); }
  void recur_gradient(const LinearAttention& s, const StateView& v, In d_o, const StateGradients& to) override {
    done_ += LLMCALC_ISA::recur_gradient(s, v, n(d_o), to);
  }
  void mix(const Pointwise& s, const MixView& v, Out y) override { LLMCALC_ISA::mix(s, v, n(y)); }
  void mix_gradient(const Pointwise& s, const MixView& v, In dy, const MixGradients& to) override {
    LLMCALC_ISA::mix_gradient(s, v, n(dy), to);
  }
  RwkvKernels* rwkv() override { return &rwkv_; }
  AltUpKernels* altup() override { return &altup_; }
  void index_scores(const IndexScores& s, const IndexView& v, AttentionImpl how, ChosenIndex* chosen) override {
    done_ += LLMCALC_ISA::index_scores<T>(s, v, how == AttentionImpl::naive, chosen);
  }
  void index_gradient(const IndexScores& s, const IndexView& v, const ChosenIndex* chosen, In target,
                      const IndexGradients& to) override {
    done_ += LLMCALC_ISA::index_gradient<T>(s, v, chosen, w(target), to);
  }
  void pool(const llmcalc::Pool& s, const PoolView& v, Out y) override { LLMCALC_ISA::pool_keys(s, v, n(y)); }
  void pool_gradient(const llmcalc::Pool& s, const PoolView& v, In dy, const PoolGradients& to) override {
    LLMCALC_ISA::pool_keys_gradient(s, v, n(dy), to);
  }
  void repeat(const Pointwise& s, In x, Out y) override {
    LLMCALC_ISA::repeat(s.rows, s.top_k, s.width / s.top_k, n(x), n(y));
  }
  void repeat_gradient(const Pointwise& s, In dy, Out dx, bool add) override {
    LLMCALC_ISA::repeat_gradient(s.rows, s.top_k, s.width / s.top_k, n(dy), n(dx), add);
  }
  void gather(const Pointwise& s, const StreamView& v, Out y) override { LLMCALC_ISA::gather(s, v, n(y)); }
  void gather_gradient(const Pointwise& s, const StreamView& v, In dy, const StreamGradients& to) override {
    LLMCALC_ISA::gather_gradient(s, v, n(dy), to);
  }
  void spread(const Pointwise& s, const StreamView& v, In y, Out out) override {
    LLMCALC_ISA::spread(s, v, n(y), n(out));
  }
  void spread_gradient(const Pointwise& s, const StreamView& v, In y, In d_out, const StreamGradients& to) override {
    LLMCALC_ISA::spread_gradient(s, v, n(y), n(d_out), to);
  }
  void dropout(const Pointwise& s, const Dropout& d, Out x, Out mask) override {
    LLMCALC_ISA::dropout(size(s), d, n(x), b(mask));
  }
  void dropout_gradient(const Pointwise& s, const Dropout& d, In mask, Out dx) override {
    LLMCALC_ISA::dropout_gradient(size(s), d, b(mask), n(dx));
  }

  void route(const Pointwise& s, In logits, Out gates, Out saved) override {
    LLMCALC_ISA::route(s, n(logits), n(gates), w(saved));
  }
  void route_gradient(const Pointwise& s, In saved, In dgates, Out dlogits, bool add) override {
    LLMCALC_ISA::route_gradient(s, w(saved), n(dgates), n(dlogits), add);
  }
  void route_own(const Pointwise& s, const Moe& m, In logits, Out gates, Out saved) override {
    LLMCALC_ISA::route_own(s, m, n(logits), n(gates), w(saved));
  }
  void route_own_gradient(const Pointwise& s, const Moe& m, In saved, In dgates, Out dlogits, bool add) override {
    LLMCALC_ISA::route_own_gradient(s, m, w(saved), n(dgates), n(dlogits), add);
  }
  void add_own(const Pointwise& s, const Moe& m, In gates, In a, In b, Out y) override {
    LLMCALC_ISA::add_own(s, m, n(gates), n(a), n(b), n(y));
  }
  void add_own_gradient(const Pointwise& s, const Moe& m, In saved, In b, In dy, Out db, bool add_b, Out dgates,
                        bool add_g) override {
    LLMCALC_ISA::add_own_gradient(s, m, w(saved), n(b), n(dy), n(db), add_b, n(dgates), add_g);
  }
  void scale_gates(const Pointwise& s, In factors, Out gates) override {
    LLMCALC_ISA::scale_gates(s, n(factors), n(gates));
  }
  void scale_gates_gradient(const Pointwise& s, In saved, In factors, Out dgates, Out dfactors) override {
    LLMCALC_ISA::scale_gates_gradient(s, w(saved), n(factors), n(dgates), w(dfactors));
  }
  void dispatch(const Pointwise& s, Count experts, In gates, In x, Out y) override {
    LLMCALC_ISA::dispatch(s, experts, n(gates), n(x), n(y));
  }
  void dispatch_gradient(const Pointwise& s, Count experts, In saved, In dy, Out dx, bool add) override {
    LLMCALC_ISA::dispatch_gradient(s, experts, w(saved), n(dy), n(dx), add);
  }
  void combine(const Pointwise& s, Count experts, In gates, In x, Out y, Out saved) override {
    LLMCALC_ISA::combine(s, experts, n(gates), n(x), n(y), w(saved));
  }
  void combine_gradient(const Pointwise& s, Count experts, In route_saved, In x, In saved, In dy, Out dx, bool add_x,
                        Out dgates, bool add_g) override {
    LLMCALC_ISA::combine_gradient(s, experts, w(route_saved), n(x), w(saved), n(dy), n(dx), add_x, n(dgates), add_g);
  }

  void loss(const Loss& s, const std::int64_t* targets, Out logits, Out log_sums, double* mean) override {
    *mean = log_sums != nullptr ? LLMCALC_ISA::loss(s, targets, n(In(logits)), w(log_sums))
                                : LLMCALC_ISA::loss(s, targets, w(logits));
  }
  void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, Out logits, In log_sums) override {
    log_sums != nullptr ? LLMCALC_ISA::loss_gradient(s, targets, scale, n(logits), w(log_sums))
                        : LLMCALC_ISA::loss_gradient(s, targets, scale, w(logits));
  }
  void capped_loss(const Loss& s, const std::int64_t* targets, In logits, double* mean) override {
    *mean = LLMCALC_ISA::capped_loss(s, targets, w(logits));
  }
  void capped_loss_gradient(const Loss& s, const std::int64_t* targets, double scale, double most, Out logits,
                            In log_sums) override {
    log_sums != nullptr ? LLMCALC_ISA::capped_loss_gradient(s, targets, scale, most, n(logits), w(log_sums))
                        : LLMCALC_ISA::capped_loss_gradient(s, targets, scale, most, w(logits), w(log_sums));
  }
  void add_share(double share, const double* x, double* sum) override { *sum += share * *x; }
  void add_mean(Count count, In x, double* to) override {
    double sum = 0;
    for (Count i = 0; i < count; ++i) sum += static_cast<double>(model::wide(n(x)[i]));
    *to += sum / static_cast<double>(count);
  }
  void cache(Count sequences, const Positions& p, In x, Count x_stride, Count width, Out to, Count row,
             Count capacity) override {
    for (Count s = 0; s < sequences; ++s)
      for (Count t = 0; t < p.queries; ++t)
        std::copy_n(n(x) + (s * p.queries + t) * x_stride, width,
                    n(to) + (s * capacity + (p.past + t) % capacity) * row);
  }

  void encode(const CodedShape& s, Count rows, In x, Out codes) override {
    LLMCALC_ISA::encode(s, rows, n(x), static_cast<std::byte*>(codes));
  }
  void decode(const CodedShape& s, Count first, Count rows, In codes, Out x) override {
    LLMCALC_ISA::decode(s, first, rows, static_cast<const std::byte*>(codes), n(x));
  }

  void square_sums(Updates all, double* sums) override {
    for (const ParameterUpdate& p : all) *sums++ = LLMCALC_ISA::square_sum(p.n, w(In(p.gradient)));
  }
  void clip(std::span<const double> losses, std::span<const double> squares, double most, double* norm) override {
    const Clip c = clip_of(losses.data(), losses.size(), squares.data(), squares.size(), most);
    norm[0] = c.norm;
    norm[1] = c.factor;
  }
  void multiply_by(Updates all, const double* factor) override {
    if (!is_factor(factor) || *factor == 1) return;
    for (const ParameterUpdate& p : all) LLMCALC_ISA::multiply_by(p.n, *factor, w(p.gradient));
  }
  void update(Updates all, const OptimizerStep& o) override { LLMCALC_ISA::update<T>(all, o); }
  Count beside() const override {
    if constexpr (std::is_same_v<T, Counted>) return Counted::tally.beside();
    return 0;
  }
  Flops done() const override {
    if constexpr (std::is_same_v<T, Counted>)
      return Flops(static_cast<unsigned long long>(Counted::tally.multiplies + Counted::tally.adds));
    else
      return done_;
  }

 private:
  static const std::int64_t* there(const Ids& ids) {
    return ids.saved != nullptr ? static_cast<const std::int64_t*>(ids.saved) : ids.host;
  }
  /// Gradients of a matmul with wide output. Rounds the logits' gradient in place to the format of the matmuls; each
  /// row keeps its start address.
  Flops rounded_gradient(const Linear& s, const LinearView& v, W* dy, T* dx, bool add, W* dw, W* db) {
    constexpr Count block = 64;
    each<T>(s.rows, s.out, [&](Count r) {
      std::byte* row = reinterpret_cast<std::byte*>(dy + r * s.out);
      for (Count i = 0; i < s.out; i += block) {
        const Count n = std::min(block, s.out - i);
        W from[block];
        T to[block];
        std::memcpy(from, row + i * static_cast<Count>(sizeof(W)), static_cast<std::size_t>(n) * sizeof(W));
        for (Count k = 0; k < n; ++k) to[k] = static_cast<T>(from[k]);
        std::memcpy(row + i * static_cast<Count>(sizeof(T)), to, static_cast<std::size_t>(n) * sizeof(T));
      }
    });
    const Count stride = s.out * static_cast<Count>(sizeof(W) / sizeof(T));
    return dense_gradient(s, s.rows, n(v.x), s.in, n(v.weight), reinterpret_cast<const T*>(dy), stride, dx, add, dw,
                          v.add_weight_gradient, db);
  }

  std::string name_;
  bool poison_;
  BlockPool pool_;
  CpuRwkv<T> rwkv_;
  CpuAltUp<T> altup_;
  Flops done_;
};

}  // namespace llmcalc::model::LLMCALC_ISA
