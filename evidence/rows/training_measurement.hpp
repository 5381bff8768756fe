#pragma once
/// A training measurement as JSON: the equivalent request and the measured values.
///
///   { "id", "family"?, "quality"?: "A"|"B"|"C", "source"?: {"title", "url", "table", "how", "confidence"},
///     "command": "train", "model": a preset's name or a model file, "hardware": see evidence/rows/machine.hpp,
///     "inputs"?: {options of train by their JSON keys}, "software"?: a name, or SOFTWARE,
///     "measured": {"step_time_s"?, "peak_allocated_bytes"?, "peak_reserved_bytes"?, "peak_process_bytes"?,
///                  "peak_bytes"?},
///     "assumed"?: [sentences], "input_assumed"?: true, "left_out"?: {"row"?, "step"?, "memory"?: reasons},
///     "measured_as"?, "memory_of_devices"?, "memory_kind_stated"?: false, "devices"?, "stated"?: {...} }
///
/// SOFTWARE: facts of the run without an option:
///   { "name"?, "assumed"?, "compiled"?, "tp_overlap"?, "waits_for_tensor"?, "cuda_graphs"?, "rocm"?,
///     "vocabulary_multiple"?, "working_precision"?, "half_gradients_open"?, "compiles_loss"?, "capacity_factor"?,
///     "attention"?: {"kernel", "stated", "fused_norm", "assumed"}, "recompute"?: RECOMPUTE }
/// RECOMPUTE: operators recomputed in the backward pass (evidence/rows/recomputed.hpp), if options cannot express
/// them.
///
/// "stated" holds the source's own words and numbers and is not read. "devices": device count in the source.

#include "evidence/rows/training_case.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// A training row as JSON, with the source's own keys under "stated".
json::Value training_measurement_json(const TrainingCase& c, const json::Value& stated);

/// Reads a training row; `where` names file, line and row for messages. Throws InputError.
TrainingCase read_training_measurement(const json::Object& row, const std::string& where);

/// Name of the quantity for a kind of memory: "peak_reserved_bytes".
std::string memory_quantity(MemoryKind kind);

}  // namespace llmcalc
