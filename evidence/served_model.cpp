#include "evidence/served_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/names.hpp"

namespace llmcalc {

namespace {

/// A name of vLLM, and the engine's.
struct SaidFormat {
  std::string_view said, meant;
};
constexpr std::array dtypes_said{SaidFormat{"float16", "fp16"}, SaidFormat{"half", "fp16"},
                                 SaidFormat{"bfloat16", "bf16"}, SaidFormat{"float32", "fp32"},
                                 SaidFormat{"float", "fp32"}};
constexpr std::array quantizations_said{SaidFormat{"fp8", "fp8"},
                                        SaidFormat{"awq", "awq"},
                                        SaidFormat{"awq_marlin", "awq"},
                                        SaidFormat{"gptq", "gptq"},
                                        SaidFormat{"mxfp4", "mxfp4"},
                                        SaidFormat{"gptq_marlin", "gptq"},
                                        SaidFormat{"modelopt", "fp8-tensor"},
                                        SaidFormat{"modelopt_fp4", "nvfp4"},
                                        SaidFormat{"bitsandbytes", "nf4"}};
constexpr std::array caches_said{SaidFormat{"fp8", "fp8"}, SaidFormat{"fp8_e4m3", "fp8"}, SaidFormat{"fp8_e5m2", "fp8"},
                                 SaidFormat{"bfloat16", "bf16"}, SaidFormat{"float16", "fp16"}};
constexpr std::array format_suffixes{"-awq",
                                     "-fp8",
                                     "-gptq",
                                     "-int4",
                                     "-int8",
                                     "-gptq-int4",
                                     "-gptq-int8",
                                     "-fp8-dynamic",
                                     "-w4a16",
                                     "-w8a8",
                                     "-quantized.w4a16",
                                     "-quantized.w8a8",
                                     "-bnb-4bit",
                                     "-nvfp4"};

template <std::size_t N>
std::string_view meant_by(const std::array<SaidFormat, N>& all, std::string_view said) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const SaidFormat& f) { return same_name(f.said, said); });
  return found == all.end() ? "" : found->meant;
}

/// The name of a model in a path: its last part, or that before "snapshots" in a cache of Hugging Face.
std::string_view last_part(std::string_view path) {
  if (const std::size_t cache = path.find("models--"); cache != std::string_view::npos) {
    path.remove_prefix(cache + 8);
    path = path.substr(0, path.find('/'));
    const std::size_t organisation = path.find("--");
    return organisation == std::string_view::npos ? path : path.substr(organisation + 2);
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// Without the month of a release behind it: "-2507".
std::string_view without_month(std::string_view name) {
  constexpr std::size_t size = 5;
  if (name.size() <= size || name[name.size() - size] != '-') return name;
  const std::string_view month = name.substr(name.size() - size + 1);
  return month.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, name.size() - size) : name;
}

}  // namespace

const Builtin* served_preset(std::string_view model) {
  std::string name(last_part(model));
  if (name.empty()) return nullptr;
  if (const Builtin* preset = find_meant(builtin_models(), name)) return preset;
  if (const Builtin* preset = find_meant(builtin_models(), without_month(name))) return preset;
  std::size_t longest = 0;
  for (const std::string_view suffix : format_suffixes)
    if (lower(name).ends_with(suffix)) longest = std::max(longest, suffix.size());
  name.resize(name.size() - longest);
  return longest == 0 || name.empty() ? nullptr : find_meant(builtin_models(), name);
}

std::string meant_format(std::string_view said) {
  const std::string_view plain = meant_by(dtypes_said, said), quantized = meant_by(quantizations_said, said);
  return std::string(!plain.empty() ? plain : !quantized.empty() ? quantized : said);
}

std::optional<DType> said_weights(const VllmConfig& config) {
  const auto meant = meant_by(quantizations_said, config.quantization);
  return meant.empty() ? std::nullopt : dtype(meant);
}

WeightFormats served_weights(DType of_blocks, DType others) {
  WeightFormats w(others);
  for (std::size_t c = 0; c < component_count; ++c)
    if (is_narrowed(static_cast<Component>(c))) w[static_cast<Component>(c)] = of_blocks;
  return w;
}

std::vector<SaidOption> said_options(const VllmConfig& c, const ModelCard& model, std::vector<std::string>& unknown) {
  const bool own_formats = model.weights && !model.weights->plain();
  std::vector<SaidOption> all;
  if (c.tensor_parallel && *c.tensor_parallel > 1) all.push_back({"--tp", fmt::format("{}", *c.tensor_parallel)});
  if (c.pipeline_parallel && *c.pipeline_parallel > 1)
    unknown.push_back(fmt::format("pipeline_parallel_size={}", *c.pipeline_parallel));
  std::string_view dtype_said = c.dtype;
  if (dtype_said.starts_with("torch.")) dtype_said.remove_prefix(6);
  if (const auto meant = meant_by(dtypes_said, dtype_said); !meant.empty() && !own_formats && !said_weights(c))
    all.push_back({"--precision", std::string(meant)});
  if (!c.quantization.empty() && !own_formats && !said_weights(c)) unknown.push_back("quantization=" + c.quantization);
  if (const auto meant = meant_by(caches_said, c.cache_dtype); !meant.empty())
    all.push_back({"--kv-precision", std::string(meant)});
  // A pass over a learned position table is left as long as it is by default.
  if (const auto tokens = c.batched_tokens; tokens && *tokens > 0 && model.arch.position != Position::learned)
    all.push_back({"--prompt", fmt::format("{}", *tokens)});
  return all;
}

}  // namespace llmcalc
