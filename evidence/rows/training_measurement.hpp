#pragma once
/// A measurement of training as JSON: the request that it stands for, and the measured values.
///
///   { "id", "family"?, "quality"?: "A"|"B"|"C", "source"?: {"title", "url", "table", "how", "confidence"},
///     "command": "train", "model": a preset's name or a model file, "hardware": see evidence/rows/machine.hpp,
///     "inputs"?: {options of train by their JSON keys}, "software"?: a name, or SOFTWARE,
///     "measured": {"step_time_s"?, "peak_allocated_bytes"?, "peak_reserved_bytes"?, "peak_process_bytes"?,
///                  "peak_bytes"?},
///     "assumed"?: [sentences], "input_assumed"?: true, "left_out"?: {"row"?, "step"?, "memory"?: reasons},
///     "measured_as"?, "memory_of_devices"?, "memory_kind_stated"?: false, "devices"?, "stated"?: {...} }
///
/// SOFTWARE: facts of the run that no option states:
///   { "name"?, "assumed"?, "compiled"?, "tp_overlap"?, "waits_for_tensor"?, "cuda_graphs"?, "rocm"?,
///     "vocabulary_multiple"?, "working_precision"?, "half_gradients_open"?, "compiles_loss"?, "capacity_factor"?,
///     "attention"?: {"kernel", "stated", "fused_norm", "assumed"}, "recompute"?: RECOMPUTE }
/// RECOMPUTE: operators that run again in backward (evidence/rows/recomputed.hpp), where options cannot express them.
///
/// "stated" holds the source's own words and numbers; it is not read. "devices": of the run as the source counts them.

#include "evidence/rows/training_case.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// `stated`: the source's own keys.
json::Value training_measurement_json(const TrainingCase& c, const json::Value& stated);

/// `where` names file, line and row. Throws InputError.
TrainingCase read_training_measurement(const json::Object& row, const std::string& where);

/// "peak_reserved_bytes": the quantity of a memory, by what was counted.
std::string memory_quantity(MemoryKind kind);

}  // namespace llmcalc
