#pragma once
/// Parts of a layer with alternating updates, and of the model's start and end around these layers
/// (calc/block/altup.hpp).

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// stacked_streams: n streams, which are x and its projections, rescaled to the magnitude of x. merged_streams: the
/// mean of the first stream and projections of the other streams, for the last `rows` tokens.
Value stacked_streams(Pass& p, Value x);
Value merged_streams(Pass& p, Value x, Count rows);

/// predicted_streams: predictions of all streams, the first of which is the layer's input. corrected_streams: these
/// predictions, corrected by the layer's result.
Value predicted_streams(Pass& p, Value x);
Value corrected_streams(Pass& p, Value predicted, Value result);

/// x + norm(x A B), the low-rank path parallel to the mixer.
Value low_rank(Pass& p, const Value& x);

}  // namespace llmcalc::model
