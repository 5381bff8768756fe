// Predicted and counted tensor core FLOPs, with instruments that count the work of an emulated GPU's tensor cores.

#include <map>

#include "model/cuda/instruments/tensor_work.hpp"
#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"
#include "tests/models/tiny.hpp"
#include "validate/metered.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using namespace llmcalc::validate;

namespace {

TensorWork work(const Shape& shape, bool backward = false) {
  return cuda::tensor_work({.shape = shape, .backward = backward, .flops = Flops(1000)}).value();
}
Attention causal(Count tokens) {
  return {.sequences = 2, .heads = 3, .kv_heads = 3, .queries = tokens, .keys = tokens, .qk_dim = 64, .v_dim = 64};
}
double attention(const Attention& s, AttentionCore core, bool backward = false) {
  return cuda::tensor_work({.shape = s, .backward = backward, .core = core})->flops;
}

/// Counts the tile products of emulated tensor cores in attention, and adds a phase's other matmuls.
class TileCounter final : public model::Instruments {
 public:
  std::map<std::string, double> products;
  std::string counters_missing() override { return ""; }
  void start_counting() override { all_.clear(); }
  void begin(const std::string& range) override { all_.push_back({range, -executed(), 0, 0, {}}); }
  void end() override { all_.back().tensor_flops += executed() + products[all_.back().range]; }
  std::vector<model::RangeCount> stop_counting() override { return all_; }
  std::optional<TensorWork> tensor_work(const TensorOp& op) const override { return cuda::tensor_work(op); }
  void start_energy() override {}
  std::optional<model::Energy> stop_energy() override { return std::nullopt; }
  void reset_memory() override {}
  void kernels_loaded() override {}
  model::DeviceMemory memory(Bytes) override { return {}; }
  model::Board board() override { return {}; }
  std::vector<model::Version> versions() override { return {}; }

 private:
  /// A tile product is 16 x 8 x 16.
  static double executed() { return 2.0 * 16 * 8 * 16 * static_cast<double>(test::warp_counts().products); }
  std::vector<model::RangeCount> all_;
};

/// 128 tokens; the sizes of all matmuls except the head's are multiples of 128.
Case whole_tiles() {
  Case c{"whole tiles", test::tiny_llama(), test::tiny_plan()};
  Arch& a = c.arch;
  a.layers = 1, a.hidden = a.embedding_width = a.mlp_width = 128, a.heads = a.kv_heads = 2, a.head_dim = 64,
  a.context = 256;
  Plan& p = c.plan;
  p.kv_precision = p.precision = dtypes::bf16;
  p.weight_precision = p.precision;
  p.seq = 128;
  p.micro_batch = p.global_batch = 1;
  p.batch = 1;
  p.prompt = 128;
  p.generate = 1;
  return c;
}

double products_of(const PhaseWork& phase) {
  double all = 0;
  for (const OpRuns& r : phase.runs) {
    const auto one = cuda::tensor_work({.shape = r.shape, .backward = r.backward, .flops = r.flops});
    if (one && one->kind == WorkKind::products) all += static_cast<double>(r.times) * one->flops;
  }
  return all;
}

}  // namespace

TEST_CASE("matmuls are classified as full or padded tensor core tiles by their sizes", "[metered]") {
  const Linear whole{.rows = 256, .in = 128, .out = 384};
  CHECK(work(whole).kind == WorkKind::products);
  CHECK(work(Linear{.rows = 256, .in = 128, .out = 50257}, true).kind == WorkKind::padded);
  CHECK(work(Linear{.rows = 256, .in = 128, .out = 384, .groups = 2, .top_k = 2}).kind == WorkKind::padded);
  CHECK(work(whole).flops == 1000);
  CHECK_FALSE(cuda::tensor_work({.shape = Norm{}}));
}

