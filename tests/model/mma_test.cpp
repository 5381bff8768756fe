// Compares attention on tensor cores with the CPU in double, with the single-thread kernels, and with the predicted
// FLOPs: on the GPU emulator, and on a GPU if LLMCALC_TEST_GPU is set.

#include "model/cuda/fast/mma_attention.hpp"

#include "model/cpu/make.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/emulated.hpp"
#include "tests/model/environment.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::difference, test::identical, test::Numbers;

namespace {

struct Variant {
  const char* name;
  Count dim, heads, kv_heads, queries, past = 0, window = 0, capacity = 0;
  bool sinks = false;
  double scale = 0.2;
  bool chunked = false;  ///< the window is a chunk
};

/// At least one variant for the kernels of every width.
constexpr Variant small_variants[] = {{"two queries on a cache", 64, 4, 1, 2, 90, 0, 128},
                                      {"narrow heads", 16, 2, 1, 16},
                                      {"a tile and a row", 64, 2, 2, 33},
                                      {"heads that fill a tile in part", 80, 2, 1, 33},
                                      {"past", 64, 2, 1, 33, 70},
                                      {"past and a window", 128, 2, 1, 33, 100, 20},
                                      {"past and chunks", 128, 2, 1, 33, 100, 20, 0, false, 0.2, true}};
constexpr Variant variants[] = {{"a tile of keys", 64, 2, 1, 64},
                                {"two blocks", 64, 4, 2, 129},
                                {"grouped heads", 96, 4, 2, 100},
                                {"one KV head", 128, 3, 1, 100},
                                {"two blocks of wide heads", 128, 1, 1, 129},
                                {"window", 64, 2, 1, 129, 0, 40},
                                {"narrow window", 128, 1, 1, 129, 0, 5},
                                {"chunks", 64, 2, 1, 129, 0, 40, 0, false, 0.2, true},
                                {"chunks of a tile", 128, 1, 1, 129, 0, 64, 0, false, 0.2, true},
                                {"short chunks", 64, 2, 2, 129, 0, 5, 0, false, 0.2, true},
                                {"sinks", 64, 2, 1, 70, 0, 0, 0, true},
                                {"scores that rise by far", 64, 2, 1, 129, 0, 0, 0, false, 1.5}};

/// Attention over two sequences. q, k and v of a token are side by side, as output by a merged projection, with a few
/// elements of padding before the next token.
class Bench {
 public:
  Bench(const Variant& shape, std::unique_ptr<Backend> on)
      : on_(std::move(on)),
        s_{.sequences = 2,
           .heads = shape.heads,
           .kv_heads = shape.kv_heads,
           .queries = shape.queries,
           .keys = shape.past + shape.queries,
           .qk_dim = shape.dim,
           .v_dim = shape.dim,
           .reach = {shape.window, shape.chunked},
           .sinks = shape.sinks},
        scale_(shape.scale),
        capacity_(shape.capacity),
        tokens_(capacity_ > 0 ? capacity_ : s_.keys),
        row_((s_.heads + 2 * s_.kv_heads) * s_.qk_dim + 8) {
    for (const bool odd : {false, true}) {
      x_[odd] = filled(qkv(), 1, odd);
      dx_[odd] = make(qkv(), false, odd);
    }
    d_o_ = filled(outputs(), 2);
    sinks_ = filled(s_.heads, 3);
    o_ = make(outputs(), false);
    log_sum_exp_ = make(rows(), true);
    d_sinks_ = make(s_.heads, true);
  }
  ~Bench() {
    for (const auto& [data, bytes] : made_) on_->release(data, bytes);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// `odd`: all data start one element later, an alignment that tensor cores cannot read.
  void forward(bool odd = false) {
    on_->attention(s_, inputs(odd), AttentionImpl::flash, {}, {.log_sum_exp = log_sum_exp_}, o_);
  }
  void backward(bool odd = false) {
    on_->zero(d_sinks_, s_.heads * on_->wide());
    const AttentionInputs to = views(dx_[odd]);
    on_->attention_gradient(s_, inputs(odd), AttentionImpl::flash, {}, {.log_sum_exp = log_sum_exp_}, o_, d_o_, nullptr,
                            {.q = to.q, .q_rope = {}, .k = to.k, .k_rope = {}, .v = to.v, .sinks = d_sinks_});
  }
  Numbers output() const { return read(o_, outputs(), false); }
  Numbers log_sum_exp() const { return read(log_sum_exp_, rows(), true); }
  Numbers sink_gradient() const { return read(d_sinks_, s_.heads, true); }
  /// Gradients of q, k and v.
  std::array<Numbers, 3> gradients(bool odd = false) const {
    const Numbers all = read(dx_[odd], qkv(), false);
    std::array<Numbers, 3> d;
    for (Count n = 0; n < static_cast<Count>(all.size()); ++n) {
      const Count token = n / row_ % tokens_, head = n % row_ / s_.qk_dim;
      const std::size_t which = head < s_.heads ? 0 : head < s_.heads + s_.kv_heads ? 1 : 2;
      if (token < (which == 0 ? s_.queries : s_.keys) && head < s_.heads + 2 * s_.kv_heads)
        d[which].push_back(all[static_cast<std::size_t>(n)]);
    }
    return d;
  }
  const Attention& shape() const { return s_; }
  AttentionCores cores() const { return on_->attention_cores(); }
  bool on_tensor_cores(bool odd) const { return !cuda::mma_obstacle(s_, inputs(odd), {}); }

 private:
  Count rows() const { return s_.rows() * s_.heads; }
  Count outputs() const { return rows() * s_.v_dim; }
  Count qkv() const { return s_.sequences * tokens_ * row_; }
  void* make(Count n, bool wide, bool odd = false) {
    const Bytes number = wide ? on_->wide() : on_->number(), bytes = (n + 1) * number;
    made_.emplace_back(on_->allocate(bytes), bytes);
    return static_cast<std::byte*>(made_.back().first) + (odd ? number.value : 0);
  }
  /// Random values representable in bf16.
  void* filled(Count n, std::uint64_t stream, bool odd = false) {
    Numbers v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = wide(bf16(4 * uniform<float>(random_key(17), random_counter(i, stream)) - 2));
    void* data = make(n, false, odd);
    on_->write(data, v, false);
    return data;
  }
  Numbers read(In from, Count n, bool wide) const {
    Numbers v(static_cast<std::size_t>(n));
    on_->read(v, from, wide);
    return v;
  }
  AttentionInputs views(In data) const {
    const auto view = [&](Count head, Count capacity) {
      return HeadView{.data = static_cast<const std::byte*>(data) + (head * s_.qk_dim * on_->number()).value,
                      .sequence = tokens_ * row_,
                      .token = row_,
                      .head = s_.qk_dim,
                      .capacity = capacity};
    };
    return {.q = view(0, 0),
            .q_rope = {},
            .k = view(s_.heads, capacity_),
            .k_rope = {},
            .v = view(s_.heads + s_.kv_heads, capacity_),
            .scale = scale_,
            .sinks = s_.sinks ? sinks_ : nullptr};
  }
  AttentionInputs inputs(bool odd) const { return views(x_[odd]); }

  std::unique_ptr<Backend> on_;
  Attention s_;
  double scale_;
  Count capacity_, tokens_, row_;
  std::vector<std::pair<void*, Bytes>> made_;
  void *x_[2], *dx_[2], *d_o_, *sinks_, *o_, *log_sum_exp_, *d_sinks_;
};

/// Calls f(tested, exact) for these shapes on every tested GPU backend.
template <typename F>
void each_shape(std::span<const Variant> shapes, F f) {
  const test::Environment own("LLMCALC_ATTENTION", "mma");
  for (const test::MakeBackend make : test::gpus())
    for (const Variant& shape : shapes) {
      INFO(shape.name << ", heads of " << shape.dim << ", " << shape.queries << " queries");
      Bench tested(shape, make(Number::bf16, true)), exact(shape, make_cpu(Number::f64, true));
      REQUIRE(tested.on_tensor_cores(false));
      f(tested, exact);
    }
}

void check_gradients(const std::array<Numbers, 3>& tested, const std::array<Numbers, 3>& exact) {
  CHECK(difference(tested[0], exact[0]) <= 1e-2);
  CHECK(difference(tested[1], exact[1]) <= 1e-2);
  CHECK(difference(tested[2], exact[2]) <= 1e-2);
}

void check_shapes(std::span<const Variant> shapes) {
  const test::WarpCounts& counts = test::warp_counts();
  each_shape(shapes, [&](Bench& tested, Bench& exact) {
    const std::int64_t start = counts.products;
    tested.forward();
    exact.forward();
    const std::int64_t between = counts.products;
    tested.backward();
    exact.backward();
    CHECK(difference(tested.output(), exact.output()) <= 1e-2);
    CHECK(difference(tested.log_sum_exp(), exact.log_sum_exp()) <= 1e-5);
    check_gradients(tested.gradients(), exact.gradients());
    CHECK(tested.cores().forward == CoreRun{AttentionCore::mma});
    CHECK(tested.cores().backward == CoreRun{AttentionCore::mma});
    if (tested.shape().sinks) CHECK(difference(tested.sink_gradient(), exact.sink_gradient()) <= 1e-2);
    if (between == start) return;  // no warp operations were counted: this ran on a real GPU
    CHECK(cuda::mma_flops(tested.shape(), false) == (between - start) * flops(2, 16, 8 * 16));
    CHECK(cuda::mma_flops(tested.shape(), true) == (counts.products - between) * flops(2, 16, 8 * 16));
  });
  CHECK(counts.conflicts == 0);
  CHECK(counts.faults == 0);
}

}  // namespace

TEST_CASE("attention on tensor cores matches double precision and executes the predicted FLOPs", "[cuda]") {
  check_shapes(small_variants);
}
TEST_CASE("attention on tensor cores matches double precision for tiles and blocks of any size", "[cuda]") {
  check_shapes(variants);
}

TEST_CASE("forward and backward may use different attention cores", "[cuda]") {
  for (const test::MakeBackend make : test::gpus())
    for (const bool odd : {false, true}) {
      const Variant shape{"", 64, 2, 1, 70, 0, 0, 0, true};
      Bench tested(shape, make(Number::bf16, true)), exact(shape, make_cpu(Number::f64, true));
      REQUIRE(!tested.on_tensor_cores(true));
      tested.forward(odd);
      exact.forward();
      tested.backward(!odd);
      exact.backward();
      CHECK(difference(tested.output(), exact.output()) <= 1e-2);
      check_gradients(tested.gradients(!odd), exact.gradients());
    }
}

TEST_CASE("attention on tensor cores is bitwise reproducible", "[cuda]") {
  const test::Environment own("LLMCALC_ATTENTION", "mma");
  for (const test::MakeBackend make : test::gpus()) {
    const Variant shape{"", 64, 4, 2, 129};
    std::vector<Numbers> runs;
    for (int run = 0; run < 2; ++run) {
      Bench b(shape, make(Number::bf16, true));
      b.forward();
      b.backward();
      runs.push_back(b.output());
      for (const Numbers& d : b.gradients()) runs.back().insert(runs.back().end(), d.begin(), d.end());
    }
    CHECK(identical(runs[0], runs[1]));
  }
}

TEST_CASE("attention thread blocks cover every query interval of every head once, longest ones first", "[cuda]") {
  for (const int heads : {1, 5, 16, 40}) {
    const int stretches = 3, sequences = 2;
    const Count blocks = Count{stretches} * heads * sequences;
    std::vector<int> seen(static_cast<std::size_t>(blocks));
    for (int n = 0; n < blocks; ++n) {
      const cuda::BlockPlace at = cuda::place_of(n, stretches, heads, sequences);
      const Count place = (Count{at.sequence} * heads + at.head) * stretches + at.stretch;
      ++seen[static_cast<std::size_t>(place)];
      if (n == 0) CHECK(at.stretch == 0);
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
}
