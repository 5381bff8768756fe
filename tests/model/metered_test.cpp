// Calls to a device's instruments, and the evaluation of their results: with stand-ins for a GPU's instruments, and
// with real ones if LLMCALC_TEST_GPU is set.

#include "validate/metered.hpp"

#include <cstdlib>

#include "calc/memory.hpp"
#include "calc/run.hpp"
#include "model/cuda/instruments/tensor_work.hpp"
#include "model/cuda/open.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"
#include "tests/models/tiny.hpp"
#include "validate/predict.hpp"

using namespace llmcalc;
using namespace llmcalc::validate;

namespace {

/// Recorded calls and configured answers.
struct Desk {
  std::vector<std::string> ranges;
  std::string missing, fault;
  bool energy = true;
  int others = 0;
};

class StandIn final : public model::Instruments {
 public:
  explicit StandIn(Desk& desk) : desk_(desk) {}
  std::string counters_missing() override { return desk_.missing; }
  void start_counting() override {
    if (!desk_.fault.empty()) throw std::runtime_error(desk_.fault);
    first_ = desk_.ranges.size();
  }
  void begin(const std::string& range) override { desk_.ranges.push_back(range); }
  void end() override { ++ended_; }
  /// Reports a matmul of 64 x 64 x 64 in every range, in reverse, since the order of reported ranges is unspecified.
  std::vector<model::RangeCount> stop_counting() override {
    CHECK(first_ + ended_ == desk_.ranges.size());
    ended_ = 0;
    std::vector<model::RangeCount> all;
    for (std::size_t i = desk_.ranges.size(); i-- > first_;)
      all.push_back({desk_.ranges[i], 2.0 * 64 * 64 * 64, 100, 50, Seconds(1)});
    return all;
  }
  std::optional<model::TensorWork> tensor_work(const model::TensorOp& op) const override {
    return model::cuda::tensor_work(op);
  }
  void start_energy() override {}
  std::optional<model::Energy> stop_energy() override {
    return desk_.energy ? std::optional(model::Energy{900, Seconds(3)}) : std::nullopt;
  }
  void reset_memory() override {}
  void kernels_loaded() override {}
  model::DeviceMemory memory(Bytes arena) override {
    return {.used = arena + Bytes(132), .overhead = Bytes(100), .workspaces = {{"w", Bytes(32), ""}}, .terms = {}};
  }
  model::Board board() override {
    model::Board b;
    b.name = "a wish";
    b.other_processes = desk_.others;
    return b;
  }
  std::vector<model::Version> versions() override { return {{"cuda_driver", "13.0"}}; }

 private:
  Desk& desk_;
  std::size_t first_ = 0, ended_ = 0;
};

constexpr Metering how{.overhead = Bytes(100), .seconds = 0, .product = {64, 64, 64}};

Case tiny_case(DType precision = dtypes::bf16) {
  Case c{"tiny", test::tiny_llama(), test::tiny_plan()};
  c.plan.kv_precision = c.plan.precision = precision;
  c.plan.weight_precision = c.plan.precision;
  c.plan.prompt = 4;
  c.plan.generate = 2;
  return c;
}

Metered metered_at(Desk& desk, const Case& c) {
  StandIn instruments(desk);
  const Where where{.make = [&](model::Number n) { return test::make_emulated_with(n, instruments); }};
  return metered(c, {}, how, where).value();
}

/// A metered tiny case with all instruments available.
struct Session {
  Desk desk;
  Case c = tiny_case();
  Metered m = metered_at(desk, c);
};
/// Shared by several tests, since metering on the emulator is slow.
const Session& session() {
  static const Session one;
  return one;
}

double total(const std::map<std::string, Count>& book) {
  double sum = 0;
  for (const auto& [op, n] : book) sum += static_cast<double>(n);
  return sum;
}

}  // namespace

TEST_CASE("every phase of a training step and of a generation is counted in a separate range", "[metered]") {
  const Metered& m = session().m;
  std::vector<std::string> whole = session().desk.ranges;
  std::erase_if(whole, [](const std::string& r) { return r.starts_with("operator "); });
  CHECK(whole == std::vector<std::string>{"product", "forward", "backward", "optimizer", "prefill", "decode"});
  REQUIRE(m.phases.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(m.phases[i].predicted.name == whole[i + 1]);
    CHECK(m.phases[i].counted.range == whole[i + 1]);
  }
  CHECK(m.no_parts.empty());
  CHECK(m.product == 1.0);
  CHECK(m.no_counts.empty());
  CHECK(m.tensor_cores);
  CHECK(m.versions.at(0).version == "13.0");
}

TEST_CASE("measured energy is reported per run and per token", "[metered]") {
  const auto& [desk, c, m] = session();
  REQUIRE(m.energy.size() == 3);
  CHECK(m.energy[0].what == "training step");
  CHECK(m.energy[0].tokens == c.plan.micro_batch * c.plan.seq);
  CHECK(m.energy[1].tokens == c.plan.batch * c.plan.prompt);
  CHECK(m.energy[2].tokens == c.plan.batch);
  CHECK(m.energy[0].runs == 3);
  CHECK(m.energy[0].joules_per_run() == 300);
  CHECK(m.energy[0].joules_per_token() == 300.0 / static_cast<double>(m.energy[0].tokens));
  CHECK(m.energy[0].energy.watts() == 300);
}

TEST_CASE("device memory is the sum of tensors, workspaces and calibrated overhead", "[metered]") {
  const auto& [desk, c, m] = session();
  REQUIRE(m.memory.size() == 2);
  for (const MemoryUse& u : m.memory) CHECK(u.predicted() == u.measured.used);
  CHECK(m.memory[0].tensors == training_memory(c.arch, c.plan).peak);
  CHECK(m.memory[1].tensors == inference_memory(c.arch, c.plan).peak);
}

