#pragma once
/// Weight formats as files and tables name them.

#include <optional>
#include <string>
#include <string_view>

#include "calc/formats/weight_formats.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// "attention", "mlp", ...: a component as files and tables name it.
std::string_view component_name(Component c);

/// The component of that name ("head" and "norms" are others for lm_head and norm), and all names as "a|b|c".
std::optional<Component> component_called(std::string_view name);
std::string component_names();

/// The number format called `name` in any case. Throws InputError; `where` begins the sentence.
DType format_called(const std::string& name, const std::string& where);

/// { "all": FORMAT, and any of "attention", "mlp", "router", "experts", "shared_experts", "norm", "embedding"
/// (positions among it) and "lm_head" that differ: FORMAT }, by the names of `llmcalc list dtypes`.
WeightFormats read_weight_formats(const json::Object& o);

/// The object that says `weights`, "all" being the format of most components.
json::Value weight_formats_json(const WeightFormats& weights);

/// "bf16", or "mxfp4 (experts), bf16": every format, those of fewer components with their names.
std::string weight_formats_text(const WeightFormats& weights);

}  // namespace llmcalc
