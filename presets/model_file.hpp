#pragma once
/// The llmcalc model file: a complete description of an architecture. The family's name does not imply any values.
///
/// { "llmcalc_model": 1, "name", "title"?, "aliases"?,
///   "family"? (model_type of the config: determines which matrices files store fused; no effect on parameters),
///   "layers", "hidden", "vocabulary", "context", "embedding_width"? (default: hidden), "narrow_ends"? (positions,
///   token types and the embedding's norm also have that width), "repeats"?: REPEATS, "streams"? (residual
///   streams, default: 1), "altup"? (streams are predicted and corrected, not mixed), "laurel_rank"? (low-rank branch
///   parallel to attention), "block": serial | parallel | shortcut,
///   "attention": ATTENTION, "recurrent"?: RECURRENT (parallel to attention, or the only mixer if its kind is none),
///   "sliding_window"?: { "window", "layers": PATTERN } or "chunked_attention"?: { "chunk", "layers": PATTERN },
///   "linear_attention"?: { "layers": PATTERN },
///   "mixers"?: [ { "layers": PATTERN, "attention"?: ATTENTION, "window"?, "recurrent"?: RECURRENT }, ... ] (layers
///              with another mixer; an entry without both has no token mixing),
///   "mlp": { "kind": plain | gated, "width" (omitted if no layer has a dense MLP of this width), "activation", "bias",
///            "out_bias"? (only on the down projection of dense MLPs), "shift"? (dense MLPs have a token shift),
///            "receptance"? (a gate with a separate token shift multiplies their output) },
///   "mlps"?: [ { "layers": PATTERN, "width" }, ... ] (layers with a dense MLP of another width; 0: no dense MLP),
///   "moe"?: { "experts", "top_k", "width", "zero_experts"? (return their input), "latent_width"? (input of routed
///             experts), "latent_norm"?, "shared_experts"?, "shared_width"?, "shared_gate"?, "router_bias"?,
///             "expert_bias"?, "router_correction_bias"?, "router_scales"?, "beside_dense"? (a dense MLP of the mlp's
///             width runs in parallel), "layers": PATTERN },
///   "norm": { "kind", "placement": pre | post | output | both, "per_layer", "final", "embedding", "first"? (false: the
///             first layer's mixer has no norm before it), "sub_norms"? (RMSNorms before the last matrix of attention
///             and dense MLPs) },
///   "position": { "kind": none | learned | sinusoidal | rope | alibi | relative, "rows" (learned table, or distance
///                 ranges), "added_rows"? (learned table in addition to relative positions), "per_layer"? (each layer
///                 has a table of relative positions) },
///   "head": { "tied", "bias", "kind"?: next_token (the default) | masked_token | none, "transform_bias"? (dense layer
///             of a masked_token head; default: true), "pooler"?, "sentence_pair"?, "exit_gate"? },
///   "token_types"? (rows of the segment table),
///   "residual_block"? (layers per block; a block starts a new residual stream, and sub-layers mix earlier streams),
///   "layered_input"?: { "rows" (of the table), "width" (per layer) }, "output_scale"?,
///   "mtp"?: { "modules", "mixer_of", "mlp_of" (layers whose mixer, and whose MLP or experts, a module's layer has),
///             "own_norm", "own_embedding", "own_head" } (MTP modules, excluded from all counts),
///   "towers"?: { "vision"?, "audio"?, "projector"?, "cross"? } (parameters of encoders for images or sounds, and of
///                layers and experts that only read images; excluded from all counts),
///   "weights"?: { "all", "attention"?, "mlp"?, "router"?, "experts"?, "shared_experts"?, "norm"?, "embedding"?,
///                 "lm_head"?: number formats of the checkpoint },
///   "stored_bytes"?: { any of these components, or "position": bytes, if they do not follow from the format,
///                      "mtp"?: { the same for all MTP modules } },
///   "products"?: { "format", "of"?: [ any of "attention", "mlp", "experts" ] } (format of both operands if the
///                  checkpoint also quantizes inputs; default of "of": all),
///   "published"?: { "parameters", "source" }, "stored_parameters"?, "released"?: "2025-08",
///   "use"?: "code", "notes"?, "caveats"?: [ ... ] }
///
/// Reports show caveats, but not notes. PATTERN: presets/layer_pattern.hpp; ATTENTION, RECURRENT:
/// presets/mixer_file.hpp; REPEATS: presets/repeats.hpp. Keys marked ? are optional; the default is none, 0 or false
/// unless stated otherwise. All other keys are required, and unknown keys are errors.

#include <string>

#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Whether a document declares itself an llmcalc model file.
bool is_model_file(const json::Value& value);

/// Reads and checks a model file; `where` names it in errors. Throws InputError if it is invalid or if the published
/// parameter count differs from the computed count.
ModelCard read_model_file(const json::Value& value, const std::string& where);

/// A model file for `card`, which read_model_file() converts back to an equal card.
json::Value model_file_json(const ModelCard& card);

/// A model file as text, with one key of the outermost object per line.
std::string model_file_text(const json::Value& file);

}  // namespace llmcalc
