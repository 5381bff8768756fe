#pragma once
/// A trained model in one safetensors file, for generation and for resuming training:
///
///   NAME                      weights for generation, F32 or BF16 as trained
///   last.NAME                 weights for resuming, if they differ (NAME then has the best ones)
///   master.NAME               float32 master copy of the weights, if there is one
///   first.NAME, second.NAME   moments of AdamW; momentum has only `first`; without moments, training cannot resume
///   tokenizer                 U8: Tokenizer::serialized
///
/// and these metadata strings: "llmcalc_checkpoint" (format version), "model" (an llmcalc model file), "precision",
/// "training" (JSON: updates, micro_batches, tokens, loss, validation_loss, settings), "checksum" over everything else.

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
  std::optional<double> loss, validation_loss;  ///< mean -ln p per token; validation uses the weights for generation
  bool operator==(const TrainingProgress&) const = default;
};

/// The contents of a checkpoint other than its tensors.
struct CheckpointCard {
  ModelCard model;
  std::string tokenizer;  ///< the tokenizer as a string, from Tokenizer::serialized
  TrainingProgress progress;
  json::Value settings = json::Value::object();  ///< the trainer's settings
};

/// The weights of a model as bytes, in model order.
using WeightBytes = std::vector<std::vector<std::byte>>;
WeightBytes weight_bytes(Transformer& t);
void set_weights(Transformer& t, const WeightBytes& bytes);

/// Writes a temporary file and renames it to PATH. best: the weights for generation, if they differ from the model's
/// current weights.
void save_checkpoint(const std::string& path, Transformer& t, const CheckpointCard& card,
                     const WeightBytes* best = nullptr);

/// A checkpoint open for reading. Everything is checked before loading: damage, and tensors that are missing, misshaped
/// or unknown to the model, throw an InputError that names the file and the field.
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

  /// Loads the weights for generation. The model must have the architecture and number format in this checkpoint's
  /// card.
  void load(Transformer& t, const OnLoaded& loaded = {}) const override;
  /// Loads the weights for resuming training, with master weights, moments and step counts. The model must be
  /// trainable.
  void resume(Transformer& t) const;

 private:
  void read_texts();
  void read_progress(const json::Object& training);
  void read_tokenizer();
  void check_tensors();
  void check_checksum();
  /// A parameter's tensors other than its weight and gradient, with their names in the file.
  static std::vector<std::pair<std::string, Tensor>> state(const Parameter& p);
  void upload(Transformer& t, const std::string& name, const Tensor& to) const;

  SafetensorsFile file_;
  CheckpointCard card_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Number number_ = Number::f32;
  bool has_moments_ = false;
  Numerics numerics_;  ///< default conventions of this program
};

}  // namespace llmcalc::model
