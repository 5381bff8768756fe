#pragma once
/// Short description of a measurement, for reporting its error and for grouping errors.

#include <string>

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/run_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

struct RowSubject {
  std::string family{};       ///< common name of one source's runs
  std::string model{};        ///< name of the model: "GPT-22B"
  std::string gpu{};          ///< the preset's name; without a preset, the name in the row
  Count gpus = 1;             ///< device count in the row
  std::string parallelism{};  ///< kinds in use: "tp+pp+dp"; "none"
  std::string layout{};       ///< rank counts: "tp 8, pp 4, dp 2"
  std::string batch{};        ///< batch and sequence length: "micro-batch 4 of 512, 2048 tokens"
  std::string precision{};    ///< format of the blocks' matmuls; in inference, of the weights
  std::string recompute{};    ///< recomputed operators; empty if there is no recomputation
  std::string software{};     ///< training stack or inference engine
  std::string profile{};      ///< in inference, the software preset that describes the engine
  std::string kind{};         ///< accuracy class: "dense", "assumed input", "experts"; in inference, the figure's class
};

/// Precondition for all functions: the case's `skip` is empty.
RowSubject subject_of(const TrainingCase& c);
RowSubject subject_of(const InferenceCase& c, const Figure& figure);
RowSubject subject_of(const RunCase& c);

}  // namespace llmcalc
