/// Unlike devices in one machine: --hardware rtx-3090+rtx-3060.

#include <numeric>
#include <random>

#include "ask/answer/inference.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/settle.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using test::refused;

namespace {

constexpr Parts of_infer = part::of_inference | part::time | part::hardware | part::machine;

using Given = std::vector<std::pair<std::string_view, std::string>>;

Request read_request(const std::string& model, const Given& given) {
  Request r;
  r.model = load_model(model);
  r.parts = of_infer;
  for (const auto& [flag, value] : given) give(r, *find_option(flag), value);
  return r;
}

Request settled_request(Request r) {
  settle(r);
  check(r);
  return r;
}

Request request_of(const std::string& model, const Given& given) { return settled_request(read_request(model, given)); }

/// The answer as typed; absent if it is rejected.
std::optional<InferenceAnswer> accepted(const std::string& model, const Given& given) {
  try {
    return std::optional<InferenceAnswer>(std::in_place, request_of(model, given));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

constexpr std::array cards{"rtx-3090", "rtx-3060", "rtx-4090", "rtx-4070", "rtx-5090", "gtx-1080-ti", "a100-pcie-40gb"};
constexpr std::array formats_of_files{"q4_k_m", "q8_0", "q2_k"};

/// A sampled model in a GGUF format.
Given sampled_format(std::mt19937_64& random) {
  return {{"--software", "llama.cpp"},
          {"--kv-precision", "fp16"},
          {"--weight-precision", formats_of_files[random() % formats_of_files.size()]}};
}

std::string sampled_model(std::mt19937_64& random) {
  return std::string(builtin_models()[random() % builtin_models().size()].name);
}

std::string sampled_card(std::mt19937_64& random) { return cards[random() % cards.size()]; }

Given with(Given given, std::string_view flag, std::string value) {
  given.emplace_back(flag, std::move(value));
  return given;
}

InferenceAnswer replanned(const InferenceAnswer& a, const Plan& plan) {
  Request r = a.request();
  r.plan = plan;
  return InferenceAnswer(std::move(r));
}

void check_machine_limits(const InferenceAnswer& a) {
  const Plan& p = a.request().plan;
  const Count batch = a.limits().max_batch.value();
  if (batch > 0) CHECK(replanned(a, with_batch(p, batch)).fits());
  CHECK_FALSE(replanned(a, with_batch(p, batch + 1)).fits());
  if (!a.limits().max_context) return;
  const Count tokens = *a.limits().max_context;
  if (tokens > 0) CHECK(replanned(a, with_context(p, tokens)).fits());
  CHECK_FALSE(replanned(a, with_context(p, tokens + 1)).fits());
}

template <typename Field>
Count sum_over_stages(const InferenceAnswer& a, const Field& field) {
  Count all = 0;
  for (const EngineStage& s : a.placement()->stages()) all += field(s.capacity.memory());
  return all;
}

/// Whether all layers cache every token in rows of one size, without states, whose format follows the device.
bool keeps_every_token(const InferenceAnswer& a) {
  const Arch& arch = a.request().model.arch;
  return arch.mixers.empty() && !arch.local.reach.limited() && a.capacity()->engine().memory.state == Bytes();
}

}  // namespace

TEST_CASE("a machine of two equal devices, A+A, has the same numbers as --pp 2 on A", "[property][unlike]") {
  std::mt19937_64 random(20261130);
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string model = sampled_model(random), card = sampled_card(random);
    const Given format = sampled_format(random);
    CAPTURE(model, card);
    const auto named = accepted(model, with(format, "--hardware", card + "+" + card));
    const auto piped = accepted(model, with(with(format, "--hardware", card), "--pp", "2"));
    REQUIRE(named.has_value() == piped.has_value());
    if (!named) continue;
    ++compared;
    CHECK(named->estimate().estimate.total.value == piped->estimate().estimate.total.value);
    CHECK(named->estimate().bound.first_token.value == piped->estimate().bound.first_token.value);
    CHECK(named->memory().peak == piped->memory().peak);
    CHECK(named->limits().max_batch == piped->limits().max_batch);
    CHECK(named->limits().max_context == piped->limits().max_context);
  }
  CHECK(compared > 150);
}

TEST_CASE("on different devices, each reported limit fits, and one more does not", "[property][unlike]") {
  std::mt19937_64 random(20261201);
  int checked = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string model = sampled_model(random), machine = sampled_card(random) + "+" + sampled_card(random);
    CAPTURE(model, machine);
    const auto a = accepted(model, with(sampled_format(random), "--hardware", machine));
    if (!a) continue;
    ++checked;
    check_machine_limits(*a);
  }
  CHECK(checked > 150);
}

