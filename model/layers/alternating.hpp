#pragma once
/// Parts of a layer of alternating updates, and of the model's ends around such layers (calc/block/altup.hpp).

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// The streams: x, and projections of it at its magnitude; and the mean of the first and of projections of the others,
/// of the last `rows` tokens.
Value stacked_streams(Pass& p, Value x);
Value merged_streams(Pass& p, Value x, Count rows);

/// The streams that a layer reads the first of, and these corrected by its result.
Value predicted_streams(Pass& p, Value x);
Value corrected_streams(Pass& p, Value predicted, Value result);

/// x + norm(x A B), a low rank beside the mixer on its input.
Value low_rank(Pass& p, const Value& x);

}  // namespace llmcalc::model
