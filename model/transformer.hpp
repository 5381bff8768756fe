#pragma once
/// A model that can be run: weights on a backend, steps of training, passes of inference, all bytes from one arena.

#include <memory>
#include <optional>

#include "model/cpu/make.hpp"
#include "model/pass/forward.hpp"
#include "model/replayed.hpp"

namespace llmcalc::model {

/// Tokens of one micro-batch, (micro_batch, seq), and what should follow each.
struct Batch {
  std::vector<std::int64_t> ids, targets;
};

/// `arch`, if the reference transformer runs it on the backend. Throws InputError for what it or the backend does not
/// have (recurrences on a GPU, say), in a sentence.
const Arch& runnable(const Arch& arch, const Backend& backend);

/// What a drafting pass decides, greedily.
struct Drafts {
  Count kept = 0;  ///< of its tokens: a prompt's all, and of others, the first of which is certain, those before the
                   ///< first that the model does not choose in some sequence
  std::vector<std::int64_t> tokens;  ///< (sequences, 1 + modules): the next token, and drafts of those behind it
};

class Transformer {
 public:
  /// Throws InputError for what is not runnable(). seed: of the weights, see Weights.
  Transformer(const Arch& arch, Backend& backend, const Settings& settings, std::optional<std::uint64_t> seed);

  const Arch& arch() const { return arch_; }
  Settings& settings() { return settings_; }
  Weights& weights() { return weights_; }
  Arena& arena() { return arena_; }
  Backend& backend() { return backend_; }
  void watch(const std::atomic<bool>* stop) { stop_ = stop; }
  /// Updates of the weights so far: what the optimizer's bias correction counts.
  Count updates() const { return updates_; }
  void set_updates(Count n) { updates_ = n; }

  // ---- training
  /// Forward; then, unless `hold` is set, backward: gradients are added to the weights'. `scale` multiplies the loss.
  /// at_end_of_forward is called between the two.
  double gradients(const Batch& batch, double scale, Trace* trace, const std::function<void()>& at_end_of_forward = {});
  /// Norm of the whole gradient before clipping.
  double update(const OptimizerSettings& o);
  /// Zero gradients, every micro-batch, one update. Throws NotANumber.
  double train(std::span<const Batch> micro_batches, const OptimizerSettings& o, Trace* trace = nullptr);
  /// How the last micro-batch of train() was run, see Replayed.
  std::string training_run() const { return training_ != nullptr ? training_->first.how() : ""; }
  /// Mean loss without gradients, with the step's dropout masks where dropout is on.
  double loss(const Batch& batch, Trace* trace = nullptr);
  /// The first operator of such a pass whose result is not a number, "mlp.up in layer 3"; empty where all are numbers.
  std::string first_not_a_number(const Batch& batch);

  // ---- inference
  /// Logits of the last token of every sequence; of a model without them the result that it has. ids: (sequences,
  /// queries), after `past` cached ones. Where an encoder is before a decoder, it reads the first ids, as many as the
  /// plan's prompt if there is a cache, and the logits follow the token that begins the decoder; later ones are the
  /// decoder's.
  std::vector<double> logits(std::span<const std::int64_t> ids, Count sequences, Count past, Cache* cache,
                             Trace* trace = nullptr);
  /// A pass in which the plan's modules draft a token each (Plan::mtp), behind a prompt (past 0) or behind a token and
  /// the drafts of the pass before, which the model verifies. ids: (sequences, queries), after `past` cached ones; the
  /// next pass follows past + kept tokens, so that caches have rows of rejected ones until it overwrites them. What the
  /// second and later modules have cached of the last kept tokens was made of drafts, right or not.
  Drafts drafted(std::span<const std::int64_t> ids, Count sequences, Count past, Cache& cache, Trace* trace = nullptr);
  /// Logits of every token, for tests and perplexity: (sequences, queries, vocabulary). targets: what a decoder behind
  /// an encoder reads, a token late; none: the ids.
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
  /// Ends a forward pass with its loss: the cross-entropy of the logits. What an encoder makes besides, or without
  /// them, adds its mean: it stands for the loss of a task.
  void ask_loss(Pass& pass, const Batch& batch, double* loss);
  /// The same with the plan's modules: the mean of their losses has Settings::further_share in it.
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
  std::unique_ptr<TrainingStep> training_;  ///< kept between steps; gone before the weights are
};

}  // namespace llmcalc::model
