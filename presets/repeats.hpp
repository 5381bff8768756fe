#pragma once
/// Reads and checks two properties of model files: layers that reuse the weights of earlier layers, and embeddings
/// narrower than the layers. ALBERT has both.

#include "calc/arch.hpp"
#include "presets/mixer_check.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// REPEATS of a model file: { "period"? (default: 1), "layers"?: PATTERN (default: all from the period on), "normed"?
/// }. Throws InputError for any other form.
Repeats read_repeats(const json::Object& o, Count layers);
json::Value repeats_json(const Repeats& repeats, Count layers);

/// Throws InputError if a layer differs from the layer that it repeats, if the repeated layer does not exist, or if
/// layers share data other than the residual stream.
void check_repeats(const Arch& arch, const Check& check);

/// Throws InputError if the model does not have the final norm that its exit gate reads.
void check_exit_gate(const Arch& arch, const Check& check);

/// Throws InputError if narrow_ends is set but the model does not support it.
void check_narrow_ends(const Arch& arch, const Check& check);

}  // namespace llmcalc
