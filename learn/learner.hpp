#pragma once
/// Training on a text: the default model, the learning rate schedule, the batches and the best weights.

#include "learn/checkpoint.hpp"
#include "learn/corpus.hpp"

namespace llmcalc::model {

struct LearningSettings {
  Count steps = 500, batch = 4, seq = 128;
  double rate = 3e-3;        ///< of AdamW, at its highest
  double warm_up = 0.05;     ///< share of the steps in which it rises to that
  double least_rate = 0.05;  ///< where it falls to, as a share
  double decay = 0.1, clip = 1;
  std::uint64_t seed = 1;
  bool operator==(const LearningSettings&) const = default;
};

json::Value settings_json(const LearningSettings& s);
/// InputError, naming `where` and the field, for what is absent or out of range.
LearningSettings settings_from(const json::Value& v, const std::string& where);

/// A Llama in small: RMSNorm, RoPE, SwiGLU, tied head, heads of 32. With a vocabulary of 1024 it has 2.0 million
/// parameters, and 0.9 million with a hidden width of 128.
Arch small_arch(Count vocabulary, Count context, Count hidden = 192);

/// Memory of a training run: the engine's peak, and the copies that are kept of the weights.
Bytes learning_memory(const Arch& arch, const Plan& plan);
/// The plan of a training run: AdamW, float32 or mixed precision, what the backend's number says.
Plan learning_plan(const LearningSettings& s, DType precision);

/// The learning rate as a share of the highest, after the fraction `done` of the run: linear warm-up, then cosine decay
/// (Loshchilov and Hutter 2017, without restarts).
double rate_share(const LearningSettings& s, double done);

/// A run over a text. Which batch comes when is a function of seed and step alone, so a run that is saved and goes on
/// is, bit for bit, the run that never stopped.
class Learner {
 public:
  /// t: trainable, its plan that of these settings. stop: ends step() with Stopped, everything as it was before it.
  Learner(Transformer& t, const Corpus& corpus, const LearningSettings& settings,
          const std::atomic<bool>* stop = nullptr);

  /// One update at this place of the schedule; the loss before it. NotANumber names the step and the operator.
  double step(double done);
  double step() { return step(static_cast<double>(updates()) / static_cast<double>(settings_.steps)); }
  Count updates() const { return transformer_.updates(); }

  /// The validation loss over at most `tokens` tokens (0: all); keeps the weights if they are the best so far.
  double evaluate(Count tokens = 0);

  const TrainingProgress& progress() const { return progress_; }
  /// Continues from a checkpoint.
  void resume(const TrainingCheckpoint& c);
  void save(const std::string& path, const ModelCard& model, const std::string& tokenizer, const json::Value& settings);
  /// Loads the best weights into the model; training cannot continue from here.
  void take_best();

 private:
  [[noreturn]] void fail(const Batch& b, const NotANumber& e);
  Transformer& transformer_;
  const Corpus& corpus_;
  LearningSettings settings_;
  TrainingProgress progress_;
  WeightBytes best_;
  bool best_is_last_ = false;  ///< the model's own weights are the best
};

}  // namespace llmcalc::model
