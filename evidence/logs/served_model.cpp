#include "evidence/logs/served_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/names.hpp"

namespace llmcalc {

namespace {

/// A server's name for a format, and the name used here.
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
constexpr std::array caches_said{
    SaidFormat{"fp8", "fp8"},       SaidFormat{"fp8_e4m3", "fp8"}, SaidFormat{"fp8_e5m2", "fp8"},
    SaidFormat{"bfloat16", "bf16"}, SaidFormat{"float16", "fp16"}, SaidFormat{"f16", "fp16"},
    SaidFormat{"bf16", "bf16"},     SaidFormat{"f32", "fp32"},     SaidFormat{"q8_0", "q8_0"},
    SaidFormat{"q5_1", "q5_1"},     SaidFormat{"q5_0", "q5_0"},    SaidFormat{"q4_1", "q4_1"},
    SaidFormat{"q4_0", "q4_0"},     SaidFormat{"iq4_nl", "iq4_nl"}};
/// Suffixes of checkpoint names that indicate a weight format.
constexpr std::array format_suffixes{SaidFormat{"-awq", "awq"},
                                     SaidFormat{"-fp8", "fp8"},
                                     SaidFormat{"-gptq", "gptq"},
                                     SaidFormat{"-int4", "int4 g128"},
                                     SaidFormat{"-int8", "int8"},
                                     SaidFormat{"-awq-int4", "awq"},
                                     SaidFormat{"-gptq-int4", "gptq int4"},
                                     SaidFormat{"-gptq-int8", "gptq int8"},
                                     SaidFormat{"-fp8-dynamic", "fp8 dynamic"},
                                     SaidFormat{"-fp8-kv", "fp8"},
                                     SaidFormat{"-fp8-block", "fp8 block"},
                                     SaidFormat{"-w4a16", "int4 g128"},
                                     SaidFormat{"-w8a16", "int8"},
                                     SaidFormat{"-w8a8", "w8a8 int8"},
                                     SaidFormat{"-quantized.w4a16", "int4 g128"},
                                     SaidFormat{"-quantized.w8a16", "int8"},
                                     SaidFormat{"-quantized.w8a8", "w8a8 int8"},
                                     SaidFormat{"-bnb-4bit", "nf4"},
                                     SaidFormat{"-4bit", "int4 g64 (4.5 bpw)"},
                                     SaidFormat{"-8bit", "int8 g64 (8.5 bpw)"},
                                     SaidFormat{"-mxfp4", "mxfp4"},
                                     SaidFormat{"-nvfp4", "nvfp4"}};

/// Prefixes of names of models that are published only in one low-precision format, and that format (from their
/// config.json).
constexpr std::array published_narrow{SaidFormat{"gpt-oss", "mxfp4 (moe) + bf16"},
                                      SaidFormat{"deepseek-v3", "fp8 block"}, SaidFormat{"deepseek-r1", "fp8 block"}};

template <std::size_t N>
std::string_view meant_by(const std::array<SaidFormat, N>& all, std::string_view said) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const SaidFormat& f) { return same_name(f.said, said); });
  return found == all.end() ? "" : found->meant;
}

/// Model name in a path: the last part, or the part before "snapshots" in a Hugging Face cache.
std::string_view last_part(std::string_view path) {
  if (const std::size_t cache = path.find("models--"); cache != std::string_view::npos) {
    path.remove_prefix(cache + 8);
    path = path.substr(0, path.find('/'));
    const std::size_t organization = path.find("--");
    return organization == std::string_view::npos ? path : path.substr(organization + 2);
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// The name without a release month at its end: "-2507".
std::string_view without_month(std::string_view name) {
  constexpr std::size_t size = 5;
  if (name.size() <= size || name[name.size() - size] != '-') return name;
  const std::string_view month = name.substr(name.size() - size + 1);
  return month.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, name.size() - size) : name;
}

/// Longest format suffix of a name; empty if there is no suffix.
SaidFormat format_suffix(std::string_view model) {
  SaidFormat longest{};
  for (const SaidFormat& f : format_suffixes)
    if (lower(model).ends_with(f.said) && f.said.size() > longest.said.size()) longest = f;
  return longest;
}

}  // namespace

