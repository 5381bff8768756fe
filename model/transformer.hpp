#pragma once
/// A runnable model: weights on a backend, training steps and inference passes, with all memory from one arena.

#include <memory>
#include <optional>

#include "model/cpu/make.hpp"
#include "model/pass/forward.hpp"
#include "model/replayed.hpp"

namespace llmcalc::model {

/// Tokens of one micro-batch, (micro_batch, seq), and the target of each.
struct Batch {
  std::vector<std::int64_t> ids, targets;
};

/// Returns `arch` if the reference transformer can run it on the backend. Throws InputError, with a full sentence, for
/// features that either of them lacks (recurrences on a GPU, for example).
const Arch& runnable(const Arch& arch, const Backend& backend);

/// Tokens that a drafting pass chooses greedily.
struct Drafts {
  Count saved = 0;  ///< number of accepted tokens: all of a prompt; otherwise the first token, which is certain, and
                    ///< the drafts up to the first that the model rejects in any sequence
  std::vector<std::int64_t> tokens;  ///< (sequences, 1 + modules): the next token, and drafts of the ones after it
};

class Transformer {
 public:
  /// Throws InputError if the model is not runnable(). seed: for drawing the weights; see Weights.
  Transformer(const Arch& arch, Backend& backend, const Settings& settings, std::optional<std::uint64_t> seed);

  const Arch& arch() const { return arch_; }
  Settings& settings() { return settings_; }
  Weights& weights() { return weights_; }
  Arena& arena() { return arena_; }
  Backend& backend() { return backend_; }
  void watch(const std::atomic<bool>* stop) { stop_ = stop; }
  /// Number of weight updates so far, as counted by the optimizer's bias correction.
  Count updates() const { return updates_; }
  void set_updates(Count n) { updates_ = n; }

  // ---- training
  /// Runs forward and backward, adds to the weights' gradients and returns the loss. `scale` multiplies the loss.
  /// at_end_of_forward is called between the two passes.
  double gradients(const Batch& batch, double scale, Trace* trace, const std::function<void()>& at_end_of_forward = {});
  /// Updates the weights. Returns the norm of the whole gradient before clipping.
  double update(const OptimizerSettings& o);
  /// Zeroes gradients, runs every micro-batch and updates once. Returns the mean loss. Throws NotANumber if a loss or
  /// the gradient is not finite.
  double train(std::span<const Batch> micro_batches, const OptimizerSettings& o, Trace* trace = nullptr);
  /// How the first micro-batch of the last train() was executed; see Replayed.
  std::string training_run() const { return training_ != nullptr ? training_->first.how() : ""; }
  /// Mean loss without gradients, with the step's dropout masks if dropout is on.
  double loss(const Batch& batch, Trace* trace = nullptr);
  /// The first operator of a loss() pass whose result is not finite, such as "mlp.up in layer 3"; empty if all are
  /// finite.
  std::string first_not_a_number(const Batch& batch);

  // ---- inference
  /// Logits of the last token of every sequence, or the result of a model without logits. ids: (sequences, queries),
  /// after `past` cached tokens. In an encoder-decoder, the encoder reads the first ids (with a cache, as many as the
  /// plan's prompt) and the logits follow the decoder's start token; later ids are the decoder's.
  std::vector<double> logits(std::span<const std::int64_t> ids, Count sequences, Count past, Cache* cache,
                             Trace* trace = nullptr);
  /// Runs a pass in which each of the plan's MTP modules (Plan::mtp) drafts a token. ids: (sequences, queries), after
  /// `past` cached tokens: a prompt (past 0), or a token and the previous pass's drafts, which the model verifies. The
  /// next pass starts after past + saved tokens; until it overwrites them, caches also contain rows of rejected tokens.
  /// For the last saved tokens, the caches of the second and later modules contain rows computed from drafts, whether
  /// accepted or not.
  Drafts drafted(std::span<const std::int64_t> ids, Count sequences, Count past, Cache& cache, Trace* trace = nullptr);
  /// Logits of every token, for tests and perplexity: (sequences, queries, vocabulary). targets: the input of an
  /// encoder-decoder's decoder, shifted right by one token; empty: the ids are used.
  std::vector<double> all_logits(std::span<const std::int64_t> ids, Count sequences,
                                 std::span<const std::int64_t> targets = {});
  Cache make_cache(Count sequences, Count tokens) {
    const Count encoded = arch_.is_encoder_decoder() ? settings_.plan.prompt : 0;
    const Plan& p = settings_.plan;
    const auto codes = [&](DType t) {
      return settings_.coded && t != working_format(p) ? std::optional(t) : std::nullopt;
    };
    return Cache(backend_, arena_, arch_, p.mla == Mla::expanded, sequences, tokens, encoded, p.mtp,
                 {.keys = codes(p.kv_precision.keys), .values = codes(p.kv_precision.values)});
  }

 private:
  Step training_step() const;
  /// Ends a forward pass with its loss: the cross-entropy of the logits. An encoder's results other than logits add
  /// their mean, as a stand-in for a task's loss.
  void ask_loss(Pass& pass, const Batch& batch, double* loss);
  /// Like ask_loss(), including the plan's MTP modules; the mean of their losses is weighted by
  /// Settings::further_share.
  void ask_losses(Pass& pass, const Batch& batch, double* loss);
  void add_gradients(const Batch& batch, double scale, Trace* trace, double* loss,
                     const std::function<void()>& at_end_of_forward);
  void ask_update(const OptimizerSettings& o, const StepReport& report);
  double finished(const StepReport::Numbers& r);
  TrainingStep& training_step_of(const OptimizerSettings& o, std::size_t batches);
  DecodingStep& decoding_step_of(Cache& cache, Count sequences);
  Arch arch_;
  Backend& backend_;
  Arena arena_;
  Settings settings_;
  Weights weights_;
  Count updates_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
  std::unique_ptr<TrainingStep> training_;  ///< reused between steps; destroyed before the weights
};

}  // namespace llmcalc::model
