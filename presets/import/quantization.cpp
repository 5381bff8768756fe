#include "presets/import/quantization.hpp"

#include <fmt/format.h>

#include <map>

#include "presets/held_formats.hpp"
#include "presets/import/scheme.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

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

/// The matrices of one component: numbers by format, and bytes as they are packed and as they would be in the dtype.
struct Matrices {
  std::map<std::string_view, Count> numbers;
  Bytes packed{}, plain{};
};

/// The format of most of a component's numbers. Where there are several, that is said.
DType settled_format(StoredWeights& out, Component c, const std::map<std::string_view, Count>& numbers) {
  Count all = 0;
  auto most = numbers.begin();
  for (auto i = numbers.begin(); i != numbers.end(); ++i) {
    all = add(all, i->second);
    if (i->second > most->second) most = i;
  }
  if (numbers.size() > 1)
    out.caveats.push_back(fmt::format(
        "{:.0f} % of the weights of {} are stored in another format than {}; their bytes are counted as they "
        "are, their products as the others'",
        100 * (1 - static_cast<double>(most->second) / static_cast<double>(all)), spoken(c), most->first));
  return *dtype(most->first);
}

/// Bytes of all components: matrices as they are packed, all else in the dtype.
HeldComponents held_components(const std::map<Component, Matrices>& matrices, const Arch& arch, const WeightFormats& w,
                               DType base) {
  const ComponentBytes plain = component_bytes(arch, base), formats_alone = component_bytes(arch, w);
  HeldComponents all;
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto c = static_cast<Component>(i);
    const auto at = matrices.find(c);
    const bool known = at != matrices.end() && at->second.plain <= plain[c];
    all[c].bytes = known ? plain[c] - at->second.plain + at->second.packed : formats_alone[c];
  }
  return all;
}

StoredWeights quantised(const Object& q, const SchemeContext& context, const Arch& arch, DType base) {
  const Scheme s = scheme(q, context);
  std::map<Component, Matrices> matrices;
  for_each_matrix(arch, [&](const Matrix& m) {
    const Packing p = packing_of(s, m).value_or(packing(base));
    Matrices& of = matrices[m.component];
    Count& n = of.numbers[p.format.name()];
    n = add(n, m.numbers());
    of.packed += packed_bytes(p, m);
    of.plain += packed_bytes(packing(base), m);
  });
  StoredWeights out{.formats = base, .caveats = {}};
  for (const auto& [component, of] : matrices) (*out.formats)[component] = settled_format(out, component, of.numbers);
  hold_bytes(*out.formats, arch, held_components(matrices, arch, *out.formats, base));
  out.products = s.products;
  if (!s.caveat.empty()) out.caveats.push_back(s.caveat);
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
  const DType dtype = base.value_or(dtypes::bf16);
  const SchemeContext context{.model_type = text.text("model_type", whole.text("model_type", "")),
                              .dtype = dtype == dtypes::bf16   ? "bfloat16"
                                       : dtype == dtypes::fp16 ? "float16"
                                                               : "float32",
                              .fp4_experts = text.text("expert_dtype", "") == "fp4"};
  const bool own_file = q.has("quantization") && !q.has("quant_method");
  return own_file ? quantised(q.object("quantization"), context, arch, dtype) : quantised(q, context, arch, dtype);
}

}  // namespace llmcalc::import