const Builtin* served_preset(std::string_view model) {
  std::string name(last_part(model));
  if (name.empty()) return nullptr;
  if (const Builtin* preset = find_meant(builtin_models(), name)) return preset;
  if (const Builtin* preset = find_meant(builtin_models(), without_month(name))) return preset;
  const std::size_t suffix = format_suffix(name).said.size();
  name.resize(name.size() - suffix);
  if (suffix == 0 || name.empty()) return nullptr;
  const Builtin* preset = find_meant(builtin_models(), name);
  return preset != nullptr ? preset : find_meant(builtin_models(), without_month(name));
}

std::string format_in_name(std::string_view model) {
  const std::string name = lower(last_part(model));
  if (const SaidFormat suffix = format_suffix(name); !suffix.said.empty()) return std::string(suffix.meant);
  if (name.find("distill") != std::string::npos) return "";  // a distilled model belongs to another family
  const auto* own = std::find_if(published_narrow.begin(), published_narrow.end(),
                                 [&](const SaidFormat& f) { return name.starts_with(f.said); });
  return own == published_narrow.end() ? "" : std::string(own->meant);
}

namespace {

/// Cache format as --kv-precision accepts it; empty if unknown: "k=q8_0,v=fp16" for "k=q8_0,v=f16".
std::string meant_cache(std::string_view said) {
  if (!said.starts_with("k=")) return std::string(meant_by(caches_said, said));
  const std::size_t comma = said.find(",v=");
  if (comma == std::string_view::npos) return "";
  const std::string_view keys = meant_by(caches_said, said.substr(2, comma - 2)),
                         values = meant_by(caches_said, said.substr(comma + 3));
  return keys.empty() || values.empty() ? "" : fmt::format("k={},v={}", keys, values);
}

}  // namespace

std::string meant_format(std::string_view said) {
  const std::string_view plain = meant_by(dtypes_said, said), quantized = meant_by(quantizations_said, said);
  return std::string(!plain.empty() ? plain : !quantized.empty() ? quantized : said);
}

std::optional<DType> said_weights(const ServerConfig& config) {
  const auto meant = meant_by(quantizations_said, config.quantization);
  return meant.empty() ? std::nullopt : dtype(meant);
}

WeightFormats served_weights(DType of_blocks, DType others) {
  WeightFormats w(others);
  for (std::size_t c = 0; c < component_count; ++c)
    if (is_low_precision(static_cast<Component>(c))) w[static_cast<Component>(c)] = of_blocks;
  return w;
}

std::optional<WeightFormats> served_weights(const ServerConfig& config, DType others) {
  const std::optional<DType> said = said_weights(config);
  if (!said) return std::nullopt;
  if (said->name() != "mxfp4") return served_weights(*said, others);
  WeightFormats w(others);
  w[Component::experts] = *said;
  return w;
}

Layout served_layout(const ServerConfig& c, const Arch& arch, Layout split, std::vector<std::string>& unknown) {
  const Layout given = split;
  split.dp = std::max<Count>(1, c.data_parallel.value_or(1));
  const Count all = mul(split.tp, split.dp);
  if (arch.has_experts() && (c.expert_parallel || split.dp > 1)) {
    split.ep = c.expert_parallel ? all : 1;
    split.etp = all / split.ep;
    split.sp = split.tp > 1;  // splits the tokens across the expert-parallel ranks
  }
  if (split == given || flaw(arch, split) == LayoutFlaw::none) return split;
  unknown.push_back(fmt::format("data_parallel_size={}, enable_expert_parallel={}", split.dp, c.expert_parallel));
  return given;
}

std::vector<SaidOption> said_options(const ServerConfig& c, const ModelCard& model, std::vector<std::string>& unknown) {
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
  if (!c.file_type.empty()) all.push_back({"--weight-precision", c.file_type});
  if (const std::string meant = meant_cache(c.cache_dtype); !meant.empty()) all.push_back({"--kv-precision", meant});
  // Models with learned positions keep the default pass length.
  if (const auto tokens = c.batched_tokens; tokens && *tokens > 0 && model.arch.learned_rows() == 0)
    all.push_back({"--prompt", fmt::format("{}", *tokens)});
  return all;
}

}  // namespace llmcalc
