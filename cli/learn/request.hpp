#pragma once
/// What 'llmcalc learn' is asked: the text, the model, the tokenizer and the run, every default settled.

#include <memory>

#include "cli/arguments.hpp"
#include "cli/place.hpp"
#include "learn/learner.hpp"

namespace llmcalc {

/// As it was typed; empty: not given.
struct LearnOptions {
  std::string file, out, model, steps, minutes, batch, seq, rate, vocabulary, tokenizer, precision, seed,
      device = "cpu";
  bool resume = false;

  void declare(Arguments& arguments);
};

struct LearnRequest {
  std::string text_path, text, out;
  ModelCard model;
  std::shared_ptr<const model::Tokenizer> tokenizer;
  DType precision = dtypes::fp32;
  model::LearningSettings settings;
  double minutes = 0;       ///< 0: the steps alone end it
  bool by_minutes = false;  ///< the minutes alone end it
  std::vector<std::string> notes;
  std::unique_ptr<model::Checkpoint> resumed;
  validate::Where where;

  model::Number number() const { return precision == dtypes::bf16 ? model::Number::bf16 : model::Number::f32; }
  /// What a checkpoint keeps of this beside the model: the run's settings, and which text it was.
  json::Value settings_json() const;
};

/// Throws InputError for everything that cannot be, before anything large is allocated or learnt.
LearnRequest settled(const LearnOptions& o);

}  // namespace llmcalc
