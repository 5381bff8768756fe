#pragma once
/// Names of weight formats in files and tables.

#include <optional>
#include <string>
#include <string_view>

#include "calc/formats/weight_formats.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Name of a component in files and tables: "attention", "mlp", ...
std::string_view component_name(Component c);

/// Component with this name ("head" and "norms" are accepted for lm_head and norm), and all names as "a|b|c".
std::optional<Component> component_called(std::string_view name);
std::string component_names();

/// Number format called `name`, ignoring case. Throws an InputError that starts with `where` if there is no such
/// format.
DType format_called(const std::string& name, const std::string& where);

/// { "all": FORMAT, and for components that differ, any of "attention", "mlp", "router", "experts", "shared_experts",
/// "norm", "embedding" (includes positions) and "lm_head": FORMAT }. Format names as in `llmcalc list dtypes`.
WeightFormats read_weight_formats(const json::Object& o);

/// The JSON object for `weights`. "all" is the most common format of the components.
json::Value weight_formats_json(const WeightFormats& weights);

/// All formats as text. Component names follow the less common formats: "bf16", or "mxfp4 (experts), bf16".
std::string weight_formats_text(const WeightFormats& weights);

}  // namespace llmcalc
