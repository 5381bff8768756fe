#pragma once
/// What a measurement is about, in a few words each: what a reader needs beside its error, and what errors are put
/// together by.

#include <string>

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/run_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

struct RowSubject {
  std::string family{};       ///< the source's runs
  std::string model{};        ///< "GPT-22B"
  std::string gpu{};          ///< the preset's name; as written where there is none
  Count gpus = 1;             ///< as the row counts them
  std::string parallelism{};  ///< kinds of it that the run uses: "tp+pp+dp"; "none"
  std::string layout{};       ///< with their ranks: "tp 8, pp 4, dp 2"
  std::string batch{};        ///< "micro-batch 4 of 512, 2048 tokens"
  std::string precision{};    ///< of the blocks' products; in inference of the weights
  std::string recompute{};    ///< empty: nothing runs again
  std::string software{};     ///< stack or engine
  std::string kind{};         ///< "dense", "assumed input", "experts"; in inference what the figure is
};

/// Precondition of all: the case is not to be skipped.
RowSubject subject_of(const TrainingCase& c);
RowSubject subject_of(const InferenceCase& c, const Figure& figure);
RowSubject subject_of(const RunCase& c);

}  // namespace llmcalc
