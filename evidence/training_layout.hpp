#pragma once
/// The layout and batch of a row of training.

#include <string>
#include <vector>

#include "calc/layout.hpp"
#include "evidence/training_row.hpp"

namespace llmcalc {

/// What is assumed of a row, and whether time depends on it strongly.
struct Assumptions {
  std::vector<std::string> sentences;
  bool weighty = false;
  void note(std::string sentence) { sentences.push_back(std::move(sentence)); }
  void weigh(std::string sentence) {
    note(std::move(sentence));
    weighty = true;
  }
};

struct TrainingBatchSizes {
  Count micro = 1, global = 1;
};

/// The ranks, sharding and schedule of a row, without the pipeline's layers. Not empty `skip`: why there is none.
Layout layout_of(const TrainingRow& row, const Arch& arch, Assumptions& assumed, std::string& skip);

/// Micro-batch and global batch in sequences, completed where the row does not state them.
TrainingBatchSizes batch_of(const TrainingRow& row, const Layout& split, Assumptions& assumed);

/// The layers of every chunk by the rule that the row states, else as its framework does: evenly; with embedding and
/// head as a layer each where only that divides; else so that parameters are balanced. Empty without a pipeline.
StageLayers stage_layers_of(const TrainingRow& row, const Arch& arch, const Layout& split, Assumptions& assumed);

/// Layers per chunk of a Megatron-Core layout: "Et*3|(tt|)*29,m|L". E embedding, t a layer, m a layer of multi-token
/// prediction, L the loss, | the end of a chunk; commas do not count. Empty: not understood.
std::vector<Count> chunks_of_layout(const std::string& text);

}  // namespace llmcalc
