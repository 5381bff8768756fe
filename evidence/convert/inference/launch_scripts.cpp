#include "evidence/convert/inference/launch_scripts.hpp"

#include <algorithm>
#include <array>

#include "text/names.hpp"

namespace llmcalc {
namespace {

/// A group of scripts. `devices`: names that begin the device's name, separated by spaces.
struct LaunchScript {
  std::string_view engine, model, devices;
  enum class Weights : std::uint8_t { any, four_bits, eight_bits, sixteen_bits } weights = Weights::any;
  Count pass_tokens = 0;    ///< 0: by `prompts`, or the engine's default
  Count prompts = 0;        ///< tokens of a pass, as a multiple of the prompt
  Count few = 1, many = 1;  ///< poll_passes below and from `many_clients` on
  Count many_clients = 1;
};
using Weights = LaunchScript::Weights;

constexpr std::array scripts{
    LaunchScript{"sglang", "deepseek-v3", "h200", Weights::any, 32768},
    LaunchScript{"sglang", "deepseek-v3", "mi300x mi325x", Weights::any, 131072},
    LaunchScript{"sglang", "deepseek-v3", "mi355x", Weights::any, 196608},
    LaunchScript{"sglang", "deepseek-v3", "b200 b300", Weights::four_bits, 16384, 0, 10, 30, 16},
    LaunchScript{"sglang", "deepseek-v3", "b200 b300", Weights::eight_bits, 32768, 0, 10, 30, 16},
    LaunchScript{"sglang", "qwen3.5", "b200 b300", Weights::sixteen_bits, 32768, 0, 10, 30, 16},
    LaunchScript{"sglang", "qwen3.5", "b200", Weights::any, 16384, 0, 10, 30, 5},
    LaunchScript{"sglang", "qwen3.5", "b300", Weights::four_bits, 32768, 0, 10, 30, 16},
    LaunchScript{"sglang", "qwen3.5", "b300", Weights::any, 16384, 0, 10, 10},
    LaunchScript{"sglang", "qwen3.5", "h100 h200", Weights::any, 16384},
    LaunchScript{"sglang", "qwen3.5", "mi300x mi325x", Weights::any, 0, 0, 30, 30},
    LaunchScript{"sglang", "qwen3.5", "mi355x", Weights::any, 32768, 0, 30, 30},
    LaunchScript{"sglang", "glm-5", "b200 b300", Weights::four_bits, 32768, 0, 10, 10},
    LaunchScript{"sglang", "glm-5", "b200 b300", Weights::any, 32768},
    LaunchScript{"tensorrt-llm", "gpt-oss", "h100 h200 b200 b300", Weights::any, 20000},
    LaunchScript{"tensorrt-llm", "minimax", "b200 b300", Weights::any, 16384},
    LaunchScript{"vllm", "minimax-m2.5", "h200", Weights::any, 32768},
    LaunchScript{"vllm", "minimax-m3", "h100 h200 b200 b300", Weights::any, 0, 2},
    LaunchScript{"vllm", "minimax", "b200 b300", Weights::any, 0, 2},
    LaunchScript{"vllm", "kimi-k2.5", "mi355x", Weights::four_bits, 16384},
    LaunchScript{"vllm", "deepseek-v4", "b300", Weights::any, 0, 2},
    LaunchScript{"vllm", "deepseek-v4", "b200", Weights::any, 0, 1},
    LaunchScript{"vllm", "deepseek-v4", "h200", Weights::any, 512},
};

Weights weights_of(const InferenceRow& row) {
  const std::string said = lower(row.weights);
  const auto has = [&](const char* word) { return said.find(word) != std::string::npos; };
  if (has("fp4") || has("int4")) return Weights::four_bits;
  return has("fp8") ? Weights::eight_bits : Weights::sixteen_bits;
}

bool is_one_of(std::string_view device, std::string_view names) {
  while (!names.empty()) {
    const std::size_t n = std::min(names.find(' '), names.size());
    if (device.starts_with(names.substr(0, n))) return true;
    names.remove_prefix(std::min(n + 1, names.size()));
  }
  return false;
}

bool is_of_harness(const InferenceRow& row) {
  const auto says = [&](const char* name) { return row.source.title.find(name) != std::string::npos; };
  return says("InferenceMAX") || says("InferenceX");
}

}  // namespace

std::optional<ScriptLimits> script_limits(const InferenceRow& row, const InferenceCase& c) {
  if (!is_of_harness(row) || row.disaggregated) return std::nullopt;
  const std::string model = lower(row.model.name);
  const Weights weights = weights_of(row);
  const auto* s = std::find_if(scripts.begin(), scripts.end(), [&](const LaunchScript& one) {
    return c.engine.name == one.engine && model.starts_with(one.model) && is_one_of(c.on.hardware.name, one.devices) &&
           (one.weights == Weights::any || one.weights == weights);
  });
  if (s == scripts.end()) return std::nullopt;
  const Count of_prompt = s->prompts * static_cast<Count>(row.batch.input_len.value_or(c.prompt));
  ScriptLimits limits{.pass_tokens = s->pass_tokens > 0 ? s->pass_tokens : of_prompt};
  if (limits.pass_tokens == 0) limits.pass_tokens = c.limits.pass_tokens;
  constexpr Count least = 2048;
  if (s->prompts > 0) limits.pass_tokens = std::max(least, limits.pass_tokens);
  limits.poll_passes = c.batch < static_cast<double>(s->many_clients) ? s->few : s->many;
  return limits;
}

}  // namespace llmcalc
