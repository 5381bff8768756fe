#pragma once
/// Ranks of an inference row.

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// Sets the case's layout, pads head and expert counts to multiples of the ranks, and splits a chip if each rank runs
/// on a part of it. Sets `skip` if the row's ranks fit neither the model nor its devices. Precondition: the case's
/// architecture and device are set.
void use_ranks(const InferenceRow& row, InferenceCase& c);

}  // namespace llmcalc
