#pragma once
/// Loading a trained model, shown on stderr.

#include "cli/progress_line.hpp"
#include "learn/trained_model.hpp"

namespace llmcalc {

/// Loads its weights into `t`; the line shows how far it has come.
void load_shown(const model::TrainedModel& m, model::Transformer& t, ProgressLine& line);

}  // namespace llmcalc
