#include "presets/import/quantization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "presets/import/modules.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// The block of one checkpoint: which matrices have which format.
struct Scheme {
  struct Group {
    DType format;
    Modules targets;  ///< empty: every matrix
  };
  std::vector<Group> groups;
  Modules kept;                ///< in the config's dtype
  bool head_as_other = false;  ///< the head is a matrix like others, kept only where the block says so
  bool scaled_cache = false;   ///< the checkpoint holds scales for an 8-bit cache
};

[[noreturn]] void refuse(const Object& q, const std::string& what) {
  throw InputError(
      fmt::format("{}: {} is not known; write the formats of the model's weights into an llmcalc model file "
                  "('llmcalc import' of the config without this block makes one)",
                  q.where(), what));
}

/// The format of that name, which is a row of calc/dtype.hpp; `what` says for the user what it stands for.
DType format(const Object& q, const std::string& name, const std::string& what) {
  if (const auto t = dtype(name)) return *t;
  refuse(q, what);
}

/// "gptq" for groups of 128, "gptq-g64" for others.
std::string grouped_name(std::string_view stem, Count group) {
  return group == 128 ? std::string(stem) : fmt::format("{}-g{}", stem, group);
}

Modules modules(const Object& q, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!q.has(key)) continue;
    try {
      return Modules(q.texts(key));
    } catch (const std::regex_error&) {
      refuse(q, fmt::format("a regular expression in \"{}\"", key));
    }
  }
  return {};
}

Count group_size(const Object& q) {
  for (const char* key : {"group_size", "q_group_size"})
    if (const json::Value* v = q.find(key)) return v->is_number_integer() && *v < 0 ? -1 : q.count(key);
  return 128;
}

/// hf quantizers/quantizer_gptq.py; AutoGPTQ stores an index per input column and a bias with desc_act. AutoRound's
/// packing is the same.
Scheme gptq(const Object& q) {
  const Count bits = q.count_or("bits", 4), group = group_size(q);
  const std::string what = fmt::format("GPTQ with {} bits in groups of {}", bits, group);
  std::string name = grouped_name("gptq", group);
  if (q.flag_or("desc_act", false) && group == 128) name = "gptq-act";
  if (bits == 8 && group == 128) name = "gptq-8bit";
  if (bits != 4 && bits != 8) refuse(q, what);
  return {.groups = {{format(q, name, what), {}}},
          .kept = modules(q, {"modules_to_not_convert"}),
          .head_as_other = q.flag_or("lm_head", false)};
}

/// hf quantizers/quantizer_awq.py: 4 bits; with a zero point unless zero_point is false.
Scheme awq(const Object& q) {
  const Count bits = q.has("w_bit") ? q.count("w_bit") : q.count_or("bits", 4), group = group_size(q);
  const std::string what = fmt::format("AWQ with {} bits in groups of {}", bits, group);
  if (bits != 4) refuse(q, what);
  const std::string name = q.flag_or("zero_point", true) ? grouped_name("awq", group) : fmt::format("int4-g{}", group);
  return {.groups = {{format(q, name, what), {}}}, .kept = modules(q, {"modules_to_not_convert"})};
}

/// hf quantizers/quantizer_finegrained_fp8.py; without a block size one scale per tensor.
Scheme fp8(const Object& q) {
  if (q.has("quantized_layers") || q.has("config_groups")) refuse(q, "a mixture of formats under \"fp8\"");
  std::string name = "fp8-tensor";
  if (q.has("weight_block_size")) {
    const std::vector<Count> block = q.counts("weight_block_size");
    name = "fp8-block";
    if (block != std::vector<Count>{128, 128}) refuse(q, "fp8 in blocks other than 128 x 128");
  }
  return {.groups = {{*dtype(name), {}}}, .kept = modules(q, {"modules_to_not_convert", "ignored_layers"})};
}

Scheme fbgemm(const Object& q) {
  return {.groups = {{*dtype("fp8-row32"), {}}}, .kept = modules(q, {"modules_to_not_convert"})};
}

/// hf integrations/mxfp4.py replaces the experts of gpt-oss, and nothing else.
Scheme mxfp4(const Object& q) {
  return {.groups = {{*dtype("mxfp4"), Modules({"experts"})}}, .kept = modules(q, {"modules_to_not_convert"})};
}

