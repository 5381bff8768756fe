#pragma once
/// A trained model as one safetensors file, from which it generates and learning goes on:
///
///   NAME                      weights, F32 or BF16 as they were trained: those to generate with
///   last.NAME                 those to learn on with, where they are others (the best ones are kept above)
///   master.NAME               their float32 copy, where there is one
///   first.NAME, second.NAME   moments of AdamW; momentum has `first` alone; no moments: learning cannot go on
///   tokenizer                 U8: Tokenizer::serialized
///
/// and texts: "llmcalc_checkpoint" (the format's number), "model" (an llmcalc model file), "precision", "training"
/// (JSON: updates, micro_batches, tokens, loss, validation_loss, settings), "checksum" over all the rest.

#include <memory>
#include <optional>

#include "learn/safetensors.hpp"
#include "learn/trained_model.hpp"
#include "model/transformer.hpp"
#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc::model {

/// Progress of a training run.
struct TrainingProgress {
  Count updates = 0, micro_batches = 0, tokens = 0;
  std::optional<double> loss, validation_loss;  ///< mean -ln p per token; validation: of the weights to generate with
  bool operator==(const TrainingProgress&) const = default;
};

/// The contents of a checkpoint apart from its tensors.
struct CheckpointCard {
  ModelCard model;
  std::string tokenizer;  ///< Tokenizer::serialized
  TrainingProgress progress;
  json::Value settings = json::Value::object();  ///< of whoever trained it
};

/// The weights of a model as bytes, in its order.
using WeightBytes = std::vector<std::vector<std::byte>>;
WeightBytes weight_bytes(Transformer& t);
void set_weights(Transformer& t, const WeightBytes& bytes);

/// Writes it to PATH.tmp and renames that. best: the weights to generate with, where they are not the model's own.
void save_checkpoint(const std::string& path, Transformer& t, const CheckpointCard& card,
                     const WeightBytes* best = nullptr);

/// A checkpoint that is open for reading. All of it is checked before anything is loaded: every damage, and every
/// tensor that is missing, of another shape, or not of the model, is an InputError that names the file and the field.
class TrainingCheckpoint final : public TrainedModel {
 public:
  explicit TrainingCheckpoint(const std::string& path);

  const CheckpointCard& card() const { return card_; }
  const ModelCard& model() const override { return card_.model; }
  const Numerics& numerics() const override { return numerics_; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  Number number() const override { return number_; }
  std::vector<std::int32_t> ends() const override;
  Count longest() const override { return 0; }
  bool can_resume() const { return has_moments_; }

  /// Loads the weights to generate with. The model must be of this card's architecture and number.
  void load(Transformer& t, const OnLoaded& loaded = {}) const override;
  /// Loads the weights to continue training with, master weights, moments and counts; the model must be trainable.
  void resume(Transformer& t) const;

 private:
  void read_texts();
  void read_progress(const json::Object& training);
  void read_tokenizer();
  void check_tensors();
  void check_checksum();
  /// Tensors that the model holds besides weights and gradients, with their names in the file.
  static std::vector<std::pair<std::string, Tensor>> state(const Parameter& p);
  void upload(Transformer& t, const std::string& name, const Tensor& to) const;

  SafetensorsFile file_;
  CheckpointCard card_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Number number_ = Number::f32;
  bool has_moments_ = false;
  Numerics numerics_;  ///< the usual ones
};

}  // namespace llmcalc::model