TEST_CASE("with evenly split pipeline stages, each reported limit fits, and one more does not", "[property][unlike]") {
  std::mt19937_64 random(20261204);
  constexpr std::array engines{"vllm", "sglang", "transformers", "tensorrt-llm", "mlx-lm"};
  int checked = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string model = sampled_model(random), card = sampled_card(random),
                      engine = engines[random() % engines.size()];
    CAPTURE(model, card, engine);
    const auto a =
        accepted(model, {{"--software", engine}, {"--any-software", ""}, {"--hardware", card}, {"--pp", "3"}});
    if (!a || !a->limits().max_batch) continue;
    ++checked;
    check_machine_limits(*a);
  }
  CHECK(checked > 80);
}

TEST_CASE("the memory of the devices adds up to the model and the overhead of each device", "[property][unlike]") {
  std::mt19937_64 random(20261202);
  int checked = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string model = sampled_model(random), machine = sampled_card(random) + "+" + sampled_card(random);
    const Given format = sampled_format(random);
    CAPTURE(model, machine);
    const auto a = accepted(model, with(format, "--hardware", machine));
    const auto alone = accepted(model, with(format, "--hardware", "h200"));
    if (!a || !alone) continue;
    ++checked;
    const Count stages = static_cast<Count>(a->placement()->stages().size());
    const Count weights = sum_over_stages(*a, [](const Memory& m) { return m.weights.value; });
    const Arch& arch = a->request().model.arch;
    if (!arch.tied_head) CHECK(std::abs(weights - alone->memory().weights.value) <= stages);
    if (arch.tied_head) CHECK(weights > alone->memory().weights.value);  // the last device has a copy of the table
    if (keeps_every_token(*alone))
      CHECK(sum_over_stages(*a, [](const Memory& m) { return m.kv_cache.value; }) == alone->memory().kv_cache.value);
    CHECK(sum_over_stages(*a, [](const Memory& m) {
            return m.peak.value - m.weights.value - m.kv_cache.value - m.media_encoders.value;
          }) == sum_over_stages(*a, [](const Memory& m) { return m.workspace.value + m.process.value; }));
  }
  CHECK(checked > 150);
}

TEST_CASE("the stages' KV caches add up to one device's cache, for models with windowed and full layers", "[unlike]") {
  for (const char* model : {"gemma-3-27b", "mimo-v2-flash"}) {
    CAPTURE(model);
    const Given format{{"--software", "llama.cpp"}, {"--kv-precision", "fp16"}, {"--weight-precision", "q4_k_m"}};
    const InferenceAnswer a(request_of(model, with(format, "--hardware", "rtx-3090+rtx-3060")));
    const InferenceAnswer alone(request_of(model, with(format, "--hardware", "h200")));
    CHECK(sum_over_stages(a, [](const Memory& m) { return m.kv_cache.value; }) == alone.memory().kv_cache.value);
  }
}

TEST_CASE("a faster second device never makes a token or a prompt slower", "[property][unlike]") {
  std::mt19937_64 random(20261203);
  int checked = 0;
  for (int i = 0; i < 150; ++i) {
    const std::string model = sampled_model(random), machine = sampled_card(random) + "+" + sampled_card(random);
    const Given given = with(sampled_format(random), "--hardware", machine);
    CAPTURE(model, machine);
    const auto now = accepted(model, given);
    if (!now) continue;
    ++checked;
    Request r = read_request(model, given);
    Device& second = r.machine[1].cluster.device;
    second.bandwidth = BytesPerSecond(2 * second.bandwidth.value);
    for (FlopsPerSecond& peak : second.peaks) peak = FlopsPerSecond(2 * peak.value);
    const InferenceAnswer then(settled_request(std::move(r)));
    CHECK(then.estimate().middle.estimate.total() < now->estimate().middle.estimate.total());
    CHECK(then.estimate().prefill.estimate.total() <= now->estimate().prefill.estimate.total());
  }
  CHECK(checked > 75);
}

TEST_CASE("layers are split as llama.cpp splits them, by free memory", "[unlike]") {
  // Free: 24,125 and 11,909 MiB. 81 x 24,125 / 36,034 = 54.2, so layers 0 to 54 of 80 and the head are on the first.
  const InferenceAnswer a(
      request_of("llama-3-70b", {{"--hardware", "rtx-3090+rtx-3060"}, {"--weight-precision", "iq3_xxs"}}));
  const StageLayers layers = a.placement()->layers();
  CHECK(std::vector<Count>(layers.begin(), layers.end()) == std::vector<Count>{55, 25});
}

