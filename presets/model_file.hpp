#pragma once
/// The llmcalc model file: an architecture, said in full. Nothing in it is implied by a family's name.
///
/// { "llmcalc_model": 1, "name", "title"?, "aliases"?,
///   "family"?  (the model_type of its config: which matrices its files store as one; no parameter depends on it),
///   "layers", "hidden", "vocabulary", "context", "embedding_width"?  (default: hidden), "narrow_ends"?  (positions,
///   token types and the embedding's norm have that width, too),  "repeats"?: REPEATS, "streams"?  (residual ones,
///   default: 1),  "altup"?  (they are predicted and corrected, not mixed),  "laurel_rank"?  (of a low rank beside
///   attention),  "block": serial | parallel |
///   shortcut,
///   "attention": ATTENTION, "recurrent"?: RECURRENT  (beside the attention, or alone where its kind is none),
///   "sliding_window"?: { "window", "layers": PATTERN }  or  "chunked_attention"?: { "chunk", "layers": PATTERN },
///   "linear_attention"?: { "layers": PATTERN },
///   "mixers"?: [ { "layers": PATTERN, "attention"?: ATTENTION, "window"?, "recurrent"?: RECURRENT }, ... ]  (layers
///              with another mixer; one that has neither mixes no tokens),
///   "mlp": { "kind": plain | gated, "width"  (left out where no layer has a dense MLP of that width), "activation",
///   "bias", "out_bias"? (of dense MLPs' down alone), "shift"? (dense MLPs read a mix of two tokens), "receptance"?
///   (and lie under a gate of another mix) }, "mlps"?: [ {
///   "layers": PATTERN, "width" }, ... ] (layers with a dense MLP of another width; 0: with none), "moe"?: { "experts",
///   "top_k", "width", "zero_experts"? (that return their input), "latent_width"? (of the routed experts' input),
///   "latent_norm"?, "shared_experts"?, "shared_width"?, "shared_gate"?, "router_bias"?,
///             "expert_bias"?, "router_correction_bias"?, "router_scales"?, "beside_dense"? (a dense MLP of the mlp's
///             width runs beside them), "layers": PATTERN },
///   "norm": { "kind", "placement": pre | post | output | both, "per_layer", "final", "embedding", "first"? (false:
///   none
///           before the first layer's mixer), "sub_norms"? (RMSNorms before attention's and dense MLPs' last matrix) },
///   "position": { "kind": none | learned | sinusoidal | rope | alibi | relative, "rows"  (of a learned table, or of
///               ranges of distances), "added_rows"? (of a learned table beside those), "per_layer"? (each layer has
///               such a table of relative positions) },
///   "head": { "tied", "bias", "kind"?: next_token (the default) | masked_token | none, "transform_bias"? (of a masked
///           token's dense layer; default: true), "pooler"?, "sentence_pair"?, "exit_gate"? },
///   "token_types"? (rows of a table of segments),
///   "residual_block"? (layers after which the residual stream starts again, and sub-layers mix what it was before),
///   "layered_input"?: { "rows", "width" }  (of the table, of one layer's input),  "output_scale"?,
///   "mtp"?: { "modules", "mixer_of", "mlp_of"  (layers whose mixer, and whose MLP or experts, a module's layer has),
///             "own_norm", "own_embedding", "own_head" }  (modules that predict further tokens, in none of the counts),
///   "towers"?: { "vision"?, "audio"?, "projector"?, "cross"? }  (parameters of what turns images or sounds into rows
///   of
///              the input, and of layers and experts that read images alone, in none of the counts),
///   "weights"?: { "all", "attention"?, "mlp"?, "router"?, "experts"?, "shared_experts"?, "norm"?, "embedding"?,
///                 "lm_head"?: number formats of the checkpoint },
///   "stored_bytes"?: { any of these components, or "position": bytes, where they do not follow from the format,
///                      "mtp"?: { the same of all modules for further tokens } },
///   "products"?: { "format", "of"?: [ any of "attention", "mlp", "experts" ] }  (of both operands, where the
///   checkpoint
///                quantises inputs too; default of "of": all),
///   "published"?: { "parameters", "source" },  "stored_parameters"?,  "notes"?,  "caveats"?: [ ... ] }
///
/// Caveats are repeated in every report, notes are not. PATTERN: see presets/layer_pattern.hpp; ATTENTION, RECURRENT:
/// see presets/mixer_file.hpp; REPEATS: see presets/repeats.hpp. A key marked ? may be
/// left out, and then counts as none, 0 or false unless said otherwise; every other key must be there, and no other key
/// may be.

#include <string>

#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Whether a document calls itself an llmcalc model file.
bool is_model_file(const json::Value& value);

/// Reads and checks a model file; `where` names it in errors. Throws InputError; also where the published count is not
/// the engine's.
ModelCard read_model_file(const json::Value& value, const std::string& where);

/// The model file that says `card`. read_model_file gives the same card back.
json::Value model_file_json(const ModelCard& card);

/// A model file as text: one key of the outermost object per line.
std::string model_file_text(const json::Value& file);

}  // namespace llmcalc