/// hf quantizers/quantizer_bnb_4bit.py, quantizer_bnb_8bit.py: the head is kept unless the list says otherwise.
Scheme bitsandbytes(const Object& q) {
  const auto on = [&](const std::string& key) { return q.flag_or(key, false) || q.flag_or("_" + key, false); };
  if (!on("load_in_4bit") && !on("load_in_8bit")) refuse(q, "bitsandbytes with neither load_in_4bit nor load_in_8bit");
  const char* four_bits = q.flag_or("bnb_4bit_use_double_quant", false) ? "nf4-dq" : "nf4";
  const char* name = on("load_in_8bit") ? "int8" : four_bits;
  return {.groups = {{*dtype(name), {}}}, .kept = modules(q, {"llm_int8_skip_modules"})};
}

/// One group's weights of compressed-tensors (github.com/neuralmagic/compressed-tensors, quant_args.py).
DType compressed(const Object& w) {
  const std::string type = w.text_or("type", "int"), strategy = w.text_or("strategy", "tensor");
  const Count bits = w.count("num_bits"), group = w.count_or("group_size", 0);
  const bool symmetric = w.flag_or("symmetric", true), channel = strategy == "channel";
  const std::string what = fmt::format("{} bits of type \"{}\" by {} of {}", bits, type, strategy, group);
  if (type == "float" && bits == 8) {
    if (strategy == "block") return *dtype("fp8-block");
    if (channel) return *dtype("fp8-row");
    if (strategy == "tensor") return *dtype("fp8-tensor");
  }
  if (type == "float" && bits == 4 && group == 16) return *dtype("nvfp4-input");
  if (type == "float" && bits == 4 && group == 32) return *dtype("mxfp4");
  if (type == "int" && bits == 8 && channel) return *dtype("int8-row");
  if (type == "int" && symmetric && group > 0) return format(w, fmt::format("int{}-g{}", bits, group), what);
  if (type == "int" && bits == 4 && group > 0) return format(w, grouped_name("awq", group), what);
  refuse(w, what);
}

Scheme compressed_tensors(const Object& q) {
  Scheme s{.groups = {}, .kept = modules(q, {"ignore"}), .head_as_other = true};
  const Object groups = q.object("config_groups");
  for (const std::string& key : groups.keys()) {
    const Object group = groups.object(key);
    if (!group.has("weights")) continue;
    std::vector<std::string> targets = group.texts("targets");
    const bool all = std::find(targets.begin(), targets.end(), "Linear") != targets.end();
    s.groups.push_back({compressed(group.object("weights")), all ? Modules() : modules(group, {"targets"})});
  }
  if (s.groups.empty()) refuse(q, "\"config_groups\" without weights");
  s.scaled_cache = q.has("kv_cache_scheme");
  return s;
}

/// github.com/NVIDIA/TensorRT-Model-Optimizer, export/: quant_algo names the format of all that is not excluded.
Scheme modelopt(const Object& q) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> known = {
      {{"FP8", "fp8-tensor"},
       {"NVFP4", "nvfp4-input"},
       {"FP8_PB_WO", "fp8-block"},
       {"FP8_PER_CHANNEL_PER_TOKEN", "fp8-row32"}}};
  const std::string algorithm = q.text_or("quant_algo", "");
  for (const auto& [name, row] : known)
    if (name == algorithm)
      return {.groups = {{*dtype(row), {}}},
              .kept = modules(q, {"exclude_modules", "ignore"}),
              .head_as_other = true,
              .scaled_cache = q.has("kv_cache_quant_algo")};
  refuse(q, fmt::format("ModelOpt's quant_algo {}", in_quotes(algorithm)));
}

/// The method where the block names it, else what its keys give away.
std::string method_of(const Object& q) {
  if (q.has("quant_method")) return lower(q.text("quant_method"));
  if (q.has("quant_algo")) return "modelopt";
  return q.has("load_in_4bit") || q.has("load_in_8bit") ? "bitsandbytes" : "";
}

