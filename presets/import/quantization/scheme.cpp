#include "presets/import/quantization/scheme.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// The quantization method named by the block or implied by its keys.
std::string method_of(const Object& q) {
  if (q.has("quant_method")) return lower(q.text("quant_method"));
  if (q.has("quant_algo")) return "modelopt";
  if (q.has("load_in_4bit") || q.has("load_in_8bit")) return "bitsandbytes";
  return q.has("bits") && q.has("group_size") ? "mlx" : "";
}

using SchemeReader = Scheme (*)(const Object&, const SchemeContext&);
constexpr std::array<std::pair<std::string_view, SchemeReader>, 19> methods = {
    {{"gptq", gptq},
     {"auto-round", auto_round},
     {"intel/auto-round", auto_round},
     {"awq", awq},
     {"fp8", float8},
     {"mxfp8", float8},
     {"fbgemm_fp8", fbgemm},
     {"mxfp4", mxfp4_experts},
     {"bitnet", bitnet},
     {"bitsandbytes", bitsandbytes},
     {"compressed-tensors", compressed_tensors},
     {"modelopt", modelopt},
     {"modelopt_fp4", modelopt},
     {"hqq", hqq},
     {"mlx", mlx},
     {"exl2", exllama},
     {"exl3", exllama},
     {"torchao", torchao},
     {"quark", quark}}};

bool is_in(const Modules& set, const Matrix& m) {
  return std::any_of(m.paths.begin(), m.paths.end(), [&](const std::string& p) { return set.contain(p); });
}

bool is_kept(const Scheme& s, const Matrix& m) {
  if (m.component == Component::lm_head && !s.head_as_other) return true;
  return (m.is_table && !s.table_as_other) || is_in(s.kept, m);
}

/// Indexes groups by name, since some blocks have a separate group for each of thousands of modules.
void index_groups(Scheme& s) {
  for (std::size_t i = 0; i < s.groups.size(); ++i) {
    const Modules& targets = s.groups[i].targets;
    if (targets.empty() || !targets.has_names_alone())
      s.others.push_back(i);
    else
      s.named.add(targets, i);
  }
}

/// Index of the first group that names the matrix; the number of groups if no group does.
std::size_t naming_group(const Scheme& s, const Matrix& m) {
  std::size_t first = s.groups.size();
  for (const std::string& path : m.paths) first = std::min(first, s.named.first(path).value_or(first));
  return first;
}

}  // namespace

Scheme scheme(const Object& q, const SchemeContext& context) {
  const std::string method = method_of(q);
  for (const auto& [name, read] : methods) {
    if (name != method) continue;
    Scheme s = read(q, context);
    remember_unread(s, q);
    index_groups(s);
    return s;
  }
  refuse_scheme(q, fmt::format("quant_method {}", in_quotes(method)));
}

const Scheme::Group* group_of(const Scheme& s, const Matrix& m) {
  if (is_kept(s, m)) return nullptr;
  const std::size_t naming = naming_group(s, m);
  for (const std::size_t i : s.others) {
    const Scheme::Group& g = s.groups[i];
    if (i < naming && ((g.targets.empty() && !m.by_name) || is_in(g.targets, m))) return &g;
  }
  return naming < s.groups.size() ? &s.groups[naming] : nullptr;
}

std::optional<Packing> packing_of(const Scheme& s, const Matrix& m) {
  const Scheme::Group* g = group_of(s, m);
  return g == nullptr ? std::nullopt : g->packing;
}

}  // namespace llmcalc::import
