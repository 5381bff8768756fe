#pragma once
/// Entries of a model file about a checkpoint's weights, other than formats.

#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// { "attention": BYTES, ..., "mtp"?: { "attention": BYTES, ... } }: stored bytes of components that do not follow from
/// their format, of the model and of all its MTP modules. Without "mtp", these store the model's bytes per parameter.
/// The card already has its architecture and formats. Throws InputError.
void read_stored_bytes(const json::Object& o, ModelCard& card);
json::Value stored_bytes_json(const ModelCard& card);

/// { "format": FORMAT, "of"?: [ any of attention, mlp, experts ] }: format of both operands of the blocks' products,
/// and the products concerned (default: all). Throws InputError.
void read_products(const json::Object& o, ModelCard& card);
json::Value products_json(const ModelCard& card);

/// Throws InputError if a head tied to the token table has another format.
void check_weights(const ModelCard& card);

}  // namespace llmcalc
