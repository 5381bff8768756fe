#pragma once
/// The layout and batch of a row of training.

#include <string>
#include <vector>

#include "calc/layout.hpp"
#include "evidence/convert/training_row.hpp"

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

}  // namespace llmcalc
