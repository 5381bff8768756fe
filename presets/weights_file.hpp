#pragma once
/// What a model file says of a checkpoint's weights besides their formats.

#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// { "attention": BYTES, ..., "mtp"?: { "attention": BYTES, ... } }: what a checkpoint holds of components whose bytes
/// do not follow from their format, in the model and in all of its modules for further tokens; without "mtp" these hold
/// the model's shares. The card has its architecture and its formats. Throws InputError.
void read_stored_bytes(const json::Object& o, ModelCard& card);
json::Value stored_bytes_json(const ModelCard& card);

/// { "format": FORMAT, "of"?: [ any of attention, mlp, experts ] }: of both operands of the blocks' products, and of
/// which products, unless it is all. Throws InputError.
void read_products(const json::Object& o, ModelCard& card);
json::Value products_json(const ModelCard& card);

/// Throws InputError where the head is the token table, but has a format of its own.
void check_weights(const ModelCard& card);

}  // namespace llmcalc
