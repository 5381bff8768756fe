#include "presets/import/quantization/quantization.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "presets/formats/held_formats.hpp"
#include "presets/import/quantization/scheme.hpp"
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

/// Matrices of one component: element counts by storage format and by matmul format, and bytes as packed and in the
/// config's dtype.
struct ComponentMatrices {
  std::map<std::string_view, Count> numbers, products;
  Bytes packed{}, plain{};
};

constexpr std::string_view in_16_bits = "";  ///< denotes matmuls in 16 bits

/// The name with the largest count.
std::string_view most_of(const std::map<std::string_view, Count>& numbers) {
  auto most = numbers.begin();
  for (auto i = numbers.begin(); i != numbers.end(); ++i)
    if (i->second > most->second) most = i;
  return most->first;
}

/// The most common format among a component's elements. Adds a caveat if there are several formats.
DType settled_format(StoredWeights& out, Component c, const std::map<std::string_view, Count>& numbers) {
  Count all = 0;
  for (const auto& [name, n] : numbers) all = add(all, n);
  const std::string_view most = most_of(numbers);
  if (numbers.size() > 1)
    out.caveats.push_back(fmt::format(
        "{:.0f} % of the weights of {} are stored in a format other than {}; their bytes are counted as stored, "
        "their matmuls in the main format",
        100 * (1 - static_cast<double>(numbers.at(most)) / static_cast<double>(all)), spoken(c), most));
  return *dtype(most);
}

std::optional<NarrowPart> part_of(Component c) {
  if (c == Component::attention) return NarrowPart::attention;
  if (c == Component::mlp) return NarrowPart::mlp;
  return in_mlp(c) ? std::optional(NarrowPart::experts) : std::nullopt;
}

/// Sets one matmul format for all blocks or for some of their components; all other components multiply in 16 bits. If
/// there are several formats, uses the widest, because narrower formats are never slower.
void settle_products(StoredWeights& out, const std::map<Component, ComponentMatrices>& matrices) {
  NarrowParts narrow, wide_parts;
  for (const auto& [component, of] : matrices) {
    const auto part = part_of(component);
    if (!part) continue;
    const std::string_view name = most_of(of.products);
    if (name == in_16_bits) wide_parts.add(*part);
    if (name == in_16_bits) continue;
    narrow.add(*part);
    const DType t = *dtype(name), before = out.products.value_or(t);
    out.products = whole_bits(t.format()) > whole_bits(before.format()) ? t : before;
    if (before != t)
      out.caveats.push_back(fmt::format("matmuls in {} and in {} are all counted in {}, the wider format",
                                        before.name(), name, out.products->name()));
  }
  if (wide_parts.empty() || !out.products) return;
  out.product_parts = {};
  for (const auto& row : choices<NarrowPart>)
    if (narrow.has(row.value) && !wide_parts.has(row.value)) out.product_parts.add(row.value);
  if (out.product_parts.empty()) out.products = std::nullopt;
}

/// Bytes of all components. Matrices count as packed, all other parameters in the config's dtype.
HeldComponents held_components(const std::map<Component, ComponentMatrices>& matrices, const Arch& arch,
                               const WeightFormats& w, DType base, Owner owner) {
  const ComponentBytes plain = component_bytes(arch, base, owner), formats_alone = component_bytes(arch, w, owner);
  HeldComponents all;
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto c = static_cast<Component>(i);
    const auto at = matrices.find(c);
    const bool known = at != matrices.end() && at->second.plain <= plain[c];
    all[c].bytes = known ? plain[c] - at->second.plain + at->second.packed : formats_alone[c];
  }
  return all;
}

/// A quantization block, and the model that it applies to.
struct Stock {
  const Scheme& scheme;
  const Arch& arch;
  const std::string& model_type;
  DType base;
};

/// Visits the matrices that the block may store in its own formats.
void for_each_stored(const Stock& s, Owner owner, const std::function<void(const Matrix&)>& visit) {
  if (owner == Owner::modules) {
    for_each_mtp_matrix(s.arch, s.model_type, visit);
    if (s.scheme.routers_as_others) for_each_mtp_router(s.arch, s.model_type, visit);
    return;
  }
  for_each_matrix(s.arch, s.model_type, visit);
  if (s.scheme.table_as_other) visit(token_embedding(s.arch));
  if (s.scheme.routers_as_others) for_each_router(s.arch, visit);
}

