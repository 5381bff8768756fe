#pragma once
/// How many layers each stage of a row's pipeline holds.

#include <string>
#include <vector>

#include "evidence/convert/training_layout.hpp"
#include "evidence/convert/training_row.hpp"

namespace llmcalc {

/// The layers of every chunk as the row lists them ("layer_split": [20, 28]; "pp_layout"), or by the rule that it
/// states, else as its framework does: evenly; with embedding and head as a layer each where only that divides; else so
/// that parameters are balanced. Empty without a pipeline. A list or rule that is not understood, or does not fit the
/// model, is assumed away with a sentence.
StageLayers stage_layers_of(const TrainingRow& row, const Arch& arch, const Layout& split, Assumptions& assumed);

/// Layers per chunk of a Megatron-Core layout: "Et*3|(tt|)*29,m|L". E embedding, t a layer, m a layer of multi-token
/// prediction, L the loss, | the end of a chunk; commas do not count. Empty: not understood.
std::vector<Count> chunks_of_layout(const std::string& text);

}  // namespace llmcalc
