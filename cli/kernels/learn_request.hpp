#pragma once
/// The request of 'llmcalc learn': text, model, tokenizer and run, with every default settled.

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
  double minutes = 0;       ///< 0: the steps alone end it
  bool by_minutes = false;  ///< the minutes alone end it
  std::vector<std::string> notes;
  std::unique_ptr<model::TrainingCheckpoint> resumed;
  validate::Where where;

  model::Number number() const { return precision == dtypes::bf16 ? model::Number::bf16 : model::Number::f32; }
  /// The part that a checkpoint stores: the run's settings and the fingerprint of the text.
  json::Value settings_json() const;
};

/// Throws InputError for every impossible request, before anything large is allocated or learnt.
LearnRequest settled(const Arguments& typed);

}  // namespace llmcalc