/// Adds a caveat about groups whose targets match no matrix or only matrices that belong to earlier groups.
void tell_unused(StoredWeights& out, const Scheme& s, const std::set<const Scheme::Group*>& used) {
  std::vector<std::string> unused;
  for (const Scheme::Group& g : s.groups)
    if (!g.said.empty() && g.packing && !used.contains(&g)) unused.push_back(g.said);
  if (unused.empty()) return;
  const std::string others = unused.size() > 1 ? fmt::format(" (nor do {} others)", unused.size() - 1) : "";
  out.caveats.push_back(
      fmt::format("\"quantization_config\": {} matches no matrix of the model outside the "
                  "preceding groups{}",
                  unused[0], others));
}

/// Adds each matrix to its component, and its group to `used`.
std::map<Component, ComponentMatrices> sorted_matrices(const Stock& s, Owner owner,
                                                       std::set<const Scheme::Group*>& used) {
  std::map<Component, ComponentMatrices> matrices;
  for_each_stored(s, owner, [&](const Matrix& m) {
    const Scheme::Group* g = group_of(s.scheme, m);
    used.insert(g);
    const Packing p = g != nullptr && g->packing ? *g->packing : packing(s.base);
    const std::string_view product = g != nullptr && g->products ? g->products->name() : in_16_bits;
    ComponentMatrices& of = matrices[m.component];
    for (Count* n : {&of.numbers[p.format.name()], &of.products[product]}) *n = add(*n, m.numbers());
    of.packed += packed_bytes(p, m);
    of.plain += packed_bytes(packing(s.base), m);
  });
  return matrices;
}

std::string cache_note(Count bits) {
  return bits == 4 ? "the checkpoint has scales for an nvfp4 KV cache; set --kv-precision nvfp4 to count it"
                   : "the checkpoint has scales for an 8-bit KV cache; set --kv-precision fp8 to count it";
}

StoredWeights quantized(const Object& q, const SchemeContext& context, const Arch& arch, DType base) {
  const Scheme s = scheme(q, context);
  StoredWeights out{.formats = base, .caveats = {}};
  WeightFormats& formats = *out.formats;
  const Stock stock{s, arch, context.model_type, base};
  std::set<const Scheme::Group*> used;
  const std::map<Component, ComponentMatrices> matrices = sorted_matrices(stock, Owner::model, used),
                                               modules = sorted_matrices(stock, Owner::modules, used);
  tell_unused(out, s, used);
  for (const auto& [component, of] : matrices) formats[component] = settled_format(out, component, of.numbers);
  if (arch.tied_head) formats[Component::lm_head] = formats[Component::embedding];
  hold_bytes(formats, arch, held_components(matrices, arch, formats, base, Owner::model));
  if (arch.mtp.modules > 0)
    hold_bytes(formats, arch, held_components(modules, arch, formats, base, Owner::modules), Owner::modules);
  settle_products(out, matrices);
  out.caveats.insert(out.caveats.end(), s.caveats.begin(), s.caveats.end());
  if (s.cache_bits > 0) out.caveats.push_back(cache_note(s.cache_bits));
  for (const std::string& key : s.unread) out.unknown_keys.push_back("quantization_config." + key);
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

/// The quantization block, which is in a config.json or in a separate file written by ModelOpt.
const json::Value* block_of(const Config& c) {
  c.ignore({"quantization_config", "compression_config", "quantization"});  // only the first one found is used
  for (const char* key : {"quantization_config", "compression_config", "quantization"}) {
    const json::Value* v = c.find(key);
    if (v != nullptr && !v->is_object() && *v != false)
      c.refuse(
          fmt::format("\"{}\": expected an object with the format of the stored weights, got {}; use a form like "
                      "{{\"quant_method\": \"fp8\"}}, or omit it",
                      key, v->is_string() ? in_quotes(v->get<std::string>()) : v->type_name()));
    if (v != nullptr && v->is_object() && !v->empty()) return v;
  }
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
  const bool of_modelopt = !q.has("quant_method") || lower(q.text("quant_method")).starts_with("modelopt");
  const bool own_file = q.has("quantization") && of_modelopt;
  return own_file ? quantized(q.object("quantization"), context, arch, dtype) : quantized(q, context, arch, dtype);
}

}  // namespace llmcalc::import
