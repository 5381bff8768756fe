#pragma once
/// Layers that repeat others' weights, in a model file and checked; and an embedding narrower than the layers, which
/// ALBERT has besides.

#include "calc/arch.hpp"
#include "presets/mixer_check.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// REPEATS of a model file: { "period"? (default: 1), "layers"?: PATTERN (default: all from the period on),
/// "normed"? }. Throws InputError for what is not of this form.
Repeats read_repeats(const json::Object& o, Count layers);
json::Value repeats_json(const Repeats& repeats, Count layers);

/// Throws InputError where a layer repeats one that is unlike it, or that is not there, or reads what repeated layers
/// do not pass on here.
void check_repeats(const Arch& arch, const Check& check);

/// Throws InputError where there is nothing that an exit gate could read.
void check_exit_gate(const Arch& arch, const Check& check);

/// Throws InputError where the ends cannot be narrow.
void check_narrow_ends(const Arch& arch, const Check& check);

}  // namespace llmcalc
