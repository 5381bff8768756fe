// The inference estimator: parameters, engine profiles, and properties of its times.

#include "presets/estimators/inference_estimator.hpp"

#include <set>
#include <tuple>

#include "calc/infer.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using llmcalc::test::sentence;

namespace {

constexpr const char* engines[] = {"vllm", "tensorrt-llm", "llama.cpp", "transformers", "gpt-fast", "calm"};

Plan short_plan() {
  Plan plan;
  plan.batch = 4;
  plan.prompt = 512;
  plan.generate = 64;
  return plan;
}

Cluster under(const HardwareCard& card, const char* engine, const Plan& plan) {
  Cluster c = card.cluster;
  c.device.achieved = inference_rates(inference_estimator().parameters, card, *load_software(engine).inference, plan);
  return c;
}

InferEstimate estimate(const HardwareCard& card, const char* engine, const Layout& layout = {}) {
  const Plan plan = short_plan();
  const Arch arch = load_model("llama-3.2-1b").arch;
  return infer(arch, plan, layout, under(card, engine, plan));
}

}  // namespace

TEST_CASE("every parameter of the inference estimator is within its bounds and has a meaning and a source",
          "[inference-estimator]") {
  const InferenceEstimator& e = inference_estimator();
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < inference_parameter_count; ++i) {
    const ParameterCard& card = inference_parameter_cards[i];
    INFO(card.name);
    CHECK(names.insert(card.name).second);
    CHECK((card.low <= card.standard && card.standard <= card.high));
    CHECK((card.low <= e.parameters.values()[i] && e.parameters.values()[i] <= card.high));
    CHECK(card.meaning.size() > 5);
    CHECK(card.source.size() > 10);
  }
  CHECK(inference_parameter_count <= 63);  // the number of measurement families
  for (const auto& c : choices<InferenceClass>) CHECK(e.interval(c.value).factor > 1);
}

TEST_CASE("an inference estimator round-trips through JSON", "[inference-estimator]") {
  const json::Value right = inference_estimator_json(inference_estimator());
  CHECK(read_inference_estimator(right, "e.json").parameters.values() == inference_estimator().parameters.values());
  json::Value wrong = right;
  wrong["parameters"]["flash"]["value"] = 2;
  CHECK(sentence([&] { read_inference_estimator(wrong, "e.json"); }) ==
        R"(e.json, "parameters", "flash", "value": expected a number from 0.1 to 0.8)");
}

TEST_CASE("a device's vendor, memory and architecture select its inference rates", "[inference-estimator]") {
  const auto chip = [](const char* name) { return chip_of(load_hardware(name)); };
  CHECK(chip("a100-sxm-80gb") == Chip::ampere);
  CHECK(chip("v100-sxm2-32gb") == Chip::ampere);
  CHECK(chip("h200-sxm-141gb") == Chip::hopper);
  CHECK(chip("gh200-96gb") == Chip::hopper);
  CHECK(chip("b200-sxm-180gb") == Chip::blackwell);
  CHECK(chip("rtx-4090") == Chip::consumer);
  CHECK(chip("l40s") == Chip::consumer);
  CHECK(chip("dgx-spark") == Chip::unified);
  CHECK(chip("jetson-agx-orin-64gb") == Chip::unified);
  CHECK(chip("m4-max") == Chip::apple);
  CHECK(chip("trainium2") == Chip::neuron);
  CHECK(chip("gaudi-3") == Chip::gaudi);
  CHECK(chip("mi300x") == Chip::cdna);
  CHECK(chip("rx-7900-xtx") == Chip::rdna);
  CHECK(chip("tpu-v5e") == Chip::other);
}

TEST_CASE("no inference estimate is below its bound on any device with any engine", "[inference-estimator]") {
  for (const Builtin& b : builtin_hardware()) {
    const HardwareCard card = load_hardware(b);
    if (card.cluster.device.peak(dtypes::bf16).value <= 0) continue;
    for (const char* engine : engines) {
      INFO(b.name << " " << engine);
      const InferEstimate e = estimate(card, engine);
      CHECK(e.estimated);
      CHECK(e.prefill.estimate.total() >= e.prefill.bound.total());
      CHECK(e.middle.estimate.total() >= e.middle.bound.total());
      CHECK(e.estimate.total >= e.bound.total);
    }
  }
}

TEST_CASE("more memory bandwidth, peak FLOPs or link bandwidth never slows inference", "[inference-estimator]") {
  const HardwareCard card = load_hardware("h100-sxm-80gb");
  Layout layout;
  layout.tp = 4;
  for (const char* engine : engines) {
    INFO(engine);
    const InferEstimate now = estimate(card, engine, layout);
    const auto is_no_slower = [&](const auto& change) {
      HardwareCard better = card;
      change(better.cluster);
      const InferEstimate then = estimate(better, engine, layout);
      CHECK(then.prefill.estimate.total() <= now.prefill.estimate.total());
      CHECK(then.middle.estimate.total() <= now.middle.estimate.total());
    };
    is_no_slower([](Cluster& c) { c.device.bandwidth = 1.5 * c.device.bandwidth; });
    is_no_slower([](Cluster& c) {
      for (FlopsPerSecond& peak : c.device.peaks) peak = 1.5 * peak;
    });
    is_no_slower([](Cluster& c) { c.levels[0].bandwidth = 1.5 * c.levels[0].bandwidth; });
  }
}

