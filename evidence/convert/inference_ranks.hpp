#pragma once
/// The ranks of a row of inference.

#include "evidence/convert/inference_row.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// The case's layout, its heads and experts padded to what the ranks divide, and the part of a chip that a rank has.
/// Sets `skip` where the row's ranks fit neither the model nor its devices. Precondition: the case has its architecture
/// and its device.
void use_ranks(const InferenceRow& row, InferenceCase& c);

}  // namespace llmcalc