TEST_CASE("layers move to the other device if the split by free memory does not fit", "[unlike]") {
  const Given given{{"--hardware", "rtx-3090+rtx-3060"}, {"--weight-precision", "iq3_xxs"}};
  const InferenceAnswer usual(request_of("llama-3-70b", given));
  const Count longest = usual.limits().max_context.value();
  const InferenceAnswer a(request_of("llama-3-70b", with(given, "--prompt", std::to_string(longest - 256))));
  CHECK(a.fits());
  const InferenceAnswer fixed(request_of(
      "llama-3-70b", with(with(given, "--prompt", std::to_string(longest - 256)), "--stage-layers", "55,25")));
  CHECK((fixed.fits() == (a.placement()->layers() == fixed.placement()->layers())));
}

TEST_CASE("the launch command states the layers of each device, and the head is on the last device",
          "[unlike][launch]") {
  const test::Ran r =
      test::llmcalc("infer llama-3-70b --hardware rtx-3090+rtx-3060 --weight-precision iq3_xxs --emit llama.cpp");
  CHECK(r.code == 0);
  CHECK(r.out.find("--split-mode layer") != std::string::npos);
  CHECK(r.out.find("--tensor-split 55,26") != std::string::npos);
}

TEST_CASE("short answers for different devices have at most 16 lines of 80 columns", "[unlike]") {
  for (const char* command : {"infer llama-3.1-8b --hardware rtx-3090+rtx-3060",
                              "infer llama-3-70b --hardware 2xrtx-3090+rtx-3060 --weight-precision q4_k_m",
                              "infer llama-3-70b --hardware rtx-3090+rtx-3060 --weight-precision q4_k_m",
                              "infer llama-3-70b --hardware gtx-1080-ti+rtx-3060+rtx-3090+rtx-4070 --weight-precision "
                              "q4_k_m",
                              "memory llama-3-70b --infer --hardware rtx-3090+rtx-3060 --weight-precision q2_k",
                              "report llama-3.1-8b --hardware rtx-3090+rtx-3060"}) {
    INFO(command);
    const std::string text = test::llmcalc(command).out;
    CHECK(std::count(text.begin(), text.end(), '\n') <= 16);
    std::size_t widest = 0;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      widest = std::max(widest, end - at);
    CHECK(widest <= 80);
    CHECK(text.find("explain") == std::string::npos);
  }
}

TEST_CASE("a saved answer for a machine of several devices is a valid baseline for check", "[unlike][json]") {
  const std::string saved = test::scratch() + "/machine.json";
  test::write_file(saved, test::llmcalc("infer llama-3.1-8b --hardware rtx-3090+rtx-3060 --json").out);
  const test::Ran r = test::llmcalc("check --baseline " + saved);
  CHECK(r.code == 0);
  CHECK(r.out.find("no changes") != std::string::npos);
}

TEST_CASE("JSON lists the devices with their layers", "[unlike][json]") {
  const json::Value v = test::ask("infer llama-3.1-8b --hardware rtx-3090+rtx-3060");
  CHECK(v["hardware"]["name"] == "rtx-3090+rtx-3060");
  REQUIRE(v["stages"].size() == 2);
  CHECK(v["stages"][0]["device"] == "rtx-3090");
  CHECK(v["stages"][0]["layers"].get<Count>() + v["stages"][1]["layers"].get<Count>() == 32);
  const double token =
      v["stages"][0]["time_per_token_s"].get<double>() + v["stages"][1]["time_per_token_s"].get<double>();
  CHECK(token == Approx(v["decode"]["time_per_token_s"].get<double>()).epsilon(0.01));
}

TEST_CASE("an invalid machine of several devices is rejected with a one-sentence error", "[unlike][bad_input]") {
  refused("infer gpt2 --hardware rtx-3090+",
          "--hardware rtx-3090+: the name of a device is missing; name each, for example rtx-3090+rtx-3060");
  refused("infer gpt2 --hardware rtx-3090+host", "unknown hardware \"host\" ('llmcalc list hardware' shows all " +
                                                     std::to_string(builtin_hardware().size()) + ")");
  refused("infer gpt2 --hardware 17xrtx-3090+rtx-3060",
          "--hardware 17xrtx-3090+rtx-3060: a machine has 1 to 16 devices");
  refused("infer gpt2 --hardware rtx-3090+m4-max",
          "--hardware rtx-3090+m4-max: different devices in one machine are linked by PCI Express, which m4-max does "
          "not have; use devices of one kind");
  refused("infer gpt2 --hardware rtx-3090+rtx-3060 --tp 2",
          "--hardware rtx-3090+rtx-3060: each device is one pipeline stage; omit --tp and --pp");
  refused("infer gpt2 --pp 3 --hardware rtx-3090+rtx-3060",
          "--pp 3 differs from the 2 devices of --hardware rtx-3090+rtx-3060; omit --pp");
  refused("infer gpt2 --hardware rtx-3090+rtx-3060 --offload weights:0.5",
          "--offload is not supported with pipeline stages; omit it, or use one device");
  refused("infer llama-3-70b --hardware rtx-3090+rtx-3060 --software vllm --weight-precision awq",
          "--hardware rtx-3090+rtx-3060: vllm splits layers evenly, and rtx-3060 does not hold its 40 of 80; use "
          "--software llama.cpp, which splits by memory, or --stage-layers");
}

