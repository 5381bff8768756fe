#pragma once
/// Entries of a model file that describe a checkpoint's weights in addition to their formats.

#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// { "attention": BYTES, ..., "mtp"?: { "attention": BYTES, ... } }: stored bytes of components, if they differ from
/// those implied by the format, for the model and for all of its MTP modules together. Without "mtp", modules have the
/// model's bytes per parameter. Precondition: the card has its architecture and formats. Throws InputError if the
/// object is invalid.
void read_stored_bytes(const json::Object& o, ModelCard& card);
/// The schema of this object.
json::Expected stored_bytes_schema();
json::Value stored_bytes_json(const ModelCard& card);

/// { "format": FORMAT, "of"?: [ any of attention, mlp, experts ] }: format of both operands of the blocks' matmuls, and
/// the affected parts (default: all). Throws InputError if the object is invalid.
void read_products(const json::Object& o, ModelCard& card);
json::Value products_json(const ModelCard& card);

/// Throws InputError if a head that is tied to the token embedding has a different format.
void check_weights(const ModelCard& card);

}  // namespace llmcalc