Scheme scheme(const Object& q) {
  using Reader = Scheme (*)(const Object&);
  static constexpr std::array<std::pair<std::string_view, Reader>, 11> methods = {
      {{"gptq", gptq},
       {"auto-round", gptq},
       {"intel/auto-round", gptq},
       {"awq", awq},
       {"fp8", fp8},
       {"fbgemm_fp8", fbgemm},
       {"mxfp4", mxfp4},
       {"bitsandbytes", bitsandbytes},
       {"compressed-tensors", compressed_tensors},
       {"modelopt", modelopt},
       {"modelopt_fp4", modelopt}}};
  const std::string method = method_of(q);
  for (const auto& [name, read] : methods)
    if (name == method) return read(q);
  refuse(q, fmt::format("quant_method {}", in_quotes(method)));
}

/// The format that the block gives a matrix, if any.
std::optional<DType> format_of(const Scheme& s, const Matrix& m) {
  const auto in = [&](const Modules& set) {
    return std::any_of(m.paths.begin(), m.paths.end(), [&](const std::string& p) { return set.contain(p); });
  };
  if ((m.component == Component::lm_head && !s.head_as_other) || in(s.kept)) return std::nullopt;
  for (const Scheme::Group& g : s.groups)
    if (g.targets.empty() || in(g.targets)) return g.format;
  return std::nullopt;
}

std::string_view spoken(Component c) {
  switch (c) {
    case Component::attention:
      return "attention";
    case Component::mlp:
      return "the MLP";
    case Component::experts:
      return "the experts";
    case Component::shared_experts:
      return "the shared experts";
    default:
      return "the head";
  }
}

/// A component has one format here: the one of most of its weights. What that leaves out is said.
void settle(StoredWeights& out, Component c, const std::map<std::string_view, Count>& elements) {
  Count all = 0;
  auto most = elements.begin();
  for (auto i = elements.begin(); i != elements.end(); ++i) {
    all = add(all, i->second);
    if (i->second > most->second) most = i;
  }
  (*out.formats)[c] = *dtype(most->first);
  if (elements.size() > 1)
    out.caveats.push_back(
        fmt::format("{:.0f} % of the weights of {} are stored in another format than {}, in which all are counted",
                    100 * (1 - static_cast<double>(most->second) / static_cast<double>(all)), spoken(c), most->first));
}

StoredWeights quantised(const Object& q, const Arch& arch, DType base) {
  const Scheme s = scheme(q);
  std::map<Component, std::map<std::string_view, Count>> elements;
  for_each_matrix(arch, [&](const Matrix& m) {
    Count& n = elements[m.component][format_of(s, m).value_or(base).name()];
    n = add(n, m.elements);
  });
  StoredWeights out{.formats = base, .caveats = {}};
  for (const auto& [component, by_format] : elements) settle(out, component, by_format);
  if (s.scaled_cache)
    out.caveats.emplace_back("the checkpoint has scales for an 8-bit KV cache; --kv-precision fp8 counts one");
  return out;
}

std::optional<DType> base_format(const Config& c) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!c.has(key)) continue;
    std::string name = c.text(key, "");
    if (name.starts_with("torch.")) name = name.substr(6);
    if (name == "bfloat16") return dtypes::bf16;
    if (name == "float16" || name == "half") return dtypes::fp16;
    if (name == "float32" || name == "float") return dtypes::fp32;
    if (name != "auto")
      c.refuse(fmt::format("\"{}\": expected float32, float16, bfloat16 or auto, got {}", key, in_quotes(name)));
  }
  return std::nullopt;
}

/// The quantisation block: in a config.json, or as ModelOpt writes it into a file of its own.
const json::Value* block_of(const Config& c) {
  for (const char* key : {"quantization_config", "compression_config"})
    if (const json::Value* v = c.find(key); v != nullptr && !v->empty()) return v;
  return nullptr;
}

}  // namespace

StoredWeights stored_weights(const Config& whole, const Config& text, const Arch& arch) {
  std::optional<DType> base = base_format(text);
  if (!base) base = base_format(whole);
  const json::Value* block = block_of(whole);
  if (block == nullptr) block = block_of(text);
  if (block == nullptr) return {.formats = base ? std::optional(WeightFormats(*base)) : std::nullopt, .caveats = {}};
  const Object q(*block, whole.where() + ", \"quantization_config\"");
  const bool own_file = q.has("quantization") && !q.has("quant_method");
  return own_file ? quantised(q.object("quantization"), arch, base.value_or(dtypes::bf16))
                  : quantised(q, arch, base.value_or(dtypes::bf16));
}

}  // namespace llmcalc::import
