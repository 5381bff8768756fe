// Software profiles, and the estimator parameters that they select.

#include "calc/train.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using llmcalc::test::sentence;

namespace {

json::Value profile() {
  return json::parse(R"({"name": "mine", "for": "training", "fusion": "eager", "attention": "flash-2",
    "norms": "written out", "experts": "one by one", "tensor_exchanges": "waited for",
    "data_exchanges": "overlapped", "source": "a test"})",
                     "test");
}
std::string refused(const json::Value& value) {
  return sentence([&] { read_software_file(value, "mine.json"); });
}

}  // namespace

TEST_CASE("every software preset loads and has a source", "[software]") {
  CHECK(builtin_software().size() >= 36);
  for (const Builtin& b : builtin_software()) {
    INFO(b.name);
    const SoftwareCard card = load_software(b.name);
    CHECK(card.name == b.name);
    CHECK(card.source.size() > 20);
    CHECK((card.training || card.inference));
  }
}

TEST_CASE("Megatron-LM and its relatives pad a vocabulary to 128 rows per tensor-parallel rank", "[software]") {
  for (const char* name : {"megatron-lm", "megatron-lm-legacy", "megatron-deepspeed", "nemo", "llm.c"})
    CHECK(load_software(name).vocabulary_multiple == 128);
  for (const char* name : {"torch-fsdp", "torchtitan", "maxtext", "vllm"})
    CHECK(load_software(name).vocabulary_multiple == 1);
}

TEST_CASE("software presets are found by common names", "[software]") {
  CHECK(load_software("Megatron-Core").name == "megatron-lm");
  CHECK(load_software("megatron").training->fusion == Fusion::tuned);
  CHECK(load_software("fsdp").training->fusion == Fusion::eager);
  CHECK(load_software("JAX").name == "maxtext");
  CHECK(sentence([] { load_software("megatorn-lm"); }).find("did you mean 'megatron-lm'") != std::string::npos);
}

TEST_CASE("the error for a software file with an unknown term lists the known terms", "[software]") {
  CHECK(read_software_file(profile(), "mine.json").training->writes_norms);
  json::Value wrong = profile();
  wrong["fusion"] = "fused";
  CHECK(
      refused(wrong) ==
      R"(mine.json, "fusion": expected one of "megatron", "tuned", "compiled", "eager", "unfused", "native", got "fused")");
  wrong = profile();
  wrong["for"] = "inference";
  CHECK(refused(wrong).find(R"("launching": expected)") != std::string::npos);
  wrong["for"] = "serving";
  CHECK(refused(wrong) == R"(mine.json, "for": expected one of "training", "inference", "both", got "serving")");
  wrong = profile();
  wrong.erase("source");
  CHECK(refused(wrong).find("\"source\"") != std::string::npos);
  wrong = profile();
  wrong["speed"] = 3;
  CHECK(refused(wrong).find("\"speed\"") != std::string::npos);
}

TEST_CASE("norm outputs are written only for RMSNorm models, and naive attention has separate kernels", "[software]") {
  const SoftwareCard card = read_software_file(profile(), "mine.json");
  Arch rms, layer;
  rms.norm = NormKind::rms_norm;
  layer.norm = NormKind::layer_norm;
  CHECK(stack_of(card, rms, {}).writes_norms);
  CHECK_FALSE(stack_of(card, layer, {}).writes_norms);
  Plan naive;
  naive.attention = AttentionImpl::naive;
  CHECK(stack_of(card, rms, naive).core == CoreKernel::unfused);
  CHECK(stack_of(load_software("megatron-lm"), rms, naive).core == CoreKernel::fused_softmax);
}

TEST_CASE("every parameter of the training estimator is within its bounds and has a meaning and a source",
          "[software]") {
  const TrainingEstimator& e = training_estimator();
  for (std::size_t i = 0; i < training_parameter_count; ++i) {
    const ParameterCard& card = training_parameter_cards[i];
    INFO(card.name);
    CHECK(card.low <= card.standard);
    CHECK(card.standard <= card.high);
    CHECK(card.low <= e.parameters.values()[i]);
    CHECK(e.parameters.values()[i] <= card.high);
    CHECK(card.meaning.size() > 5);
    CHECK(card.source.size() > 10);
  }
  CHECK(training_parameter_count <= 40);
  for (const auto& c : choices<EstimateClass>) CHECK(e.interval(c.value).factor > 1);
}

TEST_CASE("an estimator file with a missing or out-of-bounds parameter is rejected", "[software]") {
  const json::Value right = training_estimator_json(training_estimator());
  CHECK(read_training_estimator(right, "e.json").parameters.values() == training_estimator().parameters.values());
  json::Value wrong = right;
  wrong["parameters"]["launch"].erase("value");
  CHECK(sentence([&] { read_training_estimator(wrong, "e.json"); }) ==
        R"(e.json, "parameters", "launch", "value": expected a number from 1e-06 to 8e-06)");
  wrong["parameters"].erase("launch");
  CHECK(sentence([&] { read_training_estimator(wrong, "e.json"); }).find("\"launch\"") != std::string::npos);
  wrong = right;
  wrong["parameters"]["memory"]["value"] = 1.5;
  CHECK(sentence([&] { read_training_estimator(wrong, "e.json"); }) ==
        R"(e.json, "parameters", "memory", "value": expected a number from 0.7 to 0.9)");
  wrong = right;
  wrong["intervals"]["dense"]["factor"] = 0.5;
  CHECK(sentence([&] { read_training_estimator(wrong, "e.json"); }).find("expected 1 or more") != std::string::npos);
}