TEST_CASE("explain rejects quantities of batches that run in pipeline stages", "[unlike][explain]") {
  refused("explain decode.time_per_token_s llama-3-8b --hardware h100 --pp 2",
          "--pp: a batch is explained on an engine in one pipeline stage; omit it");
  const test::Ran all = test::llmcalc("explain all llama-3-8b --hardware h100 --pp 2");
  CHECK(all.out.find("decode.time_per_token_s:") == std::string::npos);
}

TEST_CASE("pipeline stages in inference require hardware, an engine and a decoder-only model", "[unlike][bad_input]") {
  refused("memory gpt2 --infer --pp 2",
          "--pp: an engine splits layers by the memory of its devices; add --hardware HW");
  refused("infer gpt2 --hardware rtx-3090 --pp 2 --software none",
          "--pp: stages need an engine, which keeps a KV cache; omit --software none, --no-kv-cache and the efficiency "
          "options");
  refused("infer flan-t5-small --hardware rtx-3090 --pp 2",
          "--pp: flan-t5-small has an encoder, and stages of encoder-decoder models are not supported; use one device");
}

TEST_CASE("commands for one type of device reject a mixed machine and name the commands that accept it",
          "[unlike][bad_input]") {
  const std::string sentence =
      "only infer, memory --infer, report and fit can estimate several devices of one machine; name one device here";
  for (const char* command :
       {"train gpt2", "train gpt2 --dp 2", "memory gpt2 --train", "serve gpt2 --rate 1", "plan serve gpt2 --rate 1",
        "plan train gpt2 --gpus 8", "explain decode.time_per_token_s gpt2"})
    for (const char* machine : {"rtx-3090+rtx-3060", "rtx-3090+rtx-3090"}) {
      INFO(command << " on " << machine);
      const std::string said = test::refusal_in(std::string(command) + " --hardware " + machine);
      CHECK(said.find(sentence) != std::string::npos);
    }
}

// 4 x 128 GiB for 227 GB of weights, and 2 x 512 GiB for 383 GB; presets/hardware/ has the sources of both networks.
TEST_CASE("computers joined by a network hold a model that one of them cannot", "[machine][cli]") {
  for (const char* command : {"infer llama-3.1-405b --weight-precision q4_k_m --hardware ",
                              "infer deepseek-v3 --weight-precision q4_k_m --hardware "})
    CHECK(test::ask(std::string(command) + "dgx-spark")["verdict"]["fit"] == "no");
  const json::Value sparks = test::ask("infer llama-3.1-405b --weight-precision q4_k_m --hardware 4xdgx-spark");
  CHECK(sparks["verdict"]["fit"] == "yes");
  const json::Value macs = test::ask("infer deepseek-v3 --weight-precision q4_k_m --hardware 2xm3-ultra");
  CHECK(macs["verdict"]["fit"] == "yes");
  CHECK_NOTHROW(test::ask("infer llama-3.1-405b --hardware dgx-spark --tp 4 --software vllm --precision fp8"));
}

// kt-kernel/README.md: --kt-num-gpu-experts of each layer's experts stay on the GPU.
TEST_CASE("KTransformers keeps experts in host memory", "[host][cli]") {
  const json::Value half = test::ask(
      "infer qwen3-30b-a3b --hardware rtx-4090 --software ktransformers --offload experts:0.5 --host "
      "desktop-ddr5-5600");
  const json::Value all = test::ask(
      "infer qwen3-30b-a3b --hardware rtx-4090 --software ktransformers --offload experts --host desktop-ddr5-5600");
  CHECK(half["inference_memory"]["weights_bytes"] > all["inference_memory"]["weights_bytes"]);
  CHECK(half["decode"]["time_per_token_s"] < all["decode"]["time_per_token_s"]);
}
