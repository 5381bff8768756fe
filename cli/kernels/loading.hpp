#pragma once
/// Loads a trained model, with progress on stderr.

#include "cli/progress_line.hpp"
#include "learn/trained_model.hpp"

namespace llmcalc {

/// Loads the model's weights into `t`, with progress shown on `line`.
void load_shown(const model::TrainedModel& m, model::Transformer& t, ProgressLine& line);

}  // namespace llmcalc