TEST_CASE("an engine that accumulates in fp16 runs matmuls faster on GeForce cards only", "[inference-estimator]") {
  const auto share = [](const char* device, const char* engine) {
    const HardwareCard card = load_hardware(device);
    return Device::of(under(card, engine, short_plan()).device.achieved.matmul, dtypes::bf16);
  };
  CHECK(share("rtx-4090", "exllama") > 1.2 * share("rtx-4090", "gpt-fast"));
  CHECK(share("rtx-4090", "exllama") <= 1);
  for (const char* whole_rate : {"a100-sxm-80gb", "rtx-4000-ada", "rtx-5000-ada", "rtx-6000-ada"})
    CHECK(share(whole_rate, "exllama") == share(whole_rate, "gpt-fast"));
  HardwareCard laptop = load_hardware("rtx-4080");
  laptop.name = "RTX 4080 Laptop";
  const auto of_laptop = [&](const char* engine) {
    return Device::of(under(laptop, engine, short_plan()).device.achieved.matmul, dtypes::bf16);
  };
  CHECK(of_laptop("exllama") > 1.2 * of_laptop("gpt-fast"));
}

TEST_CASE("dequantizing weights before a matmul reduces its rate", "[inference-estimator]") {
  const HardwareCard card = load_hardware("h100-sxm-80gb");
  Plan plan = short_plan();
  const auto share = [&] { return Device::of(under(card, "vllm", plan).device.achieved.matmul, dtypes::bf16); };
  const double plain = share();
  plan.weight_precision = *dtype("awq");
  CHECK(share() == Approx(plain * inference_estimator().parameters[InferenceParameter::weight_only]));
}

TEST_CASE("an engine's loop adds time per pass and per sequence", "[inference-estimator]") {
  const HardwareCard card = load_hardware("h100-sxm-80gb");
  for (const auto& [engine, step, sequence] :
       {std::tuple{"vllm", InferenceParameter::step_vllm, InferenceParameter::sequence_vllm},
        {"tensorrt-llm", InferenceParameter::step_tensorrt, InferenceParameter::sequence_tensorrt},
        {"sglang", InferenceParameter::step_server, InferenceParameter::sequence_server}}) {
    const Software s = under(card, engine, short_plan()).device.achieved.software;
    const InferenceParameters& p = inference_estimator().parameters;
    CHECK(s.pass(64).value == Approx(p[step] + 64 * p[sequence]));
  }
  CHECK(under(card, "llama.cpp", short_plan()).device.achieved.software.pass(64) == Seconds());
}

TEST_CASE("engine, version and vendor select the launch overhead", "[inference-estimator]") {
  const InferenceParameters& p = inference_estimator().parameters;
  const auto launch = [](const char* device, const char* engine) {
    return under(load_hardware(device), engine, short_plan()).device.achieved;
  };
  CHECK(launch("h100-sxm-80gb", "vllm").launch.value == p[InferenceParameter::kernel_vllm]);
  CHECK(launch("h100-sxm-80gb", "sglang").launch.value == p[InferenceParameter::kernel_prompt]);
  CHECK(launch("h100-sxm-80gb", "vllm@0.6").launch.value == p[InferenceParameter::kernel_prompt]);
  CHECK(launch("rtx-4090", "llama.cpp").recorded.value == p[InferenceParameter::kernel_cuda]);
  CHECK(launch("rtx-4090", "llama.cpp@2024-04").recorded == Seconds());  // before CUDA graphs
  CHECK(launch("rx-7900-xtx", "llama.cpp").recorded == Seconds());
  CHECK(launch("m4-max", "llama.cpp").launch.value == p[InferenceParameter::kernel_metal]);
}

TEST_CASE("the interval of a new device or engine is not narrower than its class", "[inference-estimator]") {
  InferenceEstimator e;
  e.intervals = in_order<InferenceClass>({{"decode", {1.3, 5}}, {"prefill", {1.5, 5}}, {"assumed input", {2, 5}}});
  e.intervals_new = in_order<InferenceClass>({{"decode", {1.2, 5}}, {"prefill", {9, 2}}});
  CHECK(e.interval_of_new(InferenceClass::decode).factor == 1.3);
  CHECK(e.interval_of_new(InferenceClass::prefill).factor == 2);  // two sources are too few
  e.intervals_new = in_order<InferenceClass>({{"decode", {1.8, 5}}});
  CHECK(e.interval_of_new(InferenceClass::decode).factor == 1.8);
}

TEST_CASE("rates measured on a device take precedence with any engine", "[inference-estimator]") {
  HardwareCard card = load_hardware("h100-sxm-80gb");
  card.measured = MeasuredRates{.memory = true};
  card.measured->rates.memory = 0.5;
  const Achieved a = under(card, "vllm", short_plan()).device.achieved;
  CHECK(a.memory == 0.5);
  CHECK(a.software.step.value > 0);
}
