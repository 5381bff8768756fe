#pragma once
/// A trained model on disk: an llmcalc checkpoint, or a folder in the layout of Hugging Face checkpoints.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "learn/tokens/tokenizer.hpp"
#include "model/transformer.hpp"
#include "presets/model_card.hpp"

namespace llmcalc::model {

/// Called with the bytes loaded so far and the total.
using OnLoaded = std::function<void(Bytes done, Bytes all)>;

/// Reports how many bytes of a model's weights have been loaded, weight by weight.
class OnLoadedBytes {
 public:
  OnLoadedBytes(Transformer& t, const OnLoaded& loaded) : loaded_(loaded) {
    for (const Parameter& p : t.weights().all()) all_ += p.value->bytes();
  }
  void add(const Parameter& p) {
    done_ += p.value->bytes();
    if (loaded_) loaded_(done_, all_);
  }

 private:
  const OnLoaded& loaded_;
  Bytes done_, all_;
};

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;

  virtual const ModelCard& model() const = 0;
  virtual const Numerics& numerics() const = 0;
  /// The number format to run the model in.
  virtual Number number() const = 0;
  /// Throws InputError if the model has no supported tokenizer.
  virtual const Tokenizer& tokenizer() const = 0;
  /// Tokens that end generation.
  virtual std::vector<std::int32_t> ends() const = 0;
  /// Maximum sequence length in tokens that the model was trained for; 0: unlimited.
  virtual Count longest() const = 0;
  /// Loads the weights for generation. `t` must have this model's architecture.
  virtual void load(Transformer& t, const OnLoaded& loaded) const = 0;
};

/// A plan for running one sequence in the model's format.
Plan plan_of(const TrainedModel& m);

/// Opens the model at `path`: a file written by 'llmcalc learn', or a folder with a config.json and safetensors.
/// Everything is checked before loading; every error is an InputError that names the file and the problem.
std::unique_ptr<TrainedModel> trained_model(const std::string& path);

}  // namespace llmcalc::model