TEST_CASE("forward matmuls of up to 8 rows run outside the tensor cores", "[metered]") {
  const Linear few{.rows = 8, .in = 64, .out = 50257};
  CHECK(work(few).kind == WorkKind::products);
  CHECK(work(few, true).kind == WorkKind::padded);
  CHECK(work(few).flops == 0);
  CHECK(work(few, true).flops == 1000);
  const Linear more{.rows = 9, .in = 64, .out = 64}, odd{.rows = 8, .in = 60, .out = 64};
  for (const Linear& s : {more, odd}) CHECK(work(s).kind == WorkKind::padded);
}

TEST_CASE("the tensor core FLOPs of attention depend on the attention core", "[metered]") {
  for (const bool backward : {false, true}) CHECK(attention(causal(128), AttentionCore::mma, backward) > 0);
  CHECK(attention(causal(128), AttentionCore::plain) == 0);
  Attention one = causal(1);
  one.keys = 101;
  CHECK(attention(one, AttentionCore::mma) == 0);
  const TensorOp naive{.shape = causal(128), .attention = AttentionImpl::naive, .core = AttentionCore::mma};
  CHECK(cuda::tensor_work(naive)->flops == 0);
}

TEST_CASE("each kind of tensor core work is compared with a separate count", "[metered]") {
  const Case c = whole_tiles();
  TileCounter counter;
  std::vector<PhaseWork> phases = training_phases(c.arch, c.plan);
  for (const PhaseWork& p : inference_phases(c.arch, c.plan)) phases.push_back(p);
  for (const PhaseWork& p : phases) counter.products[p.name] = products_of(p);
  const Where where{.make = [&](model::Number n) { return test::make_emulated_with(n, counter); }};
  const Metered m = metered(c, {}, {.overhead = {}, .seconds = 0, .product = {64, 64, 64}}, where).value();
  CHECK(m.no_parts == "");
  REQUIRE(m.phases.size() == 5);
  for (const PhaseCount& p : m.phases)
    for (const TensorCount& t : p.parts) {
      INFO(p.predicted.name << ", kind " << static_cast<int>(t.kind));
      CHECK(t.judged == (t.kind != WorkKind::padded));
      if (t.judged) CHECK(t.within());
      if (t.judged) CHECK(t.counted == t.predicted);  // exact, not only near
    }
  for (const std::size_t phase : {0U, 1U, 3U}) {  // forward, backward, prefill
    REQUIRE(m.phases[phase].parts.front().kind == WorkKind::products);
    CHECK(m.phases[phase].parts.front().predicted > 0);
    const TensorCount& core = m.phases[phase].parts.back();
    CHECK(core.kind == WorkKind::attention);
    CHECK(core.predicted > 0);
    CHECK(core.core.value().core == AttentionCore::mma);
  }
  CHECK(m.phases[2].parts.empty());  // the optimizer
  for (const TensorCount& t : m.phases[4].parts) CHECK(t.predicted == 0);
}

TEST_CASE("tensor core work that deviates by more than 2 % or was not counted is reported", "[metered]") {
  const TileCounter device{};
  const Linear shape{.rows = 128, .in = 128, .out = 128},
      experts{.rows = 256, .in = 128, .out = 128, .groups = 4, .top_k = 2};
  PhaseWork phase{.name = "forward", .runs = {{"mlp.up", shape, false, 3, Flops(1000)}}};
  CHECK(tensor_counts(device, phase, 3060, {}, AttentionImpl::flash).at(0).within());
  CHECK_FALSE(tensor_counts(device, phase, 3061, {}, AttentionImpl::flash).at(0).within());
  phase.runs.push_back({"moe.up", experts, false, 2, Flops(500)});
  CHECK_THROWS_WITH(tensor_counts(device, phase, 3060, {}, AttentionImpl::flash),
                    "moe.up was predicted but did not run");
  const auto parts = tensor_counts(device, phase, 4200, {{"moe.up", experts, false, {}, 600}}, AttentionImpl::flash);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].counted == 3000);
  CHECK_FALSE(parts[0].judged);
  CHECK(parts[1].counted == 1200);
}
