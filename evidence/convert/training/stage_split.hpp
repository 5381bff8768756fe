#pragma once
/// Number of layers in each stage of a row's pipeline.

#include <string>
#include <vector>

#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_row.hpp"

namespace llmcalc {

/// Number of layers in each chunk: as listed by the row ("layer_split": [20, 28]; "pp_layout"), or by the rule that
/// the row states. The default is the framework's rule: an even split; if the layers do not divide evenly, an even
/// split with embedding and head counted as one layer each; otherwise a split balanced by parameters. Empty without a
/// pipeline. A list or rule that is not understood or does not fit the model is replaced by the default, with an
/// assumption.
StageLayers stage_layers_of(const TrainingRow& row, const Arch& arch, const Layout& split, Assumptions& assumed);

/// Layers per chunk of a Megatron-Core layout: "Et*3|(tt|)*29,m|L". E is the embedding, t a layer, m an MTP layer, L
/// the loss, and | ends a chunk; commas are ignored. Empty if not understood.
std::vector<Count> chunks_of_layout(const std::string& text);

}  // namespace llmcalc
