#pragma once
/// Limits in the launch scripts of benchmarks, for rows that do not state them.

#include <optional>
#include <string>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// Limits that a script sets.
struct ScriptLimits {
  Count pass_tokens = 8192;
  Count poll_passes = 1;
};

/// Limits of the InferenceX (InferenceMAX) script that launches the row's model with its engine on its device: by
/// github.com/SemiAnalysisAI/InferenceX, benchmarks/single_node/fixed_seq_len, 2026-08. Absent for other sources, and
/// for scripts that keep the engine's defaults. Precondition: model, device and requests of the case are set.
std::optional<ScriptLimits> script_limits(const InferenceRow& row, const InferenceCase& c);

}  // namespace llmcalc
