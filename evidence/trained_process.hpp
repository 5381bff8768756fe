#pragma once
/// Converts a training row to the process whose memory is predicted (presets/estimators/process_memory.hpp).

#include "evidence/rows/training_case.hpp"
#include "presets/estimators/process_memory.hpp"

namespace llmcalc {

/// The case's plan and layout, with the storage defaults of its software.
TrainedProcess trained_process(const TrainingCase& c);

/// Memory of the fullest observed rank, counted as `of.kind` specifies. Precondition: the case's `skip` is empty.
ProcessMemory process_memory(const TrainingCase& c, const MeasuredMemory& of, const MemoryParameters& fitted);

}  // namespace llmcalc
