#pragma once
/// Training on a text: the default model, the learning rate schedule, the batches and the best weights.

#include "learn/checkpoint.hpp"
#include "learn/corpus.hpp"

namespace llmcalc::model {

struct LearningSettings {
  Count steps = 500, batch = 4, seq = 128;
  double rate = 3e-3;        ///< peak rate of AdamW
  double warm_up = 0.05;     ///< fraction of the steps over which the rate rises to its peak
  double least_rate = 0.05;  ///< final rate as a fraction of the peak rate
  double decay = 0.1, clip = 1;
  std::uint64_t seed = 1;
  bool operator==(const LearningSettings&) const = default;
};

json::Value settings_json(const LearningSettings& s);
/// Throws an InputError that names `where` and the field if a value is absent or out of range.
LearningSettings settings_from(const json::Value& v, const std::string& where);

/// A small Llama: RMSNorm, RoPE, SwiGLU, tied head, head width 32. With a vocabulary of 1024 it has 2.0 million
/// parameters, or 0.9 million with a hidden width of 128.
Arch small_arch(Count vocabulary, Count context, Count hidden = 192);

/// Memory of a training run: the engine's peak memory plus copies for the best weights and a checkpoint.
Bytes learning_memory(const Arch& arch, const Plan& plan);
/// The plan of a training run: AdamW, with float32 or mixed precision depending on the backend's format.
Plan learning_plan(const LearningSettings& s, DType precision);

/// The learning rate, as a fraction of the peak, after the fraction `done` of the run: linear warm-up, then cosine
/// decay (Loshchilov and Hutter 2017, without restarts).
double rate_share(const LearningSettings& s, double done);

/// A training run on a text. Batches depend only on the seed and the step, so a saved and resumed run is bit-identical
/// to an uninterrupted one.
class Learner {
 public:
  /// t: must be trainable, and have the plan of these settings. stop: when set, step() throws Stopped and leaves all
  /// state unchanged.
  Learner(Transformer& t, const Corpus& corpus, const LearningSettings& settings,
          const std::atomic<bool>* stop = nullptr);

  /// Runs one update at the point `done` of the schedule and returns the loss before the update. A NotANumber error
  /// names the step and the operator.
  double step(double done);
  double step() { return step(static_cast<double>(updates()) / static_cast<double>(settings_.steps)); }
  Count updates() const { return transformer_.updates(); }

  /// The validation loss over at most `tokens` tokens (0: all). Saves a copy of the weights if they are the best so
  /// far.
  double evaluate(Count tokens = 0);

  const TrainingProgress& progress() const { return progress_; }
  /// Continues from a checkpoint.
  void resume(const TrainingCheckpoint& c);
  void save(const std::string& path, const ModelCard& model, const std::string& tokenizer, const json::Value& settings);
  /// Loads the best weights into the model. Training cannot continue afterward.
  void take_best();

 private:
  [[noreturn]] void fail(const Batch& b, const NotANumber& e);
  Transformer& transformer_;
  const Corpus& corpus_;
  LearningSettings settings_;
  TrainingProgress progress_;
  WeightBytes best_;
  bool best_is_last_ = false;  ///< whether the model's current weights are the best
};

}  // namespace llmcalc::model
