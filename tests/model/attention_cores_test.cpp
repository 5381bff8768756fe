// Compares every available core of flash attention with the CPU in double and with the other cores: on the GPU
// emulator, and on a GPU if LLMCALC_TEST_GPU is set.

#include <array>
#include <string>
#include <vector>

#include "model/cuda/fast/core_choice.hpp"
#include "model/cuda/fast/mma_attention.hpp"
#include "model/math/functions.hpp"
#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/emulated.hpp"
#include "tests/model/environment.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using cuda::CoreChoice;
using cuda::mma_obstacle;
using test::difference;
using test::Environment;
using test::Numbers;

namespace {

struct Case {
  Count heads, kv_heads, tokens, width;
};
constexpr Count sequences = 2;

std::size_t size(Count n) { return static_cast<std::size_t>(n); }

/// Inputs: each token's queries, keys and values side by side, as output by a merged projection; and d_o.
struct Given {
  Numbers qkv, d_o;
  explicit Given(const Case& c)
      : qkv(size(sequences * c.tokens * (c.heads + 2 * c.kv_heads) * c.width)),
        d_o(size(sequences * c.tokens * c.heads * c.width)) {
    std::uint64_t stream = 0;
    for (Numbers* all : {&qkv, &d_o}) {
      for (std::size_t i = 0; i < all->size(); ++i) {
        const double x = 4 * uniform<double>(random_key(23), random_counter(i, stream)) - 2;
        (*all)[i] = static_cast<double>(wide(bf16(static_cast<float>(x))));
      }
      ++stream;
    }
  }
};

/// The results, and the cores that computed them.
struct Results {
  Numbers o, log_sum_exp, gradients;
  AttentionCores cores;
};

/// Initialized memory of a backend.
class Numbered {
 public:
  Numbered(Backend& b, const Numbers& from, bool is_wide) : Numbered(b, from.size(), is_wide) {
    b.write(data_, from, is_wide);
  }
  Numbered(Backend& b, std::size_t n, bool is_wide)
      : backend_(b), n_(n), wide_(is_wide), bytes_(static_cast<Count>(n) * (is_wide ? b.wide() : b.number())) {
    data_ = b.allocate(bytes_);
  }
  ~Numbered() { backend_.release(data_, bytes_); }
  Numbered(const Numbered&) = delete;
  Numbered& operator=(const Numbered&) = delete;
  void* data() const { return data_; }
  Numbers read() const {
    Numbers to(n_);
    backend_.read(to, data_, wide_);
    return to;
  }

 private:
  Backend& backend_;
  std::size_t n_;
  bool wide_;
  Bytes bytes_;
  void* data_ = nullptr;
};

/// Forward and backward. Every output starts as NaN if the backend poisons its memory.
Results run(Backend& b, const Case& c, const Given& g) {
  const Attention s{.sequences = sequences,
                    .heads = c.heads,
                    .kv_heads = c.kv_heads,
                    .queries = c.tokens,
                    .keys = c.tokens,
                    .qk_dim = c.width,
                    .v_dim = c.width};
  const Numbered qkv(b, g.qkv, false), d_o(b, g.d_o, false), gradients(b, g.qkv.size(), false);
  const Numbered o(b, g.d_o.size(), false), log_sum_exp(b, size(s.rows() * s.heads), true);
  const auto view = [&](const Numbered& all, Count head) {
    const Count token = (c.heads + 2 * c.kv_heads) * c.width;
    const auto* const at = static_cast<const std::byte*>(all.data()) + (head * c.width * b.number()).value;
    return HeadView{.data = at, .sequence = c.tokens * token, .token = token, .head = c.width};
  };
  AttentionInputs in;
  in.q = view(qkv, 0);
  in.k = view(qkv, c.heads);
  in.v = view(qkv, c.heads + c.kv_heads);
  in.scale = 1 / std::sqrt(static_cast<double>(c.width));
  AttentionGradients to;
  to.q = view(gradients, 0);
  to.k = view(gradients, c.heads);
  to.v = view(gradients, c.heads + c.kv_heads);
  const AttentionSaved saved{.log_sum_exp = log_sum_exp.data()};
  b.attention(s, in, AttentionImpl::flash, {}, saved, o.data());
  b.attention_gradient(s, in, AttentionImpl::flash, {}, saved, o.data(), d_o.data(), nullptr, to);
  return {o.read(), log_sum_exp.read(), gradients.read(), b.attention_cores()};
}

Results run_on_processor(const Case& c, const Given& g) {
  const std::unique_ptr<Backend> exact = make_cpu(Number::f64, true);
  return run(*exact, c, g);
}

void check_same(const Results& a, const Results& b) {
  CHECK(difference(a.o, b.o) <= 1e-2);
  CHECK(difference(a.log_sum_exp, b.log_sum_exp) <= 1e-3);
  CHECK(difference(a.gradients, b.gradients) <= 1e-2);
}

/// Calls f(results) with one core of a GPU.
template <typename F>
void with_core(test::MakeBackend make, AttentionCore core, const Case& c, const Given& g, F f) {
  INFO(name(core) << ", " << c.heads << " heads on " << c.kv_heads << " of " << c.width << ", " << c.tokens
                  << " tokens");
  const Environment only("LLMCALC_ATTENTION", std::string(name(core)).c_str());
  const std::unique_ptr<Backend> gpu = make(Number::bf16, true);
  const Results r = run(*gpu, c, g);
  CHECK(r.cores.forward.value().core == core);
  CHECK(r.cores.backward.value().core == core);
  f(r);
}

bool there_is_a_gpu() {
  const bool there = std::getenv("LLMCALC_TEST_GPU") != nullptr;
  if (!there) WARN("skipped: LLMCALC_TEST_GPU tells of no GPU");
  return there;
}

}  // namespace

