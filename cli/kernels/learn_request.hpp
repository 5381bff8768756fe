#pragma once
/// The request of 'llmcalc learn': text, model, tokenizer and run, with every default filled in.

#include <array>
#include <memory>

#include "cli/kernels/place.hpp"
#include "learn/learner.hpp"
#include "report/commands/arguments.hpp"

namespace llmcalc {

struct LearnRequest {
  std::string text_path, text, out;
  ModelCard model;
  std::shared_ptr<const model::Tokenizer> tokenizer;
  DType precision = dtypes::fp32;
  model::LearningSettings settings;
  double minutes = 0;       ///< time limit of the run; 0: limited by steps only
  bool by_minutes = false;  ///< whether the run is limited by time only
  Notes notes;
  std::unique_ptr<model::TrainingCheckpoint> resumed;
  validate::Where where;

  model::Number number() const { return precision == dtypes::bf16 ? model::Number::bf16 : model::Number::f32; }
  /// The part stored in a checkpoint: the run's settings and a fingerprint of the text.
  json::Value settings_json() const;
};

/// Throws InputError for every impossible request, before any large allocation or training.
LearnRequest settled(const Arguments& typed);

}  // namespace llmcalc
