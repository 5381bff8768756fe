#pragma once
/// Layout and batch of a training row.

#include <string>
#include <vector>

#include "calc/layout.hpp"
#include "evidence/convert/training/training_row.hpp"

namespace llmcalc {

/// Assumptions about a row, and whether time depends strongly on one of them.
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

/// Ranks, sharding and schedule of a row, but not the assignment of layers to stages. Sets `skip` if no layout fits
/// the row.
Layout layout_of(const TrainingRow& row, const Arch& arch, Assumptions& assumed, std::string& skip);

/// Micro-batch and global batch in sequences, with assumptions if the row does not state them.
TrainingBatchSizes batch_of(const TrainingRow& row, const Layout& split, Assumptions& assumed);

}  // namespace llmcalc