TEST_CASE("a quantity that cannot be measured is reported with a reason instead of a value", "[metered]") {
  Desk poor{.ranges = {}, .missing = "no CUPTI", .fault = "", .energy = false, .others = 2};
  const Metered m = metered_at(poor, tiny_case());
  CHECK(m.no_counts == "no CUPTI");
  CHECK(m.phases.empty());
  CHECK_FALSE(m.product);
  CHECK(m.no_energy == "not reported by this board");
  CHECK(m.energy.empty());
  CHECK(m.no_memory == "2 other processes use the device, which reports only the total memory of all processes");
  CHECK(m.memory.empty());

  Desk refused{.ranges = {}, .missing = "", .fault = "not permitted", .energy = true, .others = 0};
  const Metered r = metered_at(refused, tiny_case());
  CHECK(r.no_counts == "not permitted");
  CHECK(r.phases.empty());
  CHECK(r.energy.size() == 3);
}

TEST_CASE("float32 matmuls are not expected on tensor cores", "[metered]") {
  Desk desk;
  const Metered m = metered_at(desk, tiny_case(dtypes::fp32));
  CHECK_FALSE(m.tensor_cores);
  CHECK_FALSE(m.product);
  CHECK(m.phases.size() == 5);
}

TEST_CASE("the verdict names the attention cores of training and of inference", "[metered]") {
  const Case c = tiny_case();
  const Where where{.make = [](model::Number n) { return test::make_emulated(n, false); }};
  const CaseVerdict v = validated(c, {}, where);
  REQUIRE(v.cores.size() == 2);
  CHECK(v.cores[0].part == "training");
  CHECK(v.cores[1].part == "inference");
  for (const CoreUse& u : v.cores) {
    REQUIRE(u.cores.forward);
    CHECK(u.cores.forward->core == model::AttentionCore::plain);
    CHECK(u.cores.forward->obstacle == model::CoreObstacle::head_width);
    CHECK(u.cores.backward.has_value() == (u.part == "training"));
  }
  CHECK(validated(c, {}, {}).cores.empty());
}

TEST_CASE("the CPU backend reports no metered quantities", "[metered]") {
  CHECK_FALSE(metered(tiny_case(dtypes::fp32), {}, how, {}).has_value());
}

TEST_CASE("the FLOPs of measured phases equal those of the predicted ledgers", "[metered]") {
  for (const test::Variant& v : test::generating_variants()) {
    INFO(v.name);
    Plan plan = v.plan;
    plan.prompt = 4;
    plan.generate = 2;
    const Ledger inference = predicted_inference(v.arch, plan), training = predicted_training(v.arch, plan);
    const auto steps = training_phases(v.arch, plan), passes = inference_phases(v.arch, plan);
    CHECK(steps[0].flops == total(training.forward));
    CHECK(steps[1].flops == total(training.backward) + total(training.recompute));
    CHECK(steps[2].flops == 0);
    CHECK(steps[2].moved > 0);
    CHECK(passes[0].flops == total(inference.forward));
    CHECK(passes[1].flops == total(inference.backward));
    CHECK(steps[1].moved > steps[0].moved);
  }
}

TEST_CASE("near() allows a deviation of 2 % from the prediction", "[metered]") {
  CHECK(near(100, 102));
  CHECK(near(100, 98));
  CHECK_FALSE(near(100, 102.1));
  CHECK(near(0, 0));
  CHECK_FALSE(near(0, 1));
}

TEST_CASE("device memory may exceed its prediction by the driver's allocation blocks", "[metered]") {
  const auto within = [](Count predicted, Count used) {
    MemoryUse use{.part = "training", .tensors = Bytes(predicted), .overhead = {}, .measured = {}};
    use.measured.used = Bytes(used);
    return use.within();
  };
  constexpr Count mib = Count{1} << 20;
  CHECK(within(500 * mib, 564 * mib));  // 13 % of a small model
  CHECK_FALSE(within(500 * mib, 565 * mib));
  CHECK_FALSE(within(500 * mib, 489 * mib));  // rounding never reduces memory
  CHECK(within(40000 * mib, 40800 * mib));    // 2 % of a large model
  CHECK_FALSE(within(40000 * mib, 40801 * mib));
}

TEST_CASE("recorded operators have positive forward and backward times", "[metered]") {
  for (const test::MakeBackend make : test::gpus()) {
    const OperatorSeconds s = recorded_operator_seconds(*make(model::Number::f32, false));
    CHECK(s.forward > Seconds());
    CHECK(s.backward > Seconds());
  }
}

TEST_CASE("measured matmul times and addition bandwidths are positive", "[metered]") {
  for (const test::MakeBackend make : test::gpus()) {
    const std::unique_ptr<model::Backend> b = make(model::Number::f32, false);
    CHECK(matmul_seconds(*b, {16, 16, 16}) > Seconds());
    CHECK(addition_bandwidth(*b, Bytes(12288), Seconds()) > BytesPerSecond());
  }
}

TEST_CASE("a GPU's hardware counters report the FLOPs of a matmul", "[metered][cuda]") {
  if (std::getenv("LLMCALC_TEST_GPU") == nullptr) return;
  const std::unique_ptr<model::Backend> gpu = model::make_cuda(model::Number::bf16);
  REQUIRE(gpu->instruments() != nullptr);
  const std::string missing = gpu->instruments()->counters_missing();
  if (!missing.empty()) {
    WARN("not counted: " << missing);
    return;
  }
  CHECK(counted_share(*gpu, {4096, 4096, 4096}) == Approx(1).epsilon(1e-3));
}