TEST_CASE("a device's architecture selects its training rates", "[software]") {
  CHECK(silicon_of(load_hardware("a100-sxm-80gb")) == Silicon::ampere);
  CHECK(silicon_of(load_hardware("h100-sxm-80gb")) == Silicon::hopper);
  CHECK(silicon_of(load_hardware("gb200")) == Silicon::blackwell);
  CHECK(silicon_of(load_hardware("b300-sxm-288gb")) == Silicon::blackwell);
  CHECK(silicon_of(load_hardware("v100-sxm2-32gb")) == Silicon::volta);
  CHECK(silicon_of(load_hardware("rtx-4090")) == Silicon::consumer);
  CHECK(silicon_of(load_hardware("rtx-5090")) == Silicon::consumer);
  CHECK(silicon_of(load_hardware("a40")) == Silicon::consumer);
  CHECK(silicon_of(load_hardware("dgx-spark")) == Silicon::consumer);
  CHECK(silicon_of(load_hardware("mi300x")) == Silicon::other);
}

TEST_CASE("no attention kernel is slower than an older kernel on the same device", "[software]") {
  TrainingParameters fast_first = training_estimator().parameters;
  fast_first.values()[static_cast<std::size_t>(TrainingParameter::flash_1)] = 0.6;
  for (const TrainingParameters& p : {training_estimator().parameters, fast_first})
    for (const char* device : {"v100-sxm2-32gb", "a100-sxm-80gb", "h100-sxm-80gb", "b200-sxm-180gb", "rtx-4090"}) {
      INFO(device);
      const auto rate = [&](CoreKernel core) {
        TrainingStack stack = *load_software("torch-fsdp").training;
        stack.core = core;
        const Achieved a = training_rates(p, load_hardware(device), stack);
        return Device::of(a.flash, dtypes::fp16).forward.value;
      };
      CHECK(rate(CoreKernel::flash_1) <= rate(CoreKernel::flash_2));
      CHECK(rate(CoreKernel::flash_2) <= rate(CoreKernel::vendor));
    }
}

TEST_CASE("no training estimate is below its bound on any device with any software", "[software]") {
  const Arch arch = load_model("llama-3.2-1b").arch;
  Plan plan;
  plan.seq = 2048;
  plan.global_batch = 8;
  for (const Builtin& b : builtin_hardware()) {
    HardwareCard card = load_hardware(b);
    if (card.cluster.device.peak(dtypes::bf16).value <= 0) continue;
    for (const char* software : {"megatron-lm", "nemo", "torch-fsdp", "llm.c"}) {
      INFO(b.name << " " << software);
      card.cluster.device.achieved = training_rates(training_estimator().parameters, load_hardware(b),
                                                    stack_of(load_software(software), arch, plan));
      const TrainEstimate e = train(arch, plan, {}, card.cluster);
      CHECK(e.estimated);
      CHECK(e.estimate.total() >= e.bound.total());
    }
  }
}

TEST_CASE("rates measured on a device take precedence with any software", "[software]") {
  HardwareCard card = load_hardware("h100-sxm-80gb");
  card.measured = MeasuredRates{.memory = true, .links = true};
  Achieved& a = card.measured->rates;
  a.memory = 0.5;
  a.links.inside = 0.4;
  const Achieved under = training_rates(training_estimator().parameters, card, {});
  CHECK(under.memory == 0.5);
  CHECK(under.links.inside == 0.4);
  CHECK(under.software.kernel.value > 0);
}

TEST_CASE("unmeasured rates of a device come from the estimator", "[software]") {
  HardwareCard card = load_hardware("h100-sxm-80gb");
  const auto bf16 = static_cast<std::size_t>(Peak::bf16), fp8 = static_cast<std::size_t>(Peak::fp8);
  const TrainingParameters& p = training_estimator().parameters;
  const TrainingStack stack = *load_software("megatron-lm").training;
  const Achieved whole = training_rates(p, card, stack);
  card.measured = MeasuredRates{};
  card.measured->products[bf16] = true;
  card.measured->rates.matmul[bf16] = 0.77;
  card.measured->rates.flash[bf16].forward = FlopsPerSecond(5e14);
  const Achieved some = training_rates(p, card, stack);
  CHECK(some.matmul[bf16] == 0.77);
  CHECK(some.half_matmul[bf16] == 0);  // included in the measured curve
  CHECK(some.matmul[fp8] == whole.matmul[fp8]);
  CHECK(some.flash[bf16].forward.value == 5e14);
  CHECK(some.flash[fp8].forward.value == whole.flash[fp8].forward.value);
  CHECK(some.memory == whole.memory);
  CHECK(some.launch == whole.launch);
  CHECK(some.links == whole.links);
  // Applying the estimator a second time gives the same rates: estimated rates do not count as measured.
  card.cluster.device.achieved = some;
  CHECK(training_rates(p, card, stack).memory == whole.memory);
}