TEST_CASE("the plain core of flash attention matches double-precision CPU attention", "[cuda]") {
  const Case c{4, 2, 33, 16};
  const Given g(c);
  const Results exact = run_on_processor(c, g);
  for (const test::MakeBackend make : test::gpus())
    with_core(make, AttentionCore::plain, c, g, [&](const Results& r) { check_same(r, exact); });
}

TEST_CASE("all cores of a GPU's flash attention match double-precision CPU attention and each other", "[cuda]") {
  if (!there_is_a_gpu()) return;
  for (const Case& c : {Case{4, 4, 64, 64},
                        {4, 2, 333, 64},
                        {4, 4, 77, 80},
                        {4, 1, 160, 96},
                        {4, 4, 256, 128},
                        {4, 2, 333, 128},
                        {8, 2, 1000, 64}}) {
    const Given g(c);
    std::vector<Results> all{run_on_processor(c, g)};
    for (const AttentionCore core : {AttentionCore::plain, AttentionCore::mma})
      with_core(test::gpus().back(), core, c, g, [&](const Results& r) {
        for (const Results& other : all) check_same(r, other);
        all.push_back(r);
      });
  }
}

TEST_CASE("if tensor cores cannot run attention, the plain core does, and the reason is recorded", "[cuda]") {
  CoreChoice any(nullptr);
  CHECK(any.tensor_cores(false, {}));
  CHECK_FALSE(any.tensor_cores(true, CoreObstacle::dropout));
  CHECK(any.ran().forward == CoreRun{AttentionCore::mma});
  CHECK(any.ran().backward == CoreRun{AttentionCore::plain, CoreObstacle::dropout});
}

TEST_CASE("LLMCALC_ATTENTION selects one core, and throws if that core cannot run", "[cuda]") {
  CoreChoice plain("plain"), mma("mma");
  CHECK_FALSE(plain.tensor_cores(false, {}));
  CHECK(plain.ran().forward == CoreRun{AttentionCore::plain, CoreObstacle::environment});
  CHECK(mma.tensor_cores(false, {}));
  CHECK_THROWS_WITH(mma.tensor_cores(false, CoreObstacle::alibi),
                    "LLMCALC_ATTENTION is mma, which is not possible: alibi");
  CHECK_THROWS_WITH(CoreChoice("fast"), "LLMCALC_ATTENTION is fast; valid values are mma and plain");
}

namespace {

/// Attention over 2 sequences of 6 tokens with 4 heads of width 16. obstacle_after(change) returns the obstacle to
/// tensor cores after `change` has been applied.
struct Asked {
  alignas(16) std::array<std::uint16_t, 2 * 6 * 4 * 16> memory{};
  Attention s{.sequences = 2, .heads = 4, .kv_heads = 4, .queries = 6, .keys = 6, .qk_dim = 16, .v_dim = 16};
  AttentionInputs in;
  Dropout d;
};
template <typename F>
std::optional<CoreObstacle> obstacle_after(F change) {
  Asked a;
  a.in.q = a.in.k = a.in.v = {.data = a.memory.data(), .sequence = 6 * 64, .token = 64, .head = 16};
  change(a);
  return mma_obstacle(a.s, a.in, a.d);
}

}  // namespace

TEST_CASE("each condition that rules out tensor core attention is reported by name", "[cuda]") {
  CHECK_FALSE(obstacle_after([](Asked&) {}));
  CHECK_FALSE(obstacle_after([](Asked& a) { a.s.reach = {5}; }));
  CHECK_FALSE(obstacle_after([](Asked& a) { a.in.sinks = a.memory.data(); }));
  using enum CoreObstacle;
  CHECK(obstacle_after([](Asked& a) { a.s.qk_dim = 20; }) == head_width);
  CHECK(obstacle_after([](Asked& a) { a.s.v_dim = 32; }) == head_width);
  CHECK(obstacle_after([](Asked& a) { a.s.qk_dim = a.s.v_dim = 144; }) == head_width);
  CHECK(obstacle_after([](Asked& a) { a.in.rope_dim = 8; }) == rotary_part);
  CHECK(obstacle_after([](Asked& a) { a.in.alibi = true; }) == alibi);
  CHECK(obstacle_after([](Asked& a) { a.d.p = 0.1; }) == dropout);
  CHECK(obstacle_after([](Asked& a) { a.in.scale = 0; }) == scale);
  CHECK(obstacle_after([](Asked& a) { a.in.k.data = a.memory.data() + 1; }) == layout);
  CHECK(obstacle_after([](Asked& a) { a.in.v.head = 12; }) == layout);
  CHECK(obstacle_after([](Asked& a) { a.in.k.capacity = 5; }) == layout);
  CHECK(name(rotary_part) == "rotary_part");
  CHECK(name(layout) == "layout");
}
